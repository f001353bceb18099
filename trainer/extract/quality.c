/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/quality.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "trainer/extract/lag.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A step of so many medians is a gap. */
#define GAP_STEPS 3
/* At rest, work is at most this share of the largest, or of all CPUs. */
#define REST_SHARE 0.05
#define REST_CPU_SHARE 0.02

/* ---- time ---- */

static double length_s(const struct tw_quality_rows *r, size_t k)
{
	return (r->to[k] - r->from[k]) / 1e3;
}

static int find_steps(struct tw_quality *q, const struct tw_quality_rows *r,
		      struct tw_err *err)
{
	double *step = calloc(r->rows + 1, sizeof(*step));
	int64_t last_ms = 0;
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
	free(step);
	for (size_t k = 0; k < r->rows; k++) {
		double gap_s;

		if (!r->filled[k])
			continue;
		if (last_ms == 0)
			q->first_ms = last_ms = r->from_ms[k];
		gap_s = fmax(length_s(r, k), (double)(r->from_ms[k] - last_ms) / 1e3);
		if (gap_s > GAP_STEPS * q->step_s || r->from_ms[k] > last_ms) {
			q->gaps++;
			q->longest_gap_s = fmax(q->longest_gap_s, gap_s);
		}
		q->last_ms = last_ms = r->time_ms[k];
	}
	return 0;
}

/* ---- load and rest ---- */

/* Whether the feature is work of the processor, which is there whenever there is load. */
static bool is_work(const char *name)
{
	return strcmp(name, "cpu_cycles") == 0 || strcmp(name, "cpu_instructions") == 0;
}

/* The work of a row: rows of workloads may lack some of the node's. */
static double work_at(const struct tw_quality_rows *r, const double *v, size_t k)
{
	if (v != r->cpu_ms || r->node_ms == NULL || isnan(r->node_ms[k]))
		return v[k];
	return fmax(v[k], r->node_ms[k]);
}

static double largest(const struct tw_quality_rows *r, const double *v)
{
	double most = 0;

	for (size_t k = 0; k < r->rows; k++)
		if (r->filled[k])
			most = fmax(most, work_at(r, v, k));
	return most;
}

/* Unmark the rows in which a feature has more than at rest. */
static void mark_rest(const struct tw_quality_rows *r, const double *v, double least,
		      bool *rest)
{
	const double limit = fmax(REST_SHARE * largest(r, v), least);

	for (size_t k = 0; k < r->rows; k++)
		rest[k] = rest[k] && work_at(r, v, k) <= limit;
}

static void sum_rest(struct tw_quality *q, const struct tw_quality_rows *r,
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

static int find_rest(struct tw_quality *q, const struct tw_quality_rows *r,
		     struct tw_err *err)
{
	bool *rest = calloc(r->rows + 1, sizeof(*rest));
	bool any = r->cpu_ms != NULL;

	if (rest == NULL)
		return tw_fail(err, TW_NOMEM, "rest of %zu rows", r->rows);
	memcpy(rest, r->filled, r->rows * sizeof(*rest));
	if (r->cpu_ms != NULL)
		mark_rest(r, r->cpu_ms, REST_CPU_SHARE * 1e3 * q->cpus, rest);
	for (size_t f = 0; f < r->features; f++) {
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

static void find_ranges(struct tw_quality *q, const struct tw_quality_rows *r)
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
		q->cpu_rows_s += r->cpu_ms[k] / 1e3 * length_s(r, k);
	}
	if (r->cpu_ms == NULL)
		q->load_min = q->load_max = q->cpu_rows_s = NAN;
}

static int find_constant(struct tw_quality *q, const struct tw_quality_rows *r,
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

/* ---- lag ---- */

static int find_lag(struct tw_quality *q, const struct tw_quality_rows *r,
		    struct tw_err *err)
{
	const struct tw_lag_rows rows = {
		.rows = r->rows,
		.step_ms = q->step_s * 1e3,
		.from_ms = r->from_ms,
		.time_ms = r->time_ms,
		.filled = r->filled,
		.feature = r->feature,
		.features = r->features,
		.watts = r->watts,
	};
	double lag_ms;

	if (tw_lag_find(&rows, &lag_ms, err) < 0)
		return -1;
	q->lag_s = lag_ms / 1e3;
	return 0;
}

int tw_quality_measure(struct tw_quality *q, const struct tw_quality_rows *r,
		       struct tw_err *err)
{
	if (find_steps(q, r, err) < 0)
		return -1;
	find_ranges(q, r);
	if (find_lag(q, r, err) < 0 || find_rest(q, r, err) < 0)
		return -1;
	return find_constant(q, r, err);
}

double tw_quality_share(double rows, double total)
{
	return total > 0 ? rows / total : NAN;
}

void tw_quality_release(struct tw_quality *q)
{
	tw_strs_clear(&q->constant);
	tw_strs_clear(&q->missing);
	*q = (struct tw_quality){ 0 };
}
