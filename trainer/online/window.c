/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/window.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"
#include "lib/core/num.h"
#include "lib/field/dataset.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "profiler/cpu_identity.h"
#include "profiler/spec.h"
#include "trainer/extract/extract.h"
#include "trainer/response/machine_info.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int tw_segments_add(struct tw_segments *l, const struct tw_segment *s, struct tw_err *err)
{
	if (!tw_grow(&l->at, &l->size, l->count, sizeof(*l->at)))
		return tw_fail(err, TW_NOMEM, "%zu segments", l->count);
	l->at[l->count++] = *s;
	return 0;
}

void tw_segments_release(struct tw_segments *l)
{
	free(l->at);
	*l = (struct tw_segments){ 0 };
}

/* ---- summary ---- */

static bool extract(const struct tw_prom *p, double tdp_w,
		    const struct tw_energy_source *source,
		    const struct tw_feature_group *group, struct tw_dataset *out)
{
	const struct tw_extract_args args = { .source = source,
					      .group = group,
					      .level = TW_ROWS_NODE,
					      .tdp_w = tdp_w,
					      .apart = true };
	struct tw_err why = { 0 };

	return tw_extract(p, &args, out, &why) == 0;
}

/* The rows of the first measured source with the group that has most features. */
static bool extract_most(const struct tw_prom *p, double tdp_w, struct tw_dataset *out)
{
	for (size_t i = 0; i < tw_energy_source_count() && out->cols == 0; i++) {
		const struct tw_energy_source *source = tw_energy_source_at(i);

		if (!tw_energy_source_is_measured(source))
			continue;
		for (size_t k = 0; k < tw_feature_group_count(); k++) {
			struct tw_dataset d = { 0 };

			if (!extract(p, tdp_w, source, tw_feature_group_at(k), &d))
				continue;
			if (d.cols > out->cols) {
				tw_dataset_release(out);
				*out = d;
			} else {
				tw_dataset_release(&d);
			}
		}
	}
	return out->cols > 0;
}

static double mean_of(const double *v, size_t rows)
{
	double sum = 0;

	for (size_t i = 0; i < rows; i++)
		sum += isfinite(v[i]) ? v[i] : 0;
	return sum / (double)rows;
}

static void add_mean(struct tw_segment *s, const struct tw_column *c, size_t rows)
{
	const struct tw_feature *f = tw_feature_find(c->name);

	if (f == NULL || s->features == TW_SEGMENT_FEATURES_MAX)
		return;
	s->feature[s->features] = f;
	s->mean[s->features++] = mean_of(c->v, rows);
}

/* The mean power of the first component of the dataset. */
static double mean_power(const struct tw_dataset *d)
{
	for (size_t i = 0; i < d->cols; i++)
		for (size_t c = 0; c < TW_COMPONENT_COUNT; c++)
			if (strcmp(d->col[i].name, tw_power_column(c)) == 0)
				return mean_of(d->col[i].v, d->rows);
	return NAN;
}

static void find_load(const struct tw_dataset *d, struct tw_segment *s)
{
	const char *name[TW_SEGMENT_FEATURES_MAX];
	const double *load;
	size_t main;

	for (size_t i = 0; i < s->features; i++)
		name[i] = s->feature[i]->name;
	main = tw_main_feature(name, s->features, TW_PACKAGE);
	load = tw_dataset_find(d, name[main]);
	s->load_low = s->load_high = load[0];
	for (size_t i = 1; i < d->rows; i++) {
		s->load_low = fmin(s->load_low, load[i]);
		s->load_high = fmax(s->load_high, load[i]);
	}
}

int tw_segment_summarize(const struct tw_prom *p, struct tw_segment *s,
			 struct tw_err *err)
{
	struct tw_dataset d = { 0 };
	struct tw_machine_spec spec;
	struct tw_err unknown = { 0 };
	const double tdp_w = tw_machine_info_read(p, &spec, &unknown) == 0
				     ? tw_machine_tdp_w(&spec)
				     : 0;

	s->features = s->rows = 0;
	s->watts = NAN;
	if (!extract_most(p, tdp_w, &d))
		return tw_fail(err, TW_NOTFOUND,
			       "no measured energy source with the metrics of a feature "
			       "group");
	s->rows = d.rows;
	for (size_t i = 0; i < d.cols; i++)
		add_mean(s, &d.col[i], d.rows);
	find_load(&d, s);
	s->watts = mean_power(&d);
	tw_dataset_release(&d);
	return 0;
}

/* One segment of this many is held out. */
#define HELD_OF 4

bool tw_window_full(const struct tw_segments *w, const struct tw_window_limits *limits)
{
	size_t rows = 0, bytes = 0;

	for (size_t i = 0; i < w->count; i++) {
		rows += w->at[i].rows;
		bytes += w->at[i].bytes;
	}
	return w->count > 1 && (rows > limits->rows || bytes > limits->bytes);
}

bool tw_window_holds_out(int64_t from_ms, int64_t to_ms)
{
	const int64_t n = from_ms / (to_ms - from_ms), block = n / HELD_OF;

	return (uint64_t)(n % HELD_OF) ==
	       (tw_hash(&block, sizeof(block)) >> 32) % HELD_OF;
}

/* ---- likeness ---- */

/* The largest mean of each feature in the window. */
struct scales {
	const struct tw_feature *feature[2 * TW_SEGMENT_FEATURES_MAX];
	double largest[2 * TW_SEGMENT_FEATURES_MAX];
	size_t count;
};

static void add_scale(struct scales *s, const struct tw_feature *f, double value)
{
	size_t i = 0;

	while (i < s->count && s->feature[i] != f)
		i++;
	if (i == s->count) {
		if (s->count == 2 * TW_SEGMENT_FEATURES_MAX)
			return;
		s->feature[s->count++] = f;
	}
	s->largest[i] = fmax(s->largest[i], fabs(value));
}

static double scale_of(const struct scales *s, const struct tw_feature *f)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->feature[i] == f && s->largest[i] > 0)
			return s->largest[i];
	return 1.0;
}

/* Divide the means by the scales. */
static void normalize(const struct scales *s, const struct tw_segment *g, double *out)
{
	for (size_t i = 0; i < g->features; i++)
		out[i] = g->mean[i] / scale_of(s, g->feature[i]);
}

/* Squared distance. Segments with other features are apart. */
static double distance(const struct tw_segment *a, const double *x,
		       const struct tw_segment *b, const double *y)
{
	double sum = 0;

	if (a->features != b->features ||
	    memcmp(a->feature, b->feature, a->features * sizeof(a->feature[0])) != 0)
		return INFINITY;
	for (size_t i = 0; i < a->features; i++)
		sum += (x[i] - y[i]) * (x[i] - y[i]);
	return sum;
}

static bool held_are_many(const struct tw_segments *w)
{
	const struct tw_window_choice held = { .held = true }, others = { 0 };

	return tw_window_rows(w, held) * (HELD_OF - 1) > tw_window_rows(w, others);
}

/* The normalized means of all segments, TW_SEGMENT_FEATURES_MAX each. NULL: no memory. */
static double *normalize_all(const struct tw_segments *w)
{
	double *z = calloc(w->count, TW_SEGMENT_FEATURES_MAX * sizeof(*z));
	struct scales scales = { 0 };

	if (z == NULL)
		return NULL;
	for (size_t i = 0; i < w->count; i++)
		for (size_t f = 0; f < w->at[i].features; f++)
			add_scale(&scales, w->at[i].feature[f], w->at[i].mean[f]);
	for (size_t i = 0; i < w->count; i++)
		normalize(&scales, &w->at[i], z + i * TW_SEGMENT_FEATURES_MAX);
	return z;
}

/* The older of the two that are most alike; w->count if no two are comparable. */
static size_t find_like(const struct tw_segments *w, const double *z, bool held)
{
	double least = INFINITY;
	size_t found = w->count;

	for (size_t i = 0; i < w->count; i++) {
		for (size_t k = i + 1; k < w->count && w->at[i].held == held; k++) {
			double d;

			if (w->at[k].held != held)
				continue;
			d = distance(&w->at[i], z + i * TW_SEGMENT_FEATURES_MAX,
				     &w->at[k], z + k * TW_SEGMENT_FEATURES_MAX);
			if (d < least) {
				least = d;
				found = i;
			}
		}
	}
	return found;
}

size_t tw_window_surplus(const struct tw_segments *w)
{
	const bool held = held_are_many(w);
	double *z = normalize_all(w);
	size_t found = z != NULL ? find_like(w, z, held) : w->count;

	free(z);
	/* No two are comparable: the oldest of the kind, else the oldest. */
	for (size_t i = 0; found == w->count && i + 1 < w->count; i++)
		if (w->at[i].held == held)
			found = i;
	return found < w->count ? found : 0;
}

/* ---- choice ---- */

static bool is_used(const struct tw_segment *g, int64_t after_ms)
{
	return !g->glitch && g->from_ms >= after_ms;
}

size_t tw_window_rows(const struct tw_segments *w, struct tw_window_choice c)
{
	size_t rows = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->at[i].held == c.held && is_used(&w->at[i], c.after_ms))
			rows += w->at[i].rows;
	return rows;
}

bool tw_window_next_run(const struct tw_segments *w, int64_t after_ms, size_t *at,
			struct tw_window_run *out)
{
	size_t i = *at;

	while (i < w->count && !is_used(&w->at[i], after_ms))
		i++;
	if (i == w->count)
		return false;
	out->first = i++;
	while (i < w->count && is_used(&w->at[i], after_ms) &&
	       w->at[i].from_ms == w->at[i - 1].to_ms)
		i++;
	out->last = i - 1;
	*at = i;
	return true;
}

/* Sort and return the value below which a share of them is, rounded outwards. */
static double quantile(double *v, size_t count, double share)
{
	const double at = share * (double)(count - 1);

	qsort(v, count, sizeof(*v), tw_compare_doubles);
	return v[(size_t)(share < 0.5 ? floor(at) : ceil(at))];
}

bool tw_window_covers(const struct tw_segments *w, int64_t after_ms)
{
	double *lows = calloc(2 * w->count + 1, sizeof(*lows)), *highs = lows + w->count;
	double low = INFINITY, high = -INFINITY, all_low, all_high;
	size_t count = 0;

	for (size_t i = 0; lows != NULL && i < w->count; i++) {
		const struct tw_segment *g = &w->at[i];

		if (g->features == 0)
			continue;
		lows[count] = g->load_low;
		highs[count++] = g->load_high;
		if (g->from_ms < after_ms)
			continue;
		low = fmin(low, g->load_low);
		high = fmax(high, g->load_high);
	}
	if (count == 0) {
		free(lows);
		return false;
	}
	all_low = quantile(lows, count, 0.1);
	all_high = quantile(highs, count, 0.9);
	free(lows);
	return low <= all_low + 0.1 * (all_high - all_low) &&
	       high >= all_high - 0.2 * (all_high - all_low);
}
