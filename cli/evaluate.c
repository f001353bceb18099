/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/evaluate.h"

#include "cli/memory.h"
#include "estimator/predict/power_model.h"
#include "isolator/isolator.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/field/csv.h"
#include "lib/json/writer.h"
#include "trainer/response/prom.h"
#include "trainer/names.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the recording ---- */

static int looks_like_json(const char *path, bool *out, struct tw_err *err)
{
	FILE *f = fopen(path, "re");
	int c;

	if (f == NULL)
		return tw_fail_errno(err, errno, "cannot open '%s'", path);
	do
		c = fgetc(f);
	while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
	*out = c == '{';
	fclose(f);
	return 0;
}

/* Features of models that no schema has: names of metrics. */
static int list_metrics(const struct tw_strs *models, struct tw_strs *out,
			struct tw_err *err)
{
	int rc = 0;

	for (size_t m = 0; rc == 0 && models != NULL && m < models->count; m++) {
		struct tw_power_model *p = NULL;
		struct tw_err ignored = { 0 };
		const struct tw_strs *features;

		/* The evaluation of the model reports why. */
		if (tw_power_model_load(models->at[m], &p, &ignored) < 0)
			continue;
		features = &tw_power_model_info(p)->features;
		for (size_t i = 0; rc == 0 && i < features->count; i++)
			if (tw_feature_find(features->at[i]) == NULL &&
			    !tw_strs_has(out, features->at[i]))
				rc = tw_strs_adds(out, features->at[i], err);
		tw_power_model_free(p);
	}
	return rc;
}

int tw_evaluation_read(struct tw_evaluation *j, const char *path,
		       const struct tw_strs *models, struct tw_err *err)
{
	struct tw_strs metrics = { 0 };
	bool json = false;
	int rc = -1;

	if (looks_like_json(path, &json, err) < 0)
		return -1;
	if (json) {
		if (list_metrics(models, &metrics, err) == 0)
			rc = tw_prom_read_more(path, &metrics, &j->response, err);
		tw_strs_clear(&metrics);
		return rc;
	}
	if (j->machine != NULL)
		return tw_fail(err, TW_INVALID,
			       "'%s' is a table, which is of one machine", path);
	return tw_csv_load(path, &j->table, err);
}

void tw_evaluation_release(struct tw_evaluation *j)
{
	tw_prom_free(j->response);
	tw_dataset_release(&j->table);
	tw_workload_runs_release(&j->workloads);
	*j = (struct tw_evaluation){ 0 };
}

/* ---- rows as the model's training would have taken them ---- */

/* The features of the group, and metrics that the user named. */
static struct tw_feature_group group_of(const struct tw_model_info *i)
{
	struct tw_feature_group g = *i->group;

	for (size_t f = 0; f < i->features.count; f++) {
		if (tw_feature_find(i->features.at[f]) != NULL)
			continue;
		g.features = (const char *const *)i->features.at;
		g.count = i->features.count;
	}
	return g;
}

static int get_rows(const struct tw_evaluation *j, const struct tw_model_info *i,
		    struct tw_dataset *out, struct tw_quality *quality,
		    struct tw_err *err)
{
	const struct tw_feature_group group = group_of(i);
	const struct tw_extract_args args = {
		.quality = quality,
		.source = i->source,
		.group = &group,
		.level = i->output == TW_DYN_POWER ? TW_ROWS_FINEST : TW_ROWS_NODE,
		.resets = j->resets,
		.vm_metrics = j->vm_metrics,
		.correct_lag = j->correct_lag,
		.machine = j->machine,
	};

	if (j->response != NULL)
		return tw_extract(j->response, &args, out, err);
	return tw_dataset_copy(&j->table, NULL, out, err);
}

int tw_evaluation_rows(const struct tw_evaluation *j, const struct tw_power_model *p,
		       struct tw_dataset *out, struct tw_err *err)
{
	return get_rows(j, tw_power_model_info(p), out, NULL, err);
}

static int find_isolator(const struct tw_evaluation *j, const struct tw_model_info *i,
			 const struct tw_isolator **out, struct tw_err *err)
{
	const char *name = json_string_value(json_object_get(i->metadata, "isolator"));

	*out = j->isolator;
	if (*out != NULL)
		return 0;
	return tw_names_isolator(name != NULL ? name : TW_ISOLATOR_DEFAULT, out, err);
}

/*
 * The isolator is fitted to the rows that it is applied to: no model is trained on them.
 */
static int isolate(const struct tw_evaluation *j, const struct tw_isolator *it,
		   const struct tw_model_info *i, struct tw_dataset *d,
		   struct tw_err *err)
{
	struct tw_isolation_config config = { 0 };
	const struct tw_isolation_machine machine = { j->machine, 0 };
	struct tw_isolation isolation = { 0 };
	struct tw_dataset one = { 0 };
	void *state = NULL;
	int rc = -1;

	if (j->isolation != NULL)
		config = *j->isolation;
	config.source = i->source;
	if (tw_isolation_init(it, &config, &machine, 1, &isolation, err) < 0 ||
	    tw_isolate_prepare(it, &isolation.args, d, &one, err) < 0)
		goto out;
	if (it->fit(&isolation.args, &one, i->source, &state, err) < 0 ||
	    it->apply(state, &one, err) < 0) {
		tw_err_wrap(err, "%s", it->name);
		goto out;
	}
	tw_dataset_release(d);
	*d = one;
	one = (struct tw_dataset){ 0 };
	rc = 0;
out:
	free(state);
	tw_isolation_release(&isolation);
	tw_dataset_release(&one);
	return rc;
}

/* ---- judging ---- */

static int judge_workload(const struct tw_evaluation *j, const struct tw_power_model *p,
			  const struct tw_dataset *d, uint32_t name,
			  struct tw_model_score *out, struct tw_err *err)
{
	struct tw_dataset part = { 0 };
	bool *keep = tw_must(calloc(d->rows + 1, sizeof(*keep)));
	size_t rows = 0;
	int rc = -1;

	for (size_t r = 0; r < d->rows; r++) {
		keep[r] = tw_workload_runs_at(&j->workloads, d->time_ms[r]) == name;
		rows += keep[r];
	}
	if (rows > 0 && (tw_dataset_copy(d, keep, &part, err) < 0 ||
			 tw_model_score(p, &part, out, err) < 0))
		goto out;

	rc = 0;
out:
	tw_dataset_release(&part);
	free(keep);
	return rc;
}

static int judge_workloads(const struct tw_evaluation *j, const struct tw_power_model *p,
			   const struct tw_dataset *d, struct tw_evaluated *g,
			   struct tw_err *err)
{
	g->workloads = &j->workloads.names;
	g->by_workload =
		tw_must(calloc(g->workloads->count + 1, sizeof(*g->by_workload)));
	for (size_t i = 0; i < g->workloads->count; i++)
		if (judge_workload(j, p, d, (uint32_t)i, &g->by_workload[i], err) < 0)
			return -1;
	return 0;
}

int tw_evaluate_model(const struct tw_evaluation *j, const struct tw_power_model *p,
		      struct tw_evaluated *out, struct tw_err *err)
{
	const struct tw_model_info *info = tw_power_model_info(p);
	struct tw_evaluated g = { .model = p };
	struct tw_dataset d = { 0 };
	int rc = -1;

	if (get_rows(j, info, &d, &g.quality, err) < 0)
		goto out;
	if (info->output == TW_DYN_POWER &&
	    (find_isolator(j, info, &g.isolator, err) < 0 ||
	     isolate(j, g.isolator, info, &d, err) < 0))
		goto out;
	if (tw_model_score(p, &d, &g.all, err) < 0 ||
	    judge_workloads(j, p, &d, &g, err) < 0)
		goto out;

	*out = g;
	g = (struct tw_evaluated){ 0 };
	rc = 0;
out:
	tw_evaluated_release(&g);
	tw_dataset_release(&d);
	return rc;
}

void tw_evaluated_release(struct tw_evaluated *g)
{
	free(g->by_workload);
	tw_quality_release(&g->quality);
	*g = (struct tw_evaluated){ 0 };
}

/* ---- text ---- */

static void add_figure(struct tw_buf *b, double v)
{
	if (isfinite(v))
		tw_buf_addf(b, " %9.3f", v);
	else
		tw_buf_addf(b, " %9s", "-");
}

static void add_row(struct tw_buf *b, const char *workload, enum tw_component c,
		    const struct tw_score *s, double trained)
{
	const double v[] = { s->mae,       s->rmse, s->r2,   s->bias,
			     s->idle_bias, s->p95,  s->mape, 100.0 * s->mape_left_out,
			     trained };

	tw_buf_addf(b, "  %-16s %-8s %6zu", workload, tw_component_name(c), s->rows);
	for (size_t i = 0; i < TW_COUNT(v); i++)
		add_figure(b, v[i]);
	tw_buf_adds(b, "\n");
}

/* The intervals and expected errors of the model on the recording. */
static void add_intervals(const struct tw_model_score *s, struct tw_buf *b)
{
	tw_buf_addf(b, "  %-16s %-8s %9s %9s %9s %9s %9s   %s\n", "95 % interval",
		    "component", "within %", "score W", "+-p95 W", "ratio", "miss AUC",
		    "within %, by fifth of the rows");
	for (size_t c = 0; c < s->components; c++) {
		const struct tw_interval_score *i = &s->interval[c];

		tw_buf_addf(b, "  %-16s %-8s ", "-", tw_component_name(s->component[c]));
		add_figure(b, 100.0 * i->coverage);
		add_figure(b, i->score);
		add_figure(b, i->constant);
		add_figure(b, i->constant > 0.0 ? i->score / i->constant : NAN);
		add_figure(b, i->auc);
		tw_buf_adds(b, "  ");
		for (size_t k = 0; k < TW_INTERVAL_BLOCKS; k++)
			add_figure(b, 100.0 * i->block_coverage[k]);
		tw_buf_adds(b, "\n");
	}
}

/* The figure of the model's own validation, from its metadata. */
static double trained_mae(const struct tw_power_model *p, enum tw_component c)
{
	for (size_t i = 0; i < tw_power_model_parts(p); i++)
		if (tw_power_model_component(p, i) == c)
			return tw_power_model_figure(p, i, "mae");
	return NAN;
}

static void add_warnings(const struct tw_model_score *s, struct tw_buf *b)
{
	if (s->outside > 0)
		tw_buf_addf(b,
			    "  %zu of %zu rows are outside its training data: there it "
			    "extrapolates\n",
			    s->outside, s->rows);
	if (s->seen > 0)
		tw_buf_addf(b,
			    "  %zu of %zu rows are of the time of its training data: if "
			    "it has seen them, these errors are too small\n",
			    s->seen, s->rows);
}

void tw_evaluated_to_text(const struct tw_evaluated *g, const char *path,
			  struct tw_buf *out)
{
	const struct tw_model_info *i = tw_power_model_info(g->model);

	tw_buf_addf(out, "%s: %s, %s, %s", path, i->source->name,
		    tw_output_name(i->output), i->group->name);
	if (g->isolator != NULL)
		tw_buf_addf(out, ", %s", g->isolator->name);
	tw_buf_addf(out, "\n  %-16s %-8s %6s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n",
		    "workload", "component", "rows", "MAE W", "RMSE W", "R2", "bias W",
		    "idle W", "p95 W", "MAPE %", "left out%", "trained W");
	for (size_t c = 0; c < g->all.components; c++)
		add_row(out, "-", g->all.component[c], &g->all.score[c],
			trained_mae(g->model, g->all.component[c]));
	for (size_t w = 0; w < g->workloads->count; w++) {
		const struct tw_model_score *s = &g->by_workload[w];

		for (size_t c = 0; c < s->components; c++)
			add_row(out, g->workloads->at[w], s->component[c], &s->score[c],
				NAN);
	}
	add_intervals(&g->all, out);
	add_warnings(&g->all, out);
}

/* ---- JSON ---- */

static void add_interval_members(const struct tw_interval_score *i, struct tw_buf *b)
{
	tw_json_add_object(b, "intervals");
	tw_json_add_rounded(b, "coverage", i->coverage, 4);
	tw_json_add_array(b, "coverage_blocks");
	for (size_t k = 0; k < TW_INTERVAL_BLOCKS; k++)
		tw_json_add_rounded(b, NULL, i->block_coverage[k], 4);
	tw_json_end_array(b);
	tw_json_add_rounded(b, "score", i->score, 4);
	tw_json_add_rounded(b, "score_constant", i->constant, 4);
	tw_json_add_rounded(b, "expected_error_auc", i->auc, 4);
	tw_json_end_object(b);
}

static void add_scores(const struct tw_evaluated *g, const struct tw_model_score *s,
		       bool trained, struct tw_buf *b)
{
	tw_json_add_object(b, "components");
	for (size_t c = 0; c < s->components; c++) {
		json_t *score = tw_score_to_json(&s->score[c]), *v;
		const char *key;

		b->failed |= score == NULL;
		tw_json_add_object(b, tw_component_name(s->component[c]));
		json_object_foreach(score, key, v)
			tw_json_add_value(b, key, v);
		json_decref(score);
		if (trained) {
			tw_json_add_number(b, "trained_mae",
					   trained_mae(g->model, s->component[c]));
			add_interval_members(&s->interval[c], b);
		}
		tw_json_end_object(b);
	}
	tw_json_end_object(b);
}

void tw_evaluated_add_json(const struct tw_evaluated *g, const char *path,
			   const char *input, struct tw_buf *b)
{
	const struct tw_model_info *i = tw_power_model_info(g->model);

	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "model", path);
	tw_json_add_text(b, "model_name", i->name);
	tw_json_add_text(b, "input", input);
	tw_json_add_text(b, "energy_source", i->source->name);
	tw_json_add_text(b, "output_type", tw_output_name(i->output));
	tw_json_add_text(b, "feature_group", i->group->name);
	if (g->isolator != NULL)
		tw_json_add_text(b, "isolator", g->isolator->name);
	tw_json_add_uint(b, "rows", g->all.rows);
	tw_json_add_uint(b, "rows_outside", g->all.outside);
	tw_json_add_uint(b, "rows_of_training_time", g->all.seen);
	add_scores(g, &g->all, true, b);
	tw_json_add_object(b, "workloads");
	for (size_t w = 0; w < g->workloads->count; w++) {
		const struct tw_model_score *s = &g->by_workload[w];

		if (s->rows == 0)
			continue;
		tw_json_add_object(b, g->workloads->at[w]);
		tw_json_add_uint(b, "rows", s->rows);
		tw_json_add_uint(b, "rows_outside", s->outside);
		add_scores(g, s, false, b);
		tw_json_end_object(b);
	}
	tw_json_end_object(b);
	tw_json_end_object(b);
}
