/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/auto_trials.h"

#include "estimator/predict/predictor.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/num.h"
#include "lib/field/feature.h"
#include "trainer/fit/fits.h"
#include "trainer/fit/validate.h"

#include <math.h>
#include <stdlib.h>

/* ---- columns and rows ---- */

static struct tw_rows rows_of(const struct tw_samples *s)
{
	return (struct tw_rows){
		.x = s->x, .rows = s->rows, .stride = s->cols, .time_ms = s->time_ms
	};
}

int tw_auto_rows_init(struct tw_auto_rows *out, const struct tw_samples *s,
		      double step_ms, size_t most, struct tw_err *err)
{
	const struct tw_rows in = rows_of(s);
	size_t count = 0;

	out->at = malloc((s->rows + 1) * sizeof(*out->at));
	if (out->at == NULL)
		return tw_fail(err, TW_NOMEM, "choice of %zu rows", s->rows);
	for (size_t r = 0; r < s->rows; r++)
		if (step_ms == 0.0 || tw_derived_history(&in, r, step_ms, 1) > 0)
			out->at[count++] = (uint32_t)r;
	out->count = count < most ? count : most;
	for (size_t i = 0; i < out->count; i++)
		out->at[i] = out->at[i * count / out->count];
	out->step_ms = step_ms;
	return 0;
}

int tw_auto_step(const struct tw_samples *s, double *step_ms, struct tw_err *err)
{
	int64_t *step;

	*step_ms = 0.0;
	if (s->time_ms == NULL || s->rows < 2)
		return 0;
	step = malloc(s->rows * sizeof(*step));
	if (step == NULL)
		return tw_fail(err, TW_NOMEM, "steps of %zu rows", s->rows);
	/* Unsigned, because steps of foreign time stamps may overflow. */
	for (size_t r = 1; r < s->rows; r++)
		step[r - 1] =
			(int64_t)((uint64_t)s->time_ms[r] - (uint64_t)s->time_ms[r - 1]);
	qsort(step, s->rows - 1, sizeof(*step), tw_compare_int64);
	*step_ms = fmax(0.0, (double)step[(s->rows - 1) / 2]);
	free(step);
	return 0;
}

/* The place of the load itself among the columns; SIZE_MAX: it is not there. */
static size_t find_load(const struct tw_auto_columns *c, size_t load)
{
	for (size_t k = 0; k < c->count; k++)
		if (c->at[k].feature == load && c->at[k].to == 0 &&
		    c->at[k].per == TW_DERIVED_NONE)
			return k;
	return SIZE_MAX;
}

/* Ratios of work, and earlier rows, keep their values on a ray. */
static bool is_work(const struct tw_samples *s, const struct tw_derived *d)
{
	return d->to == 0 && d->per == TW_DERIVED_NONE &&
	       tw_feature_is_work(s->features[d->feature]);
}

int tw_auto_design_init(struct tw_auto_design *out, const struct tw_samples *s,
			const struct tw_rest *rest, const struct tw_auto_rows *rows,
			const struct tw_auto_columns *c, struct tw_err *err)
{
	const struct tw_rows in = rows_of(s);

	out->x = malloc((rows->count * c->count + 1) * sizeof(*out->x));
	out->y = malloc((rows->count + 1) * sizeof(*out->y));
	out->work = malloc((c->count + 1) * sizeof(*out->work));
	out->names = malloc((c->count + 1) * sizeof(*out->names));
	out->name = malloc((c->count + 1) * sizeof(*out->name));
	if (out->x == NULL || out->y == NULL || out->work == NULL || out->names == NULL ||
	    out->name == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows of %zu columns", rows->count,
			       c->count);
	for (size_t i = 0; i < rows->count; i++) {
		const size_t r = rows->at[i];
		const size_t history = rows->step_ms > 0.0
					       ? tw_derived_history(&in, r, rows->step_ms,
								    TW_DERIVED_BACK_MAX)
					       : 0;

		for (size_t k = 0; k < c->count; k++) {
			const double v = tw_derived_value(&c->at[k], &in, r, history);

			out->x[i * c->count + k] =
				fmin(fmax(v, -TW_SAMPLE_MAX), TW_SAMPLE_MAX);
		}
		out->y[i] = s->y[r];
	}
	for (size_t k = 0; k < c->count; k++) {
		tw_derived_name(&c->at[k], s->features, out->names[k]);
		out->name[k] = out->names[k];
		out->work[k] = is_work(s, &c->at[k]);
	}
	out->samples = (struct tw_samples){ .rows = rows->count,
					    .cols = c->count,
					    .x = out->x,
					    .y = out->y,
					    .features = out->name,
					    .component = s->component,
					    .from_zero = s->from_zero,
					    .overlap = s->overlap,
					    .work = out->work };
	out->rest = *rest;
	out->rest.load = find_load(c, rest->load);
	if (out->rest.load != SIZE_MAX)
		out->samples.rest = &out->rest;
	return 0;
}

void tw_auto_design_release(struct tw_auto_design *d)
{
	free(d->x);
	free(d->y);
	free(d->work);
	free(d->names);
	free(d->name);
	*d = (struct tw_auto_design){ 0 };
}

/* ---- trials ---- */

/* A clearly better trial is better in at least this share of the inner folds. */
#define MOST_FOLDS 0.75
/* Rows of a fit, at most: as many as an inner fold leaves of TW_AUTO_ROWS_MAX. */
#define FIT_ROWS_MAX (TW_AUTO_ROWS_MAX / 4 * 3)

size_t tw_auto_folds(const struct tw_auto_trials *t)
{
	const size_t blocks = t->samples->blocks, rows = t->samples->rows;
	const size_t folds = blocks >= TW_AUTO_FOLDS && blocks <= TW_AUTO_FOLDS_MAX
				     ? blocks
				     : TW_AUTO_FOLDS;

	return rows < folds ? rows : folds;
}

static double mean_error(const struct tw_auto_trial *trial, const double *measured,
			 size_t from, size_t to)
{
	double mae = 0.0;

	for (size_t r = from; r < to; r++)
		mae += fabs(trial->predicted[r] - measured[r]) / (double)(to - from);
	return mae;
}

/* Let power rise from rest, as predict_ensemble.c does. */
static double rise(const struct tw_auto_trials *t, size_t row, double watts)
{
	const struct tw_samples *s = t->samples;
	const double load = s->x[t->rows.at[row] * s->cols + t->rest->load],
		     above = fmax(watts - t->rest->watts, 0.0);

	if (load <= 0.0)
		return t->rest->watts;
	return t->rest->watts +
	       (load < t->rest->low_load ? above * load / t->rest->low_load : above);
}

/* Find the power at rest outside inner fold k, once for all trials. */
static int find_rest(struct tw_auto_trials *t, struct tw_samples *outside, size_t k,
		     struct tw_err *err)
{
	outside->rest = NULL;
	if (!t->outside[k].known && tw_rest_find(outside, &t->outside[k].rest, err) < 0)
		return -1;
	t->outside[k].known = true;
	return 0;
}

/*
 * Fit the learner on the rows outside inner fold k, a block. All that it learns, the
 * power at rest and earlier rows too, is of these rows only.
 */
static int fit_outside(struct tw_auto_trials *t, const struct tw_auto_trial *trial,
		       struct tw_fold block, size_t k, struct tw_buf *text,
		       struct tw_err *err)
{
	struct tw_outside outside = { 0 };
	struct tw_auto_design d = { 0 };
	struct tw_auto_rows rows = { 0 };
	int rc = -1;

	if (tw_outside_init(&outside, t->samples, block, err) < 0)
		goto out;
	if (find_rest(t, &outside.samples, k, err) < 0 ||
	    tw_auto_rows_init(&rows, &outside.samples, t->rows.step_ms, FIT_ROWS_MAX,
			      err) < 0 ||
	    tw_auto_design_init(&d, &outside.samples, &t->outside[k].rest, &rows,
				&trial->columns, err) < 0)
		goto out;
	d.samples.unconstrained = trial->role == TW_AUTO_FREE;
	rc = tw_fits_fit(t->samples->fits, trial->learner, &d.samples, t->seed, text,
			 err);
out:
	tw_auto_design_release(&d);
	free(rows.at);
	tw_outside_release(&outside);
	return rc;
}

/* The trial's rows in a block of the samples. */
static struct tw_fold rows_in(const struct tw_auto_trials *t, struct tw_fold block)
{
	struct tw_fold f = { 0, 0 };

	while (f.from < t->rows.count && t->rows.at[f.from] < block.from)
		f.from++;
	f.to = f.from;
	while (f.to < t->rows.count && t->rows.at[f.to] < block.to)
		f.to++;
	return f;
}

/* Predict a block by the learner, fitted on the other blocks. */
static int validate_block(struct tw_auto_trials *t, struct tw_auto_trial *trial,
			  const struct tw_auto_design *d, size_t k, struct tw_err *err)
{
	const struct tw_fold block = tw_fold_at(t->samples->rows, tw_auto_folds(t), k);
	const struct tw_fold rows = rows_in(t, block);
	struct tw_buf text = { 0 };
	int rc = -1;

	if (fit_outside(t, trial, block, k, &text, err) < 0 ||
	    tw_validate_text(trial->learner, &d->samples, rows, &text,
			     trial->predicted + rows.from, NULL, err) < 0) {
		tw_err_wrap(err, "without rows %zu to %zu", block.from, block.to - 1);
		goto out;
	}
	for (size_t r = rows.from; r < rows.to && trial->role != TW_AUTO_FREE; r++)
		trial->predicted[r] = rise(t, r, trial->predicted[r]);
	trial->fold_mae[k] = mean_error(trial, d->y, rows.from, rows.to);
	rc = 0;
out:
	tw_buf_clear(&text);
	return rc;
}

static int validate(struct tw_auto_trials *t, struct tw_auto_trial *trial,
		    const struct tw_auto_design *d, struct tw_err *err)
{
	for (size_t k = 0; k < tw_auto_folds(t); k++)
		if (validate_block(t, trial, d, k, err) < 0)
			return -1;
	trial->mae = mean_error(trial, d->y, 0, t->rows.count);
	if (!isfinite(trial->mae))
		return tw_fail(err, TW_INVALID, "predictions are not finite");
	return 0;
}

static int add(struct tw_auto_trials *t, struct tw_err *err)
{
	if (!tw_grow(&t->at, &t->size, t->count, sizeof(*t->at)))
		return tw_fail(err, TW_NOMEM, "%zu trials", t->count);
	t->at[t->count++] = (struct tw_auto_trial){ 0 };
	return 0;
}

int tw_auto_try(struct tw_auto_trials *t, enum tw_auto_role role,
		const struct tw_trainer *learner, const struct tw_auto_columns *columns,
		size_t *place, struct tw_err *err)
{
	struct tw_auto_design d = { 0 };
	struct tw_auto_trial *trial;
	int rc = -1;

	if (add(t, err) < 0)
		return -1;
	trial = &t->at[t->count - 1];
	trial->role = role;
	trial->learner = learner;
	trial->columns = *columns;
	if (TW_NEW(trial->predicted, t->rows.count + 1, err) < 0 ||
	    tw_auto_design_init(&d, t->samples, t->rest, &t->rows, columns, err) < 0)
		goto out;
	d.samples.unconstrained = role == TW_AUTO_FREE;
	if (validate(t, trial, &d, &trial->err) < 0 && trial->err.code == TW_NOMEM) {
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

bool tw_auto_better(const struct tw_auto_trials *t, const struct tw_auto_trial *a,
		    const struct tw_auto_trial *b, double share)
{
	const size_t folds = tw_auto_folds(t);
	size_t smaller = 0;

	for (size_t f = 0; f < folds; f++)
		smaller += a->fold_mae[f] < b->fold_mae[f];
	return a->mae < share * b->mae && (double)smaller >= MOST_FOLDS * (double)folds;
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

/* ---- blends ---- */

/* An alternative's error must be below this share of the best preferred trial's. */
#define CLEARLY_BETTER 0.85

static bool is_preferred(const struct tw_auto_trial *at)
{
	return at->role == TW_AUTO_PREFERRED && at->err.code == TW_OK;
}

/* The best preferred trial; NULL if all failed. */
static const struct tw_auto_trial *best_preferred(const struct tw_auto_trials *t)
{
	const struct tw_auto_trial *best = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const struct tw_auto_trial *at = &t->at[i];

		if (is_preferred(at) && (best == NULL || at->mae < best->mae))
			best = at;
	}
	return best;
}

/* The alternative with the least error that is clearly better; SIZE_MAX: none is. */
static size_t find_alternative(const struct tw_auto_trials *t)
{
	const struct tw_auto_trial *preferred = best_preferred(t);
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < t->count; i++) {
		const struct tw_auto_trial *at = &t->at[i];

		if (at->role != TW_AUTO_ALTERNATIVE || at->err.code != TW_OK ||
		    (preferred != NULL &&
		     !tw_auto_better(t, at, preferred, CLEARLY_BETTER)))
			continue;
		if (best == SIZE_MAX || at->mae < t->at[best].mae)
			best = i;
	}
	return best;
}

double tw_auto_blend_row(const struct tw_auto_trials *t, const struct tw_auto_blend *b,
			 size_t row)
{
	double watts[TW_AUTO_MEMBERS_MAX], sum = 0.0;
	const size_t n = b->count;

	for (size_t i = 0; i < n; i++) {
		watts[i] = t->at[b->trial[i]].predicted[row];
		sum += b->weight[i] * watts[i];
	}
	if (!b->median)
		return sum;
	return tw_median(watts, n);
}

/*
 * A trial whose error exceeds this factor times the smallest takes no part. The median of
 * the few that rise bears a bad one; there are many free ones.
 */
#define DOMINATED 1.6
#define DOMINATED_FREE 1.25
/* Weights replace the median only if their error is below this share of its error. */
#define WEIGHTS_BELOW 0.95
/*
 * A bias above this share of the mean power counts as an error of its own. Medians of
 * power that has two levels, which weak features do not tell apart, have a small mean
 * error and a large bias. A model of twice this bias gets no certificate.
 */
#define BIAS_SHARE 0.025

/* Set the errors of the blend. */
static void judge(const struct tw_auto_trials *t, struct tw_auto_blend *b)
{
	const double rows = (double)t->rows.count;
	double bias = 0.0, mean = 0.0;

	b->mae = 0.0;
	for (size_t r = 0; r < t->rows.count; r++) {
		const double e = tw_auto_blend_row(t, b, r) - tw_auto_measured(t, r);

		b->mae += fabs(e) / rows;
		bias += e / rows;
		mean += tw_auto_measured(t, r) / rows;
	}
	b->cost = b->mae + fmax(fabs(bias) - BIAS_SHARE * fabs(mean), 0.0);
}

#define BLOCKS 20

bool tw_auto_blend_better(const struct tw_auto_trials *t, const struct tw_auto_blend *a,
			  const struct tw_auto_blend *b)
{
	const size_t blocks = t->rows.count < BLOCKS ? t->rows.count : BLOCKS;
	double mean = 0.0, squares = 0.0;

	for (size_t i = 0; i < blocks; i++) {
		const struct tw_fold f = tw_fold_at(t->rows.count, blocks, i);
		double d = 0.0;

		for (size_t r = f.from; r < f.to; r++)
			d += (fabs(tw_auto_blend_row(t, b, r) - tw_auto_measured(t, r)) -
			      fabs(tw_auto_blend_row(t, a, r) - tw_auto_measured(t, r))) /
			     (double)(f.to - f.from);
		mean += d / (double)blocks;
		squares += d * d / (double)blocks;
	}
	/* A difference within rounding does not count. */
	return blocks > 1 && mean > 1e-6 * b->mae &&
	       mean > sqrt(fmax(squares - mean * mean, 0.0) / (double)(blocks - 1));
}

static void add_member(struct tw_auto_blend *b, size_t trial)
{
	size_t i = 0;

	while (i < b->count && b->trial[i] != trial)
		i++;
	if (i == b->count) {
		b->trial[b->count] = trial;
		b->weight[b->count++] = 0.0;
	}
	b->weight[i] += 1.0 / TW_AUTO_MEMBERS_MAX;
}

/*
 * Weights by forward selection: a tenth at a time goes to the trial that makes the sum
 * best (R. Caruana et al., Ensemble Selection from Libraries of Models, ICML 2004).
 */
static void find_weights(const struct tw_auto_trials *t, const bool *usable,
			 struct tw_auto_blend *out)
{
	struct tw_auto_blend b = { 0 };

	for (size_t step = 0; step < TW_AUTO_MEMBERS_MAX; step++) {
		struct tw_auto_blend best = { .cost = HUGE_VAL };

		for (size_t i = 0; i < t->count; i++) {
			struct tw_auto_blend tried = b, scaled;

			if (!usable[i])
				continue;
			add_member(&tried, i);
			scaled = tried;
			for (size_t k = 0; k < tried.count; k++)
				scaled.weight[k] *=
					(double)TW_AUTO_MEMBERS_MAX / (double)(step + 1);
			judge(t, &scaled);
			if (scaled.cost < best.cost) {
				best = tried;
				best.cost = scaled.cost;
				best.mae = scaled.mae;
			}
		}
		b = best;
	}
	*out = b;
}

/* The median of the trials with the least errors. */
static void find_median(const struct tw_auto_trials *t, const bool *usable,
			struct tw_auto_blend *out)
{
	struct tw_auto_blend b = { .median = true };

	for (;;) {
		size_t best = SIZE_MAX;

		for (size_t i = 0; i < t->count; i++) {
			bool taken = !usable[i];

			for (size_t k = 0; k < b.count; k++)
				taken |= b.trial[k] == i;
			if (!taken &&
			    (best == SIZE_MAX || t->at[i].mae < t->at[best].mae))
				best = i;
		}
		if (best == SIZE_MAX || b.count == TW_AUTO_MEMBERS_MAX)
			break;
		b.trial[b.count++] = best;
	}
	for (size_t i = 0; i < b.count; i++)
		b.weight[i] = 1.0 / (double)b.count;
	judge(t, &b);
	*out = b;
}

static bool takes_part(const struct tw_auto_trials *t, size_t i, bool unbound,
		       size_t alternative)
{
	const struct tw_auto_trial *at = &t->at[i];

	if (alternative != SIZE_MAX)
		return i == alternative;
	return is_preferred(at) ||
	       (unbound && at->role == TW_AUTO_FREE && at->err.code == TW_OK);
}

int tw_auto_blend(const struct tw_auto_trials *t, bool unbound, struct tw_auto_blend *out,
		  struct tw_err *err)
{
	const size_t alternative = unbound ? SIZE_MAX : find_alternative(t);
	bool *usable = calloc(t->count + 1, sizeof(*usable));
	struct tw_auto_blend weights;
	double least = HUGE_VAL;

	if (usable == NULL)
		return tw_fail(err, TW_NOMEM, "blend of %zu trials", t->count);
	for (size_t i = 0; i < t->count; i++)
		if (takes_part(t, i, unbound, alternative))
			least = fmin(least, t->at[i].mae);
	for (size_t i = 0; i < t->count; i++)
		usable[i] =
			takes_part(t, i, unbound, alternative) &&
			t->at[i].mae <= (unbound ? DOMINATED_FREE : DOMINATED) * least;
	if (isfinite(least)) {
		find_median(t, usable, out);
		find_weights(t, usable, &weights);
		if (weights.cost < WEIGHTS_BELOW * out->cost &&
		    (out->cost > out->mae || tw_auto_blend_better(t, &weights, out)))
			*out = weights;
	}
	free(usable);
	return isfinite(least) ? 0
			       : tw_fail(err, t->at[0].err.code, "%s", t->at[0].err.text);
}
