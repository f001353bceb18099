/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/meter_views.h"

#include "lib/core/err.h"
#include "trainer/extract/clean.h"
#include "trainer/extract/metric_series.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Two views of a meter differ by less than this share: scrapes lie apart. */
#define DIFFERENCE_MAX 0.2
/* Two exporters that run for this share of the time replace one another. */
#define UPDATE_MAX 0.1
/* A recording has fewer views at one time. */
#define OVERLAPS_MAX 64

/* A series and its view. Until views are known, `view` is the place of another series of
 * the same view, or its own. */
struct place {
	size_t series, view;
	uint64_t scrape;
	double from_ms, to_ms;
};

struct view {
	struct tw_meter_view of;
	double to_ms;              /* its last sample */
	const struct place *place; /* its series */
	size_t count;
	double cut_ms; /* samples before count */
};

static int compare_scrapes(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->scrape != y->scrape)
		return x->scrape < y->scrape ? -1 : 1;
	if (x->from_ms != y->from_ms)
		return x->from_ms < y->from_ms ? -1 : 1;
	return x->series < y->series ? -1 : 1;
}

static int compare_views(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->view != y->view)
		return x->view < y->view ? -1 : 1;
	return x->series < y->series ? -1 : 1;
}

static int compare_times(const void *a, const void *b)
{
	const struct view *x = a, *y = b;

	if (x->of.from_ms != y->of.from_ms)
		return x->of.from_ms < y->of.from_ms ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static size_t find_root(size_t *parent, size_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

/* Series of one counter are of one view, and so are those that one scrape has at one
 * time. Afterwards places are in order of their views. */
static void find_views(const struct tw_counter_set *c, struct place *p, size_t *parent)
{
	double to_ms = -INFINITY;

	for (size_t i = 0; i < c->count; i++) {
		const struct tw_series *s = c->at[i].series;

		parent[i] = i > 0 && c->at[i].key == c->at[i - 1].key ? parent[i - 1] : i;
		p[i] = (struct place){ .series = i,
				       .scrape = tw_clean_scrape_hash(s),
				       .from_ms = tw_packed_first(&s->time_ms),
				       .to_ms = tw_packed_last(&s->time_ms) };
	}
	qsort(p, c->count, sizeof(*p), compare_scrapes);
	for (size_t i = 0; i < c->count; i++) {
		if (i > 0 && p[i].scrape == p[i - 1].scrape && p[i].from_ms <= to_ms) {
			parent[find_root(parent, p[i].series)] =
				find_root(parent, p[i - 1].series);
			to_ms = fmax(to_ms, p[i].to_ms);
		} else {
			to_ms = p[i].to_ms;
		}
	}
	for (size_t i = 0; i < c->count; i++)
		p[i].view = find_root(parent, p[i].series);
	qsort(p, c->count, sizeof(*p), compare_views);
}

/* Make the views of their places; returns their number. */
static size_t make_views(const struct tw_counter_set *c, const struct place *p,
			 struct view *v)
{
	const char *key = NULL;
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		struct tw_meter_view *of;

		if (i == 0 || p[i].view != p[i - 1].view)
			v[n++] = (struct view){
				.of.from_ms = p[i].from_ms,
				.to_ms = p[i].to_ms,
				.place = &p[i],
				.cut_ms = INFINITY,
			};
		of = &v[n - 1].of;
		of->from_ms = fmin(of->from_ms, p[i].from_ms);
		v[n - 1].to_ms = fmax(v[n - 1].to_ms, p[i].to_ms);
		of->keys += c->at[p[i].series].key != key;
		key = c->at[p[i].series].key;
		v[n - 1].count++;
	}
	qsort(v, n, sizeof(*v), compare_times);
	return n;
}

/* Growth of a counter, or the mean of a gauge, over a time. */
static double size_of(const struct tw_series *s, double from_ms, double to_ms, bool gauge)
{
	struct tw_unpack times = tw_unpack_begin(&s->time_ms);
	struct tw_unpack values = tw_unpack_begin(&s->value);
	double sum = 0, last = INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < s->value.count; i++) {
		const double ms = tw_unpack_next(&times), x = tw_unpack_next(&values);

		if (ms < from_ms || ms > to_ms)
			continue;
		sum += gauge ? x : fmax(x - last, 0);
		last = x;
		n++;
	}
	return gauge && n > 0 ? sum / (double)n : sum;
}

static double size_of_view(const struct tw_counter_set *c, const struct view *v,
			   double from_ms, double to_ms, bool gauge)
{
	double sum = 0;

	for (size_t i = 0; i < v->count; i++)
		sum += size_of(c->at[v->place[i].series].series, from_ms, to_ms, gauge);
	return sum;
}

/* Which of two views counts while both last: the earlier one, the later one if it goes on
 * for some time, or neither, as they differ. One that stands is no meter. */
enum better { EARLIER, LATER, NEITHER };

static enum better compare(const struct tw_counter_set *c, const struct view *a,
			   const struct view *b, bool gauge)
{
	const double from_ms = b->of.from_ms, to_ms = fmin(a->to_ms, b->to_ms);
	const double all_ms = fmax(a->to_ms, b->to_ms) - a->of.from_ms;
	double x, y;

	if (to_ms - from_ms > UPDATE_MAX * all_ms) {
		x = size_of_view(c, a, from_ms, to_ms, gauge);
		y = size_of_view(c, b, from_ms, to_ms, gauge);
		if (x == 0 || y == 0)
			return y == 0 ? EARLIER : LATER;
		if (fabs(x - y) > DIFFERENCE_MAX * fmin(x, y))
			return NEITHER;
	}
	return b->to_ms - a->to_ms > UPDATE_MAX * all_ms ? LATER : EARLIER;
}

/* Decide which view counts at which time. */
static int choose(struct tw_counter_set *c, struct view *v, size_t count,
		  const struct tw_schema_metric *m, struct tw_err *err)
{
	struct view *last = v;
	size_t overlaps = 0;

	for (struct view *next = v + 1; next < v + count; next++) {
		enum better better = LATER;

		if (next->of.from_ms <= last->to_ms) {
			if (++overlaps > OVERLAPS_MAX)
				return tw_fail(
					err, TW_INVALID,
					"%s: more than %d exporters show the "
					"meter beside another one; choose one with "
					"--match",
					m->name, OVERLAPS_MAX);
			better = compare(c, last, next, m->kind == TW_METRIC_POWER);
			if (better == LATER)
				last->cut_ms = next->of.from_ms;
		}
		if (better == NEITHER)
			return tw_clean_refuse(m->name, c->at[last->place->series].series,
					       c->at[next->place->series].series, err);
		if (better == EARLIER)
			next->cut_ms = -INFINITY;
		else
			last = next;
	}
	return 0;
}

/* Drop what does not count, and keep the views that are left. */
static int keep(struct tw_meter_views *out, const struct view *v, size_t count,
		struct tw_err *err)
{
	for (size_t k = 0; k < count; k++) {
		for (size_t i = 0; i < v[k].count && v[k].cut_ms < INFINITY; i++) {
			if (tw_counter_set_cut(&out->counters, v[k].place[i].series,
					       v[k].cut_ms, err) < 0)
				return -1;
			out->counters.merged++;
		}
		if (v[k].cut_ms > v[k].of.from_ms)
			out->at[out->count++] = v[k].of;
	}
	tw_counter_set_drop_empty(&out->counters);
	return 0;
}

int tw_meter_views_split(struct tw_meter_views *out, const struct tw_metric_series *m,
			 struct tw_err *err)
{
	struct tw_counter_set *c = &out->counters;
	const size_t room = c->count + 1;
	struct place *place = calloc(room, sizeof(*place));
	struct view *view = calloc(room, sizeof(*view));
	size_t *parent = calloc(room, sizeof(*parent));
	size_t count;
	int rc = -1;

	out->at = calloc(room, sizeof(*out->at));
	if (place == NULL || view == NULL || parent == NULL || out->at == NULL) {
		tw_fail(err, TW_NOMEM, "%zu series of power", c->count);
		goto out;
	}
	find_views(c, place, parent);
	count = make_views(c, place, view);
	if (choose(c, view, count, m->metric, err) < 0 || keep(out, view, count, err) < 0)
		goto out;
	rc = 0;
out:
	free(place);
	free(view);
	free(parent);
	return rc;
}

void tw_meter_views_release(struct tw_meter_views *v)
{
	tw_counter_set_release(&v->counters);
	free(v->at);
	*v = (struct tw_meter_views){ 0 };
}
