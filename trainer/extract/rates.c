/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/rates.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "trainer/extract/clean.h"
#include "trainer/extract/clock.h"
#include "trainer/extract/falls.h"
#include "trainer/extract/power_series.h"
#include "trainer/response/machines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CPU_TIME_FEATURE "bpf_cpu_time_ms"
/* Counters of CPU time and of the clock are not read at the same instant. */
#define CPU_TOLERANCE 0.1
/* Samples of a gauge further apart have no straight line between them: Prometheus'
 * default of --query.lookback-delta. */
#define STALE_MS 300e3

/* ---- counters ---- */

/* Add a series as a counter of its own: its key is made of all its labels. */
static int add_apart(size_t column, const struct tw_series *s, struct tw_counter_set *out,
		     struct tw_err *err)
{
	const char **name = calloc(s->labels + 1, sizeof(*name));
	int status;

	if (name == NULL)
		return tw_fail(err, TW_NOMEM, "%u labels of a series", s->labels);
	for (size_t i = 0; i < s->labels; i++)
		name[i] = s->label[i].name;
	status = tw_counter_set_add(out, name, column, s, err);
	free(name);
	return status;
}

/* Add a series of a third-party metric. */
static int add_thirdparty_series(const struct tw_metric_series *m, size_t column,
				 const struct tw_series *s, struct tw_counter_set *out,
				 struct tw_err *err)
{
	static const char *const no_labels[] = { NULL };

	if (!m->of_node)
		return tw_counter_set_add(out, m->schema->id_labels, column, s, err);
	if (m->metric->kind == TW_METRIC_LEVEL)
		return tw_counter_set_add(out, no_labels, column, s, err);
	return add_apart(column, s, out, err);
}

/* Whether a workload has both the third-party feature f and a schema's feature. */
static bool meets_others(const struct tw_metric_series *feature, size_t f,
			 const struct tw_counter_set *c)
{
	const char *key = NULL;
	bool has = false, others = false;

	for (size_t i = 0; i < c->count; i++) {
		if (c->at[i].key != key)
			has = others = false;
		key = c->at[i].key;
		has |= c->at[i].column == f;
		others |= !feature[c->at[i].column].thirdparty;
		if (has && others)
			return true;
	}
	return false;
}

static bool any_thirdparty(const struct tw_metric_series *feature, size_t features)
{
	for (size_t f = 0; f < features; f++)
		if (feature[f].thirdparty)
			return true;
	return false;
}

static bool all_thirdparty(const struct tw_metric_series *feature, size_t features)
{
	for (size_t f = 0; f < features; f++)
		if (!feature[f].thirdparty)
			return false;
	return true;
}

int tw_thirdparty_metrics_check(const struct tw_metric_series *feature, size_t features,
				const struct tw_counter_set *c, struct tw_err *err)
{
	if (all_thirdparty(feature, features))
		return 0;
	for (size_t f = 0; f < features; f++)
		if (feature[f].thirdparty && !meets_others(feature, f, c))
			return tw_fail(err, TW_INVALID,
				       "no workload has both '%s' and the other metrics: "
				       "their labels differ",
				       feature[f].metric->name);
	return 0;
}

/* ---- rows without third-party metrics ---- */

/* Whether one of the rows [from, to) has a value of feature f, d's column f. */
static bool has_value(const struct tw_dataset *d, size_t f, size_t from, size_t to)
{
	for (size_t row = from; row < to; row++)
		if (!isnan(d->col[f].v[row]))
			return true;
	return false;
}

static void move_row(struct tw_dataset *d, size_t features, size_t from, size_t to)
{
	d->time_ms[to] = d->time_ms[from];
	if (d->id != NULL)
		d->id[to] = d->id[from];
	for (size_t f = 0; f < features; f++)
		d->col[f].v[to] = isnan(d->col[f].v[from]) ? 0 : d->col[f].v[from];
}

static int fail_no_rows(const struct tw_metric_series *feature, size_t features,
			const struct tw_dataset *d, struct tw_err *err)
{
	for (size_t f = 0; f < features; f++)
		if (feature[f].thirdparty && !has_value(d, f, 0, d->rows))
			return tw_fail(err, TW_INVALID,
				       "no row is left: '%s' has no sample at the times "
				       "of the other metrics",
				       feature[f].metric->name);
	return tw_fail(err, TW_INVALID,
		       "no row is left: the third-party metrics have no sample at the "
		       "same time");
}

int tw_thirdparty_metrics_settle(const struct tw_metric_series *feature, size_t features,
				 struct tw_dataset *d, struct tw_err *err)
{
	size_t rows = 0, end;

	if (!any_thirdparty(feature, features))
		return 0;
	for (size_t from = 0; from < d->rows; from = end) {
		bool complete = true;

		for (end = from + 1; end < d->rows; end++)
			if (d->time_ms[end] != d->time_ms[from])
				break;
		for (size_t f = 0; f < features; f++)
			complete &= !feature[f].thirdparty || has_value(d, f, from, end);
		for (size_t row = from; complete && row < end; row++)
			move_row(d, features, row, rows++);
	}
	if (rows == 0 && d->rows > 0)
		return fail_no_rows(feature, features, d, err);
	d->rows = rows;
	return 0;
}

/* ---- rates ---- */

/* Whether a fall of the metric is a restart: gauges fall, and so does memory. */
static bool may_restart(const struct tw_schema_metric *m)
{
	return m->kind != TW_METRIC_LEVEL && !m->falls;
}

static int find_counters(const struct tw_metric_series *m,
			 const struct tw_extract_args *a, size_t column,
			 struct tw_guest *guest, struct tw_counter_set *out,
			 struct tw_err *err)
{
	static const char *const no_labels[] = { NULL };
	/*
	 * The series of a gauge are merged. Workloads' counters may fall if that is not a
	 * restart: check_restarts().
	 */
	bool is_level = m->metric->kind == TW_METRIC_LEVEL;
	bool strict = may_restart(m->metric) && a->resets == TW_RESETS_REFUSE &&
		      a->compat == TW_COMPAT_NONE && (m->thirdparty || a->group->of_node);
	size_t before = out->count, i = 0;
	const struct tw_series *s;
	int status;

	if (tw_metric_check_rates(m, a, err) < 0)
		return -1;
	while ((s = tw_metric_series_next(m, &i)) != NULL) {
		if (!tw_series_is_wanted(s, a))
			continue;
		if (strict && tw_series_check_resets(s, m->metric->name, err) < 0)
			return -1;
		if (tw_guest_check(guest, m->schema, s, err) < 0)
			return -1;
		if (m->thirdparty)
			status = add_thirdparty_series(m, column, s, out, err);
		else
			status = tw_counter_set_add(
				out, is_level ? no_labels : m->schema->id_labels, column,
				s, err);
		if (status < 0)
			return -1;
	}
	if (out->count == before && !m->absent)
		return tw_fail(err, TW_NOTFOUND, "no series of '%s' with%s job=\"vm\"",
			       m->metric->name, a->vm_metrics ? "" : "out");
	return 0;
}

int tw_workload_counters_find(const struct tw_metric_series *feature, size_t features,
			      const struct tw_extract_args *a, struct tw_guest *guest,
			      struct tw_counter_set *out, struct tw_err *err)
{
	for (size_t f = 0; f < features; f++)
		if (find_counters(&feature[f], a, f, guest, out, err) < 0)
			return -1;
	tw_counter_set_sort(out);
	if (a->compat != TW_COMPAT_NONE)
		return 0;
	return tw_clean_series(out, feature, a->group->of_node, err);
}

/* ---- times ---- */

/* The first and the last tick of the schema's features. */
static void find_span(struct tw_rates *r)
{
	const struct tw_counter_set *c = r->counters;

	r->first_ms = INT64_MAX;
	r->last_ms = INT64_MIN;
	for (size_t i = 0; i < c->count; i++) {
		const struct tw_packed *times = &c->at[i].series->time_ms;
		const int64_t first = (int64_t)tw_packed_first(times);
		const int64_t last = (int64_t)tw_packed_last(times);

		if (r->feature[c->at[i].column].thirdparty)
			continue;
		r->first_ms = first < r->first_ms ? first : r->first_ms;
		r->last_ms = last > r->last_ms ? last : r->last_ms;
	}
}

/* A restart within a series is an error if the arguments say so. */
static int check_restarts(const struct tw_rates *r, struct tw_err *err)
{
	for (size_t i = 0; i < r->restarts.count; i++) {
		const struct tw_restart *at = &r->restarts.at[i];
		const struct tw_schema_metric *m = r->feature[at->column].metric;

		if (at->series != NULL && r->args->resets == TW_RESETS_REFUSE &&
		    may_restart(m) &&
		    tw_series_check_resets(at->series, m->name, err) < 0)
			return -1;
	}
	return 0;
}

/* Whether counters of the column fell in a step that overlaps this time. */
static bool column_restarts(const struct tw_restarts *r, size_t column, int64_t from_ms,
			    int64_t to_ms)
{
	size_t low = 0, high = r->count;

	/* The first one that ends later than from_ms. */
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct tw_restart *at = &r->at[middle];

		if (at->column < column || (at->column == column && at->ms <= from_ms))
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->count && r->at[low].column == column &&
	       r->at[low].from_ms < to_ms;
}

static bool has_restart(const struct tw_rates *r, int64_t from_ms, int64_t to_ms)
{
	const struct tw_restarts *all = &r->restarts;
	const size_t columns = all->count > 0 ? all->at[all->count - 1].column + 1 : 0;

	for (size_t c = 0; c < columns; c++)
		if (may_restart(r->feature[c].metric) &&
		    column_restarts(all, c, from_ms, to_ms))
			return true;
	return false;
}

void tw_rates_drop_restarts(const struct tw_rates *r, struct tw_power_series *p)
{
	const bool drops = r->args->resets != TW_RESETS_CARRY;
	size_t n = 0;

	for (size_t k = 0; k < p->times; k++) {
		if (drops && has_restart(r, p->from_ms[k], p->time_ms[k]))
			tw_power_series_forget(p, k);
		else
			tw_power_series_move(p, n++, k);
	}
	p->times = n;
}

static int find_ticks(struct tw_rates *r, const struct tw_power_series *power,
		      struct tw_err *err)
{
	if (tw_ticks_add_set(&r->ticks, r->counters, err) < 0 ||
	    tw_ticks_add(&r->ticks, power->from_ms, power->times, err) < 0 ||
	    tw_ticks_add(&r->ticks, power->time_ms, power->times, err) < 0)
		return -1;
	return tw_ticks_settle(&r->ticks, err);
}

static void free_times(struct tw_rates *r)
{
	free(r->from);
	free(r->seen);
	free(r->at);
	r->from = NULL;
	r->seen = NULL;
	r->at = NULL;
}

int tw_rates_retime(struct tw_rates *r, const struct tw_power_series *power,
		    struct tw_err *err)
{
	size_t place = 0;

	free_times(r);
	r->times = power->times;
	r->time_ms = power->time_ms;
	r->count = r->first = 0;
	if (TW_NEW(r->from, 2 * power->times + 1, err) < 0 ||
	    TW_NEW(r->seen, power->times + 1, err) < 0 ||
	    TW_NEW(r->at, power->times + 1, err) < 0)
		return -1;
	r->to = r->from + power->times;
	for (size_t k = 0; k < power->times; k++) {
		r->from[k] = tw_clock_at(r->clock, power->from_ms[k], &place);
		r->to[k] = tw_clock_at(r->clock, power->time_ms[k], &place);
		if (power->from_ms[k] < r->first_ms)
			r->first = k + 1;
	}
	r->end = tw_times_find(power->time_ms, power->times, 0, r->last_ms + 1);
	return 0;
}

int tw_rates_init(struct tw_rates *r, const struct tw_power_series *power,
		  const struct tw_counter_set *c, const struct tw_metric_series *feature,
		  const struct tw_starts *starts, const struct tw_clock *clock,
		  const struct tw_extract_args *a, struct tw_err *err)
{
	*r = (struct tw_rates){ .counters = c,
				.feature = feature,
				.args = a,
				.starts = starts,
				.clock = clock };
	for (size_t f = 0; f < TW_COUNT(r->most); f++)
		r->most[f] = INFINITY;
	for (size_t i = 0; clock->cpus > 0 && i < c->count; i++)
		if (strcmp(feature[c->at[i].column].metric->feature, CPU_TIME_FEATURE) ==
		    0)
			r->most[c->at[i].column] =
				(1 + CPU_TOLERANCE) * 1e3 * clock->cpus;
	if (a->compat == TW_COMPAT_NONE) {
		find_span(r);
		if (find_ticks(r, power, err) < 0 ||
		    tw_restarts_find(c, &r->ticks, &r->restarts, err) < 0 ||
		    check_restarts(r, err) < 0)
			goto fail;
	}
	if (tw_rates_retime(r, power, err) < 0)
		goto fail;
	return 0;
fail:
	tw_rates_release(r);
	return -1;
}

void tw_rates_release(struct tw_rates *r)
{
	free_times(r);
	tw_ticks_release(&r->ticks);
	tw_restarts_release(&r->restarts);
	tw_increments_release(&r->increments);
	tw_merged_series_release(&r->samples);
	*r = (struct tw_rates){ 0 };
}

/* Forget the previous workload. */
static void clear(struct tw_rates *r)
{
	for (size_t i = 0; i < r->count; i++)
		r->seen[r->at[i]] = false;
	r->count = 0;
}

/* Destination of the rates of one feature. */
struct target {
	double *column; /* or NULL */
	double *born;   /* by row: what counts from 0; or NULL */
	const size_t *row;
	size_t k;           /* row of the last value */
	bool makes_no_rows; /* its times add none to r->seen */
};

/* Add a feature's value to row k. */
static void add_to_row(struct tw_rates *r, const struct target *to, size_t k,
		       double value)
{
	if (to->column != NULL) {
		double *cell = &to->column[to->row[k]];

		*cell = isnan(*cell) ? value : *cell + value;
	}
	if (to->makes_no_rows)
		return;
	if (!r->seen[k])
		r->at[r->count++] = k;
	r->seen[k] = true;
}

/* Add a feature's value at time t. Times without power are skipped. */
static void add_rate(struct tw_rates *r, struct target *to, int64_t t, double value)
{
	const size_t k = to->k = tw_times_find(r->time_ms, r->times, to->k, t);

	if (k < r->times && r->time_ms[k] == t)
		add_to_row(r, to, k, value);
}

/*
 * The first row that ends after a time of the exporter's clock, or one shortly before it.
 * last is a row that the previous increment meets: increments follow each other.
 */
static size_t find_row(const struct tw_rates *r, double at_ms, size_t last)
{
	size_t low = r->first, high = r->end;

	if (last > low && r->to[last - 1] <= at_ms)
		return last;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (r->to[middle] <= at_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Spread an increase evenly over the rows that its time meets. */
static void add_span(struct tw_rates *r, struct target *to, const struct tw_increment *s,
		     double factor, size_t *place)
{
	const double from = tw_clock_at(r->clock, s->from_ms, place);
	const double end = tw_clock_at(r->clock, s->to_ms, place);

	for (size_t k = find_row(r, from, to->k); k < r->end && r->from[k] < end; k++) {
		const double shared = fmin(end, r->to[k]) - fmax(from, r->from[k]);
		double rate;

		to->k = k;
		if (!(shared > 0))
			continue;
		rate = s->amount * factor * 1e3 / (r->to[k] - r->from[k]) *
		       (shared / (end - from));
		add_to_row(r, to, k, rate);
		if (s->born && to->born != NULL)
			to->born[k] += rate;
	}
}

/* Rates of a counter of the schema: its increments over the rows. */
static int add_increments(struct tw_rates *r, struct target *to,
			  const struct tw_counter_series *at, size_t count,
			  const struct tw_schema_metric *metric, struct tw_hidden *hidden,
			  struct tw_err *err)
{
	const double most = r->most[at->column];
	struct tw_increment_rules rules = { .ticks = &r->ticks,
					    .restarts = &r->restarts,
					    .births = !r->args->group->of_node,
					    .first_ms = r->first_ms,
					    .most_per_ms = most / 1e3 / metric->factor,
					    .starts = r->starts,
					    .hidden = hidden };
	size_t place = 0;

	if (tw_increments_read(&r->increments, at, count, &rules, err) < 0)
		return -1;
	for (size_t i = 0; i < r->increments.count; i++)
		add_span(r, to, &r->increments.at[i], metric->factor, &place);
	return 0;
}

/*
 * Rates of kepler-model-server, and of third-party counters: each difference divided by
 * its own step. The first sample has
 * rate 0. A sample lower than the previous one repeats the previous rate. A single sample
 * has no rate.
 */
static void add_counter(struct tw_rates *r, struct target *to, double factor)
{
	const struct tw_merged_sample *s = r->samples.at;
	double last = 0;

	if (r->samples.count < 2)
		return;
	for (size_t i = 0; i < r->samples.count; i++, s++) {
		if (i > 0 && s->value >= s[-1].value)
			last = (s->value - s[-1].value) * factor * 1e3 /
			       (double)(s->time_ms - s[-1].time_ms);
		add_rate(r, to, s->time_ms, last);
	}
}

/* Values of a gauge: the mean of its series at each time. */
static void add_level(struct tw_rates *r, struct target *to, double factor)
{
	const struct tw_merged_sample *s = r->samples.at;

	for (size_t i = 0; i < r->samples.count; i++, s++)
		add_rate(r, to, s->time_ms, s->value * factor / (double)s->series);
}

/* The mean of the gauge's series at sample i. */
static double level_at(const struct tw_rates *r, size_t i)
{
	const struct tw_merged_sample *s = &r->samples.at[i];

	return s->value / (double)s->series;
}

/* The integral of the straight line from sample i to the next, from a to b; at[] has the
 * samples' times. */
static double level_area(const struct tw_rates *r, const double *at, size_t i, double a,
			 double b)
{
	const double slope = (level_at(r, i + 1) - level_at(r, i)) / (at[i + 1] - at[i]);
	const double middle = (a + b) / 2;

	return (b - a) * (level_at(r, i) + slope * (middle - at[i]));
}

/*
 * Values of a declared gauge: the mean over each row of straight lines between samples.
 * Samples further apart than Prometheus' staleness are not joined. A row without any has
 * no value.
 */
static int add_means(struct tw_rates *r, const struct target *to, double factor,
		     struct tw_err *err)
{
	const size_t samples = r->samples.count;
	double *at = calloc(samples + 1, sizeof(*at));
	size_t place = 0, first = 0;

	if (at == NULL)
		return tw_fail(err, TW_NOMEM, "%zu samples of a gauge", samples);
	for (size_t i = 0; i < samples; i++)
		at[i] = tw_clock_at(r->clock, r->samples.at[i].time_ms, &place);
	for (size_t k = 0; k < r->times; k++) {
		double area = 0, covered = 0;

		while (first + 1 < samples && at[first + 1] <= r->from[k])
			first++;
		for (size_t i = first; i + 1 < samples && at[i] < r->to[k]; i++) {
			const double a = fmax(at[i], r->from[k]);
			const double b = fmin(at[i + 1], r->to[k]);

			if (!(b > a) || at[i + 1] - at[i] > STALE_MS)
				continue;
			area += level_area(r, at, i, a, b);
			covered += b - a;
		}
		if (covered > 0)
			add_to_row(r, to, k, area / covered * factor);
	}
	free(at);
	return 0;
}

/* Add the series of one workload and one feature: counters[0..count). */
static int add_feature(struct tw_rates *r, struct target *to,
		       const struct tw_metric_series *feature,
		       const struct tw_counter_series *counters, size_t count,
		       struct tw_hidden *hidden, struct tw_err *err)
{
	const struct tw_schema_metric *m = feature->metric;
	const bool whole = r->args->compat == TW_COMPAT_NONE &&
			   m->kind != TW_METRIC_LEVEL && !feature->thirdparty;

	/* Joined even if not used: that finds series with equal labels. */
	if ((!whole || count > 1) &&
	    tw_merged_series_join(&r->samples, counters, count, err) < 0)
		return -1;
	if (whole)
		return add_increments(r, to, counters, count, m, hidden, err);
	if (m->averaged)
		return add_means(r, to, m->factor, err);
	if (m->kind == TW_METRIC_LEVEL)
		add_level(r, to, m->factor);
	else
		add_counter(r, to, m->factor);
	return 0;
}

int tw_rates_next(struct tw_rates *r, size_t *i, double *const *column, const size_t *row,
		  struct tw_err *err)
{
	const struct tw_counter_set *c = r->counters;
	const char *key = c->at[*i].key;
	struct tw_hidden hidden = { .count = 0 };

	clear(r);
	while (*i < c->count && c->at[*i].key == key) {
		const size_t next = tw_counter_set_next(c, *i), f = c->at[*i].column;
		struct target to = { column != NULL ? column[f] : NULL,
				     r->born != NULL ? r->born[f] : NULL, row, 0,
				     r->thirdparty_makes_no_rows &&
					     r->feature[f].of_node };

		if (add_feature(r, &to, &r->feature[f], &c->at[*i], next - *i, &hidden,
				err) < 0)
			return -1;
		*i = next;
	}
	return 0;
}
