/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tallywatt check: which metrics a Prometheus response has, and which are not all 0; a
 * picture of its power and load.
 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/memory.h"
#include "cli/train/cmd_table.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/dataset.h"
#include "lib/field/feature.h"
#include "lib/json/jsax.h"
#include "lib/json/writer.h"
#include "model-db/report/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METRICS_MAX 10000
#define DEPTH_MAX 16
#define TEXT_MAX 65536

/* Depths in {"metric":[{"metric":{..},"values":[[seconds,"value"],..]},..],..}. */
enum { AT_METRIC = 1, AT_SERIES = 2, AT_MEMBER = 3, AT_SAMPLE = 5 };

struct config {
	char *svg;
	bool json;
	struct tw_table_config table;
	struct tw_extract_args args;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "input", table.input, "FILE", "Prometheus response to check"),
	  .required = true },
	{ TW_ROW(TEXT, "svg", svg, "FILE",
		 "draw power and load over time to this file, dropped rows marked") },
	{ TW_ROW(TEXT, "source", table.source, "SOURCE", "energy source of --svg"),
	  .fallback = "rapl-sysfs" },
	{ TW_ROW(TEXT, "group", table.group, "GROUP", "feature group of --svg"),
	  .fallback = "BPFOnly" },
	{ TW_ROW(TEXT, "machine", table.machine, "NAME",
		 "machine of --svg, if the response has several") },
	TW_ROW_JSON,
};

struct metric {
	char *name;
	uint64_t series, moving, samples;
	double from_s, to_s; /* NaN: no samples */
};

struct counts {
	struct metric *at;
	size_t count, size;
	bool in_values, any; /* of the series: its member, a value other than 0 */
	bool second;         /* the next scalar of a sample is its value */
};

static int begin_metric(struct counts *c, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	if (c->count == METRICS_MAX)
		return tw_fail(err, TW_INVALID, "over %d metrics", METRICS_MAX);
	tw_must_have(tw_grow(&c->at, &c->size, c->count, sizeof(*c->at)));
	c->at[c->count++] = (struct metric){ .name = tw_must(strndup(e->text, e->len)),
					     .from_s = NAN,
					     .to_s = NAN };
	return 0;
}

static void take_time(struct metric *m, double s)
{
	m->samples++;
	m->from_s = fmin(m->from_s, s);
	m->to_s = fmax(m->to_s, s);
}

static int take_value(struct counts *c, const struct tw_jsax_event *e, struct tw_err *err)
{
	double value;

	if (!tw_parse_sample(e->text, e->len, &value))
		return tw_fail(err, TW_INVALID, "%s: byte %" PRIu64 ": no number",
			       c->at[c->count - 1].name, e->offset);
	c->any = c->any || !(value >= 0 && value <= 0);
	return 0;
}

static void end_series(struct counts *c)
{
	struct metric *m = &c->at[c->count - 1];

	m->series++;
	m->moving += c->any;
}

static int take(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct counts *c = arg;

	if (e->type == TW_JSAX_KEY && e->depth == AT_METRIC)
		return begin_metric(c, e, err);
	if (c->count == 0)
		return 0;
	if (e->type == TW_JSAX_OBJECT && e->depth == AT_SERIES)
		c->any = false;
	else if (e->type == TW_JSAX_OBJECT_END && e->depth == AT_SERIES)
		end_series(c);
	else if (e->type == TW_JSAX_KEY && e->depth == AT_MEMBER)
		c->in_values = tw_jsax_is_text(e, "values");
	else if (e->type == TW_JSAX_NUMBER && e->depth == AT_SAMPLE && c->in_values)
		take_time(&c->at[c->count - 1], e->number);
	else if (e->type == TW_JSAX_TEXT && e->depth == AT_SAMPLE && c->in_values)
		return take_value(c, e, err);
	return 0;
}

static void write_text(const struct counts *c, struct tw_buf *b)
{
	tw_buf_addf(b, "%-56s %7s %8s %10s %9s\n", "METRIC", "SERIES", "NON-ZERO",
		    "SAMPLES", "SECONDS");
	for (size_t i = 0; i < c->count; i++) {
		const struct metric *m = &c->at[i];

		tw_buf_addf(b, "%-56s %7" PRIu64 " %8" PRIu64 " %10" PRIu64 " ", m->name,
			    m->series, m->moving, m->samples);
		if (isnan(m->from_s))
			tw_buf_addf(b, "%9s\n", "-");
		else
			tw_buf_addf(b, "%9.0f\n", m->to_s - m->from_s);
	}
}

static void write_json(const struct counts *c, struct tw_buf *b)
{
	tw_json_add_array(b, NULL);
	for (size_t i = 0; i < c->count; i++) {
		const struct metric *m = &c->at[i];

		tw_json_add_object(b, NULL);
		tw_json_add_text(b, "metric", m->name);
		tw_json_add_uint(b, "series", m->series);
		tw_json_add_uint(b, "non_zero", m->moving);
		tw_json_add_uint(b, "samples", m->samples);
		if (!isnan(m->from_s)) {
			tw_json_add_number(b, "from", m->from_s);
			tw_json_add_number(b, "to", m->to_s);
		}
		tw_json_end_object(b);
	}
	tw_json_end_array(b);
	tw_json_indent(b);
}

/* ---- the picture ---- */

/* A step longer than this multiple of the median lacks rows. */
#define GAP 1.5
#define FEATURES_MAX 256

/* A column as percent of its largest value, which the label has. */
static struct tw_svg_series scale(const struct tw_dataset *d, const char *name,
				  const double *seconds, const char *colour,
				  char label[96])
{
	const double *v = tw_dataset_find(d, name);
	double *y = tw_must(calloc(d->rows + 1, sizeof(*y)));
	double most = 0;

	for (size_t r = 0; r < d->rows; r++)
		most = fmax(most, v[r]);
	for (size_t r = 0; r < d->rows; r++)
		y[r] = most > 0 ? 100 * v[r] / most : 0;
	snprintf(label, 96, "%.20s (%.4g)", name, most);
	return (struct tw_svg_series){ .label = label,
				       .colour = colour,
				       .line = true,
				       .x = seconds,
				       .y = y,
				       .count = d->rows };
}

static double median_step(const double *seconds, size_t rows)
{
	double *step = tw_must(calloc(rows + 1, sizeof(*step)));
	double median;

	for (size_t r = 1; r < rows; r++)
		step[r - 1] = seconds[r] - seconds[r - 1];
	median = tw_nth(step, rows - 1, (rows - 1) / 2);
	free(step);
	return median;
}

static size_t find_gaps(const double *seconds, size_t rows, struct tw_svg_band *band)
{
	const double step = median_step(seconds, rows);
	size_t count = 0;

	for (size_t r = 1; r < rows; r++)
		if (seconds[r] - seconds[r - 1] > GAP * step)
			band[count++] = (struct tw_svg_band){ "gap", seconds[r - 1],
							      seconds[r] - step };
	return count;
}

/* The first column with power, or the feature that measures load; NULL: there is none. */
static const char *find_column(const struct tw_dataset *d, bool power)
{
	const char *feature[FEATURES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < d->cols; i++) {
		const size_t len = strlen(d->col[i].name);
		const bool is_power =
			len > 6 && strcmp(d->col[i].name + len - 6, "_power") == 0;

		if (is_power && power)
			return d->col[i].name;
		if (!is_power && count < TW_COUNT(feature))
			feature[count++] = d->col[i].name;
	}
	return power || count == 0 ? NULL : feature[tw_load_feature(feature, count)];
}

static void draw_rows(const struct config *c, const struct tw_dataset *d,
		      const char *power, const char *load, struct tw_buf *out)
{
	char label[2][96];
	double *seconds = tw_must(calloc(d->rows, sizeof(*seconds)));
	struct tw_svg_band *band = tw_must(calloc(d->rows, sizeof(*band)));
	struct tw_svg_series series[2];
	struct tw_svg_chart chart = { .title = c->table.input,
				      .x_label = "time in s",
				      .y_label = "% of the largest",
				      .series = series,
				      .count = 2,
				      .zero_y = true,
				      .bands = band };

	for (size_t r = 0; r < d->rows; r++)
		seconds[r] = (double)(d->time_ms[r] - d->time_ms[0]) / 1e3;
	series[0] = scale(d, power, seconds, "#4477aa", label[0]);
	series[1] = scale(d, load, seconds, "#ee6677", label[1]);
	chart.band_count = find_gaps(seconds, d->rows, band);
	tw_svg_chart(&chart, out);
	free((void *)(uintptr_t)series[0].y);
	free((void *)(uintptr_t)series[1].y);
	free(seconds);
	free(band);
}

/* Draw the rows that a training would use, and print their quality. */
static int draw(const struct config *c, struct tw_err *err)
{
	struct tw_dataset d = { 0 };
	struct tw_buf quality = { 0 }, svg = { 0 };
	const char *power, *load;
	int rc = -1;

	if (tw_table_extract(&c->table, &c->args, &d, &quality, err) < 0)
		goto out;
	power = find_column(&d, true);
	load = find_column(&d, false);
	if (d.rows < 2 || power == NULL || load == NULL) {
		tw_fail(err, TW_NOTFOUND, "'%s': no rows with power and load to draw",
			c->table.input);
		goto out;
	}
	draw_rows(c, &d, power, load, &svg);
	rc = tw_command_write(&svg, NULL, c->svg, err);
	tw_command_warn(&quality);
out:
	tw_buf_clear(&svg);
	tw_buf_clear(&quality);
	tw_dataset_release(&d);
	return rc;
}

static int check(void *config, struct tw_err *err)
{
	static const struct tw_jsax_limits limits = { .depth = DEPTH_MAX,
						      .text_bytes = TEXT_MAX };
	const struct config *c = config;
	struct counts counts = { .count = 0 };
	struct tw_buf b = { 0 };
	uint64_t moving = 0;
	int rc = -1;

	if (tw_jsax_read(&limits, take, &counts, c->table.input, err) < 0)
		goto out;
	if (c->json)
		write_json(&counts, &b);
	else
		write_text(&counts, &b);
	tw_command_print(&b);
	for (size_t i = 0; i < counts.count; i++)
		moving += counts.at[i].moving;
	if (moving == 0) {
		tw_fail(err, TW_INVALID, "'%s': no series with a value other than 0",
			c->table.input);
		goto out;
	}
	rc = c->svg != NULL ? draw(c, err) : 0;
out:
	for (size_t i = 0; i < counts.count; i++)
		free(counts.at[i].name);
	free(counts.at);
	return rc;
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

	return tw_table_args(&c->table, TW_ROWS_NODE, &c->args, err);
}

static void release(void *config)
{
	struct config *c = config;

	tw_table_release(&c->table);
}

const struct tw_command tw_command_check = {
	.opts = TW_COMMAND_OPTS("check", NULL,
				"Count the series of a Prometheus response, and those "
				"that are not all 0."),
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = check,
	.release = release,
};
