/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/quality.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "trainer/extract/lag.h"
#include "trainer/extract/metric_series.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A step of this many medians is a gap. */
#define GAP_STEPS 3
/* Steps that differ by a fifth in a tenth of the rows are no gaps and late scrapes. */
#define UNEVEN 0.2
#define UNEVEN_SHARE 0.1
/* Most work of a machine at rest: shares of its largest work, and of all CPUs. */
#define REST_SHARE 0.05
#define REST_CPU_SHARE 0.02
/* A machine with no more busy CPUs had no load. */
#define NO_LOAD_CPUS 0.05

/* ---- time ---- */

static double length_s(const struct tw_measured_rows *r, size_t k)
{
	return (r->to[k] - r->from[k]) / 1e3;
}

/* Whether samples that repeat others make rows of two lengths, as a range query does
 * whose step does not divide the scrape interval. On a busy machine the rows of a clock
 * have any length, and are right. The steps are sorted. */
static bool is_uneven(const double *step, size_t count, const struct tw_quality *q)
{
	size_t other = 0;

	for (size_t k = 0; k < count; k++)
		other += fabs(step[k] - q->step_s) > UNEVEN * q->step_s;
	return !q->clocked && (double)q->repeats > UNEVEN_SHARE * (double)count &&
	       (double)other > UNEVEN_SHARE * (double)count;
}

static void find_gaps(struct tw_quality *q, const struct tw_measured_rows *r)
{
	int64_t last_ms = 0;

	for (size_t k = 0, span = 0; k < r->rows; k++) {
		double gap_s;

		if (!r->filled[k])
			continue;
		if (last_ms == 0)
			q->first_ms = last_ms = r->from_ms[k];
		/* Rows between two spans are not lost: they were not asked for. */
		for (; span < r->spans && r->time_ms[k] > r->span[span].to_ms; span++)
			if (span + 1 < r->spans &&
			    r->span[span + 1].from_ms > r->span[span].to_ms)
				last_ms = r->from_ms[k];
		gap_s = fmax(length_s(r, k), (double)(r->from_ms[k] - last_ms) / 1e3);
		if (gap_s > GAP_STEPS * q->step_s || r->from_ms[k] > last_ms) {
			q->gaps++;
			q->longest_gap_s = fmax(q->longest_gap_s, gap_s);
		}
		q->last_ms = last_ms = r->time_ms[k];
	}
}

static int find_steps(struct tw_quality *q, const struct tw_measured_rows *r,
		      struct tw_err *err)
{
	double *step = calloc(r->rows + 1, sizeof(*step));
	size_t n = 0;

	if (step == NULL)
		return tw_fail(err, TW_NOMEM, "steps of %zu rows", r->rows);
	for (size_t k = 0; k < r->rows; k++)
		if (r->filled[k])
			step[n++] = length_s(r, k);
	q->rows = n;
	if (n > 0) {
		qsort(step, n, sizeof(*step), tw_compare_doubles);
		q->step_s = step[n / 2];
	}
	q->uneven = is_uneven(step, n, q);
	free(step);
	find_gaps(q, r);
	return 0;
}

/* ---- load and rest ---- */

/* Whether the feature is work of the processor, which is there whenever there is load. */
static bool is_work(const char *name)
{
	return strcmp(name, "cpu_cycles") == 0 || strcmp(name, "cpu_instructions") == 0;
}

/* The work of a row: rows of workloads may lack some of the node's. */
static double work_at(const struct tw_measured_rows *r, const double *v, size_t k)
{
	if (v != r->cpu_ms || r->node_ms == NULL || isnan(r->node_ms[k]))
		return v[k];
	return fmax(v[k], r->node_ms[k]);
}

static double largest(const struct tw_measured_rows *r, const double *v)
{
	double most = 0;

	for (size_t k = 0; k < r->rows; k++)
		if (r->filled[k])
			most = fmax(most, work_at(r, v, k));
	return most;
}

/* Unmark the rows in which a feature has more than at rest. */
static void mark_rest(const struct tw_measured_rows *r, const double *v, double least,
		      bool *rest)
{
	const double limit = fmax(REST_SHARE * largest(r, v), least);

	for (size_t k = 0; k < r->rows; k++)
		rest[k] = rest[k] && work_at(r, v, k) <= limit;
}

static void sum_rest(struct tw_quality *q, const struct tw_measured_rows *r,
		     const bool *rest)
{
	double low = INFINITY, high = 0, run_s = 0;

	for (size_t k = 0; k < r->rows; k++) {
		if (!rest[k]) {
			run_s = 0;
			continue;
		}
		run_s += length_s(r, k);
		q->rest_s += length_s(r, k);
		q->longest_rest_s = fmax(q->longest_rest_s, run_s);
		low = fmin(low, r->watts[k]);
		high = fmax(high, r->watts[k]);
	}
	/* Without rest, idle power is anything up to the lowest power. */
	q->idle_low_w = q->rest_s > 0 ? low : 0;
	q->idle_high_w = q->rest_s > 0 ? high : q->power_min_w;
}

/* Whether the whole recording is rest. */
static bool lacks_load(const struct tw_quality *q)
{
	return q->load_max <= fmax(NO_LOAD_CPUS, REST_CPU_SHARE * q->cpus);
}

static int find_rest(struct tw_quality *q, const struct tw_measured_rows *r,
		     struct tw_err *err)
{
	bool *rest = calloc(r->rows + 1, sizeof(*rest));
	bool any = r->cpu_ms != NULL;

	if (rest == NULL)
		return tw_fail(err, TW_NOMEM, "rest of %zu rows", r->rows);
	memcpy(rest, r->filled, r->rows * sizeof(*rest));
	if (r->cpu_ms != NULL && !lacks_load(q))
		mark_rest(r, r->cpu_ms, REST_CPU_SHARE * 1e3 * q->cpus, rest);
	for (size_t f = 0; f < r->features && !lacks_load(q); f++) {
		if (!is_work(r->name[f]))
			continue;
		any = true;
		mark_rest(r, r->feature[f], 0, rest);
	}
	for (size_t k = 0; !any && k < r->rows; k++)
		rest[k] = false;
	sum_rest(q, r, rest);
	free(rest);
	return 0;
}

/* Whether the node's total has the row's time: its exporter may run for a part of it. */
static bool is_in_balance(const struct tw_quality *q, const struct tw_measured_rows *r,
			  size_t k)
{
	return r->node_ms == NULL || isnan(q->cpu_node_s) || !isnan(r->node_ms[k]);
}

static void find_ranges(struct tw_quality *q, const struct tw_measured_rows *r)
{
	q->load_min = q->power_min_w = INFINITY;
	q->load_max = q->power_max_w = -INFINITY;
	q->cpu_rows_s = q->energy_rows_j = 0;
	for (size_t k = 0; k < r->rows; k++) {
		if (!r->filled[k])
			continue;
		q->power_min_w = fmin(q->power_min_w, r->watts[k]);
		q->power_max_w = fmax(q->power_max_w, r->watts[k]);
		q->energy_rows_j += r->watts[k] * length_s(r, k);
		if (r->cpu_ms == NULL)
			continue;
		q->load_min = fmin(q->load_min, r->cpu_ms[k] / 1e3);
		q->load_max = fmax(q->load_max, r->cpu_ms[k] / 1e3);
		if (is_in_balance(q, r, k))
			q->cpu_rows_s += r->cpu_ms[k] / 1e3 * length_s(r, k);
	}
	if (r->cpu_ms == NULL)
		q->load_min = q->load_max = q->cpu_rows_s = NAN;
}

static int find_constant(struct tw_quality *q, const struct tw_measured_rows *r,
			 struct tw_err *err)
{
	for (size_t f = 0; f < r->features; f++) {
		double low = INFINITY, high = -INFINITY;

		for (size_t k = 0; k < r->rows; k++) {
			if (!r->filled[k])
				continue;
			low = fmin(low, r->feature[f][k]);
			high = fmax(high, r->feature[f][k]);
		}
		if (low == high && tw_strs_adds(&q->constant, r->name[f], err) < 0)
			return -1;
	}
	return 0;
}

int tw_quality_measure(struct tw_quality *q, const struct tw_measured_rows *r,
		       struct tw_err *err)
{
	double lag_ms;

	if (find_steps(q, r, err) < 0)
		return -1;
	find_ranges(q, r);
	if (tw_lag_find(r, q->step_s * 1e3, &lag_ms, err) < 0)
		return -1;
	q->lag_s = lag_ms / 1e3;
	if (find_rest(q, r, err) < 0)
		return -1;
	return find_constant(q, r, err);
}

/* The rows' share of a total, such as 0.997; NaN if the total is not known. */
static double share_of(double rows, double total)
{
	return total > 0 ? rows / total : NAN;
}

void tw_quality_release(struct tw_quality *q)
{
	tw_strs_clear(&q->constant);
	tw_strs_clear(&q->missing);
	*q = (struct tw_quality){ 0 };
}

/* ---- lines for people ---- */

/* A load that varies by less teaches little. */
#define LOAD_RATIO_MIN 1.5
/* A larger share of wrong power is worth a warning. */
#define OUTLIERS_SHARE 0.01
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

static void add_list(struct tw_buf *b, const char *head, const struct tw_strs *names)
{
	if (names->count == 0)
		return;
	tw_buf_adds(b, head);
	for (size_t i = 0; i < names->count; i++)
		tw_buf_addf(b, "%s%s", i > 0 ? ", " : "", names->at[i]);
	tw_buf_adds(b, "\n");
}

/* ---- one line for each warning ---- */

static void warn_of_meter(const struct tw_quality *q, struct tw_buf *b)
{
	if (q->virtual_path[0] != '\0')
		tw_buf_addf(b,
			    "the meter's path '%s' is not below /sys: a host or another "
			    "program wrote it, and its power may be an estimate\n",
			    q->virtual_path);
}

static void warn_of_balance(const struct tw_quality *q, struct tw_buf *b)
{
	const double cpu = share_of(q->cpu_rows_s, q->cpu_node_s);
	const double energy = share_of(q->energy_rows_j, q->energy_meter_j);

	if (is_off(cpu))
		tw_buf_addf(b, "the rows have %.1f %% of the node's CPU time: %s\n",
			    100 * cpu, find_reason(q, cpu));
	if (is_off(energy))
		tw_buf_addf(b, "the rows have %.1f %% of the meter's energy: %s\n",
			    100 * energy,
			    q->restarts > 0 ? "the exporter was restarted"
					    : "features or power are missing at times");
}

static void warn_of_load(const struct tw_quality *q, struct tw_buf *b)
{
	if (lacks_load(q))
		tw_buf_addf(b,
			    "the machine had no load, at most %.3f busy CPUs: record it "
			    "under "
			    "several loads, too\n",
			    q->load_max);
	else if (q->rest_s == 0)
		tw_buf_addf(b,
			    "the recording never rested: idle power may be anything from "
			    "0 to %.1f W; record some minutes of an idle machine, too\n",
			    q->power_min_w);
	if (q->load_max < LOAD_RATIO_MIN * q->load_min && !lacks_load(q))
		tw_buf_adds(b, "the load hardly varies; record other loads, too\n");
	add_list(b, "constant features, which teach nothing: ", &q->constant);
}

static void warn_of_dropped_rows(const struct tw_quality *q, struct tw_buf *b)
{
	if (q->clean.outliers > OUTLIERS_SHARE * (double)q->rows)
		tw_buf_addf(
			b,
			"%zu rows had power that no load explains, the first of %.6g W "
			"at %" PRId64 " (seconds), and were dropped; check the meter\n",
			q->clean.outliers, q->clean.first_w, q->clean.first_ms / 1000);
	if (q->clean.standing > OUTLIERS_SHARE * (double)q->rows)
		tw_buf_addf(
			b,
			"features or power stood still while the other moved; %zu rows "
			"were dropped; check the exporters\n",
			q->clean.standing);
	if (q->clean.unsure)
		tw_buf_adds(b, "the meter shows other times than the features, or a mean "
			       "of them, and the load was never steady for as long; "
			       "record loads that last for some minutes, or read the "
			       "meter more often\n");
}

static void warn_of_unseen_work(const struct tw_quality *q, struct tw_buf *b)
{
	if (q->clean.unseen_most)
		tw_buf_adds(
			b,
			"workloads that ran before appeared late: most rows lack their "
			"work; begin the recording after them\n");
	else if (q->series.hidden > 0 && isnan(q->cpu_node_s))
		tw_buf_addf(
			b,
			"%zu counters of workloads that ran before appeared late: the "
			"rows before lack their work, and models may be too steep; begin "
			"the recording after them\n",
			q->series.hidden);
}

static void warn_of_steps(const struct tw_quality *q, struct tw_buf *b)
{
	if (q->clean.scrapes_s > 0)
		tw_buf_addf(b,
			    "the rows follow scrapes each %.0f s, which the step of the "
			    "query does not divide: their watts or rates are wrong; "
			    "query again without --step, or with --step %.0fs\n",
			    q->clean.scrapes_s, q->clean.scrapes_s);
	else if (q->uneven)
		tw_buf_adds(
			b,
			"samples repeat others, and rows have two lengths: the watts of "
			"rows are wrong if the step of the query does not divide the "
			"scrape interval; query again with --step of that interval\n");
}

static void warn_of_lag(const struct tw_quality *q, struct tw_buf *b)
{
	if (fabs(q->lag_s) > LAG_SHARE * q->step_s)
		tw_buf_addf(b,
			    "power %s the features by %.1f s; try --correct-lag, or "
			    "--extractor "
			    "smooth\n",
			    q->lag_s > 0 ? "follows" : "precedes", fabs(q->lag_s));
}

static void add_warnings(const struct tw_quality *q, struct tw_buf *b)
{
	warn_of_meter(q, b);
	warn_of_balance(q, b);
	warn_of_load(q, b);
	warn_of_dropped_rows(q, b);
	warn_of_unseen_work(q, b);
	warn_of_steps(q, b);
	add_list(b, "features of the group that the exporter lacks: ", &q->missing);
	warn_of_lag(q, b);
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

static void add_cleaned(const struct tw_quality *q, struct tw_buf *out)
{
	if (q->clean.outliers + q->clean.standing + q->merged > 0)
		tw_buf_addf(out,
			    "  cleaned: %zu outliers and %zu rows of a standing side "
			    "dropped, %zu repeated series merged\n",
			    q->clean.outliers, q->clean.standing, q->merged);
	if (q->clean.unsteady > 0)
		tw_buf_addf(
			out,
			"  unsteady: %zu rows dropped, in which the load changed: the "
			"meter shows an instant, another time, or a mean of some time\n",
			q->clean.unsteady);
	if (q->clean.unseen > 0)
		tw_buf_addf(
			out,
			"  unseen: %zu rows dropped, which lack the work of workloads "
			"that ran before they appeared\n",
			q->clean.unseen);
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
	add_cleaned(q, out);
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

/* NULL, which leaves the member out, for 0. */
static json_t *integer_if(size_t v)
{
	return v > 0 ? integer(v) : NULL;
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
		"s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o*,s:o*,s:o*,s:o*,s:o*"
		"}",
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
		tw_json_texts(&q->missing), "warnings", warnings_json(q), "outlier_rows",
		integer_if(q->clean.outliers), "standing_rows",
		integer_if(q->clean.standing), "unsteady_rows",
		integer_if(q->clean.unsteady), "merged_series", integer_if(q->merged),
		"unseen_rows", integer_if(q->clean.unseen));
}
