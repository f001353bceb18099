/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_scores.h"

#include "trainer/fit/validate.h"
#include "trainer/train_data.h"

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

/* The rows that blocks of time hold out: measured power, predictions, and load. */
struct held_out {
	double *measured, *load;
	const double *alone, *series; /* of s; series may be NULL */
};

static int find_held_out(const struct tw_train_scores *s, size_t c, struct held_out *out,
			 struct tw_err *err)
{
	const struct tw_train_data *d = s->data;
	const size_t main = tw_main_feature(d->feature, d->cols, d->component[c]);

	out->measured = malloc(2 * d->rows * sizeof(*out->measured));
	if (out->measured == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows to validate", d->rows);
	out->load = out->measured + d->rows;
	out->alone = tw_train_scores_held_out(s, 0, c);
	out->series = tw_train_scores_series(s, c);
	for (size_t f = 0; f < d->folds; f++) {
		const struct tw_samples samples = tw_train_data_samples(d, f, c);
		const struct tw_fold fold = tw_fold_at(d->rows, d->folds, f);

		for (size_t r = fold.from; r < fold.to; r++) {
			out->measured[r] = samples.y[r];
			out->load[r] = d->x[r * d->cols + main];
		}
	}
	return 0;
}

static int calibrate(struct tw_train_scores *s, size_t c, uint64_t seed,
		     const struct held_out *o, struct tw_err *err)
{
	const struct tw_samples samples =
		tw_train_data_samples(s->data, s->data->folds, c);
	const struct tw_train_held_out h = {
		.samples = &samples,
		.measured = o->measured,
		.alone = o->alone,
		.series = o->series,
		.folds = s->data->folds,
	};

	return tw_train_errors_fit(&h, seed, &s->errors[c], err);
}

static int score_component(struct tw_train_scores *s, size_t c, uint64_t seed,
			   struct tw_err *err)
{
	const struct tw_train_data *d = s->data;
	struct held_out o = { 0 };
	int rc = -1;

	if (find_held_out(s, c, &o, err) < 0)
		goto out;
	if (tw_score(o.measured, o.alone, o.load, d->rows, &s->score[c], err) < 0 ||
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
