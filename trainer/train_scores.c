/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_scores.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "model-db/model.h"
#include "trainer/fit/auto_trials.h"
#include "trainer/fit/validate.h"
#include "trainer/train_job.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
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

/* ---- scores ---- */

/* The rows that folds hold out. */
struct held_out {
	double *measured, *predicted, *load;
	size_t rows;
};

/* folds: 0 for the blocks of time, which hold out every row, or 1 + index in ->alt. */
static int gather(const struct tw_train_scores *s, size_t folds, size_t c,
		  struct held_out *out, struct tw_err *err)
{
	const struct tw_train_data *d = s->data;
	const uint32_t *of = folds > 0 ? d->alt[folds - 1].of : NULL;
	const double *predicted = tw_train_scores_held_out(s, folds, c);
	const size_t main = tw_main_feature(d->feature, d->cols, d->component[c]);
	size_t split = 0;

	if (TW_NEW(out->measured, 3 * d->rows + 1, err) < 0)
		return -1;
	out->predicted = out->measured + d->rows;
	out->load = out->predicted + d->rows;
	for (size_t r = 0; r < d->rows; r++) {
		if (of != NULL && of[r] == TW_FOLD_NONE)
			continue;
		if (of != NULL)
			split = tw_train_data_alt_first(d, folds - 1) + of[r];
		else if (r == tw_fold_at(d->rows, d->folds, split).to)
			split++;
		out->measured[out->rows] = tw_train_data_samples(d, split, c).y[r];
		out->predicted[out->rows] = predicted[r];
		out->load[out->rows++] = d->x[r * d->cols + main];
	}
	return 0;
}

/*
 * Find the drift, and let the measured power be that of the same rows one recording
 * later, when the model serves.
 */
static int expect_drift(struct tw_train_scores *s, size_t c, struct held_out *h,
			struct tw_err *err)
{
	const struct tw_samples samples =
		tw_train_data_samples(s->data, s->data->folds, c);

	if (tw_drift_find(&samples, &s->drift[c], err) < 0)
		return -1;
	for (size_t r = 0; r < h->rows; r++)
		h->measured[r] += s->drift[c].watts;
	return 0;
}

/* Calibrate the answers for single rows and, if the model has them, for a series. */
static int calibrate(struct tw_train_scores *s, size_t c, const struct held_out *h,
		     struct tw_err *err)
{
	const struct tw_train_data *d = s->data;
	const struct tw_samples samples = tw_train_data_samples(d, d->folds, c);
	const double *series = tw_train_scores_series(s, c);
	const uint64_t seed = d->job->seed;
	struct tw_residuals r = { .samples = &samples,
				  .measured = h->measured,
				  .predicted = h->predicted,
				  .folds = d->folds };

	if (tw_calibrate(&r, seed, &s->alone[c], err) < 0)
		return -1;
	if (series == NULL)
		return 0;
	if (tw_score(h->measured, series, h->load, h->rows, &s->score_series[c], err) <
		    0 ||
	    tw_auto_step(&samples, &r.step_ms, err) < 0)
		return -1;
	s->step_ms[c] = r.step_ms;
	r.predicted = series;
	return r.step_ms > 0.0 ? tw_calibrate(&r, seed, &s->series[c], err) : 0;
}

static int score_component(struct tw_train_scores *s, size_t folds, size_t c,
			   struct tw_err *err)
{
	struct held_out h = { 0 };
	int rc = -1;

	if (gather(s, folds, c, &h, err) < 0 ||
	    (folds == 0 && expect_drift(s, c, &h, err) < 0))
		goto out;
	if (tw_score(h.measured, h.predicted, h.load, h.rows, &s->score[folds][c], err) <
		    0 ||
	    (folds == 0 && calibrate(s, c, &h, err) < 0)) {
		tw_err_wrap(err, "%s", tw_component_name(s->data->component[c]));
		goto out;
	}

	rc = 0;
out:
	free(h.measured);
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
		if (score_component(s, 1 + alt, c, err) < 0)
			return;
	}
}

int tw_train_scores_compute(struct tw_train_scores *s, const struct tw_err *step_err,
			    struct tw_err *err)
{
	for (size_t c = 0; c < s->data->components; c++)
		if (score_component(s, 0, c, err) < 0)
			return -1;
	for (size_t i = 0; i < s->data->alts; i++)
		score_alt(s, i, step_err);
	return 0;
}

int tw_train_scores_set_errors(const struct tw_train_scores *s, size_t c,
			       struct tw_model_part *part, struct tw_err *err)
{
	struct tw_buf text = { 0 };

	tw_calibrated_write(&s->alone[c], &s->series[c], s->step_ms[c], &text);
	if (tw_buf_failed(&text))
		return tw_fail(err, TW_NOMEM, "expected errors");
	if (text.len > 0)
		part->error_text = tw_buf_detach(&text, &part->error_len);
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
	for (size_t c = 0; c < TW_COMPONENT_COUNT; c++) {
		tw_calibrated_release(&s->alone[c]);
		tw_calibrated_release(&s->series[c]);
	}
}

/* ---- metadata ---- */

struct keys {
	json_t *metadata;
	bool failed; /* for lack of memory */
};

__attribute__((format(printf, 3, 4))) static void set(struct keys *k, json_t *v,
						      const char *key, ...)
{
	char text[96];
	va_list args;

	va_start(args, key);
	vsnprintf(text, sizeof(text), key, args);
	va_end(args);
	k->failed |= json_object_set_new(k->metadata, text, v) < 0;
}

static json_t *rounded_list(const double *v, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && i < count; i++) {
		if (json_array_append_new(list, tw_json_rounded(v[i])) < 0) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

/* Add "package_series_interval_factor" and so on; form is "" or "series_". */
static void add_intervals(struct keys *k, const char *component, const char *form,
			  const struct tw_calibrated *c)
{
	const struct tw_answer_interval *i = &c->interval;

	if (c->rows == 0)
		return;
	if (i->factor > 0.0)
		set(k, tw_json_rounded(i->factor), "%s_%sinterval_factor", component,
		    form);
	else
		set(k, rounded_list(i->width, i->bins), "%s_%sinterval_widths", component,
		    form);
	if (!(i->factor > 0.0) && i->bins > 1)
		set(k, rounded_list(i->edge, i->bins - 1), "%s_%sinterval_edges",
		    component, form);
	set(k, tw_json_rounded(c->coverage), "%s_%sinterval_coverage", component, form);
	set(k, rounded_list(c->group_coverage, c->groups), "%s_%sinterval_coverage_folds",
	    component, form);
	set(k, tw_json_rounded(c->score), "%s_%sinterval_score", component, form);
	set(k, tw_json_rounded(c->constant), "%s_%sinterval_score_constant", component,
	    form);
	set(k, tw_json_rounded(c->auc), "%s_%sexpected_error_auc", component, form);
}

/*
 * Add a component's scores as flat keys: "package_mae", "package_r2" and so on. infix is
 * "", "workload_", "shuffled_" or "series_".
 */
static void add_scores(struct keys *k, const char *component, const char *infix,
		       const struct tw_score *score)
{
	json_t *figures = tw_score_to_json(score), *v;
	const char *name;

	k->failed |= figures == NULL;
	json_object_foreach(figures, name, v)
		set(k, json_incref(v), "%s_%s%s", component, infix, name);
	json_decref(figures);
}

/* The mean error of each fold, in the order of the folds' names. NULL without memory. */
static json_t *fold_errors(const struct tw_train_scores *s, size_t alt, size_t c)
{
	const struct tw_train_data *d = s->data;
	const struct tw_folds *f = &d->alt[alt];
	const double *predicted = tw_train_scores_held_out(s, 1 + alt, c);
	json_t *list = json_array();

	for (uint32_t fold = 0; fold < f->count; fold++) {
		const size_t split = tw_train_data_alt_first(d, alt) + fold;
		const double *y = tw_train_data_samples(d, split, c).y;
		double sum = 0;
		size_t rows = 0;

		for (size_t r = 0; r < d->d.rows; r++) {
			if (f->of[r] != fold)
				continue;
			sum += fabs(predicted[r] - y[r]);
			rows++;
		}
		if (json_array_append_new(list, tw_json_rounded(sum / (double)rows)) <
		    0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/*
 * Add the scores of alternative folds, and "workload_folds", "workload_rows",
 * "workload_mae", "workload_mape", the names of the workloads and
 * "package_workload_maes". If validation failed, add "workload_mae": null only.
 */
static void add_alt_scores(struct keys *k, const struct tw_train_scores *s, size_t alt)
{
	const struct tw_folds *f = &s->data->alt[alt];
	const struct tw_score *score = s->score[1 + alt];
	double mae = NAN, mape = NAN;
	char infix[32];

	if (s->alt_err[alt].code != TW_OK) {
		set(k, json_null(), "%s_mae", f->scheme);
		return;
	}
	snprintf(infix, sizeof(infix), "%s_", f->scheme);
	for (size_t c = 0; c < s->data->components; c++) {
		const char *component = tw_component_name(s->data->component[c]);

		add_scores(k, component, infix, &score[c]);
		if (f->names.count > 0)
			set(k, fold_errors(s, alt, c), "%s_%smaes", component, infix);
		mae = fmax(mae, score[c].mae);
		mape = fmax(mape, score[c].mape);
	}
	if (f->names.count > 0)
		set(k, tw_json_texts(&f->names), "%s_names", f->scheme);
	set(k, json_integer((json_int_t)f->count), "%s_folds", f->scheme);
	set(k, json_integer((json_int_t)score[0].rows), "%s_rows", f->scheme);
	set(k, tw_json_rounded(mae), "%s_mae", f->scheme);
	set(k, tw_json_rounded(mape), "%s_mape", f->scheme);
}

/* "a.json,b.json": origins of the inputs that have rows in the data. */
static json_t *origin_of(const struct tw_train_data *d)
{
	struct tw_buf b = { 0 };
	json_t *text;

	if (d->job->origin != NULL)
		return json_string(d->job->origin);
	if (d->table != NULL)
		return d->table->origin != NULL ? json_string(d->table->origin)
						: json_null();
	for (size_t i = 0; i < d->job->response_count; i++) {
		bool any = false;

		for (size_t r = 0; !any && r < d->d.rows; r++)
			any = d->input[r] == i;
		if (any && d->job->responses[i].origin != NULL)
			tw_buf_addf(&b, "%s%s", b.len > 0 ? "," : "",
				    d->job->responses[i].origin);
	}
	text = b.data != NULL ? json_string(b.data) : json_null();
	if (tw_buf_failed(&b)) {
		json_decref(text);
		text = NULL;
	}
	tw_buf_clear(&b);
	return text;
}

/* The median step between rows, in seconds. */
static json_t *median_step(const struct tw_train_data *d)
{
	const size_t n = d->rows - 1;
	double *step = malloc(d->rows * sizeof(*step));
	json_t *v;

	if (step == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		step[i] = (double)(d->d.time_ms[i + 1] - d->d.time_ms[i]);
	v = json_real(tw_nth(step, n, n / 2) / 1000.0);
	free(step);
	return v;
}

static void add_component(struct keys *k, const struct tw_train_scores *s, size_t c)
{
	const char *component = tw_component_name(s->data->component[c]);

	add_scores(k, component, "", &s->score[0][c]);
	if (s->drift[c].watts != 0)
		set(k, tw_json_rounded(s->drift[c].watts_per_hour), TW_DRIFT_KEY,
		    component);
	if (s->predicted_series != NULL)
		add_scores(k, component, "series_", &s->score_series[c]);
	add_intervals(k, component, "", &s->alone[c]);
	add_intervals(k, component, "series_", &s->series[c]);
}

json_t *tw_train_metadata(const struct tw_train_scores *s)
{
	const struct tw_train_data *data = s->data;
	struct keys k = { 0 };

	k.metadata = json_pack(
		"{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:s}", "validation_scheme",
		"blocked", "validation_folds", (json_int_t)data->folds, "data_rows",
		(json_int_t)data->rows, "data_first",
		tw_train_data_instant(data->first_ms), "data_last",
		tw_train_data_instant(data->last_ms), "data_step_s", median_step(data),
		"data_origin", origin_of(data), "seed", (json_int_t)s->data->job->seed,
		"creator", "tallywatt " TW_VERSION);
	k.failed = k.metadata == NULL;
	for (size_t c = 0; c < data->components; c++)
		add_component(&k, s, c);
	for (size_t i = 0; i < data->alts; i++)
		add_alt_scores(&k, s, i);
	if (data->quality != NULL)
		set(&k, json_deep_copy(data->quality), "data_quality");
	if (data->output == TW_DYN_POWER) {
		set(&k, json_string(s->data->job->isolator->name), "isolator");
		k.failed |= json_object_update(k.metadata, data->learnt) < 0;
	}
	if (k.failed) {
		json_decref(k.metadata);
		return NULL;
	}
	return k.metadata;
}
