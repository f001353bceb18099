/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/rates.h"

#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "trainer/extract/guest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- counters ---- */

/* Add a series as a counter of its own: its key is made of all its labels. */
static int add_apart(size_t column, const struct tw_series *s, struct tw_counter_set *out,
		     struct tw_err *err)
{
	const char **name = calloc(s->labels + 1, sizeof(*name));
	int status;

	if (name == NULL)
		return tw_fail(err, TW_NOMEM, "%zu labels of a series", s->labels);
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

static int find_counters(const struct tw_metric_series *m,
			 const struct tw_extract_args *a, size_t column,
			 struct tw_guest *guest, struct tw_counter_set *out,
			 struct tw_err *err)
{
	static const char *const no_labels[] = { NULL };
	/* A gauge may fall, and its series are merged. */
	bool is_level = m->metric->kind == TW_METRIC_LEVEL;
	bool strict = !is_level && !m->metric->falls && a->resets == TW_RESETS_REFUSE &&
		      a->compat == TW_COMPAT_NONE;
	size_t before = out->count, i = 0;
	const struct tw_series *s;
	int status;

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
	if (out->count == before)
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
	return 0;
}

int tw_rates_init(struct tw_rates *r, const int64_t *time_ms, size_t times,
		  struct tw_err *err)
{
	*r = (struct tw_rates){ .times = times, .time_ms = time_ms };
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
	const size_t *row;
	size_t k;           /* index of the next time */
	bool makes_no_rows; /* its times add none to r->seen */
};

/* Add a feature's value at time t. Times without power are skipped. */
static void add_rate(struct tw_rates *r, struct target *to, int64_t t, double value)
{
	const size_t k = to->k = tw_times_find(r->time_ms, r->times, to->k, t);

	if (k == r->times || r->time_ms[k] != t)
		return;
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

/*
 * Rates of one counter: each difference divided by its own step. The first sample has
 * rate 0. A sample lower than the previous one repeats the previous rate. A single sample
 * has no rate.
 */
static void add_counter(struct tw_rates *r, struct target *to, double factor)
{
	const struct tw_merged_sample *s = r->samples.at;
	double last = 0;

	if (r->samples.count < 2)
		return;
	for (size_t i = 0; i < r->samples.count && to->k < r->times; i++, s++) {
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

	for (size_t i = 0; i < r->samples.count && to->k < r->times; i++, s++)
		add_rate(r, to, s->time_ms, s->value * factor / (double)s->series);
}

int tw_rates_next(struct tw_rates *r, const struct tw_counter_set *c,
		  const struct tw_metric_series *feature, size_t *i,
		  double *const *column, const size_t *row, struct tw_err *err)
{
	const char *key = c->at[*i].key;

	clear(r);
	while (*i < c->count && c->at[*i].key == key) {
		const size_t next = tw_counter_set_next(c, *i), f = c->at[*i].column;
		const struct tw_schema_metric *metric = feature[f].metric;
		struct target to = { column != NULL ? column[f] : NULL, row, 0,
				     r->thirdparty_makes_no_rows && feature[f].of_node };

		if (tw_merged_series_join(&r->samples, &c->at[*i], next - *i, err) < 0)
			return -1;
		if (metric->kind == TW_METRIC_LEVEL)
			add_level(r, &to, metric->factor);
		else
			add_counter(r, &to, metric->factor);
		*i = next;
	}
	return 0;
}
