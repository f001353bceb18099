/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of a quality: lines for people, and JSON for metadata and model cards. */
#include "lib/core/buf.h"
#include "lib/json/json.h"
#include "trainer/extract/quality.h"

#include <math.h>
#include <string.h>

/* A load that varies by less teaches little. */
#define LOAD_RATIO_MIN 1.5
/* A lag of less than this share of a step does not matter. */
#define LAG_SHARE 0.3

static bool is_off(double share)
{
	return fabs(share - 1) > TW_BALANCE_TOLERANCE; /* false for NaN */
}

/* The likely reason of CPU time that is missing or too much. */
static const char *find_reason(const struct tw_quality *q, double share)
{
	if (q->restarts > 0)
		return "the exporter was restarted; record again without a restart";
	if (q->late.impossible > 0)
		return "rows with more CPU time than CPUs were dropped";
	if (share < 1 && q->series.hidden > 0)
		return "the exporter limits its series; raise the limit (tw-collector "
		       "--top)";
	if (share < 1)
		return "processes that end between two scrapes, or a limit of series; "
		       "use a shorter interval or tw-collector with BPF";
	return "the exporter counts some processes twice, or showed them late";
}

static void add_names(struct tw_buf *b, const struct tw_strs *names)
{
	for (size_t i = 0; i < names->count; i++)
		tw_buf_addf(b, "%s%s", i > 0 ? ", " : "", names->at[i]);
}

/* Append one line for each warning. */
static void add_warnings(const struct tw_quality *q, struct tw_buf *b)
{
	const double cpu = tw_quality_share(q->cpu_rows_s, q->cpu_node_s);
	const double energy = tw_quality_share(q->energy_rows_j, q->energy_meter_j);

	if (q->virtual_path[0] != '\0')
		tw_buf_addf(b,
			    "the meter's path '%s' is not below /sys: a host or another "
			    "program wrote it, and its power may be an estimate\n",
			    q->virtual_path);
	if (is_off(cpu))
		tw_buf_addf(b, "the rows have %.1f %% of the node's CPU time: %s\n",
			    100 * cpu, find_reason(q, cpu));
	if (is_off(energy))
		tw_buf_addf(b, "the rows have %.1f %% of the meter's energy: %s\n",
			    100 * energy,
			    q->restarts > 0 ? "the exporter was restarted"
					    : "features or power are missing at times");
	if (q->rest_s == 0)
		tw_buf_addf(b,
			    "the recording never rested: idle power may be anything from "
			    "0 to %.1f W; record some minutes of an idle machine, too\n",
			    q->power_min_w);
	if (q->load_max < LOAD_RATIO_MIN * q->load_min)
		tw_buf_adds(b, "the load hardly varies; record other loads, too\n");
	if (q->constant.count > 0) {
		tw_buf_adds(b, "constant features, which teach nothing: ");
		add_names(b, &q->constant);
		tw_buf_adds(b, "\n");
	}
	if (q->missing.count > 0) {
		tw_buf_adds(b, "features of the group that the exporter lacks: ");
		add_names(b, &q->missing);
		tw_buf_adds(b, "\n");
	}
	if (fabs(q->lag_s) > LAG_SHARE * q->step_s)
		tw_buf_addf(b,
			    "power %s the features by %.1f s; try --correct-lag, or "
			    "--extractor "
			    "smooth\n",
			    q->lag_s > 0 ? "follows" : "precedes", fabs(q->lag_s));
}

static void add_balance(struct tw_buf *b, const char *what, double rows, double total,
			const char *unit, const char *of)
{
	if (!isfinite(rows))
		return;
	tw_buf_addf(b, "  %s: rows %.1f %s, %s ", what, rows, unit, of);
	if (total > 0)
		tw_buf_addf(b, "%.1f %s (%.1f %%)\n", total, unit, 100 * rows / total);
	else
		tw_buf_adds(b, "not known\n");
}

void tw_quality_to_text(const struct tw_quality *q, struct tw_buf *out)
{
	struct tw_buf warnings = { 0 };

	tw_buf_addf(
		out,
		"data quality: %.0f s, %zu rows of %.1f s, %zu gaps (longest %.0f s), "
		"%zu restarts\n",
		(double)(q->last_ms - q->first_ms) / 1e3, q->rows, q->step_s, q->gaps,
		q->longest_gap_s, q->restarts);
	tw_buf_addf(out,
		    "  repairs: %zu repeated samples and %zu late scrapes joined, %zu "
		    "rows dropped\n",
		    q->repeats, q->late.late, q->late.impossible);
	tw_buf_addf(out,
		    "  series: %zu began (%zu with one sample), %zu fell alone, %zu "
		    "appeared late\n",
		    q->series.births, q->series.singles, q->series.reused,
		    q->series.hidden);
	add_balance(out, "CPU time", q->cpu_rows_s, q->cpu_node_s, "s", "node");
	add_balance(out, "energy", q->energy_rows_j, q->energy_meter_j, "J", "meter");
	if (isfinite(q->load_min))
		tw_buf_addf(out, "  load: %.2f to %.2f CPUs\n", q->load_min, q->load_max);
	tw_buf_addf(out, "  power: %.1f to %.1f W; idle power within %.1f to %.1f W\n",
		    q->power_min_w, q->power_max_w, q->idle_low_w, q->idle_high_w);
	tw_buf_addf(out, "  rest: %.0f s, longest %.0f s; lag of power: %.1f s\n",
		    q->rest_s, q->longest_rest_s, q->lag_s);
	if (q->lag_corrected_s != 0)
		tw_buf_addf(out, "  corrected: power was shifted by %.1f s, its lag\n",
			    q->lag_corrected_s);
	add_warnings(q, &warnings);
	for (const char *line = warnings.data; line != NULL && *line != '\0';) {
		const char *end = strchr(line, '\n');

		tw_buf_addf(out, "  warning: %.*s\n", (int)(end - line), line);
		line = end + 1;
	}
	tw_buf_clear(&warnings);
}

/* ---- JSON ---- */

static json_t *integer(size_t v)
{
	return json_integer((json_int_t)v);
}

static json_t *warnings_json(const struct tw_quality *q)
{
	struct tw_buf b = { 0 };
	json_t *list = json_array();

	add_warnings(q, &b);
	for (const char *line = b.data; line != NULL && *line != '\0';) {
		const char *end = strchr(line, '\n');

		if (json_array_append_new(list,
					  json_stringn(line, (size_t)(end - line))) < 0)
			break;
		line = end + 1;
	}
	if (tw_buf_failed(&b)) {
		json_decref(list);
		list = NULL;
	}
	tw_buf_clear(&b);
	return list;
}

json_t *tw_quality_to_json(const struct tw_quality *q)
{
	return json_pack(
		"{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,"
		"s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}",
		"span_s", tw_json_rounded((double)(q->last_ms - q->first_ms) / 1e3),
		"rows", integer(q->rows), "step_s", tw_json_rounded(q->step_s), "gaps",
		integer(q->gaps), "longest_gap_s", tw_json_rounded(q->longest_gap_s),
		"restarts", integer(q->restarts), "repeated_samples", integer(q->repeats),
		"late_scrapes", integer(q->late.late), "dropped_rows",
		integer(q->late.impossible), "series_begun", integer(q->series.births),
		"series_of_one_sample", integer(q->series.singles), "series_fallen",
		integer(q->series.reused), "series_late", integer(q->series.hidden),
		"cpu_time_rows_s", tw_json_rounded(q->cpu_rows_s), "cpu_time_node_s",
		tw_json_rounded(q->cpu_node_s), "energy_rows_j",
		tw_json_rounded(q->energy_rows_j), "energy_meter_j",
		tw_json_rounded(q->energy_meter_j), "load_min",
		tw_json_rounded(q->load_min), "load_max", tw_json_rounded(q->load_max),
		"rest_s", tw_json_rounded(q->rest_s), "longest_rest_s",
		tw_json_rounded(q->longest_rest_s), "idle_low_w",
		tw_json_rounded(q->idle_low_w), "idle_high_w",
		tw_json_rounded(q->idle_high_w), "lag_s", tw_json_rounded(q->lag_s),
		"lag_corrected_s", tw_json_rounded(q->lag_corrected_s),
		"constant_features", tw_json_texts(&q->constant), "missing_features",
		tw_json_texts(&q->missing), "warnings", warnings_json(q));
}
