/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/unit/unit_report.h"

#include "cli/memory.h"
#include "lib/core/buf.h"
#include "lib/core/date.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "model-db/report/svg.h"
#include "trainer/unit/unit_data.h"
#include "trainer/unit/unit_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks whose energy is farthest from its estimate. */
#define WORST 5

static double residual_w(const struct tw_unit_result *r, size_t i)
{
	return (r->blocks.energy_j[i] - r->fit.predicted_j[i]) /
	       tw_unit_block_s(&r->blocks, i);
}

/* Indices of the blocks with the largest residuals, largest first. */
static size_t find_worst(const struct tw_unit_result *r, size_t worst[WORST])
{
	size_t n = 0;

	for (size_t i = 0; i < r->blocks.count; i++) {
		size_t at = n < WORST ? n++ : WORST;

		for (; at > 0 &&
		       fabs(residual_w(r, i)) > fabs(residual_w(r, worst[at - 1]));
		     at--)
			if (at < WORST)
				worst[at] = worst[at - 1];
		if (at < WORST)
			worst[at] = i;
	}
	return n;
}

/* ---- the table ---- */

static void add_sci(const struct tw_unit_result *r, struct tw_buf *out)
{
	const struct tw_sci *s = &r->sci;
	const char *series = tw_unit_data_text(r->data, TW_UNIT_INTENSITY);

	tw_buf_addf(out, "\nSCI = (E x I + M) / R: %.4g gCO2e for each of %s\n",
		    s->g_per_unit, r->blocks.name[r->sci_in.work]);
	tw_buf_addf(out, "E  %.4g kWh, with idle energy of %.4g W\n", s->energy_kwh,
		    r->idle_w);
	tw_buf_addf(out, "I  %.4g gCO2e/kWh, %s\n", s->intensity,
		    series != NULL ? series : "a constant");
	tw_buf_addf(
		out,
		"M  %.4g gCO2e: %.4g kg in %.4g years, %.4g %% reserved, for %.4g h\n",
		s->embodied_g, r->sci_in.embodied_kg, r->sci_in.lifespan_years,
		100 * r->sci_in.reserved, r->fit.seconds / 3600);
	tw_buf_addf(out, "R  %.10g\n", s->units);
}

static void add_interval(struct tw_buf *out, const struct tw_unit_value *v)
{
	char text[64];

	snprintf(text, sizeof(text), "%.4g .. %.4g", v->low, v->high);
	tw_buf_addf(out, " %12.4g  %-22s", v->at, text);
}

static void add_units(const struct tw_unit_result *r, struct tw_buf *out)
{
	tw_buf_addf(out, "\n%-24s %12s  %-22s %14s %8s %6s\n", "UNIT", "J",
		    "90 % INTERVAL", "UNITS", "ENERGY %", "VIF");
	for (size_t k = 0; k < r->fit.works; k++) {
		const struct tw_unit_cost *c = &r->fit.work[k];

		tw_buf_addf(out, "%-24s", r->blocks.name[k]);
		add_interval(out, &c->joules);
		tw_buf_addf(out, " %14.10g %8.1f %6.3g\n", c->units, 100 * c->share,
			    c->vif);
	}
	tw_buf_addf(out, "%-24s", "standing power, W");
	add_interval(out, &r->fit.standing_w);
	tw_buf_addf(out, " %14s %8.1f\n", "",
		    100 * r->fit.standing_w.at * r->fit.seconds / r->fit.energy_j);
}

/* A row for each part of the blocks, a column for each counter. */
static void add_batches(const struct tw_unit_result *r, struct tw_buf *out)
{
	tw_buf_addf(out, "\n%-10s %7s", "BATCH SIZE", "BLOCKS");
	for (size_t k = 0; k < r->fit.works; k++)
		tw_buf_addf(out, "  %12.40s J", r->blocks.name[k]);
	for (size_t p = 0; p < TW_UNIT_BATCH_PARTS; p++) {
		tw_buf_addf(out, "\n%-10.3g %7zu", r->batch[p].size, r->batch[p].blocks);
		for (size_t k = 0; k < r->fit.works; k++)
			tw_buf_addf(out, "  %14.4g", r->batch[p].joules[k]);
	}
	tw_buf_adds(out, "\n");
}

void tw_unit_report_table(const struct tw_unit_result *r, struct tw_buf *out)
{
	const struct tw_unit_fit *f = &r->fit;
	const struct tw_unit_blocks *b = &r->blocks;
	size_t worst[WORST], n = find_worst(r, worst);
	char from[TW_DATE_TEXT];

	tw_format_date_ms(b->bound_ms[0], from);
	tw_buf_addf(out, "energy %.5g J in %.4g h from %s: %.4g W, %zu series\n",
		    f->energy_j, f->seconds / 3600, from, f->energy_j / f->seconds,
		    r->data->in.energy.count);
	tw_buf_addf(out, "idle %.4g W, not attributed\n", r->idle_w);
	tw_buf_addf(out, "%zu blocks of %.4g s, samples each %.4g s\n", b->count,
		    (double)b->block_ms / 1e3, (double)b->scrape_ms / 1e3);
	add_units(r, out);
	tw_buf_addf(out, "\nR2 %.4f, residual %.3g W; farthest blocks:\n", f->r2,
		    f->residual_w);
	for (size_t i = 0; i < n; i++) {
		tw_format_date_ms(b->bound_ms[worst[i]], from);
		tw_buf_addf(out, "  %s %+.3g W\n", from, residual_w(r, worst[i]));
	}
	if (r->has_batches)
		add_batches(r, out);
	if (r->has_sci)
		add_sci(r, out);
}

/* ---- JSON ---- */

static void add_date(struct tw_buf *out, const char *key, int64_t ms)
{
	char text[TW_DATE_TEXT];

	tw_format_date_ms(ms, text);
	tw_json_add_text(out, key, text);
}

static void add_json_energy(const struct tw_unit_result *r, struct tw_buf *out)
{
	const struct tw_unit_data *d = r->data;

	tw_json_add_object(out, "energy");
	tw_unit_energy_add(out, "selectors", d);
	tw_json_add_uint(out, "series", d->in.energy.count);
	tw_json_add_number(out, "joules", r->fit.energy_j);
	tw_json_add_number(out, "watts", r->fit.energy_j / r->fit.seconds);
	tw_json_end_object(out);
}

static void add_json_units(const struct tw_unit_result *r, struct tw_buf *out)
{
	tw_json_add_array(out, "units");
	for (size_t k = 0; k < r->fit.works; k++) {
		const struct tw_unit_cost *c = &r->fit.work[k];

		tw_json_add_object(out, NULL);
		tw_json_add_text(out, "unit", r->blocks.name[k]);
		tw_json_add_text(out, "selector",
				 tw_unit_data_text(r->data, TW_UNIT_WORK + k));
		tw_unit_value_add(out, "joules", &c->joules);
		tw_json_add_number(out, "units", c->units);
		tw_json_add_number(out, "share", c->share);
		tw_json_add_number(out, "vif", c->vif);
		if (c->partner != SIZE_MAX) {
			tw_json_add_text(out, "moves_with", r->blocks.name[c->partner]);
			tw_json_add_number(out, "correlation", c->correlation);
		}
		tw_json_end_object(out);
	}
	tw_json_end_array(out);
}

static void add_json_batches(const struct tw_unit_result *r, struct tw_buf *out)
{
	tw_json_add_array(out, "batches");
	for (size_t p = 0; p < TW_UNIT_BATCH_PARTS; p++) {
		tw_json_add_object(out, NULL);
		tw_json_add_number(out, "size", r->batch[p].size);
		tw_json_add_uint(out, "blocks", r->batch[p].blocks);
		tw_json_add_object(out, "joules");
		for (size_t k = 0; k < r->fit.works; k++)
			tw_json_add_number(out, r->blocks.name[k], r->batch[p].joules[k]);
		tw_json_end_object(out);
		tw_json_end_object(out);
	}
	tw_json_end_array(out);
}

static void add_json_sci(const struct tw_unit_result *r, struct tw_buf *out)
{
	const char *series = tw_unit_data_text(r->data, TW_UNIT_INTENSITY);

	tw_json_add_object(out, "sci");
	tw_json_add_text(out, "unit", r->blocks.name[r->sci_in.work]);
	tw_json_add_number(out, "grams_per_unit", r->sci.g_per_unit);
	tw_json_add_number(out, "energy_kwh", r->sci.energy_kwh);
	tw_json_add_number(out, "intensity_grams_per_kwh", r->sci.intensity);
	tw_json_add_text(out, "intensity_source", series != NULL ? series : "constant");
	tw_json_add_number(out, "operational_grams", r->sci.operational_g);
	tw_json_add_number(out, "embodied_grams", r->sci.embodied_g);
	tw_json_add_number(out, "embodied_kg", r->sci_in.embodied_kg);
	tw_json_add_number(out, "lifespan_years", r->sci_in.lifespan_years);
	tw_json_add_number(out, "reserved_share", r->sci_in.reserved);
	tw_json_add_number(out, "units", r->sci.units);
	tw_json_end_object(out);
}

void tw_unit_report_json(const struct tw_unit_result *r, struct tw_buf *out)
{
	const struct tw_unit_blocks *b = &r->blocks;
	size_t worst[WORST], n = find_worst(r, worst);

	tw_json_add_object(out, NULL);
	add_date(out, "from", b->bound_ms[0]);
	add_date(out, "to", b->bound_ms[b->count]);
	add_json_energy(r, out);
	tw_json_add_number(out, "idle_watts", r->idle_w);
	tw_unit_value_add(out, "standing_watts", &r->fit.standing_w);
	add_json_units(r, out);
	tw_json_add_number(out, "interval_level", TW_UNIT_LEVEL);
	tw_json_add_number(out, "r2", r->fit.r2);
	tw_json_add_number(out, "residual_watts", r->fit.residual_w);
	tw_json_add_uint(out, "blocks", b->count);
	tw_json_add_number(out, "block_seconds", (double)b->block_ms / 1e3);
	tw_json_add_uint(out, "joined_over_gaps", b->merged);
	tw_json_add_number(out, "scrape_seconds", (double)b->scrape_ms / 1e3);
	tw_json_add_array(out, "farthest_blocks");
	for (size_t i = 0; i < n; i++) {
		tw_json_add_object(out, NULL);
		add_date(out, "from", b->bound_ms[worst[i]]);
		tw_json_add_number(out, "residual_watts", residual_w(r, worst[i]));
		tw_json_end_object(out);
	}
	tw_json_end_array(out);
	if (r->has_batches)
		add_json_batches(r, out);
	if (r->has_sci)
		add_json_sci(r, out);
	tw_json_add_texts(out, "warnings", &r->warnings);
	tw_json_end_object(out);
	tw_json_indent(out);
}

/* ---- recording rules ---- */

/* A text of YAML: a JSON string is one. */
static void add_quoted(struct tw_buf *out, const char *text)
{
	tw_buf_add_json_text(out, text, strlen(text));
}

static void add_rule(struct tw_buf *out, const char *record, const char *unit, double v,
		     const char *selector)
{
	struct tw_buf expr = { 0 };

	tw_buf_addf(out, "      - record: %s\n        expr: ", record);
	if (selector == NULL)
		tw_buf_adds(&expr, "vector(");
	tw_buf_add_double(&expr, tw_round_digits(v, 6));
	if (selector == NULL)
		tw_buf_adds(&expr, ")");
	else
		tw_buf_addf(&expr, " * sum(rate(%s[5m]))", selector);
	tw_must_have(!tw_buf_failed(&expr));
	add_quoted(out, expr.data);
	tw_buf_clear(&expr);
	if (unit != NULL) {
		tw_buf_adds(out, "\n        labels: {unit: ");
		add_quoted(out, unit);
		tw_buf_adds(out, "}");
	}
	tw_buf_adds(out, "\n");
}

void tw_unit_report_rules(const struct tw_unit_result *r, struct tw_buf *out)
{
	const struct tw_unit_blocks *b = &r->blocks;
	char from[TW_DATE_TEXT], to[TW_DATE_TEXT];

	tw_format_date_ms(b->bound_ms[0], from);
	tw_format_date_ms(b->bound_ms[b->count], to);
	tw_buf_addf(out, "# By tallywatt unit, from %s to %s, R2 %.4f\n", from, to,
		    r->fit.r2);
	tw_buf_adds(out, "groups:\n  - name: tallywatt-unit\n    rules:\n");
	for (size_t k = 0; k < r->fit.works; k++) {
		const struct tw_unit_value *v = &r->fit.work[k].joules;
		const char *unit = b->name[k];

		add_rule(out, "unit:tallywatt_unit_joules:fit", unit, v->at, NULL);
		add_rule(out, "unit:tallywatt_unit_joules:low", unit, v->low, NULL);
		add_rule(out, "unit:tallywatt_unit_joules:high", unit, v->high, NULL);
		add_rule(out, "unit:tallywatt_unit_power_watts:rate5m", unit, v->at,
			 tw_unit_data_text(r->data, TW_UNIT_WORK + k));
	}
	add_rule(out, "unit:tallywatt_unit_standing_watts:fit", NULL,
		 r->fit.standing_w.at, NULL);
}

/* ---- the picture ---- */

static const char *const colours[TW_UNIT_WORKS_MAX] = { "#4477aa", "#ee6677", "#228833",
							"#ccbb44", "#66ccee", "#aa3377",
							"#bbbbbb", "#000000" };

/* Dots: the power of a counter's work, and what the fit leaves unexplained, against its
 * rate as percent of the largest. Line: the fit. */
static void add_series(const struct tw_unit_result *r, size_t k, double *room,
		       char label[96], struct tw_svg_series *out)
{
	const struct tw_unit_blocks *b = &r->blocks;
	const size_t n = b->count;
	double *x = room, *y = room + n, *ends = room + 2 * n, most = 0;

	for (size_t i = 0; i < n; i++) {
		x[i] = b->work[i * b->works + k] / tw_unit_block_s(b, i);
		y[i] = r->fit.work[k].joules.at * x[i] + residual_w(r, i);
		most = fmax(most, x[i]);
	}
	for (size_t i = 0; i < n; i++)
		x[i] *= 100 / most;
	ends[1] = 100;
	ends[3] = r->fit.work[k].joules.at * most;
	if (b->works > 3) /* the legend has little room */
		snprintf(label, 96, "%.8s", b->name[k]);
	else
		snprintf(label, 96, "%.12s (%.4g/s)", b->name[k], most);
	out[0] = (struct tw_svg_series){ label, colours[k], false, x, y, n };
	out[1] = (struct tw_svg_series){ "", colours[k], true, ends, ends + 2, 2 };
}

void tw_unit_report_svg(const struct tw_unit_result *r, struct tw_buf *out)
{
	const size_t each = 2 * r->blocks.count + 4;
	double *room = tw_must(calloc(r->fit.works * each, sizeof(*room)));
	struct tw_svg_series series[2 * TW_UNIT_WORKS_MAX];
	char label[TW_UNIT_WORKS_MAX][96], title[128];
	const struct tw_svg_chart chart = { .title = title,
					    .x_label = "work, % of the largest rate",
					    .y_label = "W above standing power",
					    .series = series,
					    .count = 2 * r->fit.works,
					    .zero_x = true,
					    .zero_y = true };

	for (size_t k = 0; k < r->fit.works; k++)
		add_series(r, k, room + k * each, label[k], &series[2 * k]);
	snprintf(title, sizeof(title), "Power of work; standing %.4g W, R2 %.3f",
		 r->fit.standing_w.at, r->fit.r2);
	tw_svg_chart(&chart, out);
	free(room);
}
