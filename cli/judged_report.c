/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/judged.h"

#include "estimator/predict/power_model.h"
#include "isolator/isolator.h"
#include "lib/core/buf.h"
#include "lib/core/strs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		add_figure(b, v[i]);
	tw_buf_adds(b, "\n");
}

/* What the model's own training says: the metadata's figure of the component. */
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
			    "  %zu of %zu rows are beyond what it was trained on: there "
			    "it extrapolates\n",
			    s->outside, s->rows);
	if (s->seen > 0)
		tw_buf_addf(b,
			    "  %zu of %zu rows are of the time of its training data: if "
			    "it has seen them, these errors are too small\n",
			    s->seen, s->rows);
}

void tw_judged_to_text(const struct tw_judged *g, const char *path, struct tw_buf *out)
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
	add_warnings(&g->all, out);
}

/* ---- JSON ---- */

static json_t *scores_to_json(const struct tw_judged *g, const struct tw_model_score *s,
			      bool trained)
{
	json_t *all = json_object();

	for (size_t c = 0; c < s->components; c++) {
		const double mae = trained_mae(g->model, s->component[c]);
		json_t *one = tw_score_to_json(&s->score[c]);

		if ((trained && json_object_set_new(one, "trained_mae",
						    isfinite(mae) ? json_real(mae)
								  : json_null()) < 0) ||
		    json_object_set_new(all, tw_component_name(s->component[c]), one) <
			    0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

static json_t *workloads_to_json(const struct tw_judged *g)
{
	json_t *all = json_object();

	for (size_t w = 0; w < g->workloads->count; w++) {
		const struct tw_model_score *s = &g->by_workload[w];
		json_t *one;

		if (s->rows == 0)
			continue;
		one = json_pack("{s:I, s:I, s:o}", "rows", (json_int_t)s->rows,
				"rows_outside", (json_int_t)s->outside, "components",
				scores_to_json(g, s, false));
		if (json_object_set_new(all, g->workloads->at[w], one) < 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

json_t *tw_judged_to_json(const struct tw_judged *g, const char *path, const char *input)
{
	const struct tw_model_info *i = tw_power_model_info(g->model);

	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s*, s:I, s:I, s:I, s:o, s:o}", "model",
		path, "model_name", i->name, "input", input, "energy_source",
		i->source->name, "output_type", tw_output_name(i->output),
		"feature_group", i->group->name, "isolator",
		g->isolator != NULL ? g->isolator->name : NULL, "rows",
		(json_int_t)g->all.rows, "rows_outside", (json_int_t)g->all.outside,
		"rows_of_training_time", (json_int_t)g->all.seen, "components",
		scores_to_json(g, &g->all, true), "workloads", workloads_to_json(g));
}
