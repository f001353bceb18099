/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/auto_trial.h"

#include "trainer/fit/validate.h"

#include <math.h>
#include <stdlib.h>

/* Inner folds in which a trial must be better to be plainly so. */
#define MOST_FOLDS 3

static double mean_error(const struct tw_auto_trial *trial, const double *measured,
			 size_t from, size_t to)
{
	double mae = 0.0;

	for (size_t r = from; r < to; r++)
		mae += fabs(trial->predicted[r] - measured[r]) / (double)(to - from);
	return mae;
}

static int judge(const struct tw_auto_trials *t, struct tw_auto_trial *trial,
		 const struct tw_auto_design *d, struct tw_err *err)
{
	const size_t rows = t->rows.count,
		     folds = rows < TW_AUTO_FOLDS ? rows : TW_AUTO_FOLDS;

	for (size_t f = 0; f < folds; f++) {
		const struct tw_fold fold = tw_fold_at(rows, folds, f);

		if (tw_validate_fold(trial->learner, &d->samples, fold, t->seed,
				     trial->predicted + fold.from, NULL, err) < 0)
			return -1;
		trial->fold_mae[f] = mean_error(trial, d->y, fold.from, fold.to);
	}
	trial->mae = mean_error(trial, d->y, 0, rows);
	if (!isfinite(trial->mae))
		return tw_fail(err, TW_INVALID, "predictions are no numbers");
	return 0;
}

static int add(struct tw_auto_trials *t, struct tw_err *err)
{
	struct tw_auto_trial *at;

	if (t->count == t->size) {
		const size_t size = t->size != 0 ? 2 * t->size : 32;

		at = realloc(t->at, size * sizeof(*at));
		if (at == NULL)
			return tw_fail(err, TW_NOMEM, "%zu trials", size);
		t->at = at;
		t->size = size;
	}
	t->at[t->count++] = (struct tw_auto_trial){ 0 };
	return 0;
}

int tw_auto_try(struct tw_auto_trials *t, enum tw_auto_standing standing,
		const struct tw_trainer *learner, const struct tw_auto_columns *columns,
		size_t *place, struct tw_err *err)
{
	struct tw_auto_design d = { 0 };
	struct tw_auto_trial *trial;
	int rc = -1;

	if (add(t, err) < 0)
		return -1;
	trial = &t->at[t->count - 1];
	trial->standing = standing;
	trial->learner = learner;
	trial->columns = *columns;
	trial->predicted = calloc(t->rows.count + 1, sizeof(*trial->predicted));
	if (trial->predicted == NULL) {
		tw_fail(err, TW_NOMEM, "predictions of %zu rows", t->rows.count);
		goto out;
	}
	if (tw_auto_design_init(&d, t->samples, &t->rows, columns, err) < 0)
		goto out;
	if (judge(t, trial, &d, &trial->err) < 0 && trial->err.code == TW_NOMEM) {
		*err = trial->err;
		goto out;
	}
	if (place != NULL)
		*place = t->count - 1;

	rc = 0;
out:
	tw_auto_design_release(&d);
	return rc;
}

bool tw_auto_better(const struct tw_auto_trial *a, const struct tw_auto_trial *b,
		    double share)
{
	size_t smaller = 0;

	for (size_t f = 0; f < TW_AUTO_FOLDS; f++)
		smaller += a->fold_mae[f] < b->fold_mae[f];
	return a->mae < share * b->mae && smaller >= MOST_FOLDS;
}

double tw_auto_measured(const struct tw_auto_trials *t, size_t row)
{
	return t->samples->y[t->rows.at[row]];
}

void tw_auto_trials_release(struct tw_auto_trials *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->at[i].predicted);
	free(t->at);
	free(t->rows.at);
	*t = (struct tw_auto_trials){ 0 };
}
