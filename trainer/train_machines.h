/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_MACHINES_H
#define TW_TRAINER_TRAIN_MACHINES_H

/*
 * The machines of a training: each with its name, what it is, its node type in the
 * pipeline, and its part of each response, which is the response that it alone would
 * give.
 */

#include "profiler/spec.h"
#include "trainer/extract/machines.h"

#include <stdbool.h>

struct tw_energy_source;
struct tw_err;
struct tw_feature_group;
struct tw_prom;
struct tw_train_job;

/* Most machines of one training. */
#define TW_TRAIN_MACHINES_MAX 1024

/* What one response has of a machine. */
struct tw_train_part {
	const struct tw_prom *response;
	size_t input;     /* index of the response in the job */
	bool one_machine; /* no series is of another machine; guests may be in it */
};

struct tw_train_machine {
	const char *name; /* a response's text, or the job's; NULL: not told */
	struct tw_machine_spec spec;
	size_t node_type;
	struct tw_train_part *part; /* in order of input; none where there are tables */
	size_t parts;
};

/* All zero bytes is none. */
struct tw_train_machines {
	struct tw_train_machine *at; /* in order of name; one without a name first */
	size_t count;
	struct tw_machines *of; /* of each response */
	size_t responses;
	struct tw_prom **own; /* taken apart */
	size_t owned;
};

/* For an error: the response, or a machine, without any data. */
#define TW_TRAIN_NO_DATA "no energy source and feature group of which %s has all metrics"

/* *out must be all zero; it is yours, and lives no longer than the job. */
int tw_train_machines_find(const struct tw_train_job *job, struct tw_train_machines *out,
			   struct tw_err *err);

/* Whether to train on a source and group: those of the job, or all that there are. */
bool tw_train_machine_wants(const struct tw_train_machine *m,
			    const struct tw_train_job *job,
			    const struct tw_energy_source *source,
			    const struct tw_feature_group *group);

void tw_train_machines_release(struct tw_train_machines *m);

#endif /* TW_TRAINER_TRAIN_MACHINES_H */
