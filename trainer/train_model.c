/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_model.h"

#include "lib/core/buf.h"
#include "lib/core/date.h"
#include "lib/json/json.h"
#include "model-db/model.h"
#include "trainer/extract/smooth.h"
#include "trainer/train.h"
#include "trainer/train_arguments.h"
#include "trainer/train_machines.h"
#include "trainer/train_scores.h"
#include "trainer/train_unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Watts and percents to four decimals. */
static double rounded(double v)
{
	return round(v * 1e4) / 1e4;
}

/* "2023-09-19T09:27:43.000Z"; null for what no calendar holds. */
static json_t *instant(int64_t ms)
{
	char text[TW_DATE_TEXT];

	return tw_format_date_ms(ms, text) ? json_string(text) : json_null();
}

/* "a.json,b.json": what the inputs that the data is from call themselves. */
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

/* "package_choice": how the trainer came to the component's text. */
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

	if (tw_train_scores_add(obj, "", component, &u->score[c]) < 0)
		return -1;
	if (u->predicted_series != NULL &&
	    tw_train_scores_add(obj, "series_", component, &u->score_series[c]) < 0)
		return -1;
	return describe_choice(obj, u, c);
}

/*
 * Flat, without an object in it: kepler-model-server's estimator takes every object of
 * metadata.json for a model.
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
			"data_first", instant(d->time_ms[0]), "data_last",
			instant(d->time_ms[d->rows - 1]), "data_step_s", median_step(d),
			"data_origin", origin_of(data, job), "seed",
			(json_int_t)job->seed, "creator", "tallywatt " TW_VERSION);
	failed = obj == NULL;
	for (size_t c = 0; c < data->components; c++)
		failed |= describe_component(obj, u, c) < 0;
	for (size_t i = 0; i < data->extras; i++)
		failed |= tw_train_scores_add_extra(obj, u, i) < 0;
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

/* The largest over the components for which the figure is defined. */
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
	return add_features(&p->features, d, err);
}

int tw_train_model(struct tw_train_unit *u, const struct tw_train_job *job,
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

/* From the earliest to the latest row of all data; null where there is none. */
static json_t *describe_times(const struct tw_train_data *data, size_t count,
			      const struct tw_train_job *job)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < count; i++) {
		if (data[i].err.code != TW_OK)
			continue;
		first = data[i].first_ms < first ? data[i].first_ms : first;
		last = data[i].last_ms > last ? data[i].last_ms : last;
	}
	return json_pack("{s:o, s:o, s:o}", "origin", tw_train_origins(job), "first",
			 instant(first), "last", instant(last));
}

/* Add {"0":["node-a"]}: names of the machines by node type, where any is told. */
static int add_machines(json_t *metadata, const struct tw_train_data *data, size_t count)
{
	json_t *machines = json_object();
	char type[32];
	int rc = -1;

	for (size_t i = 0; i < count; i++) {
		if (data[i].machine->name == NULL || data[i].err.code != TW_OK)
			continue;
		snprintf(type, sizeof(type), "%zu", data[i].machine->node_type);
		if (json_object_set_new(machines, type,
					json_pack("[s]", data[i].machine->name)) < 0)
			goto out;
	}
	if (machines == NULL || (json_object_size(machines) > 0 &&
				 json_object_set(metadata, "machines", machines) < 0))
		goto out;

	rc = 0;
out:
	json_decref(machines);
	return rc;
}

json_t *tw_train_metadata(const struct tw_train_job *job,
			  const struct tw_train_data *data, size_t count)
{
	json_t *metadata;

	metadata = json_pack("{s:i, s:s, s:s, s:s, s:o, s:o, s:I, s:s, s:o}",
			     "format_version", TW_MODEL_FORMAT, "name", job->name,
			     "isolator", job->isolator->name, "extractor",
			     tw_extractor_names[job->smooth > 0], "abs_trainers",
			     tw_json_texts(&job->abs_trainers), "dyn_trainers",
			     tw_json_texts(&job->dyn_trainers), "seed",
			     (json_int_t)job->seed, "creator", "tallywatt " TW_VERSION,
			     "data", describe_times(data, count, job));
	if (metadata != NULL && add_machines(metadata, data, count) < 0) {
		json_decref(metadata);
		return NULL;
	}
	return metadata;
}
