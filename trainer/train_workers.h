/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_WORKERS_H
#define TW_TRAINER_TRAIN_WORKERS_H

/*
 * The rows of a tw_train_data that are spread over workers (lib/workers/workers.h): each
 * worker keeps its own. In a training of one process, these functions find all rows here.
 */

#include "trainer/fit/samples.h"

struct tw_err;
struct tw_train_data;
struct tw_train_job;

/*
 * Find the columns of t->d, and the place of its rows among those of all workers
 * (t->rows, ->first_row, ->first_ms and ->last_ms). Join what the workers found in their
 * recordings. A failure is kept in t->err; it is TW_INVALID unless the columns of all are
 * the same and their times ascend by rank.
 */
void tw_train_workers_place(struct tw_train_data *t, const struct tw_train_job *job);

/* The times of all rows, t->rows numbers, ms. */
int tw_train_workers_times(const struct tw_train_data *t, double *out,
			   struct tw_err *err);

/* Rows of all workers, here. */
struct tw_train_gathered {
	struct tw_samples samples; /* without y */
	double *x;
	int64_t *time_ms;
};

/*
 * Every step-th of all rows of a component. *out must be all zero; it is yours, on
 * failure too: tw_train_gathered_release().
 */
int tw_train_gather(const struct tw_train_data *t, size_t component, size_t step,
		    struct tw_train_gathered *out, struct tw_err *err);

void tw_train_gathered_release(struct tw_train_gathered *g);

#endif /* TW_TRAINER_TRAIN_WORKERS_H */
