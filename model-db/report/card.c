/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/report/card.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "model-db/fitness.h"
#include "model-db/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Ways to split rows into training and test rows (docs/accuracy.md). */
static const struct {
	const char *name;  /* key in the card's JSON */
	const char *infix; /* in metadata's keys: "package_workload_mae" */
	const char *title;
} schemes[] = {
	{ "blocked", "", "Blocks of time" },
	{ "workload", "workload_", "One workload left out" },
	{ "shuffled", "shuffled_",
	  "Shuffled rows (too good; only to compare with others' tables)" },
};

static const struct {
	const char *key, *title;
	int decimals;
	double factor;
} figures[] = {
	{ "mae", "MAE (W)", 2, 1 },
	{ "rmse", "RMSE (W)", 2, 1 },
	{ "r2", "R²", 3, 1 },
	{ "bias", "Bias (W)", 2, 1 },
	{ "idle_bias", "Idle bias (W)", 2, 1 },
	{ "p95", "95 % within (W)", 2, 1 },
	{ "mape", "MAPE (%)", 1, 1 },
	{ "mape_floor", "of rows above (W)", 2, 1 },
	{ "mape_left_out", "rows left out (%)", 1, 100 },
};

/* The figure's value in the metadata; NULL if it has none. */
static const json_t *figure(const struct tw_model_info *i, enum tw_component c,
			    size_t scheme, size_t f)
{
	char key[96];

	snprintf(key, sizeof(key), "%s_%s%s", tw_component_name(c), schemes[scheme].infix,
		 figures[f].key);
	return json_object_get(i->metadata, key);
}

static bool has_scheme(const struct tw_model *m, size_t scheme)
{
	for (size_t p = 0; p < m->parts; p++)
		if (figure(&m->info, m->part[p].component, scheme, 0) != NULL)
			return true;
	return false;
}

/* ---- JSON ---- */

static void add_json_errors(const struct tw_model *m, enum tw_component c,
			    struct tw_buf *b)
{
	tw_json_add_object(b, "errors");
	for (size_t s = 0; s < TW_COUNT(schemes); s++) {
		if (!has_scheme(m, s))
			continue;
		tw_json_add_object(b, schemes[s].name);
		for (size_t f = 0; f < TW_COUNT(figures); f++) {
			const json_t *v = figure(&m->info, c, s, f);

			if (v != NULL)
				tw_json_add_value(b, figures[f].key, v);
		}
		tw_json_end_object(b);
	}
	tw_json_end_object(b);
}

static void add_json_features(const struct tw_model_part *p, struct tw_buf *b)
{
	tw_json_add_array(b, "features");
	for (size_t i = 0; i < p->features.count; i++) {
		const struct tw_feature *f = tw_feature_find(p->features.at[i]);

		tw_json_add_object(b, NULL);
		tw_json_add_text(b, "name", p->features.at[i]);
		tw_json_add_text(b, "unit", f != NULL ? f->unit : NULL);
		if (p->feature_min != NULL) {
			tw_json_add_number(b, "min", p->feature_min[i]);
			tw_json_add_number(b, "max", p->feature_max[i]);
		}
		tw_json_end_object(b);
	}
	tw_json_end_array(b);
}

void tw_card_json(const struct tw_model *m, struct tw_buf *b)
{
	const struct tw_model_info *i = &m->info;

	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "model_name", i->name);
	tw_json_add_text(b, "trainer", i->trainer);
	tw_json_add_text(b, "model_class", i->predictor);
	tw_json_add_text(b, "energy_source", i->source->name);
	tw_json_add_text(b, "output_type", tw_output_name(i->output));
	tw_json_add_text(b, "feature_group", i->group->name);
	tw_json_add_int(b, "node_type", i->node_type);
	tw_json_add_texts(b, "features", &i->features);
	tw_json_add_value_take(b, "machine_spec", tw_machine_spec_to_json(&i->spec));
	tw_json_add_object(b, "components");
	for (size_t p = 0; p < m->parts; p++) {
		tw_json_add_object(b, tw_component_name(m->part[p].component));
		add_json_features(&m->part[p], b);
		add_json_errors(m, m->part[p].component, b);
		tw_json_end_object(b);
	}
	tw_json_end_object(b);
	tw_json_add_key(b, "metadata");
	/* A model that was never written has no metadata. */
	if (i->metadata != NULL)
		tw_buf_add_json(b, i->metadata);
	else
		tw_buf_adds(b, "{}");
	tw_json_end_object(b);
}

/* ---- Markdown ---- */

void tw_card_add_cell(struct tw_buf *b, const char *text)
{
	for (; *text != '\0'; text++) {
		if (strchr("|\\`*<>[]&", *text) != NULL)
			tw_buf_adds(b, "\\");
		tw_buf_add(b, (unsigned char)*text < ' ' ? " " : text, 1);
	}
}

void tw_card_add_figure(struct tw_buf *b, double v, int decimals)
{
	if (isfinite(v))
		tw_buf_addf(b, "%.*f", decimals, v);
	else
		tw_buf_adds(b, "-");
}

/* A cell of a table. */
static void add_number(struct tw_buf *b, double v, int decimals)
{
	tw_buf_adds(b, " ");
	tw_card_add_figure(b, v, decimals);
	tw_buf_adds(b, " |");
}

static void add_row(struct tw_buf *b, const char *name, const char *text)
{
	if (text == NULL || text[0] == '\0')
		return;
	tw_buf_addf(b, "| %s | ", name);
	tw_card_add_cell(b, text);
	tw_buf_adds(b, " |\n");
}

static void add_number_row(struct tw_buf *b, const char *name, double v)
{
	char text[TW_DOUBLE_TEXT];

	if (!isfinite(v) || v == 0.0)
		return;
	tw_format_double(text, v);
	add_row(b, name, text);
}

static const char *text_of(const struct tw_model_info *i, const char *key)
{
	return json_string_value(json_object_get(i->metadata, key));
}

static void add_summary(const struct tw_model_info *i, struct tw_buf *b)
{
	tw_buf_adds(b, "# ");
	tw_card_add_cell(b, i->name);
	tw_buf_addf(b, "\n\nPredicts the %s in watts.\n\n| | |\n|---|---|\n",
		    i->output == TW_DYN_POWER
			    ? "power of a workload above the machine's idle power"
			    : "power of a machine, idle power included,");
	add_row(b, "energy source", i->source->name);
	add_row(b, "output type", tw_output_name(i->output));
	add_row(b, "feature group", i->group->name);
	add_row(b, "trainer", i->trainer);
	add_row(b, "predictor", i->predictor);
	tw_buf_addf(b, "| node type | %lld |\n", i->node_type);
	add_row(b, "isolator", text_of(i, "isolator"));
	add_row(b, "made by", text_of(i, "creator"));
}

static void add_machine(const struct tw_model_info *i, struct tw_buf *b)
{
	const struct tw_machine_spec *s = &i->spec;

	tw_buf_adds(b, "\n## Machine\n\n");
	if (!tw_machine_spec_known(s)) {
		tw_buf_adds(b, "Not known.\n");
		return;
	}
	tw_buf_adds(b, "| | |\n|---|---|\n");
	add_row(b, "vendor", s->vendor);
	add_row(b, "processor", s->processor);
	add_number_row(b, "logical CPUs", s->cores);
	add_number_row(b, "chips", s->chips);
	add_number_row(b, "threads a core", s->threads_per_core);
	add_number_row(b, "memory (GiB)", s->memory_gib);
	add_number_row(b, "frequency (MHz)", s->frequency_mhz);
}

static void add_data(const struct tw_model_info *i, struct tw_buf *b)
{
	tw_buf_adds(b, "\n## Training data\n\n");
	if (!isfinite(tw_json_number_or(i->metadata, "data_rows", NAN))) {
		tw_buf_adds(b, "Not known.\n");
		return;
	}
	tw_buf_adds(b, "| | |\n|---|---|\n");
	add_row(b, "from", text_of(i, "data_origin"));
	add_number_row(b, "rows", tw_json_number_or(i->metadata, "data_rows", NAN));
	add_row(b, "first", text_of(i, "data_first"));
	add_row(b, "last", text_of(i, "data_last"));
	add_number_row(b, "median step (s)",
		       tw_json_number_or(i->metadata, "data_step_s", NAN));
}

/* The sums of rows and the node's totals of them, in percent. */
static void add_share(struct tw_buf *b, const json_t *quality, const char *name,
		      const char *rows, const char *total)
{
	const double share = 100 * tw_json_number_or(quality, rows, NAN) /
			     tw_json_number_or(quality, total, NAN);

	if (isfinite(share))
		tw_buf_addf(b, "| %s | %.1f |\n", name, share);
}

static void add_one_quality(const json_t *quality, struct tw_buf *b)
{
	static const struct {
		const char *key, *title;
	} rows[] = {
		{ "span_s", "span (s)" },
		{ "step_s", "median step (s)" },
		{ "gaps", "gaps" },
		{ "restarts", "restarts of the exporter" },
		{ "late_scrapes", "late scrapes, joined" },
		{ "dropped_rows", "impossible rows, dropped" },
		{ "load_min", "lowest load (CPUs)" },
		{ "load_max", "highest load (CPUs)" },
		{ "rest_s", "time at rest (s)" },
		{ "idle_low_w", "idle power from (W)" },
		{ "idle_high_w", "idle power to (W)" },
		{ "lag_s", "lag of power (s)" },
		{ "lag_corrected_s", "lag that was corrected (s)" },
	};
	const json_t *line;
	size_t i;

	tw_buf_adds(b, "\n| | |\n|---|---|\n");
	for (size_t r = 0; r < TW_COUNT(rows); r++)
		add_number_row(b, rows[r].title,
			       tw_json_number_or(quality, rows[r].key, NAN));
	add_share(b, quality, "CPU time of the rows (% of the node's)", "cpu_time_rows_s",
		  "cpu_time_node_s");
	add_share(b, quality, "energy of the rows (% of the meter's)", "energy_rows_j",
		  "energy_meter_j");
	tw_buf_adds(b, "\n");
	json_array_foreach(json_object_get(quality, "warnings"), i, line) {
		if (!json_is_string(line))
			continue;
		tw_buf_adds(b, "* ");
		tw_card_add_cell(b, json_string_value(line));
		tw_buf_adds(b, "\n");
	}
}

/* The quality of each recording. */
static void add_quality(const struct tw_model_info *info, struct tw_buf *b)
{
	const json_t *list = json_object_get(info->metadata, "data_quality"), *one;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) == 0)
		return;
	tw_buf_adds(b, "\n### Data quality\n");
	json_array_foreach(list, i, one)
		add_one_quality(one, b);
}

static void add_scheme(const struct tw_model *m, size_t s, struct tw_buf *b)
{
	char key[64];

	tw_buf_addf(b, "\n### %s\n\n", schemes[s].title);
	snprintf(key, sizeof(key), "%sfolds", s == 0 ? "validation_" : schemes[s].infix);
	if (isfinite(tw_json_number_or(m->info.metadata, key, NAN)))
		tw_buf_addf(b,
			    "%.0f parts, each predicted by a model that was trained "
			    "without it.\n\n",
			    tw_json_number_or(m->info.metadata, key, NAN));
	tw_buf_adds(b, "| |");
	for (size_t f = 0; f < TW_COUNT(figures); f++)
		tw_buf_addf(b, " %s |", figures[f].title);
	tw_buf_adds(b, "\n|---|");
	for (size_t f = 0; f < TW_COUNT(figures); f++)
		tw_buf_adds(b, "--:|");
	tw_buf_adds(b, "\n");
	for (size_t p = 0; p < m->parts; p++) {
		tw_buf_addf(b, "| %s |", tw_component_name(m->part[p].component));
		for (size_t f = 0; f < TW_COUNT(figures); f++) {
			const json_t *v = figure(&m->info, m->part[p].component, s, f);

			add_number(b,
				   json_is_number(v)
					   ? figures[f].factor * json_number_value(v)
					   : NAN,
				   figures[f].decimals);
		}
		tw_buf_adds(b, "\n");
	}
}

static void add_errors(const struct tw_model *m, struct tw_buf *b)
{
	tw_buf_adds(b, "\n## Errors\n\nOn rows that the model did not see. MAE ");
	tw_card_add_figure(b, m->info.mae_w, 2);
	tw_buf_adds(b, " W, MAPE ");
	tw_card_add_figure(b, m->info.mape_percent, 1);
	tw_buf_adds(b, " %: the largest over the components.\n");
	for (size_t s = 0; s < TW_COUNT(schemes); s++)
		if (has_scheme(m, s))
			add_scheme(m, s, b);
}

const struct tw_card_test tw_card_tests[TW_CARD_TESTS] = {
	{ TW_CERTIFICATE_RISES, "power rises with load", false, false },
	{ TW_CERTIFICATE_ADDITIVE, "powers of the parts add up to the whole", true,
	  false },
	{ TW_CERTIFICATE_REST, "power at rest equals the recorded power", false, true },
	{ TW_CERTIFICATE_NO_JUMP, "no jump just above rest", false, true },
	{ TW_CERTIFICATE_NON_NEGATIVE, "power is never negative", false, true },
};

/* The mean error beside its limits. A biased model yields (tw_index_entry.yields). */
static void add_bias(const struct tw_model_info *i, struct tw_buf *b)
{
	const json_t *v = json_object_get(i->metadata, TW_CERTIFICATE_BIAS);

	if (!json_is_number(v))
		return;
	tw_buf_adds(b, "| mean error, share of its limit | ");
	tw_card_add_figure(b, json_number_value(v), 2);
	tw_buf_adds(b, tw_model_is_biased(i) ? " (biased: other models go first) |\n"
					     : " |\n");
}

static void add_certificate(const struct tw_model_info *i, struct tw_buf *b)
{
	const char *refused = text_of(i, TW_CERTIFICATE_REFUSED);

	if (json_object_get(i->metadata, TW_CERTIFICATE_RISES) == NULL)
		return;
	tw_buf_adds(b, "\n## Certificate\n\n");
	if (refused != NULL) {
		tw_buf_adds(b, "Refused: ");
		tw_card_add_cell(b, refused);
		tw_buf_adds(b, ".\n\n");
	}
	tw_buf_adds(b, "| | |\n|---|---|\n");
	for (size_t t = 0; t < TW_CARD_TESTS; t++) {
		const struct tw_card_test *test = &tw_card_tests[t];
		const json_t *v = json_object_get(i->metadata, test->key);

		if (json_is_boolean(v) &&
		    (test->of_both || test->of_workloads == (i->output == TW_DYN_POWER)))
			add_row(b, test->title, json_is_true(v) ? "yes" : "no");
	}
	add_bias(i, b);
}

/* Whether all components have the same features and ranges. */
static bool all_alike(const struct tw_model *m)
{
	const struct tw_model_part *first = &m->part[0];

	for (size_t p = 1; p < m->parts; p++) {
		const struct tw_model_part *other = &m->part[p];

		if (other->features.count != first->features.count ||
		    (other->feature_min == NULL) != (first->feature_min == NULL))
			return false;
		for (size_t i = 0; i < first->features.count; i++) {
			if (strcmp(other->features.at[i], first->features.at[i]) != 0)
				return false;
			if (first->feature_min != NULL &&
			    (other->feature_min[i] != first->feature_min[i] ||
			     other->feature_max[i] != first->feature_max[i]))
				return false;
		}
	}
	return true;
}

static void add_part_features(const struct tw_model_part *p, const char *component,
			      struct tw_buf *b)
{
	for (size_t i = 0; i < p->features.count; i++) {
		const struct tw_feature *f = tw_feature_find(p->features.at[i]);

		tw_buf_addf(b, "| %s | ", component);
		tw_card_add_cell(b, p->features.at[i]);
		tw_buf_addf(b, " | %s |", f != NULL ? f->unit : "");
		if (p->feature_min != NULL)
			tw_buf_addf(b, " %.6g | %.6g |\n", p->feature_min[i],
				    p->feature_max[i]);
		else
			tw_buf_adds(b, " - | - |\n");
	}
}

/* The least coverage of a fold. */
static double least_coverage(const json_t *metadata, enum tw_component c)
{
	double least = NAN;
	char key[96];
	const json_t *list;

	snprintf(key, sizeof(key), "%s_interval_coverage_folds", tw_component_name(c));
	list = json_object_get(metadata, key);
	for (size_t k = 0; k < json_array_size(list); k++)
		if (json_is_number(json_array_get(list, k)))
			least = fmin(least, json_number_value(json_array_get(list, k)));
	return least;
}

static void add_intervals(const struct tw_model *m, struct tw_buf *b)
{
	const json_t *metadata = m->info.metadata;

	if (isnan(tw_model_figure(metadata, m->part[0].component, "interval_coverage")))
		return;
	tw_buf_adds(b,
		    "\n## Intervals of 95 %\n\nOn blocks of time that did not calibrate "
		    "them.\n\n| component | within (%) | least block (%) | score (W) | "
		    "score of a constant (W) | AUC of misses |\n"
		    "|---|--:|--:|--:|--:|--:|\n");
	for (size_t p = 0; p < m->parts; p++) {
		const enum tw_component c = m->part[p].component;

		tw_buf_addf(b, "| %s |", tw_component_name(c));
		add_number(b, 100.0 * tw_model_figure(metadata, c, "interval_coverage"),
			   1);
		add_number(b, 100.0 * least_coverage(metadata, c), 1);
		add_number(b, tw_model_figure(metadata, c, "interval_score"), 2);
		add_number(b, tw_model_figure(metadata, c, "interval_score_constant"), 2);
		add_number(b, tw_model_figure(metadata, c, "expected_error_auc"), 3);
		tw_buf_adds(b, "\n");
	}
}

static void add_limits(const struct tw_model *m, struct tw_buf *b)
{
	const bool alike = all_alike(m);

	tw_buf_adds(
		b, "\n## Features and their range\n\n"
		   "Beyond what it was trained on, a prediction is an extrapolation.\n\n"
		   "| component | feature | unit | from | to |\n|---|---|---|--:|--:|\n");
	for (size_t p = 0; p < (alike ? 1 : m->parts); p++)
		add_part_features(&m->part[p],
				  alike && m->parts > 1
					  ? "all"
					  : tw_component_name(m->part[p].component),
				  b);
}

int tw_card_markdown(const struct tw_model *m, const struct tw_card_plot *plots,
		     size_t count, struct tw_buf *out, struct tw_err *err)
{
	add_summary(&m->info, out);
	add_machine(&m->info, out);
	add_data(&m->info, out);
	add_certificate(&m->info, out);
	add_quality(&m->info, out);
	add_errors(m, out);
	add_intervals(m, out);
	add_limits(m, out);
	tw_buf_adds(out,
		    "\nWhat the errors are on another machine or another workload is not "
		    "known.\n");
	if (count > 0)
		tw_buf_adds(out, "\n## Plots\n\nRows that the model did not see.\n");
	for (size_t i = 0; i < count; i++)
		tw_buf_addf(out, "\n![%s](%s)\n", plots[i].title, plots[i].href);
	if (tw_buf_failed(out))
		return tw_fail(err, TW_NOMEM, "card of model '%s'", m->info.name);
	return 0;
}
