/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_metadata.h"

#include "lib/core/buf.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "trainer/train_job.h"
#include "trainer/train_machines.h"
#include "trainer/train_scores.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
static int add_fold_errors(json_t *metadata, const struct tw_train_scores *s, size_t alt,
			   size_t c)
{
	const struct tw_train_data *d = s->data;
	const struct tw_folds *f = &d->alt[alt];
	json_t *list = json_array();
	char key[96];
	int rc = 0;

	for (uint32_t fold = 0; fold < f->count; fold++) {
		const double *y = tw_train_data_samples(
					  d, tw_train_data_alt_first(d, alt) + fold, c)
					  .y;
		double sum = 0;
		size_t rows = 0;

		for (size_t r = 0; r < d->d.rows; r++) {
			if (f->of[r] != fold)
				continue;
			sum += fabs(tw_train_scores_held_out(s, 1 + alt, c)[r] - y[r]);
			rows++;
		}
		if (json_array_append_new(list, tw_json_rounded(sum / (double)rows)) < 0)
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
static int add_alt_scores(json_t *metadata, const struct tw_train_scores *s, size_t alt)
{
	const struct tw_folds *f = &s->data->alt[alt];
	double mae = NAN, mape = NAN;
	char infix[32];

	if (s->alt_err[alt].code != TW_OK)
		return set(metadata, f->scheme, "mae", json_null());
	snprintf(infix, sizeof(infix), "%s_", f->scheme);
	for (size_t c = 0; c < s->data->components; c++) {
		const struct tw_score *score = &s->alt[alt][c];

		if (add_scores(metadata, infix, s->data->component[c], score) < 0 ||
		    (f->names.count > 0 && add_fold_errors(metadata, s, alt, c) < 0))
			return -1;
		mae = fmax(mae, score->mae);
		mape = fmax(mape, score->mape);
	}
	if (f->names.count > 0 &&
	    set(metadata, f->scheme, "names", tw_json_texts(&f->names)) < 0)
		return -1;
	if (set(metadata, f->scheme, "folds", json_integer((json_int_t)f->count)) < 0 ||
	    set(metadata, f->scheme, "rows",
		json_integer((json_int_t)s->alt[alt][0].rows)) < 0 ||
	    set(metadata, f->scheme, "mae", tw_json_rounded(mae)) < 0)
		return -1;
	return set(metadata, f->scheme, "mape", tw_json_rounded(mape));
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
	qsort(step, n, sizeof(*step), tw_compare_doubles);
	v = json_real(step[n / 2] / 1000.0);
	free(step);
	return v;
}

static int describe_component(json_t *obj, const struct tw_train_scores *s, size_t c)
{
	const enum tw_component component = s->data->component[c];

	if (add_scores(obj, "", component, &s->score[c]) < 0)
		return -1;
	if (s->predicted_series != NULL &&
	    add_scores(obj, "series_", component, &s->score_series[c]) < 0)
		return -1;
	return tw_train_errors_describe(&s->errors[c], component, obj);
}

json_t *tw_train_metadata(const struct tw_train_scores *s, const struct tw_train_job *job)
{
	const struct tw_train_data *data = s->data;
	json_t *obj;
	bool failed;

	obj = json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:I, s:s}",
			"validation_scheme", "blocked", "validation_folds",
			(json_int_t)data->folds, "data_rows", (json_int_t)data->rows,
			"data_first", tw_train_data_instant(data->first_ms), "data_last",
			tw_train_data_instant(data->last_ms), "data_step_s",
			median_step(data), "data_origin", origin_of(data, job), "seed",
			(json_int_t)job->seed, "creator", "tallywatt " TW_VERSION);
	failed = obj == NULL;
	for (size_t c = 0; c < data->components; c++)
		failed |= describe_component(obj, s, c) < 0;
	for (size_t i = 0; i < data->alts; i++)
		failed |= add_alt_scores(obj, s, i) < 0;
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
