/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/node_rows.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/extract/clock.h"
#include "trainer/extract/power_series.h"
#include "trainer/extract/rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* CPU time is counted in steps of up to 10 ms a process. */
#define CPU_TOLERANCE 0.1

/* Whether the feature is CPU time: of workloads, or of the node in one mode. */
static bool is_cpu_time(const struct tw_metric_series *m)
{
	const char *name = m->metric->feature;

	return strcmp(name, "bpf_cpu_time_ms") == 0 ||
	       strncmp(name, "node_cpu_", strlen("node_cpu_")) == 0;
}

static int reserve(struct tw_node_rows *n, struct tw_err *err)
{
	if (TW_NEW(n->memory, (2 * n->features + 1) * n->rows + 1, err) < 0 ||
	    TW_NEW(n->feature, 2 * n->features + 1, err) < 0 ||
	    TW_NEW(n->filled, n->rows + 1, err) < 0)
		return -1;
	n->born = n->feature + n->features;
	for (size_t f = 0; f < 2 * n->features; f++)
		n->feature[f] = n->memory + f * n->rows;
	return 0;
}

static void add_cpu_time(struct tw_node_rows *n, const struct tw_metric_series *feature)
{
	for (size_t f = 0; f < n->features; f++) {
		if (!is_cpu_time(&feature[f]))
			continue;
		n->cpu_ms = n->memory + 2 * n->features * n->rows;
		for (size_t k = 0; k < n->rows; k++)
			n->cpu_ms[k] += n->feature[f][k];
	}
}

static int read_all(struct tw_node_rows *n, struct tw_rates *r, struct tw_err *err)
{
	size_t *row = calloc(n->rows + 1, sizeof(*row));
	int rc = -1;

	if (row == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows", n->rows);
	for (size_t k = 0; k < n->rows; k++)
		row[k] = k;
	r->born = n->born;
	for (size_t i = 0; i < r->counters->count;) {
		if (tw_rates_next(r, &i, n->feature, row, err) < 0)
			goto out;
		for (size_t k = 0; k < r->count; k++)
			n->filled[r->at[k]] = true;
	}
	rc = 0;
out:
	r->born = NULL;
	free(row);
	return rc;
}

int tw_node_rows_read(struct tw_node_rows *out, struct tw_rates *r, size_t features,
		      struct tw_err *err)
{
	struct tw_node_rows n = { .rows = r->times, .features = features };

	if (reserve(&n, err) < 0 || read_all(&n, r, err) < 0) {
		tw_node_rows_release(&n);
		return -1;
	}
	add_cpu_time(&n, r->feature);
	*out = n;
	return 0;
}

void tw_node_rows_release(struct tw_node_rows *n)
{
	free(n->feature);
	free(n->filled);
	free(n->memory);
	*n = (struct tw_node_rows){ 0 };
}

/* ---- births ---- */

/* The most of a feature that a CPU can do within a second. */
static const struct {
	const char *feature;
	double most;
} of_cpu[] = {
	{ "bpf_cpu_time_ms", (1 + CPU_TOLERANCE) * 1e3 },
	{ "cgroupfs_cpu_usage_us", (1 + CPU_TOLERANCE) * 1e6 },
	{ "cpu_cycles", 6.5e9 },
	{ "cpu_instructions", 5e10 },
};

static double most_of_cpu(const char *feature)
{
	for (size_t i = 0; i < TW_COUNT(of_cpu); i++)
		if (strcmp(of_cpu[i].feature, feature) == 0)
			return of_cpu[i].most;
	return INFINITY;
}

/* Twice what began before: a machine may double its load in a step. */
#define MORE 2

bool tw_node_rows_limit_births(const struct tw_node_rows *n, struct tw_rates *r)
{
	bool exceeded = false;

	for (size_t f = 0; f < n->features; f++) {
		const double *all = n->feature[f], *born = n->born[f];
		double limit = most_of_cpu(r->feature[f].metric->feature) *
			       fmax(r->clock->cpus, 1);
		double most = 0;

		if (isfinite(r->most[f]) || !isfinite(limit))
			continue;
		for (size_t k = 0; k < n->rows; k++) {
			limit = fmax(limit, MORE * (all[k] - born[k]));
			most = fmax(most, born[k]);
		}
		if (most <= limit)
			continue;
		r->most[f] = limit;
		exceeded = true;
	}
	return exceeded;
}

/* ---- late scrapes ---- */

/* Power beyond both neighbours by this share of theirs is suspect. */
#define BEYOND 0.25
/* The mean of both rows fits its neighbours within this share. */
#define FITS 0.1
/*
 * Shares of features and of energy agree within this share: a late scrape shifts both
 * alike, a change of load shifts the features more, because power at rest does not
 * change.
 */
#define AGREES 0.15

enum fate { KEEP, JOIN_NEXT, DROP };

struct repair {
	struct tw_power_series *power;
	const struct tw_node_rows *rows;
	const struct tw_rates *rates; /* the rows' times */
	enum fate *fate;
	struct tw_late_counts counts;
};

static double length_of(const struct repair *r, size_t k)
{
	return r->rates->to[k] - r->rates->from[k];
}

static double watts_of(const struct repair *r, size_t k)
{
	return r->power->column[0].watts[k];
}

/* Whether row k + 1 begins where row k ends. */
static bool are_adjacent(const struct repair *r, size_t k)
{
	return k + 1 < r->rates->end && k >= r->rates->first &&
	       r->power->from_ms[k + 1] == r->power->time_ms[k];
}

static double mean_of(const struct repair *r, size_t k, double a, double b)
{
	const double x = length_of(r, k), y = length_of(r, k + 1);

	return (a * x + b * y) / (x + y);
}

/* Lowest and highest power beside rows k and k + 1. */
static bool find_beside(const struct repair *r, size_t k, double *low, double *high)
{
	*low = INFINITY;
	*high = -INFINITY;
	if (k > r->rates->first) {
		*low = fmin(*low, watts_of(r, k - 1));
		*high = fmax(*high, watts_of(r, k - 1));
	}
	if (k + 2 < r->rates->end) {
		*low = fmin(*low, watts_of(r, k + 2));
		*high = fmax(*high, watts_of(r, k + 2));
	}
	return *low <= *high;
}

/* The share of row k in the sum of both rows, beyond its share of the time. */
static double shift_of(const struct repair *r, size_t k, double a, double b)
{
	const double x = length_of(r, k), y = length_of(r, k + 1);

	return a * x / (a * x + b * y) - x / (x + y);
}

/* Whether the features of both rows shifted as the energy did, in the mean of the
 * features that moved at all. */
static bool features_agree(const struct repair *r, size_t k)
{
	const double energy = shift_of(r, k, watts_of(r, k), watts_of(r, k + 1));
	double sum = 0;
	size_t n = 0;

	for (size_t f = 0; f < r->rows->features; f++) {
		const double *v = r->rows->feature[f];

		if (!(v[k] + v[k + 1] > 0))
			continue;
		sum += shift_of(r, k, v[k], v[k + 1]);
		n++;
	}
	return n == 0 || fabs(sum / (double)n - energy) <= AGREES * fabs(energy);
}

static bool is_late(const struct repair *r, size_t k)
{
	const double a = watts_of(r, k), b = watts_of(r, k + 1);
	const double mean = mean_of(r, k, a, b);
	double low, high;

	if (!find_beside(r, k, &low, &high))
		return false;
	return fmax(a, b) > (1 + BEYOND) * high && fmin(a, b) < (1 - BEYOND) * low &&
	       mean > (1 - FITS) * low && mean < (1 + FITS) * high &&
	       features_agree(r, k);
}

/* ---- more CPU time than CPUs ---- */

static bool is_impossible(const struct repair *r, double cpu_ms)
{
	return r->rates->clock->cpus > 0 &&
	       cpu_ms > (1 + CPU_TOLERANCE) * 1e3 * r->rates->clock->cpus;
}

/* Whether rows k and k + 1 are possible as one row. */
static bool joins(const struct repair *r, size_t k)
{
	const double *cpu_ms = r->rows->cpu_ms;

	return are_adjacent(r, k) && r->fate[k] == KEEP && r->fate[k + 1] == KEEP &&
	       !is_impossible(r, mean_of(r, k, cpu_ms[k], cpu_ms[k + 1]));
}

static void settle_impossible(struct repair *r, size_t k)
{
	const double *cpu_ms = r->rows->cpu_ms;
	const bool before = k > 0 && joins(r, k - 1);
	const bool after = joins(r, k);

	if (!before && !after) {
		r->fate[k] = DROP;
		r->counts.impossible++;
		return;
	}
	r->counts.late++;
	if (before && (!after || cpu_ms[k - 1] < cpu_ms[k + 1]))
		r->fate[k - 1] = JOIN_NEXT;
	else
		r->fate[k] = JOIN_NEXT;
}

/* ---- joining ---- */

/* Add row `from` to the row at `to`, which has the length *length. */
static void join_row(struct repair *r, size_t to, size_t from, double *length)
{
	struct tw_power_series *p = r->power;
	const double more = length_of(r, from);

	for (size_t c = 0; c < p->columns; c++) {
		double *watts = p->column[c].watts;

		watts[to] = (watts[to] * *length + watts[from] * more) / (*length + more);
	}
	p->time_ms[to] = p->time_ms[from];
	*length += more;
}

static void apply(struct repair *r)
{
	const size_t times = r->power->times;
	double length = 0;
	size_t n = 0;

	for (size_t k = 0; k < times; k++) {
		const bool joined = k > 0 && r->fate[k - 1] == JOIN_NEXT;

		if (r->fate[k] == DROP)
			continue;
		if (joined) {
			join_row(r, n - 1, k, &length);
			continue;
		}
		length = length_of(r, k);
		tw_power_series_move(r->power, n++, k);
	}
	r->power->times = n;
}

int tw_late_repair(struct tw_power_series *power, const struct tw_node_rows *rows,
		   const struct tw_rates *rates, struct tw_late_counts *out,
		   struct tw_err *err)
{
	struct repair r = { .power = power, .rows = rows, .rates = rates };

	if (TW_NEW(r.fate, power->times + 1, err) < 0)
		return -1;
	for (size_t k = rates->first; k + 1 < rates->end; k++) {
		if (!are_adjacent(&r, k) || !is_late(&r, k))
			continue;
		r.fate[k++] = JOIN_NEXT;
		r.counts.late++;
	}
	for (size_t k = rates->first; rows->cpu_ms != NULL && k < rates->end; k++)
		if (r.fate[k] == KEEP && (k == 0 || r.fate[k - 1] != JOIN_NEXT) &&
		    is_impossible(&r, rows->cpu_ms[k]))
			settle_impossible(&r, k);
	apply(&r);
	*out = r.counts;
	free(r.fate);
	return 0;
}

/* ---- balance ---- */

static const char *const modes[] = { "node_cpu_user_ms", "node_cpu_system_ms",
				     "node_cpu_nice_ms", "node_cpu_irq_ms",
				     "node_cpu_softirq_ms" };
/* The first this many are needed. */
#define NEEDED_MODES 2

static bool is_interrupt(const struct tw_metric_series *m)
{
	return strstr(m->metric->feature, "irq") != NULL;
}

/* CPU time of a row, ms a second. */
static double sum_modes(const struct tw_node_rows *n,
			const struct tw_metric_series *feature, size_t k, bool interrupts)
{
	double sum = 0;

	for (size_t f = 0; f < n->features; f++)
		if (interrupts || !is_interrupt(&feature[f]))
			sum += n->feature[f][k];
	return sum;
}

static double settle(const struct tw_node_rows *total, const struct tw_rates *r,
		     const struct tw_metric_series *feature,
		     const struct tw_node_rows *rows, double *node_ms)
{
	double used = 0, work = 0, all = 0;

	for (size_t k = 0; k < rows->rows; k++) {
		const double length_s = (r->to[k] - r->from[k]) / 1e3;

		if (!rows->filled[k] || !total->filled[k])
			continue;
		node_ms[k] = sum_modes(total, feature, k, false);
		used += rows->cpu_ms[k] / 1e3 * length_s;
		work += node_ms[k] / 1e3 * length_s;
		all += sum_modes(total, feature, k, true) / 1e3 * length_s;
	}
	return work > 0 ? fmin(fmax(used, work), all) : NAN;
}

static int read_total(const struct tw_extract_input *in, const struct tw_schema *schema,
		      const struct tw_power_series *power, const struct tw_clock *clock,
		      const struct tw_node_rows *rows, double *node_ms, double *out,
		      struct tw_err *err)
{
	const struct tw_feature_group group = { .name = "node",
						.features = modes,
						.count = TW_COUNT(modes),
						.of_node = true };
	struct tw_extract_args args = *in->args;
	struct tw_metric_series feature[TW_COUNT(modes)];
	struct tw_counter_set counters = { 0 };
	struct tw_node_rows total = { 0 };
	struct tw_rates rates = { 0 };
	size_t count;
	int rc = -1;

	args.group = &group;
	args.resets = TW_RESETS_CARRY;
	count = tw_extract_features(in->prom, schema, &group, feature);
	if (count < NEEDED_MODES || strcmp(feature[NEEDED_MODES - 1].metric->feature,
					   modes[NEEDED_MODES - 1]) != 0)
		return 0;
	if (tw_workload_counters_find(feature, count, &args, NULL, &counters, err) < 0 ||
	    tw_rates_init(&rates, power, &counters, feature, NULL, clock, &args, err) <
		    0 ||
	    tw_node_rows_read(&total, &rates, count, err) < 0)
		goto out;
	*out = settle(&total, &rates, feature, rows, node_ms);
	rc = 0;
out:
	tw_node_rows_release(&total);
	tw_rates_release(&rates);
	tw_counter_set_release(&counters);
	return rc;
}

int tw_balance_node_cpu(const struct tw_extract_input *in,
			const struct tw_power_series *power, const struct tw_clock *clock,
			const struct tw_node_rows *rows, double *node_ms, double *out,
			struct tw_err *err)
{
	*out = NAN;
	if (rows->cpu_ms == NULL || in->args->vm_metrics)
		return 0;
	if (read_total(in, in->schema, power, clock, rows, node_ms, out, err) < 0)
		return -1;
	for (size_t i = 0; isnan(*out) && i < tw_schema_count(); i++)
		if (tw_schema_at(i) != in->schema &&
		    read_total(in, tw_schema_at(i), power, clock, rows, node_ms, out,
			       err) < 0)
			return -1;
	return 0;
}
