/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics that the user named: features that no schema knows, often another exporter's.
 */
#include "trainer/extract/extract_parts.h"

#include "lib/core/err.h"

#include <math.h>
#include <stdlib.h>

/* ---- their series ---- */

/* By all labels that it has: no other series has the same. */
static int add_apart(size_t what, const struct tw_series *s, struct tw_counters *out,
		     struct tw_err *err)
{
	const char **name = calloc(s->labels + 1, sizeof(*name));
	int status;

	if (name == NULL)
		return tw_fail(err, TW_NOMEM, "%zu labels of a series", s->labels);
	for (size_t i = 0; i < s->labels; i++)
		name[i] = s->label[i].name;
	status = tw_counters_add(out, name, what, s, err);
	free(name);
	return status;
}

int tw_own_metric_add(const struct tw_metric_series *m, size_t what,
		      const struct tw_series *s, struct tw_counters *out,
		      struct tw_err *err)
{
	static const char *const no_labels[] = { NULL };

	if (!m->of_node)
		return tw_counters_add(out, m->schema->id_labels, what, s, err);
	if (m->metric->kind == TW_METRIC_LEVEL)
		return tw_counters_add(out, no_labels, what, s, err);
	return add_apart(what, s, out, err);
}

/* Whether a workload has the feature and one that is not own. */
static bool meets_others(const struct tw_metric_series *feature, size_t f,
			 const struct tw_counters *c)
{
	const char *key = NULL;
	bool has = false, others = false;

	for (size_t i = 0; i < c->count; i++) {
		if (c->at[i].key != key)
			has = others = false;
		key = c->at[i].key;
		has |= c->at[i].what == f;
		others |= !feature[c->at[i].what].own;
		if (has && others)
			return true;
	}
	return false;
}

static bool any_own(const struct tw_metric_series *feature, size_t features)
{
	for (size_t f = 0; f < features; f++)
		if (feature[f].own)
			return true;
	return false;
}

static bool all_own(const struct tw_metric_series *feature, size_t features)
{
	for (size_t f = 0; f < features; f++)
		if (!feature[f].own)
			return false;
	return true;
}

int tw_own_metric_check(const struct tw_metric_series *feature, size_t features,
			const struct tw_counters *c, struct tw_err *err)
{
	if (all_own(feature, features))
		return 0;
	for (size_t f = 0; f < features; f++)
		if (feature[f].own && !meets_others(feature, f, c))
			return tw_fail(err, TW_INVALID,
				       "no workload has both '%s' and the other metrics: "
				       "its labels are others",
				       feature[f].metric->name);
	return 0;
}

/* ---- their rows ---- */

/* Whether a row from `from` up to `to` has the feature, d's column of that number. */
static bool is_told(const struct tw_dataset *d, size_t f, size_t from, size_t to)
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

static int fail_untold(const struct tw_metric_series *feature, size_t features,
		       const struct tw_dataset *d, struct tw_err *err)
{
	for (size_t f = 0; f < features; f++)
		if (feature[f].own && !is_told(d, f, 0, d->rows))
			return tw_fail(err, TW_INVALID,
				       "no row is left: '%s' has no sample at the times "
				       "of the other metrics",
				       feature[f].metric->name);
	return tw_fail(err, TW_INVALID,
		       "no row is left: the named metrics have samples at no time that "
		       "is the same");
}

int tw_own_metric_settle(const struct tw_metric_series *feature, size_t features,
			 struct tw_dataset *d, struct tw_err *err)
{
	size_t rows = 0, end;

	if (!any_own(feature, features))
		return 0;
	for (size_t from = 0; from < d->rows; from = end) {
		bool told = true;

		for (end = from + 1; end < d->rows; end++)
			if (d->time_ms[end] != d->time_ms[from])
				break;
		for (size_t f = 0; f < features; f++)
			told &= !feature[f].own || is_told(d, f, from, end);
		for (size_t row = from; told && row < end; row++)
			move_row(d, features, row, rows++);
	}
	if (rows == 0 && d->rows > 0)
		return fail_untold(feature, features, d, err);
	d->rows = rows;
	return 0;
}
