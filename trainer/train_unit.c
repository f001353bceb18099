/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_unit.h"

#include "estimator/predict/certificate.h"
#include "estimator/predict/power_model.h"
#include "lib/core/buf.h"
#include "lib/json/json.h"
#include "model-db/fitness.h"
#include "model-db/model.h"
#include "model-db/pipeline.h"
#include "model-db/validation.h"
#include "trainer/extract/smooth.h"
#include "trainer/fit/model_score.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/samples.h"
#include "trainer/fit/validate.h"
#include "trainer/train_job.h"
#include "trainer/train_machines.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CERTIFICATE_ROWS 64

void tw_train_unit_init(struct tw_train_unit *u, const struct tw_train_data *data,
			const struct tw_trainer *trainer)
{
	u->data = data;
	u->trainer = trainer;
	u->err = data->err;
	if (u->err.code != TW_OK)
		return;
	u->step_err = calloc(data->components * tw_train_data_splits(data),
			     sizeof(*u->step_err));
	u->predicted = calloc((1 + data->alts) * data->components * data->d.rows,
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
	return u->err.code == TW_OK ? u->data->components * tw_train_data_splits(u->data)
				    : 0;
}

/* Predictions of a component: of the blocks of time (alt 0), or of the folds alt - 1. */
static double *predicted_of(const struct tw_train_unit *u, size_t alt, size_t c)
{
	return u->predicted + (alt * u->data->components + c) * u->data->d.rows;
}

static void validate_alt(struct tw_train_unit *u, size_t split, size_t c,
			 const struct tw_train_job *job, struct tw_err *err)
{
	const struct tw_samples s = tw_train_data_samples(u->data, split, c);
	uint32_t fold;
	const size_t alt = tw_train_data_alt(u->data, split, &fold);

	tw_folds_validate(&u->data->alt[alt], fold, u->trainer, &s, job->seed,
			  predicted_of(u, 1 + alt, c), err);
}

void tw_train_unit_step(struct tw_train_unit *u, size_t step,
			const struct tw_train_job *job)
{
	const struct tw_train_data *d = u->data;
	const size_t splits = tw_train_data_splits(d);
	const size_t c = step / splits, f = step % splits;
	const struct tw_samples s = tw_train_data_samples(d, f, c);
	struct tw_err *err = &u->step_err[step];
	double *series = NULL;
	struct tw_fold fold;

	if (f > d->folds) {
		validate_alt(u, f, c, job, err);
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

/* Power of each row in the split that holds the row out. */
static void fill_measured(const struct tw_train_data *d, size_t c, double *measured)
{
	for (size_t f = 0; f < d->folds; f++) {
		const struct tw_fold fold = tw_fold_at(d->d.rows, d->folds, f);
		const struct tw_samples s = tw_train_data_samples(d, f, c);

		for (size_t r = fold.from; r < fold.to; r++)
			measured[r] = s.y[r];
	}
}

static int calibrate(struct tw_train_unit *u, size_t c, const struct tw_train_job *job,
		     const double *measured, struct tw_err *err)
{
	const struct tw_train_data *d = u->data;
	const struct tw_samples s = tw_train_data_samples(d, d->folds, c);
	const struct tw_train_held_out h = {
		.samples = &s,
		.measured = measured,
		.alone = predicted_of(u, 0, c),
		.series = u->predicted_series != NULL
				  ? u->predicted_series + c * d->d.rows
				  : NULL,
		.folds = d->folds,
	};

	return tw_train_errors_fit(&h, job->seed, &u->errors[c], err);
}

static int score_component(struct tw_train_unit *u, size_t c,
			   const struct tw_train_job *job, struct tw_err *err)
{
	const struct tw_train_data *d = u->data;
	const size_t rows = d->d.rows;
	const size_t main = tw_main_feature(d->feature, d->cols, d->component[c]);
	double *measured = malloc(2 * rows * sizeof(*measured)), *load;
	int rc = -1;

	if (measured == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows to validate", rows);
	load = measured + rows;
	tw_train_data_feature(d, main, load);
	fill_measured(d, c, measured);
	if (tw_score(measured, predicted_of(u, 0, c), load, rows, &u->score[c], err) <
		    0 ||
	    (u->predicted_series != NULL &&
	     tw_score(measured, u->predicted_series + c * rows, load, rows,
		      &u->score_series[c], err) < 0) ||
	    calibrate(u, c, job, measured, err) < 0) {
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

/* Set times and folds of the rows that validation keeps. Blocks are in order of time. */
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

/* Fill the table of model-db/validation.h with the rows that it keeps. */
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

/*
 * The first failure of a step. Of one component, the fit on all rows comes first: row
 * numbers in its text are those of the data.
 */
static const struct tw_err *find_failure(const struct tw_train_unit *u)
{
	const size_t each = tw_train_data_splits(u->data);

	for (size_t c = 0; c < u->data->components; c++)
		for (size_t f = u->data->folds + 1; f-- > 0;)
			if (u->step_err[c * each + f].code != TW_OK)
				return &u->step_err[c * each + f];
	return NULL;
}

/* ---- scores of alternative folds ---- */

/* The rows that alternative folds hold out. */
struct scored {
	double *measured, *predicted, *load;
	size_t rows;
};

/* The first split of alternative folds. */
static size_t alt_split(const struct tw_train_data *d, size_t alt)
{
	size_t first = d->folds + 1;

	for (size_t i = 0; i < alt; i++)
		first += d->alt[i].count;
	return first;
}

static int gather(const struct tw_train_unit *u, size_t alt, size_t c, struct scored *out,
		  struct tw_err *err)
{
	const struct tw_train_data *d = u->data;
	const struct tw_folds *f = &d->alt[alt];
	const size_t main = tw_main_feature(d->feature, d->cols, d->component[c]);
	const size_t first = alt_split(d, alt);

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
		out->predicted[out->rows] = predicted_of(u, 1 + alt, c)[r];
		out->load[out->rows++] = d->x[r * d->cols + main];
	}
	return 0;
}

static int score_alt_component(struct tw_train_unit *u, size_t alt, size_t c,
			       struct tw_err *err)
{
	struct scored j = { 0 };
	int rc = -1;

	if (gather(u, alt, c, &j, err) < 0)
		goto out;
	if (tw_score(j.measured, j.predicted, j.load, j.rows, &u->alt[alt][c], err) < 0) {
		tw_err_wrap(err, "%s", tw_component_name(u->data->component[c]));
		goto out;
	}

	rc = 0;
out:
	free(j.measured);
	return rc;
}

/* A failure leaves these scores out of the model's metadata. */
static void score_alt(struct tw_train_unit *u, size_t alt)
{
	const size_t each = tw_train_data_splits(u->data);
	struct tw_err *err = &u->alt_err[alt];

	for (size_t c = 0; c < u->data->components; c++) {
		for (size_t v = u->data->folds + 1; v < each; v++) {
			const struct tw_err *why = &u->step_err[c * each + v];
			uint32_t fold;

			if (why->code != TW_OK &&
			    tw_train_data_alt(u->data, v, &fold) == alt) {
				*err = *why;
				return;
			}
		}
		if (score_alt_component(u, alt, c, err) < 0)
			return;
	}
}

/* ---- certificate ---- */

/* The power at rest of each component; *refused: why the rows support no certificate. */
static int find_evidence(const struct tw_train_unit *u, struct tw_rest_evidence *out,
			 const char **refused, struct tw_err *err)
{
	const struct tw_train_data *d = u->data;

	*refused = d->cpu_time_incomplete ? TW_REFUSED_CPU_TIME : NULL;
	for (size_t c = 0; c < d->components; c++) {
		const struct tw_samples s = tw_train_data_samples(d, d->folds, c);
		struct tw_rest rest;

		if (tw_rest_find(&s, &rest, err) < 0)
			return -1;
		out[c] = (struct tw_rest_evidence){
			.low = rest.low,
			.high = rest.high,
			.rested = rest.rested,
			.load = d->feature[rest.load],
			.low_load = rest.low_load,
		};
		if (d->output == TW_DYN_POWER)
			out[c].low = out[c].high = 0.0;
		if (!rest.shown && *refused == NULL)
			*refused = TW_REFUSED_NO_REST;
	}
	return 0;
}

static int write_certificate(struct tw_train_unit *u, const struct tw_certificate *c,
			     const char *refused, struct tw_err *err)
{
	json_t *metadata = u->model.info.metadata;

	if (tw_certificate_write(c, metadata, err) < 0)
		return -1;
	if (refused != NULL && json_object_set_new(metadata, TW_CERTIFICATE_REFUSED,
						   json_string(refused)) < 0)
		return tw_fail(err, TW_NOMEM, "certificate");
	return 0;
}

/* Certify the model on rays to the corners of the data and to rows spread over it. */
static int add_certificate(struct tw_train_unit *u, struct tw_err *err)
{
	const struct tw_train_data *d = u->data;
	const size_t count = d->d.rows < CERTIFICATE_ROWS ? d->d.rows : CERTIFICATE_ROWS;
	double *rows = calloc(count * d->cols, sizeof(*rows));
	struct tw_rest_evidence evidence[TW_COMPONENT_COUNT];
	struct tw_power_model *p = NULL;
	struct tw_certificate c;
	const char *refused;
	int rc = -1;

	if (rows == NULL) {
		tw_fail(err, TW_NOMEM, "certificate of %s", u->model.info.name);
		goto out;
	}
	for (size_t i = 0; i < count; i++)
		memcpy(rows + i * d->cols, d->x + i * d->d.rows / count * d->cols,
		       d->cols * sizeof(*rows));
	if (tw_power_model_borrow(&u->model, &p, err) < 0 ||
	    find_evidence(u, evidence, &refused, err) < 0 ||
	    tw_certify(p, rows, count, evidence, &c, err) < 0 ||
	    write_certificate(u, &c, refused, err) < 0)
		goto out;

	rc = 0;
out:
	tw_power_model_free(p);
	free(rows);
	return rc;
}

/* Judge the model by the rows after the job's share, which it did not see. */
static int judge_later(struct tw_train_unit *u, struct tw_err *err)
{
	struct tw_power_model *p = NULL;
	struct tw_model_score s;
	int rc = -1;

	u->later_mae_w = u->later_mape_percent = NAN;
	if (u->data->later.rows == 0)
		return 0;
	if (tw_power_model_borrow(&u->model, &p, err) < 0 ||
	    tw_model_score(p, &u->data->later, &s, err) < 0)
		goto out;
	for (size_t c = 0; c < s.components; c++) {
		u->later_mae_w = fmax(u->later_mae_w, s.score[c].mae);
		u->later_mape_percent = fmax(u->later_mape_percent, s.score[c].mape);
	}
	rc = 0;
out:
	tw_power_model_free(p);
	return rc;
}

/* ---- metadata and model ---- */

/* Watts and percents to four decimals. */
static double rounded(double v)
{
	return round(v * 1e4) / 1e4;
}

static json_t *rounded_json(double v)
{
	return isfinite(v) ? json_real(rounded(v)) : json_null();
}

static int set(json_t *obj, const char *infix, const char *name, json_t *v)
{
	char key[96];

	snprintf(key, sizeof(key), "%s_%s", infix, name);
	return json_object_set_new(obj, key, v);
}

/*
 * Add a component's scores as flat keys: "package_mae", "package_r2" and so on. infix is
 * "", "workload_", "shuffled_" or "series_". -1 without memory.
 */
static int add_scores(json_t *metadata, const char *infix, enum tw_component c,
		      const struct tw_score *score)
{
	json_t *figures = tw_score_to_json(score), *v;
	int rc = figures != NULL ? 0 : -1;
	const char *name;
	char key[96];

	json_object_foreach(figures, name, v) {
		snprintf(key, sizeof(key), "%s_%s%s", tw_component_name(c), infix, name);
		if (json_object_set(metadata, key, v) < 0)
			rc = -1;
	}
	json_decref(figures);
	return rc;
}

/*
 * Add "package_workload_maes": the mean error of each fold, in the order of the folds'
 * names. -1 without memory.
 */
static int add_fold_errors(json_t *metadata, const struct tw_train_unit *u, size_t alt,
			   size_t c)
{
	const struct tw_train_data *d = u->data;
	const struct tw_folds *f = &d->alt[alt];
	json_t *list = json_array();
	char key[96];
	int rc = 0;

	for (uint32_t fold = 0; fold < f->count; fold++) {
		const double *y = tw_train_data_samples(d, alt_split(d, alt) + fold, c).y;
		double sum = 0;
		size_t rows = 0;

		for (size_t r = 0; r < d->d.rows; r++) {
			if (f->of[r] != fold)
				continue;
			sum += fabs(predicted_of(u, 1 + alt, c)[r] - y[r]);
			rows++;
		}
		if (json_array_append_new(list, rounded_json(sum / (double)rows)) < 0)
			rc = -1;
	}
	snprintf(key, sizeof(key), "%s_%s_maes", tw_component_name(d->component[c]),
		 f->scheme);
	return json_object_set_new(metadata, key, list) < 0 ? -1 : rc;
}

/*
 * Add the scores of alternative folds, and "workload_folds", "workload_rows",
 * "workload_mae", "workload_mape" and the names of the workloads. If validation failed,
 * add "workload_mae": null only.
 */
static int add_alt_scores(json_t *metadata, const struct tw_train_unit *u, size_t alt)
{
	const struct tw_folds *f = &u->data->alt[alt];
	double mae = NAN, mape = NAN;
	char infix[32];

	if (u->alt_err[alt].code != TW_OK)
		return set(metadata, f->scheme, "mae", json_null());
	snprintf(infix, sizeof(infix), "%s_", f->scheme);
	for (size_t c = 0; c < u->data->components; c++) {
		const struct tw_score *s = &u->alt[alt][c];

		if (add_scores(metadata, infix, u->data->component[c], s) < 0 ||
		    (f->names.count > 0 && add_fold_errors(metadata, u, alt, c) < 0))
			return -1;
		mae = fmax(mae, s->mae);
		mape = fmax(mape, s->mape);
	}
	if (f->names.count > 0 &&
	    set(metadata, f->scheme, "names", tw_json_texts(&f->names)) < 0)
		return -1;
	if (set(metadata, f->scheme, "folds", json_integer((json_int_t)f->count)) < 0 ||
	    set(metadata, f->scheme, "rows",
		json_integer((json_int_t)u->alt[alt][0].rows)) < 0 ||
	    set(metadata, f->scheme, "mae", rounded_json(mae)) < 0)
		return -1;
	return set(metadata, f->scheme, "mape", rounded_json(mape));
}

/* "a.json,b.json": origins of the inputs that have rows in the data. */
static json_t *origin_of(const struct tw_train_data *d, const struct tw_train_job *job)
{
	struct tw_buf b = { 0 };
	json_t *text;

	if (job->origin != NULL)
		return json_string(job->origin);
	if (d->table != NULL)
		return d->table->origin != NULL ? json_string(d->table->origin)
						: json_null();
	for (size_t i = 0; i < job->response_count; i++) {
		bool any = false;

		for (size_t r = 0; !any && r < d->d.rows; r++)
			any = d->input[r] == i;
		if (any && job->responses[i].origin != NULL)
			tw_buf_addf(&b, "%s%s", b.len > 0 ? "," : "",
				    job->responses[i].origin);
	}
	text = b.data != NULL ? json_string(b.data) : json_null();
	if (tw_buf_failed(&b)) {
		json_decref(text);
		text = NULL;
	}
	tw_buf_clear(&b);
	return text;
}

static int compare_int64(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The median step between rows, in seconds. */
static json_t *median_step(const struct tw_dataset *d)
{
	const size_t n = d->rows - 1;
	int64_t *step = malloc((n + 1) * sizeof(*step));
	json_t *v;

	if (step == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		step[i] = d->time_ms[i + 1] - d->time_ms[i];
	qsort(step, n, sizeof(*step), compare_int64);
	v = json_real((double)step[n / 2] / 1000.0);
	free(step);
	return v;
}

/* Add "package_choice": the trainer's explanation of its choices. */
static int describe_choice(json_t *obj, const struct tw_train_unit *u, size_t c)
{
	const struct tw_buf *text = &u->text[c];
	json_t *lines = NULL;
	struct tw_err err = { 0 };
	char key[64];

	if (u->trainer->explain == NULL)
		return 0;
	if (u->trainer->explain(text->data, text->len, &lines, &err) < 0)
		return -1;
	snprintf(key, sizeof(key), "%s_choice", tw_component_name(u->data->component[c]));
	return json_object_set_new(obj, key, lines);
}

static int describe_component(json_t *obj, const struct tw_train_unit *u, size_t c)
{
	const enum tw_component component = u->data->component[c];

	if (add_scores(obj, "", component, &u->score[c]) < 0)
		return -1;
	if (u->predicted_series != NULL &&
	    add_scores(obj, "series_", component, &u->score_series[c]) < 0)
		return -1;
	if (tw_train_errors_describe(&u->errors[c], component, obj) < 0)
		return -1;
	return describe_choice(obj, u, c);
}

/*
 * Metadata has no nested objects but in lists: the estimator of kepler-model-server
 * treats each object in metadata.json as a model.
 */
static json_t *describe(const struct tw_train_unit *u, const struct tw_train_job *job)
{
	const struct tw_train_data *data = u->data;
	const struct tw_dataset *d = &data->d;
	json_t *obj;
	bool failed;

	obj = json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:s}",
			"validation_scheme", "blocked", "validation_folds",
			(json_int_t)data->folds, "data_rows", (json_int_t)d->rows,
			"data_first", tw_train_data_instant(d->time_ms[0]), "data_last",
			tw_train_data_instant(d->time_ms[d->rows - 1]), "data_step_s",
			median_step(d), "data_origin", origin_of(data, job), "seed",
			(json_int_t)job->seed, "creator", "tallywatt " TW_VERSION);
	failed = obj == NULL;
	for (size_t c = 0; c < data->components; c++)
		failed |= describe_component(obj, u, c) < 0;
	for (size_t i = 0; i < data->alts; i++)
		failed |= add_alt_scores(obj, u, i) < 0;
	if (data->quality != NULL)
		failed |= json_object_set_new(obj, "data_quality",
					      json_deep_copy(data->quality)) < 0;
	if (data->output == TW_DYN_POWER)
		failed |= json_object_set_new(obj, "isolator",
					      json_string(job->isolator->name)) < 0 ||
			  json_object_update(obj, data->learnt) < 0;
	if (failed) {
		json_decref(obj);
		return NULL;
	}
	return obj;
}

/* The largest error over the components whose error is defined. */
static void set_errors(struct tw_model_info *info, const struct tw_train_unit *u)
{
	info->mae_w = 0.0;
	info->mape_percent = NAN;
	for (size_t c = 0; c < u->data->components; c++) {
		info->mae_w = fmax(info->mae_w, rounded(u->score[c].mae));
		info->mape_percent = fmax(info->mape_percent, rounded(u->score[c].mape));
	}
}

static int add_features(struct tw_strs *to, const struct tw_train_data *d,
			struct tw_err *err)
{
	for (size_t i = 0; i < d->cols; i++)
		if (tw_strs_adds(to, d->feature[i], err) < 0)
			return -1;
	return 0;
}

static int set_info(struct tw_model_info *info, const struct tw_train_unit *u,
		    const struct tw_train_job *job, struct tw_err *err)
{
	snprintf(info->name, sizeof(info->name), "%s_%zu", u->trainer->name,
		 u->data->machine->node_type);
	snprintf(info->trainer, sizeof(info->trainer), "%s", u->trainer->name);
	snprintf(info->predictor, sizeof(info->predictor), "%s", u->trainer->predictor);
	info->source = u->data->source;
	info->output = u->data->output;
	info->group = u->data->group;
	info->node_type = (long long)u->data->machine->node_type;
	info->spec = u->data->machine->spec;
	set_errors(info, u);
	if (add_features(&info->features, u->data, err) < 0)
		return -1;
	info->metadata = describe(u, job);
	if (info->metadata == NULL)
		return tw_fail(err, TW_NOMEM, "metadata of %s", info->name);
	return 0;
}

static int set_part(struct tw_model_part *p, struct tw_train_unit *u, size_t c,
		    struct tw_err *err)
{
	const struct tw_train_data *d = u->data;

	p->component = d->component[c];
	p->text = tw_buf_detach(&u->text[c], &p->len);
	p->feature_min = malloc(d->cols * sizeof(*p->feature_min));
	p->feature_max = malloc(d->cols * sizeof(*p->feature_max));
	if (p->text == NULL || p->feature_min == NULL || p->feature_max == NULL)
		return tw_fail(err, TW_NOMEM, "%s of %s", tw_component_name(p->component),
			       u->trainer->name);
	for (size_t i = 0; i < d->cols; i++) {
		p->feature_min[i] = p->feature_max[i] = d->x[i];
		for (size_t r = 1; r < d->d.rows; r++) {
			p->feature_min[i] =
				fmin(p->feature_min[i], d->x[r * d->cols + i]);
			p->feature_max[i] =
				fmax(p->feature_max[i], d->x[r * d->cols + i]);
		}
	}
	if (tw_train_errors_set(&u->errors[c], p, err) < 0)
		return -1;
	return add_features(&p->features, d, err);
}

static int make_model(struct tw_train_unit *u, const struct tw_train_job *job,
		      struct tw_model *out, struct tw_err *err)
{
	struct tw_model m = { 0 };
	int rc = -1;

	if (set_info(&m.info, u, job, err) < 0)
		goto out;
	for (size_t c = 0; c < u->data->components; c++)
		if (set_part(&m.part[m.parts++], u, c, err) < 0)
			goto out;

	*out = m;
	m = (struct tw_model){ 0 };
	rc = 0;
out:
	tw_model_release(&m);
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
		if (score_component(u, c, job, &u->err) < 0)
			return;
	for (size_t i = 0; i < u->data->alts; i++)
		score_alt(u, i);
	if (make_model(u, job, &u->model, &u->err) < 0)
		return;
	if (add_certificate(u, &u->err) < 0 ||
	    tw_pipeline_add_model(&u->files, &u->model, &u->err) < 0)
		return;
	if (add_validation(u, &u->err) == 0)
		judge_later(u, &u->err);
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
	for (size_t c = 0; c < TW_COMPONENT_COUNT; c++) {
		tw_buf_clear(&u->text[c]);
		tw_train_errors_release(&u->errors[c]);
	}
	free(u->step_err);
	free(u->predicted);
	free(u->predicted_series);
	tw_model_release(&u->model);
	tw_fileset_clear(&u->files);
	*u = (struct tw_train_unit){ 0 };
}
