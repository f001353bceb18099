/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_MACHINES_H
#define TW_TRAINER_TRAIN_MACHINES_H

/*
 * The machines of a training: name, spec, node type in the pipeline, and recordings. A
 * recording is the part of one response that belongs to the machine. It equals the
 * response that the machine alone would give. The machines of each response are found
 * here, once; later stages get recordings.
 */

#include "profiler/spec.h"
#include "trainer/response/machines.h"

#include <stdbool.h>

struct tw_buf;
struct tw_energy_source;
struct tw_err;
struct tw_feature_group;
struct tw_prom;
struct tw_train_job;

/* The series of one machine in one response. */
struct tw_train_recording {
	const struct tw_prom *response;
	size_t input;     /* index of the response in the job */
	bool one_machine; /* no series is of another machine; may have guests */
};

struct tw_train_machine {
	const char *name; /* first; text of the response or the job; NULL: no name */
	struct tw_machine_spec spec;
	size_t node_type;
	struct tw_train_recording *recording; /* in order of input; none of tables */
	size_t recordings;
};

/* All zero bytes: no machines. */
struct tw_train_machines {
	struct tw_train_machine *at; /* in order of name; no name is first */
	size_t count;
	struct tw_machines *of; /* machines of each response */
	size_t responses;
};

/* Text of an error; %s is "the response" or "the machine". */
#define TW_TRAIN_NO_DATA "no energy source and feature group of which %s has all metrics"

/* The order of names: no name (NULL) is first, and equals no name only. */
int tw_train_machine_compare(const char *a, const char *b);

/*
 * *out must be all zero; it is yours: tw_train_machines_release(). It borrows from the
 * job. TW_NOTFOUND if no response has the machine that the job names.
 */
int tw_train_machines_find(const struct tw_train_job *job, struct tw_train_machines *out,
			   struct tw_err *err);

/*
 * Set the specs and the node types of machines in order of name, by the job. TW_INVALID
 * if the job has a spec of a machine that is not among them.
 */
int tw_train_machines_settle(struct tw_train_machines *m, const struct tw_train_job *job,
			     struct tw_err *err);

/*
 * Whether to train on a source and group: the job names them, or names none and a
 * recording has both.
 */
bool tw_train_machine_wants(const struct tw_train_machine *m,
			    const struct tw_train_job *job,
			    const struct tw_energy_source *source,
			    const struct tw_feature_group *group);

/* Whether a recording has both, but of different exporters, which are not combined. */
bool tw_train_machine_apart(const struct tw_train_machine *m,
			    const struct tw_energy_source *source,
			    const struct tw_feature_group *group);

/*
 * A source of energy that is in the data but is not measured (lib/field/energy.h); NULL
 * if there is none.
 */
const struct tw_energy_source *
tw_train_machines_unmeasured(const struct tw_train_machines *m);

/* tw_extract_add_sources() of each recording. */
void tw_train_machines_add_sources(const struct tw_train_machines *m, struct tw_buf *out);

void tw_train_machines_release(struct tw_train_machines *m);

#endif /* TW_TRAINER_TRAIN_MACHINES_H */
