/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/extract_parts.h"

#include "lib/core/err.h"
#include "trainer/extract/guest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool tw_series_is_wanted(const struct tw_series *s, const struct tw_extract_args *a)
{
	return tw_series_is_guest(s) == a->vm_metrics;
}

static int find_feature(const struct tw_metric_series *m, const struct tw_extract_args *a,
			size_t what, struct tw_machine *machine, struct tw_counters *out,
			struct tw_err *err)
{
	static const char *const no_labels[] = { NULL };
	/* A gauge falls as it likes, and its series are taken together. */
	bool is_level = m->metric->kind == TW_METRIC_LEVEL;
	bool strict =
		!is_level && a->resets == TW_RESETS_REFUSE && a->compat == TW_COMPAT_NONE;
	size_t before = out->count, i = 0;
	const struct tw_series *s;
	int status;

	while ((s = tw_metric_series_next(m, &i)) != NULL) {
		if (!tw_series_is_wanted(s, a))
			continue;
		if (strict && tw_series_check_resets(s, m->metric->name, err) < 0)
			return -1;
		if (tw_machine_check(machine, m->schema, s, err) < 0)
			return -1;
		if (m->own)
			status = tw_own_metric_add(m, what, s, out, err);
		else
			status = tw_counters_add(
				out, is_level ? no_labels : m->schema->id_labels, what, s,
				err);
		if (status < 0)
			return -1;
	}
	if (out->count == before)
		return tw_fail(err, TW_NOTFOUND, "no series of '%s' with%s job=\"vm\"",
			       m->metric->name, a->vm_metrics ? "" : "out");
	return 0;
}

int tw_workloads_find(const struct tw_metric_series *feature, size_t features,
		      const struct tw_extract_args *a, struct tw_machine *machine,
		      struct tw_counters *out, struct tw_err *err)
{
	for (size_t f = 0; f < features; f++)
		if (find_feature(&feature[f], a, f, machine, out, err) < 0)
			return -1;
	tw_counters_sort(out);
	return 0;
}

int tw_rates_init(struct tw_rates *r, const struct tw_power *power, struct tw_err *err)
{
	const size_t times = power->times;

	*r = (struct tw_rates){ .times = times, .time_ms = power->time_ms };
	r->seen = calloc(times + 1, sizeof(*r->seen));
	r->at = calloc(times + 1, sizeof(*r->at));
	if (r->seen != NULL && r->at != NULL)
		return 0;
	tw_rates_release(r);
	return tw_fail(err, TW_NOMEM, "features at %zu times", times);
}

void tw_rates_release(struct tw_rates *r)
{
	free(r->seen);
	free(r->at);
	tw_track_release(&r->track);
	*r = (struct tw_rates){ 0 };
}

/* Forget the workload before. */
static void clear(struct tw_rates *r)
{
	for (size_t i = 0; i < r->count; i++)
		r->seen[r->at[i]] = false;
	r->count = 0;
}

/* Near ones are found first, so that neither long nor few samples cost more than they
 * are. */
size_t tw_times_find(const int64_t *time_ms, size_t times, size_t from, int64_t t)
{
	size_t low = from, high, step = 1;

	while (low + step < times && time_ms[low + step] < t) {
		low += step;
		step *= 2;
	}
	high = low + step < times ? low + step : times;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (time_ms[middle] < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Where the rates of one feature go. */
struct target {
	double *column; /* or NULL */
	const size_t *row;
	size_t k;   /* of the times: those before it are behind */
	bool aside; /* it makes no rows */
};

/* The value of a feature at a sample of the track; not at times that power lacks. */
static void add_rate(struct tw_rates *r, struct target *to, int64_t t, double value)
{
	const size_t k = to->k = tw_times_find(r->time_ms, r->times, to->k, t);

	if (k == r->times || r->time_ms[k] != t)
		return;
	if (to->column != NULL) {
		double *cell = &to->column[to->row[k]];

		*cell = isnan(*cell) ? value : *cell + value;
	}
	if (to->aside)
		return;
	if (!r->seen[k])
		r->at[r->count++] = k;
	r->seen[k] = true;
}

/*
 * Rates of one counter: each difference by its own step. Where it falls, the rate before
 * it goes on (0 at first); the first sample's rate is 0; a single sample says nothing.
 */
static void add_counter(struct tw_rates *r, struct target *to, double factor)
{
	const struct tw_track_sample *s = r->track.at;
	double last = 0;

	if (r->track.count < 2)
		return;
	for (size_t i = 0; i < r->track.count && to->k < r->times; i++, s++) {
		if (i > 0 && s->value >= s[-1].value)
			last = (s->value - s[-1].value) * factor * 1e3 /
			       (double)(s->time_ms - s[-1].time_ms);
		add_rate(r, to, s->time_ms, last);
	}
}

/* A gauge: the mean of its series at each time. */
static void add_level(struct tw_rates *r, struct target *to, double factor)
{
	const struct tw_track_sample *s = r->track.at;

	for (size_t i = 0; i < r->track.count && to->k < r->times; i++, s++)
		add_rate(r, to, s->time_ms, s->value * factor / (double)s->parts);
}

int tw_rates_next(struct tw_rates *r, const struct tw_counters *c,
		  const struct tw_metric_series *feature, size_t *i,
		  double *const *column, const size_t *row, struct tw_err *err)
{
	const char *key = c->at[*i].key;

	clear(r);
	while (*i < c->count && c->at[*i].key == key) {
		const size_t next = tw_counters_next(c, *i), what = c->at[*i].what;
		const struct tw_schema_metric *metric = feature[what].metric;
		struct target to = { column != NULL ? column[what] : NULL, row, 0,
				     r->own_aside && feature[what].of_node };

		if (tw_track_join(&r->track, &c->at[*i], next - *i, err) < 0)
			return -1;
		if (metric->kind == TW_METRIC_LEVEL)
			add_level(r, &to, metric->factor);
		else
			add_counter(r, &to, metric->factor);
		*i = next;
	}
	return 0;
}
