/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_scores.h"

#include "lib/workers/workers.h"
#include "trainer/fit/validate.h"
#include "trainer/train_data.h"
#include "trainer/train_workers.h"

#include <stdlib.h>

int tw_train_scores_init(struct tw_train_scores *s, const struct tw_train_data *data,
			 bool series, struct tw_err *err)
{
	const size_t size = data->components * data->d.rows;

	s->data = data;
	s->predicted = calloc((1 + data->alts) * size + 1, sizeof(*s->predicted));
	if (series)
		s->predicted_series = calloc(size + 1, sizeof(*s->predicted_series));
	if (s->predicted == NULL || (series && s->predicted_series == NULL))
		return tw_fail(err, TW_NOMEM, "%zu rows to validate", data->d.rows);
	return 0;
}

double *tw_train_scores_held_out(const struct tw_train_scores *s, size_t alt, size_t c)
{
	return s->predicted + (alt * s->data->components + c) * s->data->d.rows;
}

double *tw_train_scores_series(const struct tw_train_scores *s, size_t c)
{
	return s->predicted_series != NULL ? s->predicted_series + c * s->data->d.rows
					   : NULL;
}

/* Rows of workers that intervals are calibrated on, at most: an even selection. */
#define CALIBRATE_ROWS_MAX 65536

/* Columns of all rows. */
struct held_out {
	double *measured, *predicted, *load;
	double *series; /* or NULL */
};

/* Power of each own row in the split that holds the row out. */
static void fill_measured(const struct tw_train_data *d, size_t c, double *measured)
{
	for (size_t f = 0; f < d->folds; f++) {
		const struct tw_samples s = tw_train_data_samples(d, f, c);
		const struct tw_fold own =
			tw_fold_own(&s, tw_fold_at(d->rows, d->folds, f));

		for (size_t r = own.from; r < own.to; r++)
			measured[r] = s.y[r];
	}
}

static int gather_held_out(const struct tw_train_scores *s, size_t c,
			   struct held_out *out, struct tw_err *err)
{
	const struct tw_train_data *d = s->data;
	const size_t main = tw_main_feature(d->feature, d->cols, d->component[c]);
	const struct tw_samples all = tw_train_data_samples(d, d->folds, c);
	const double *series = tw_train_scores_series(s, c);
	double *own = malloc((d->d.rows + 1) * sizeof(*own));
	int rc = -1;

	out->measured = malloc(4 * d->rows * sizeof(*out->measured));
	if (own == NULL || out->measured == NULL) {
		tw_fail(err, TW_NOMEM, "%zu rows to validate", d->rows);
		goto out;
	}
	out->predicted = out->measured + d->rows;
	out->load = out->predicted + d->rows;
	out->series = series != NULL ? out->load + d->rows : NULL;
	fill_measured(d, c, own);
	if (tw_workers_gather(d->workers, own, d->d.rows, out->measured, err) < 0 ||
	    tw_workers_gather(d->workers, tw_train_scores_held_out(s, 0, c), d->d.rows,
			      out->predicted, err) < 0 ||
	    tw_samples_column(&all, main, out->load, err) < 0 ||
	    (series != NULL &&
	     tw_workers_gather(d->workers, series, d->d.rows, out->series, err) < 0))
		goto out;

	rc = 0;
out:
	free(own);
	return rc;
}

/* Keep every step-th number. */
static void thin(double *v, size_t rows, size_t step)
{
	for (size_t r = 0; v != NULL && r * step < rows; r++)
		v[r] = v[r * step];
}

static int calibrate(struct tw_train_scores *s, size_t c, uint64_t seed,
		     const struct held_out *o, struct tw_err *err)
{
	const struct tw_train_data *d = s->data;
	const size_t step =
		d->workers != NULL ? (d->rows - 1) / CALIBRATE_ROWS_MAX + 1 : 1;
	const struct tw_samples own = tw_train_data_samples(d, d->folds, c);
	struct tw_train_gathered all = { 0 };
	const struct tw_train_held_out h = {
		.samples = d->workers != NULL ? &all.samples : &own,
		.measured = o->measured,
		.alone = o->predicted,
		.series = o->series,
		.folds = d->folds,
	};
	int status = 0;

	if (d->workers != NULL)
		status = tw_train_gather(d, c, step, &all, err);
	if (step > 1) {
		thin(o->measured, d->rows, step);
		thin(o->predicted, d->rows, step);
		thin(o->series, d->rows, step);
	}
	if (status == 0)
		status = tw_train_errors_fit(&h, seed, &s->errors[c], err);
	tw_train_gathered_release(&all);
	return status;
}

static int score_component(struct tw_train_scores *s, size_t c, uint64_t seed,
			   struct tw_err *err)
{
	const struct tw_train_data *d = s->data;
	struct held_out o = { 0 };
	int rc = -1;

	if (gather_held_out(s, c, &o, err) < 0)
		goto out;
	if (tw_score(o.measured, o.predicted, o.load, d->rows, &s->score[c], err) < 0 ||
	    (o.series != NULL && tw_score(o.measured, o.series, o.load, d->rows,
					  &s->score_series[c], err) < 0) ||
	    calibrate(s, c, seed, &o, err) < 0) {
		tw_err_wrap(err, "%s", tw_component_name(d->component[c]));
		goto out;
	}

	rc = 0;
out:
	free(o.measured);
	return rc;
}

/* The rows that alternative folds hold out. */
struct scored {
	double *measured, *predicted, *load;
	size_t rows;
};

static int gather(const struct tw_train_scores *s, size_t alt, size_t c,
		  struct scored *out, struct tw_err *err)
{
	const struct tw_train_data *d = s->data;
	const struct tw_folds *f = &d->alt[alt];
	const size_t main = tw_main_feature(d->feature, d->cols, d->component[c]);
	const size_t first = tw_train_data_alt_first(d, alt);

	out->measured = calloc(3 * d->d.rows + 1, sizeof(*out->measured));
	if (out->measured == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows to validate", d->d.rows);
	out->predicted = out->measured + d->d.rows;
	out->load = out->predicted + d->d.rows;
	for (size_t r = 0; r < d->d.rows; r++) {
		if (f->of[r] == TW_FOLD_NONE)
			continue;
		out->measured[out->rows] =
			tw_train_data_samples(d, first + f->of[r], c).y[r];
		out->predicted[out->rows] = tw_train_scores_held_out(s, 1 + alt, c)[r];
		out->load[out->rows++] = d->x[r * d->cols + main];
	}
	return 0;
}

static int score_alt_component(struct tw_train_scores *s, size_t alt, size_t c,
			       struct tw_err *err)
{
	struct scored j = { 0 };
	int rc = -1;

	if (gather(s, alt, c, &j, err) < 0)
		goto out;
	if (tw_score(j.measured, j.predicted, j.load, j.rows, &s->alt[alt][c], err) < 0) {
		tw_err_wrap(err, "%s", tw_component_name(s->data->component[c]));
		goto out;
	}

	rc = 0;
out:
	free(j.measured);
	return rc;
}

/* A failure leaves these scores out of the model's metadata. */
static void score_alt(struct tw_train_scores *s, size_t alt,
		      const struct tw_err *step_err)
{
	const size_t each = tw_train_data_splits(s->data);
	struct tw_err *err = &s->alt_err[alt];

	for (size_t c = 0; c < s->data->components; c++) {
		for (size_t v = s->data->folds + 1; v < each; v++) {
			const struct tw_err *why = &step_err[c * each + v];
			uint32_t fold;

			if (why->code != TW_OK &&
			    tw_train_data_alt(s->data, v, &fold) == alt) {
				*err = *why;
				return;
			}
		}
		if (score_alt_component(s, alt, c, err) < 0)
			return;
	}
}

int tw_train_scores_compute(struct tw_train_scores *s, const struct tw_err *step_err,
			    uint64_t seed, struct tw_err *err)
{
	for (size_t c = 0; c < s->data->components; c++)
		if (score_component(s, c, seed, err) < 0)
			return -1;
	for (size_t i = 0; i < s->data->alts; i++)
		score_alt(s, i, step_err);
	return 0;
}

void tw_train_scores_drop(struct tw_train_scores *s)
{
	free(s->predicted);
	free(s->predicted_series);
	s->predicted = NULL;
	s->predicted_series = NULL;
}

void tw_train_scores_release(struct tw_train_scores *s)
{
	tw_train_scores_drop(s);
	for (size_t c = 0; c < TW_COMPONENT_COUNT; c++)
		tw_train_errors_release(&s->errors[c]);
}
