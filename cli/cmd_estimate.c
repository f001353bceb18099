/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/evaluate.h"
#include "cli/memory.h"
#include "estimator/client.h"
#include "estimator/predict/power_model.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/field/csv.h"
#include "lib/field/dataset.h"
#include "lib/field/feature.h"
#include "lib/json/writer.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
	char *socket, *model;
	char *metrics, *values, *csv;
	unsigned output;
	char *source, *trainer, *filter;
	char *pipeline, *input, *machine, *predictions;
	bool json;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "socket", socket, "PATH", "socket of the estimator to ask") },
	{ TW_ROW(TEXT, "model", model, "DIR|ZIP", "model to use, without an estimator") },
	{ TW_ROW(TEXT, "metrics", metrics, "NAME,..",
		 "features, in the order of the values") },
	{ TW_ROW(TEXT, "values", values, "X,..[;X,..]",
		 "rows of values; ';' between rows") },
	{ TW_ROW(TEXT, "csv", csv, "FILE",
		 "file with rows and a header, instead of --values") },
	{ TW_ROW(CHOICE, "output-type", output, "TYPE",
		 "AbsPower (a node) or DynPower (a workload); with --socket"),
	  .fallback = "AbsPower", .choices = tw_output_names },
	{ TW_ROW(TEXT, "source", source, "NAME",
		 "energy source [rapl-sysfs]; with --socket") },
	{ TW_ROW(TEXT, "trainer", trainer, "NAME",
		 "only a model of this trainer; with --socket") },
	{ TW_ROW(TEXT, "filter", filter, "FILTER",
		 "\"mae:10;features:a,b\"; with --socket") },
	{ TW_ROW(TEXT, "pipeline", pipeline, "DIR",
		 "or all models of this pipeline, with --input") },
	{ TW_ROW(TEXT, "input", input, "FILE",
		 "response or table to predict by --pipeline") },
	{ TW_ROW(TEXT, "machine", machine, "NAME",
		 "machine to use, if the response has several") },
	{ TW_ROW(TEXT, "predictions", predictions, "FILE",
		 "file to write each row's prediction to, as CSV") },
	{ TW_ROW(BOOL, "json", json, NULL, "print JSON instead of a table") },
};

struct table {
	struct tw_strs metrics;
	double *x;
	int64_t *time_ms; /* times of a file's rows, which form a series; NULL: single
			     rows */
	size_t rows;
};

static void table_release(struct table *t)
{
	tw_strs_clear(&t->metrics);
	free(t->x);
	free(t->time_ms);
}

static int read_row(const char *text, size_t row, struct table *t, struct tw_err *err)
{
	struct tw_strs cells = { 0 };
	const size_t cols = t->metrics.count;
	int rc = -1;

	if (tw_strs_split(&cells, text, err) < 0)
		goto out;
	if (cells.count != cols) {
		tw_fail(err, TW_INVALID, "--values, row %zu: %zu values for %zu metrics",
			row, cells.count, cols);
		goto out;
	}
	for (size_t c = 0; c < cols; c++) {
		if (tw_parse_double(cells.at[c], strlen(cells.at[c]),
				    &t->x[row * cols + c]))
			continue;
		tw_fail(err, TW_INVALID, "--values, row %zu: '%s' is not a number", row,
			cells.at[c]);
		goto out;
	}
	rc = 0;
out:
	tw_strs_clear(&cells);
	return rc;
}

static int read_values(const struct config *c, struct table *t, struct tw_err *err)
{
	char *text = tw_must(strdup(c->values)), *at = text, *row;
	int rc = -1;

	if (tw_strs_split(&t->metrics, c->metrics, err) < 0)
		goto out;
	if (t->metrics.count == 0) {
		tw_fail(err, TW_INVALID, "--metrics: no names");
		goto out;
	}
	for (size_t i = 0; i < t->metrics.count; i++)
		if (tw_strs_find(&t->metrics, t->metrics.at[i]) != (ptrdiff_t)i) {
			tw_fail(err, TW_INVALID, "--metrics: '%s' is there twice",
				t->metrics.at[i]);
			goto out;
		}
	/* Each value takes a byte and a separator, at least. */
	t->x = tw_must(calloc(strlen(text) + 1, sizeof(*t->x)));
	while ((row = strsep(&at, ";")) != NULL)
		if (read_row(row, t->rows, t, err) < 0)
			goto out;
		else
			t->rows++;
	rc = 0;
out:
	free(text);
	return rc;
}

static int fill_table(const struct tw_dataset *d, struct table *t, struct tw_err *err)
{
	t->rows = d->rows;
	t->x = tw_must(calloc(d->rows * d->cols + 1, sizeof(*t->x)));
	t->time_ms = tw_must(calloc(d->rows + 1, sizeof(*t->time_ms)));
	memcpy(t->time_ms, d->time_ms, d->rows * sizeof(*t->time_ms));
	for (size_t c = 0; c < d->cols; c++) {
		if (tw_strs_adds(&t->metrics, d->col[c].name, err) < 0)
			return -1;
		for (size_t r = 0; r < d->rows; r++)
			t->x[r * d->cols + c] = d->col[c].v[r];
	}
	return 0;
}

static int read_csv(const char *path, struct table *t, struct tw_err *err)
{
	struct tw_dataset d = { 0 };
	int rc = -1;

	if (tw_csv_load(path, &d, err) == 0 && fill_table(&d, t, err) == 0)
		rc = 0;
	tw_dataset_release(&d);
	return rc;
}

static int predict_table(const struct tw_power_model *p, const struct table *t,
			 bool series, struct tw_watts *out, struct tw_err *err)
{
	uint32_t place[TW_MODEL_FEATURES_MAX];
	const struct tw_rows rows = {
		.x = t->x,
		.rows = t->rows,
		.stride = t->metrics.count,
		.place = place,
		.time_ms = series ? t->time_ms : NULL,
	};

	for (size_t i = 0; i < tw_power_model_parts(p); i++) {
		double **watts = &out->of[tw_power_model_component(p, i)];

		if (tw_power_model_bind(p, i, &t->metrics, place, err) < 0)
			return -1;
		*watts = tw_must(calloc(t->rows + 1, sizeof(**watts)));
		tw_power_model_predict(p, i, &rows, *watts);
	}
	return 0;
}

static int use_model(const struct config *c, const struct table *t, struct tw_watts *out,
		     struct tw_err *err)
{
	struct tw_power_model *p = NULL;
	int rc;

	if (tw_power_model_load(c->model, &p, err) < 0)
		return -1;
	rc = predict_table(p, t, true, out, err);
	tw_power_model_free(p);
	return rc;
}

static int use_socket(const struct config *c, const struct table *t, struct tw_watts *out,
		      struct tw_err *err)
{
	return tw_estimator_ask(
		c->socket,
		&(struct tw_question){ .metrics = &t->metrics,
				       .x = t->x,
				       .rows = t->rows,
				       .output = tw_output_names[c->output],
				       .source = c->source,
				       .trainer = c->trainer,
				       .filter = c->filter },
		out, err);
}

static void print(const struct tw_watts *w, size_t rows)
{
	printf("%8s", "row");
	for (int c = 0; c < TW_COMPONENT_COUNT; c++)
		if (w->of[c] != NULL)
			printf(" %12s", tw_component_name((enum tw_component)c));
	printf("\n");
	for (size_t r = 0; r < rows; r++) {
		printf("%8zu", r);
		for (int c = 0; c < TW_COMPONENT_COUNT; c++)
			if (w->of[c] != NULL && isnan(w->of[c][r]))
				printf(" %12s", "-");
			else if (w->of[c] != NULL)
				printf(" %12.3f", w->of[c][r]);
		printf("\n");
	}
}

/* {"package":[watts,..],..}. */
static void print_json(const struct tw_watts *w, size_t rows)
{
	struct tw_buf b = { 0 };

	tw_json_add_object(&b, NULL);
	for (int c = 0; c < TW_COMPONENT_COUNT; c++)
		if (w->of[c] != NULL)
			tw_json_add_numbers(&b, tw_component_name((enum tw_component)c),
					    w->of[c], rows);
	tw_buf_adds(&b, "}\n");
	tw_command_print(&b);
}

/* ---- a pipeline ---- */

#define HEADER "time,id,source,output,model,component,predicted_watts,measured_watts\n"

/* The result of a model: its rows, and its error by part; NaN if not known. */
struct outcome {
	size_t rows;
	double mae_w[TW_COMPONENT_COUNT];
	struct tw_err why; /* it has none */
};

static void write_rows(const struct tw_dataset *d, const struct tw_model_info *i,
		       enum tw_component c, const double *watts, const double *truth,
		       struct tw_buf *b)
{
	for (size_t r = 0; r < d->rows; r++) {
		tw_buf_addf(b, "%.3f,", (double)d->time_ms[r] / 1e3);
		tw_csv_add_cell(b, d->id != NULL ? d->ids.at[d->id[r]] : "");
		tw_buf_addf(b, ",%s,%s,%s,%s,", i->source->name,
			    tw_output_name(i->output), i->name, tw_component_name(c));
		tw_buf_addf(b, "%.6f,", watts[r]);
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

/* The model's rows, and the predictions of its parts. */
static int predict(const struct tw_evaluation *j, const struct tw_power_model *p,
		   struct outcome *o, struct tw_buf *b, struct tw_err *err)
{
	const struct tw_model_info *i = tw_power_model_info(p);
	struct tw_watts watts = { 0 };
	struct tw_dataset d = { 0 };
	struct table t = { 0 };
	int rc = -1;

	/* Rows of many workloads are not series. */
	if (tw_evaluation_rows(j, p, &d, err) < 0 || fill_table(&d, &t, err) < 0 ||
	    predict_table(p, &t, d.id == NULL, &watts, err) < 0)
		goto out;
	o->rows = d.rows;
	for (size_t part = 0; part < tw_power_model_parts(p); part++) {
		const enum tw_component c = tw_power_model_component(p, part);
		/* Only the power of a whole machine is measured. */
		const double *truth = i->output == TW_ABS_POWER
					      ? tw_dataset_find(&d, tw_power_column(c))
					      : NULL;

		write_rows(&d, i, c, watts.of[c], truth, b);
		if (truth != NULL)
			o->mae_w[part] = mean_error(watts.of[c], truth, d.rows);
	}
	rc = 0;
out:
	tw_watts_release(&watts);
	tw_dataset_release(&d);
	table_release(&t);
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
		char *path;
		int failed;

		if (!tw_ends_with(name, ".zip"))
			continue;
		path = tw_must_printf("%s/%s", dir, name);
		failed = tw_strs_adds(out, path, err);
		free(path);
		if (failed < 0)
			goto out;
	}
	rc = out->count > 0 ? 0 : tw_fail(err, TW_NOTFOUND, "'%s': no models", dir);
out:
	tw_fileset_clear(&files);
	return rc;
}

/* p is NULL if the model could not be read. */
static void add_json(struct tw_buf *b, const char *path, const struct tw_power_model *p,
		     const struct outcome *o)
{
	const struct tw_model_info *i = p != NULL ? tw_power_model_info(p) : NULL;

	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "model", path);
	if (p != NULL) {
		tw_json_add_text(b, "source", i->source->name);
		tw_json_add_text(b, "output", tw_output_name(i->output));
		tw_json_add_text(b, "group", i->group->name);
		tw_json_add_object(b, "mae_watts");
		for (size_t c = 0; c < tw_power_model_parts(p); c++)
			if (!isnan(o->mae_w[c]))
				tw_json_add_number(
					b,
					tw_component_name(tw_power_model_component(p, c)),
					o->mae_w[c]);
		tw_json_end_object(b);
	}
	if (o->why.code != TW_OK)
		tw_json_add_text(b, "error", o->why.text);
	else
		tw_json_add_uint(b, "rows", o->rows);
	tw_json_end_object(b);
}

static void add_line(struct tw_buf *b, const char *path, const struct tw_power_model *p,
		     const struct outcome *o)
{
	if (o->why.code != TW_OK) {
		tw_buf_addf(b, "%s: %s\n", path, o->why.text);
		return;
	}
	tw_buf_addf(b, "%s: %zu rows", path, o->rows);
	for (size_t c = 0; c < tw_power_model_parts(p); c++)
		if (!isnan(o->mae_w[c]))
			tw_buf_addf(b, ", %s +-%.3f W",
				    tw_component_name(tw_power_model_component(p, c)),
				    o->mae_w[c]);
	tw_buf_adds(b, "\n");
}

/* A model that fails does not stop the others; false. */
static bool estimate_one(const struct config *c, const struct tw_evaluation *j,
			 const char *path, struct tw_buf *predictions,
			 struct tw_buf *summary)
{
	struct outcome o = { .rows = 0 };
	struct tw_power_model *p = NULL;

	for (size_t i = 0; i < TW_COMPONENT_COUNT; i++)
		o.mae_w[i] = NAN;
	if (tw_power_model_load(path, &p, &o.why) == 0)
		(void)predict(j, p, &o, predictions, &o.why);
	(c->json ? add_json : add_line)(summary, path, p, &o);
	tw_power_model_free(p);
	return o.why.code == TW_OK;
}

static int predict_pipeline(const struct config *c, struct tw_buf *predictions,
			    struct tw_buf *summary, struct tw_err *err)
{
	struct tw_evaluation j = { .machine = c->machine };
	struct tw_strs models = { 0 };
	size_t done = 0;
	int rc = -1;

	if (list_models(c->pipeline, &models, err) < 0 ||
	    tw_evaluation_read(&j, c->input, &models, err) < 0)
		goto out;
	tw_buf_adds(predictions, HEADER);
	tw_buf_adds(summary, c->json ? "[" : "");
	for (size_t i = 0; i < models.count; i++)
		done += estimate_one(c, &j, models.at[i], predictions, summary);
	if (c->json) {
		tw_json_end_array(summary);
		tw_json_indent(summary);
	}
	rc = done > 0 ? 0
		      : tw_fail(err, TW_NOTFOUND, "'%s' has rows for no model of '%s'",
				c->input, c->pipeline);
out:
	tw_evaluation_release(&j);
	tw_strs_clear(&models);
	return rc;
}

static int estimate_pipeline(const struct config *c, struct tw_err *err)
{
	struct tw_buf rows = { 0 }, summary = { 0 };
	int rc = predict_pipeline(c, &rows, &summary, err);

	if (rc == 0 && c->predictions != NULL)
		rc = tw_command_write(&rows, NULL, c->predictions, err);
	if (rc == 0)
		tw_command_print(&summary);
	tw_buf_clear(&summary);
	tw_buf_clear(&rows);
	return rc;
}

static int check_pipeline(const struct config *c, struct tw_err *err)
{
	if (c->input == NULL)
		return tw_fail(err, TW_INVALID, "--pipeline without --input");
	if (c->socket != NULL || c->model != NULL || c->csv != NULL ||
	    c->metrics != NULL || c->values != NULL)
		return tw_fail(err, TW_INVALID,
			       "--pipeline goes with --input, --machine, --predictions "
			       "and --json alone");
	return 0;
}

static int check_use(void *config, struct tw_err *err)
{
	const struct config *c = config;

	if (c->pipeline != NULL)
		return check_pipeline(c, err);
	if (c->input != NULL || c->machine != NULL || c->predictions != NULL)
		return tw_fail(err, TW_INVALID,
			       "--input, --machine and --predictions need --pipeline");

	if ((c->socket != NULL) == (c->model != NULL))
		return tw_fail(err, TW_INVALID, "one of --socket and --model is wanted");
	if (c->csv != NULL && (c->metrics != NULL || c->values != NULL))
		return tw_fail(err, TW_INVALID, "--csv and --metrics do not go together");
	if (c->csv == NULL && (c->metrics == NULL || c->values == NULL))
		return tw_fail(err, TW_INVALID,
			       "rows are wanted: --metrics and --values, or --csv");
	return 0;
}

static int estimate(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_watts watts = { 0 };
	struct table t = { 0 };
	int rc = -1;

	if (c->pipeline != NULL)
		return estimate_pipeline(c, err);
	if ((c->csv != NULL ? read_csv(c->csv, &t, err) : read_values(c, &t, err)) < 0)
		goto out;
	if (t.rows == 0) {
		tw_fail(err, TW_INVALID, "no rows");
		goto out;
	}
	if ((c->model != NULL ? use_model : use_socket)(c, &t, &watts, err) < 0)
		goto out;
	(c->json ? print_json : print)(&watts, t.rows);
	rc = 0;
out:
	tw_watts_release(&watts);
	table_release(&t);
	return rc;
}

const struct tw_command tw_command_estimate = {
	.opts = TW_COMMAND_OPTS("estimate", NULL,
				"Predict the watts of rows of features."),
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = estimate,
};
