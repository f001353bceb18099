/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_MACHINES_H
#define TW_TRAINER_TRAIN_MACHINES_H

/*
 * The machines of a training: their names, and the response as each alone would give
 * it. A machine's place is its node type.
 */

#include "trainer/machines.h"

#include <stdbool.h>

struct tw_energy_source;
struct tw_err;
struct tw_feature_group;
struct tw_prom;
struct tw_train_job;

/* Most machines of one pipeline. */
#define TW_TRAIN_MACHINES_MAX 1024

/* All zero bytes is none. */
struct tw_train_machines {
	struct tw_machines all;
	const struct tw_prom *whole;
	struct tw_prom **one; /* NULL: there is one machine, and the response is its */
	const char *named;    /* the one that was asked for, or NULL */
	size_t count;
};

/* *out must be all zero; it is yours. Without a response there are none. */
int tw_train_machines_find(const struct tw_train_job *job, struct tw_train_machines *out,
			   struct tw_err *err);

/* Borrowed. */
const struct tw_prom *tw_train_machines_response(const struct tw_train_machines *m,
						 size_t i);

/* NULL where the response does not tell; else its text. */
const char *tw_train_machines_name(const struct tw_train_machines *m, size_t i);

/* Whether to train on a source and group: those of the job, or all that there are. */
bool tw_train_machines_wants(const struct tw_train_machines *m, size_t i,
			     const struct tw_train_job *job,
			     const struct tw_energy_source *source,
			     const struct tw_feature_group *group);

void tw_train_machines_release(struct tw_train_machines *m);

#endif /* TW_TRAINER_TRAIN_MACHINES_H */
