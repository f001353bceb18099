/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_FOLDS_H
#define TW_TRAINER_FOLDS_H

/*
 * Other ways to keep rows from the models that predict them than blocks of time
 * (docs/accuracy.md): one workload left out, and shuffled rows, which are there to
 * compare with others' tables and for nothing else.
 */

#include "lib/core/strs.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_samples;
struct tw_trainer;
struct tw_workload_runs;

/* Of a row that is predicted in no fold: it always trains. */
#define TW_FOLD_NONE UINT32_MAX

/* All zero bytes is none. */
struct tw_folds {
	const char *scheme; /* "workload", "shuffled": part of the metadata's keys */
	size_t count;
	uint32_t *of;         /* the fold of each row */
	struct tw_strs names; /* of the workloads, one a fold; else none */
};

/*
 * A fold for each workload that has rows. Two at least are wanted, or one and rows of
 * none: TW_INVALID. *out must be all zero; it is yours. So with the others.
 */
int tw_folds_by_workload(const struct tw_workload_runs *w, const int64_t *time_ms,
			 size_t rows, struct tw_folds *out, struct tw_err *err);

/* A fold for each recording; names has one for each number in `recording`. */
int tw_folds_by_recording(const uint32_t *recording, const char *const *names,
			  size_t count, size_t rows, struct tw_folds *out,
			  struct tw_err *err);

/* By a permutation that follows from the seed; sizes differ by one row at most. */
int tw_folds_shuffled(size_t rows, size_t folds, uint64_t seed, struct tw_folds *out,
		      struct tw_err *err);

void tw_folds_release(struct tw_folds *f);

/*
 * As tw_validate_fold(): fit on the rows outside of fold k and predict those in it. Only
 * their places of predicted, which has s->rows, are written.
 */
int tw_folds_validate(const struct tw_folds *f, uint32_t k, const struct tw_trainer *t,
		      const struct tw_samples *s, uint64_t seed, double *predicted,
		      struct tw_err *err);

#endif /* TW_TRAINER_FOLDS_H */
