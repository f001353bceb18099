/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_AUTO_TRIAL_H
#define TW_TRAINER_AUTO_TRIAL_H

/*
 * A trial: a learner on some columns, judged by inner blocked folds. Its rows are those
 * that AutoTrainer was given to fit on; whoever judges AutoTrainer holds others back.
 */

#include "lib/core/err.h"
#include "trainer/fit/auto_design.h"

#include <stdbool.h>

/* Inner folds: enough blocks to compare by, few enough to be quick. */
#define TW_AUTO_FOLDS 4

/* What may become of a trial. */
enum tw_auto_standing {
	TW_AUTO_USUAL, /* a member, if it is among the best */
	TW_AUTO_OTHER, /* only if it is plainly better than all usual ones */
	TW_AUTO_PROBE  /* none: it was to learn something */
};

struct tw_auto_trial {
	enum tw_auto_standing standing;
	const struct tw_trainer *learner;
	struct tw_auto_columns columns;
	double *predicted; /* of each row, by the fold that did not see it */
	double mae;
	double fold_mae[TW_AUTO_FOLDS]; /* of each inner fold */
	struct tw_err err; /* why it is out of the question; TW_OK: it is not */
};

struct tw_auto_trials {
	const struct tw_samples *samples;
	struct tw_auto_rows rows;
	uint64_t seed;
	struct tw_auto_trial *at;
	size_t count, size;
};

/*
 * Add one. Only a lack of memory is a failure: a learner that refuses the data
 * is a trial with an error. *place (may be NULL) is its number.
 */
int tw_auto_try(struct tw_auto_trials *t, enum tw_auto_standing standing,
		const struct tw_trainer *learner, const struct tw_auto_columns *columns,
		size_t *place, struct tw_err *err);

/*
 * Whether a trial is plainly better than another: its error is below that share of the
 * other's, and smaller in most inner folds. Both went well.
 */
bool tw_auto_better(const struct tw_auto_trial *a, const struct tw_auto_trial *b,
		    double share);

/* Measured power of the rows. */
double tw_auto_measured(const struct tw_auto_trials *t, size_t row);

void tw_auto_trials_release(struct tw_auto_trials *t);

#endif /* TW_TRAINER_AUTO_TRIAL_H */
