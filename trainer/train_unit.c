/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_unit.h"

#include "estimator/predict/certificate.h"
#include "estimator/predict/power_model.h"
#include "model-db/pipeline.h"
#include "model-db/validation.h"
#include "trainer/fit/samples.h"
#include "trainer/fit/validate.h"
#include "trainer/train.h"
#include "trainer/train_model.h"

#include <stdlib.h>
#include <string.h>

#define CERTIFICATE_ROWS 16

void tw_train_unit_init(struct tw_train_unit *u, const struct tw_train_data *data,
			const struct tw_trainer *trainer)
{
	u->data = data;
	u->trainer = trainer;
	u->err = data->err;
	if (u->err.code != TW_OK)
		return;
	u->step_err = calloc(data->components * tw_train_data_views(data),
			     sizeof(*u->step_err));
	u->predicted = calloc((1 + data->extras) * data->components * data->d.rows,
			      sizeof(*u->predicted));
	if (u->step_err == NULL || u->predicted == NULL)
		tw_fail(&u->err, TW_NOMEM, "%s", trainer->name);
	if (tw_predictor_find(trainer->predictor)->back == NULL)
		return;
	u->predicted_series =
		calloc(data->components * data->d.rows, sizeof(*u->predicted_series));
	if (u->predicted_series == NULL)
		tw_fail(&u->err, TW_NOMEM, "%s", trainer->name);
}

size_t tw_train_unit_steps(const struct tw_train_unit *u)
{
	return u->err.code == TW_OK ? u->data->components * tw_train_data_views(u->data)
				    : 0;
}

/* What was predicted of a component: of the blocks of time, or of extra - 1. */
static double *predicted_of(const struct tw_train_unit *u, size_t extra, size_t c)
{
	return u->predicted + (extra * u->data->components + c) * u->data->d.rows;
}

static void step_extra(struct tw_train_unit *u, size_t view, size_t c,
		       const struct tw_train_job *job, struct tw_err *err)
{
	const struct tw_samples s = tw_train_data_samples(u->data, view, c);
	uint32_t fold;
	const size_t extra = tw_train_data_extra(u->data, view, &fold);

	tw_folds_validate(&u->data->extra[extra], fold, u->trainer, &s, job->seed,
			  predicted_of(u, 1 + extra, c), err);
}

void tw_train_unit_step(struct tw_train_unit *u, size_t step,
			const struct tw_train_job *job)
{
	const struct tw_train_data *d = u->data;
	const size_t views = tw_train_data_views(d);
	const size_t c = step / views, f = step % views;
	const struct tw_samples s = tw_train_data_samples(d, f, c);
	struct tw_err *err = &u->step_err[step];
	double *series = NULL;
	struct tw_fold fold;

	if (f > d->folds) {
		step_extra(u, f, c, job, err);
	} else if (f == d->folds) {
		tw_validate_fit(u->trainer, &s, job->seed, &u->text[c], err);
	} else {
		fold = tw_fold_at(d->d.rows, d->folds, f);
		if (u->predicted_series != NULL)
			series = u->predicted_series + c * d->d.rows + fold.from;
		tw_validate_fold(u->trainer, &s, fold, job->seed,
				 predicted_of(u, 0, c) + fold.from, series, err);
	}
	if (err->code != TW_OK)
		tw_err_wrap(err, "%s", tw_component_name(d->component[c]));
}

/* Power of each row as its fold saw it. */
static void fill_measured(const struct tw_train_data *d, size_t c, double *measured)
{
	for (size_t f = 0; f < d->folds; f++) {
		const struct tw_fold fold = tw_fold_at(d->d.rows, d->folds, f);
		const struct tw_samples s = tw_train_data_samples(d, f, c);

		for (size_t r = fold.from; r < fold.to; r++)
			measured[r] = s.y[r];
	}
}

static int judge_component(struct tw_train_unit *u, size_t c, struct tw_err *err)
{
	const struct tw_train_data *d = u->data;
	const size_t rows = d->d.rows;
	const size_t main = tw_main_feature(d->feature, d->cols, d->component[c]);
	double *measured = malloc(2 * rows * sizeof(*measured)), *load;
	int rc = -1;

	if (measured == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows to judge by", rows);
	load = measured + rows;
	tw_train_data_feature(d, main, load);
	fill_measured(d, c, measured);
	if (tw_score(measured, predicted_of(u, 0, c), load, rows, &u->score[c], err) <
		    0 ||
	    (u->predicted_series != NULL &&
	     tw_score(measured, u->predicted_series + c * rows, load, rows,
		      &u->score_series[c], err) < 0)) {
		tw_err_wrap(err, "%s", tw_component_name(d->component[c]));
		goto out;
	}

	rc = 0;
out:
	free(measured);
	return rc;
}

static int add_load(const struct tw_train_data *d, size_t c, struct tw_dataset *to,
		    struct tw_err *err)
{
	const size_t main = tw_main_feature(d->feature, d->cols, d->component[c]);
	double *v;

	if (tw_dataset_find(to, d->feature[main]) != NULL)
		return 0;
	if (tw_dataset_add(to, d->feature[main], &v, err) < 0)
		return -1;
	for (size_t i = 0; i < to->rows; i++)
		v[i] = d->x[tw_validation_row(d->d.rows, i) * d->cols + main];
	return 0;
}

/* Times of the rows that are kept, and their folds, which are blocks in order. */
static void fill_folds(const struct tw_train_data *d, struct tw_dataset *v, double *fold)
{
	size_t f = 0;

	for (size_t i = 0; i < v->rows; i++) {
		const size_t row = tw_validation_row(d->d.rows, i);

		while (row >= tw_fold_at(d->d.rows, d->folds, f).to)
			f++;
		v->time_ms[i] = d->d.time_ms[row];
		fold[i] = (double)f;
	}
}

/* model-db/validation.h; of those rows only that it keeps. */
static int fill_validation(const struct tw_train_unit *u, struct tw_dataset *v,
			   struct tw_err *err)
{
	const struct tw_train_data *d = u->data;
	const size_t rows = d->d.rows;
	double *fold, *measured, *predicted;

	if (tw_dataset_init(v, tw_validation_rows(rows), false, err) < 0 ||
	    tw_dataset_add(v, "fold", &fold, err) < 0)
		return -1;
	fill_folds(d, v, fold);
	for (size_t c = 0; c < d->components; c++)
		if (add_load(d, c, v, err) < 0)
			return -1;
	for (size_t c = 0; c < d->components; c++) {
		if (tw_dataset_add(v, tw_power_column(d->component[c]), &measured, err) <
			    0 ||
		    tw_dataset_add(v, tw_validation_column(d->component[c]), &predicted,
				   err) < 0)
			return -1;
		for (size_t i = 0; i < v->rows; i++) {
			const size_t row = tw_validation_row(rows, i);

			measured[i] = tw_train_data_samples(d, (size_t)fold[i], c).y[row];
			predicted[i] = predicted_of(u, 0, c)[row];
		}
	}
	return 0;
}

static int add_validation(struct tw_train_unit *u, struct tw_err *err)
{
	struct tw_dataset v = { 0 };
	struct tw_buf b = { 0 };
	char *text;
	size_t len;
	int rc = -1;

	if (fill_validation(u, &v, err) < 0 || tw_validation_write(&v, &b, err) < 0)
		goto out;
	text = tw_buf_detach(&b, &len);
	if (text == NULL) {
		tw_fail(err, TW_NOMEM, "validation of %s", u->model.info.name);
		goto out;
	}
	if (tw_pipeline_take_validation(&u->files, &u->model, text, len, err) < 0)
		goto out;

	rc = 0;
out:
	tw_buf_clear(&b);
	tw_dataset_release(&v);
	return rc;
}

/* The first failure of a step; of a component's, that of the whole, whose rows are the
 * data's. */
static const struct tw_err *find_failure(const struct tw_train_unit *u)
{
	const size_t each = tw_train_data_views(u->data);

	for (size_t c = 0; c < u->data->components; c++)
		for (size_t f = u->data->folds + 1; f-- > 0;)
			if (u->step_err[c * each + f].code != TW_OK)
				return &u->step_err[c * each + f];
	return NULL;
}

/* ---- other folds ---- */

/* The rows that a fold of extra has predicted, for the score. */
struct judged {
	double *measured, *predicted, *load;
	size_t rows;
};

static int gather(const struct tw_train_unit *u, size_t extra, size_t c,
		  struct judged *out, struct tw_err *err)
{
	const struct tw_train_data *d = u->data;
	const struct tw_folds *f = &d->extra[extra];
	const size_t main = tw_main_feature(d->feature, d->cols, d->component[c]);
	size_t first = d->folds + 1;

	out->measured = calloc(3 * d->d.rows + 1, sizeof(*out->measured));
	if (out->measured == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows to judge by", d->d.rows);
	out->predicted = out->measured + d->d.rows;
	out->load = out->predicted + d->d.rows;
	for (size_t i = 0; i < extra; i++)
		first += d->extra[i].count;
	for (size_t r = 0; r < d->d.rows; r++) {
		if (f->of[r] == TW_FOLD_NONE)
			continue;
		out->measured[out->rows] =
			tw_train_data_samples(d, first + f->of[r], c).y[r];
		out->predicted[out->rows] = predicted_of(u, 1 + extra, c)[r];
		out->load[out->rows++] = d->x[r * d->cols + main];
	}
	return 0;
}

static int judge_extra_component(struct tw_train_unit *u, size_t extra, size_t c,
				 struct tw_err *err)
{
	struct judged j = { 0 };
	int rc = -1;

	if (gather(u, extra, c, &j, err) < 0)
		goto out;
	if (tw_score(j.measured, j.predicted, j.load, j.rows, &u->extra[extra][c], err) <
	    0) {
		tw_err_wrap(err, "%s", tw_component_name(u->data->component[c]));
		goto out;
	}

	rc = 0;
out:
	free(j.measured);
	return rc;
}

/* A failure leaves the model without these figures, and no more than that. */
static void judge_extra(struct tw_train_unit *u, size_t extra)
{
	const size_t each = tw_train_data_views(u->data);
	struct tw_err *err = &u->extra_err[extra];

	for (size_t c = 0; c < u->data->components; c++) {
		for (size_t v = u->data->folds + 1; v < each; v++) {
			const struct tw_err *why = &u->step_err[c * each + v];
			uint32_t fold;

			if (why->code != TW_OK &&
			    tw_train_data_extra(u->data, v, &fold) == extra) {
				*err = *why;
				return;
			}
		}
		if (judge_extra_component(u, extra, c, err) < 0)
			return;
	}
}

/* On rays to the corners of the data and to some of its rows, from first to last. */
static int add_certificate(struct tw_train_unit *u, struct tw_err *err)
{
	const struct tw_train_data *d = u->data;
	const size_t count = d->d.rows < CERTIFICATE_ROWS ? d->d.rows : CERTIFICATE_ROWS;
	double *rows = calloc(count * d->cols, sizeof(*rows));
	struct tw_power_model *p = NULL;
	struct tw_certificate c;
	int rc = -1;

	if (rows == NULL) {
		tw_fail(err, TW_NOMEM, "certificate of %s", u->model.info.name);
		goto out;
	}
	for (size_t i = 0; i < count; i++)
		memcpy(rows + i * d->cols, d->x + i * d->d.rows / count * d->cols,
		       d->cols * sizeof(*rows));
	if (tw_power_model_borrow(&u->model, &p, err) < 0 ||
	    tw_certify(p, rows, count, &c, err) < 0 ||
	    tw_certificate_write(&c, u->model.info.metadata, err) < 0)
		goto out;

	rc = 0;
out:
	tw_power_model_free(p);
	free(rows);
	return rc;
}

static void finish(struct tw_train_unit *u, const struct tw_train_job *job)
{
	const struct tw_err *failure;

	failure = find_failure(u);
	if (failure != NULL) {
		u->err = *failure;
		return;
	}
	for (size_t c = 0; c < u->data->components; c++)
		if (judge_component(u, c, &u->err) < 0)
			return;
	for (size_t i = 0; i < u->data->extras; i++)
		judge_extra(u, i);
	if (tw_train_model(u, job, &u->model, &u->err) < 0)
		return;
	if (add_certificate(u, &u->err) < 0 ||
	    tw_pipeline_add_model(&u->files, &u->model, &u->err) < 0)
		return;
	add_validation(u, &u->err);
}

void tw_train_unit_finish(struct tw_train_unit *u, const struct tw_train_job *job)
{
	if (u->err.code == TW_OK)
		finish(u, job);
	free(u->step_err);
	free(u->predicted);
	u->step_err = NULL;
	u->predicted = NULL;
}

void tw_train_unit_release(struct tw_train_unit *u)
{
	for (size_t c = 0; c < TW_COMPONENT_COUNT; c++)
		tw_buf_clear(&u->text[c]);
	free(u->step_err);
	free(u->predicted);
	free(u->predicted_series);
	tw_model_release(&u->model);
	tw_fileset_clear(&u->files);
	*u = (struct tw_train_unit){ 0 };
}
