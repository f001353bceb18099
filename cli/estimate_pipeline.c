/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/estimate_pipeline.h"

#include "cli/evaluate.h"
#include "estimator/predict/power_model.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/field/csv.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "time,id,source,output,model,component,predicted_watts,measured_watts\n"

/* The rows of a model's group, row by row, and the predictions of a component. */
struct table {
	struct tw_dataset d;
	struct tw_strs columns;
	double *x, *watts;
};

static void release(struct table *t)
{
	tw_dataset_release(&t->d);
	tw_strs_clear(&t->columns);
	free(t->x);
	free(t->watts);
}

static int fill(struct table *t, struct tw_err *err)
{
	const struct tw_dataset *d = &t->d;

	t->x = calloc(d->rows * d->cols + 1, sizeof(*t->x));
	t->watts = calloc(d->rows + 1, sizeof(*t->watts));
	if (t->x == NULL || t->watts == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows", d->rows);
	for (size_t c = 0; c < d->cols; c++) {
		if (tw_strs_adds(&t->columns, d->col[c].name, err) < 0)
			return -1;
		for (size_t r = 0; r < d->rows; r++)
			t->x[r * d->cols + c] = d->col[c].v[r];
	}
	return 0;
}

/* Only the power of a whole machine is measured. */
static const double *measured(const struct table *t, const struct tw_model_info *i,
			      enum tw_component c)
{
	return i->output == TW_ABS_POWER ? tw_dataset_find(&t->d, tw_power_column(c))
					 : NULL;
}

static void write_rows(const struct table *t, const struct tw_model_info *i,
		       enum tw_component c, struct tw_buf *b)
{
	const double *truth = measured(t, i, c);

	for (size_t r = 0; r < t->d.rows; r++) {
		tw_buf_addf(b, "%.3f,", (double)t->d.time_ms[r] / 1e3);
		tw_csv_add_cell(b, t->d.id != NULL ? t->d.ids.at[t->d.id[r]] : "");
		tw_buf_addf(b, ",%s,%s,%s,%s,", i->source->name,
			    tw_output_name(i->output), i->name, tw_component_name(c));
		tw_buf_addf(b, "%.6f,", t->watts[r]);
		if (truth != NULL)
			tw_buf_addf(b, "%.6f", truth[r]);
		tw_buf_adds(b, "\n");
	}
}

static double mean_error(const double *a, const double *b, size_t rows)
{
	double sum = 0;

	for (size_t r = 0; r < rows; r++)
		sum += fabs(a[r] - b[r]);
	return rows > 0 ? sum / (double)rows : NAN;
}

static int predict_part(const struct tw_power_model *p, size_t part, struct table *t,
			json_t *mae, struct tw_buf *b, struct tw_err *err)
{
	const struct tw_model_info *i = tw_power_model_info(p);
	const enum tw_component c = tw_power_model_component(p, part);
	uint32_t place[TW_MODEL_FEATURES_MAX];
	const struct tw_rows rows = { .x = t->x,
				      .rows = t->d.rows,
				      .stride = t->d.cols,
				      .place = place,
				      /* Rows of many workloads are no series. */
				      .time_ms = t->d.id == NULL ? t->d.time_ms : NULL };
	const double *truth = measured(t, i, c);

	if (tw_power_model_bind(p, part, &t->columns, place, err) < 0)
		return -1;
	tw_power_model_predict(p, part, &rows, t->watts);
	write_rows(t, i, c, b);
	if (truth != NULL &&
	    json_object_set_new(mae, tw_component_name(c),
				json_real(mean_error(t->watts, truth, t->d.rows))) < 0)
		return tw_fail(err, TW_NOMEM, "summary");
	return 0;
}

static int predict(const struct tw_evaluation *j, const struct tw_power_model *p,
		   json_t *one, struct tw_buf *b, struct tw_err *err)
{
	const struct tw_model_info *i = tw_power_model_info(p);
	struct table t = { .watts = NULL };
	json_t *mae = json_object();
	int rc = -1;

	if (json_object_set_new(one, "source", json_string(i->source->name)) < 0 ||
	    json_object_set_new(one, "output", json_string(tw_output_name(i->output))) <
		    0 ||
	    json_object_set_new(one, "group", json_string(i->group->name)) < 0 ||
	    json_object_set_new(one, "mae_watts", mae) < 0) {
		tw_fail(err, TW_NOMEM, "summary");
		goto out;
	}
	if (tw_evaluation_rows(j, p, &t.d, err) < 0 || fill(&t, err) < 0)
		goto out;
	for (size_t part = 0; part < tw_power_model_parts(p); part++)
		if (predict_part(p, part, &t, mae, b, err) < 0)
			goto out;
	rc = json_object_set_new(one, "rows", json_integer((json_int_t)t.d.rows)) < 0
		     ? tw_fail(err, TW_NOMEM, "summary")
		     : 0;
out:
	release(&t);
	return rc;
}

/* The models of the pipeline, by the paths of their zips. */
static int list_models(const char *dir, struct tw_strs *out, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	int rc = -1;

	if (tw_fileset_read_dir(&files, dir, &tw_zip_pipeline_limits, err) < 0)
		goto out;
	for (size_t i = 0; i < files.count; i++) {
		const char *name = files.at[i].name;
		const size_t len = strlen(name);
		struct tw_buf path = { 0 };
		int failed;

		if (len < 5 || strcmp(name + len - 4, ".zip") != 0)
			continue;
		tw_buf_addf(&path, "%s/%s", dir, name);
		failed = tw_buf_failed(&path) ? tw_fail(err, TW_NOMEM, "path")
					      : tw_strs_adds(out, path.data, err);
		tw_buf_clear(&path);
		if (failed < 0)
			goto out;
	}
	rc = out->count > 0 ? 0 : tw_fail(err, TW_NOTFOUND, "'%s': no models", dir);
out:
	tw_fileset_clear(&files);
	return rc;
}

static int list_metrics(const struct tw_strs *models, struct tw_strs *out,
			struct tw_err *err)
{
	for (size_t i = 0; i < models->count; i++) {
		struct tw_power_model *p = NULL;
		struct tw_err ignored = { 0 };
		int rc;

		if (tw_power_model_load(models->at[i], &p, &ignored) < 0)
			continue;
		rc = tw_evaluation_metrics(p, out, err);
		tw_power_model_free(p);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* A model that fails does not stop the others. */
static int estimate_one(const struct tw_evaluation *j, const char *path, struct tw_buf *b,
			json_t *summary, bool *done, struct tw_err *err)
{
	json_t *one = json_pack("{s:s}", "model", path);
	struct tw_power_model *p = NULL;
	struct tw_err why = { 0 };

	*done = one != NULL && tw_power_model_load(path, &p, &why) == 0 &&
		predict(j, p, one, b, &why) == 0;
	tw_power_model_free(p);
	if ((!*done && json_object_set_new(one, "error", json_string(why.text)) < 0) ||
	    json_array_append_new(summary, one) < 0)
		return tw_fail(err, TW_NOMEM, "summary");
	return 0;
}

int tw_estimate_pipeline(const struct tw_pipeline_estimate *e, struct tw_buf *predictions,
			 json_t *summary, struct tw_err *err)
{
	struct tw_evaluation j = { .machine = e->machine };
	struct tw_strs models = { 0 }, metrics = { 0 };
	size_t done = 0;
	int rc = -1;

	if (list_models(e->dir, &models, err) < 0 ||
	    list_metrics(&models, &metrics, err) < 0 ||
	    tw_evaluation_read(&j, e->input, &metrics, err) < 0)
		goto out;
	tw_buf_adds(predictions, HEADER);
	for (size_t i = 0; i < models.count; i++) {
		bool one;

		if (estimate_one(&j, models.at[i], predictions, summary, &one, err) < 0)
			goto out;
		done += one;
	}
	rc = done > 0 ? 0
		      : tw_fail(err, TW_NOTFOUND, "'%s' has rows for no model of '%s'",
				e->input, e->dir);
out:
	tw_evaluation_release(&j);
	tw_strs_clear(&models);
	tw_strs_clear(&metrics);
	return rc;
}
