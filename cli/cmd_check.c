/* SPDX-License-Identifier: Apache-2.0 */
/* tallywatt check: which metrics a Prometheus response has, and which are not all 0. */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/memory.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/jsax.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/program/opt.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define METRICS_MAX 10000
#define DEPTH_MAX 16
#define TEXT_MAX 65536

/* Depths in {"metric":[{"metric":{..},"values":[[seconds,"value"],..]},..],..}. */
enum { AT_METRIC = 1, AT_SERIES = 2, AT_MEMBER = 3, AT_SAMPLE = 5 };

struct config {
	char *input;
	bool json;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "input", input, "FILE", "Prometheus response to check"),
	  .required = true },
	TW_ROW_JSON,
};

static const struct tw_opts opts = {
	.program = "tallywatt check",
	.summary =
		"Count the series of a Prometheus response, and those that are not all "
		"0.",
	.opt = options,
	.count = TW_COUNT(options),
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

static int check(void *config, struct tw_err *err)
{
	static const struct tw_jsax_limits limits = { .depth = DEPTH_MAX,
						      .text_bytes = TEXT_MAX };
	const struct config *c = config;
	struct counts counts = { .count = 0 };
	struct tw_buf b = { 0 };
	uint64_t moving = 0;
	int rc = -1;

	if (tw_jsax_read(&limits, take, &counts, c->input, err) < 0)
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
			c->input);
		goto out;
	}
	rc = 0;
out:
	for (size_t i = 0; i < counts.count; i++)
		free(counts.at[i].name);
	free(counts.at);
	return rc;
}

const struct tw_command tw_command_check = {
	.name = "check",
	.summary = "count the series of a response that are not all 0",
	.opts = &opts,
	.config_size = sizeof(struct config),
	.work = check,
};
