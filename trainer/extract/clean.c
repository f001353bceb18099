/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/clean.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/extract/counter_series.h"
#include "trainer/extract/metric_series.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Series with fewer samples in the time that they share must be equal. */
#define SAMPLES_MIN 3
/* The same counter differs by less than this share of its growth, and by less than it
 * grows in this time and a step of each series: scrapes lie apart. */
#define DIFFERENCE_MAX 0.2
#define LAG_MAX_MS 60e3
/* The same number, but for its rounding. */
#define ROUNDING 1e-9
/* A gap between samples is longer than this many of their steps. */
#define GAP_MIN 1.5
/* Two exporters of a node that run for this share of the time replace one another. */
#define UPDATE_MAX 0.1
/* Counters by two paths differ by less than this share of their growth, in as many
 * samples or more. */
#define TWIN_DIFFERENCE_MAX 1e-4
#define TWIN_SAMPLES_MIN 20
/* A series is compared with this many that begin after it. */
#define NEIGHBOURS_MAX 16
/* Names of labels that are remembered. */
#define KINDS_MAX 32

/* ---- labels ---- */

/* A process keeps its counters when its name changes. */
static bool is_process_name(const char *label)
{
	return strcmp(label, "comm") == 0 || strcmp(label, "command") == 0 ||
	       strcmp(label, "exe") == 0;
}

/* Kinds of labels by name, so that a name is compared with those of the schemas once. */
enum label_kind { OF_METER, OF_PATH, OF_SCRAPE, OF_NAME };

struct label_kinds {
	const char *name[KINDS_MAX];
	enum label_kind kind[KINDS_MAX];
	size_t count;
};

/* Equal texts have equal addresses. */
static enum label_kind kind_of(struct label_kinds *k, const char *name)
{
	enum label_kind kind;

	for (size_t i = 0; i < k->count; i++)
		if (k->name[i] == name)
			return k->kind[i];
	kind = is_process_name(name)             ? OF_NAME
	       : tw_schema_is_scrape_label(name) ? OF_SCRAPE
	       : strcmp(name, "path") == 0       ? OF_PATH
						 : OF_METER;
	if (k->count < KINDS_MAX) {
		k->name[k->count] = name;
		k->kind[k->count++] = kind;
	}
	return kind;
}

/*
 * Hash the labels of the scrape, or the labels that identify what the series counts,
 * independent of their order.
 */
static uint64_t hash_labels(const struct tw_series *s, enum label_kind kind,
			    struct label_kinds *kinds)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->labels; i++) {
		const struct tw_label *l = &s->label[i];
		uint64_t h = (uint64_t)(uintptr_t)l->value;

		if (kind_of(kinds, l->name) != kind)
			continue;
		h ^= (uint64_t)(uintptr_t)l->name * UINT64_C(0x9e3779b97f4a7c15);
		h *= UINT64_C(0xbf58476d1ce4e5b9);
		sum += h ^ (h >> 31);
	}
	return sum;
}

uint64_t tw_clean_scrape_hash(const struct tw_series *s)
{
	struct label_kinds kinds = { 0 };

	return hash_labels(s, OF_SCRAPE, &kinds);
}

/* Append the scrape's labels of s that other lacks or has with another text; NULL: all.
 */
static void describe(const struct tw_series *s, const struct tw_series *other,
		     struct tw_buf *out)
{
	bool any = false;

	for (size_t i = 0; i < s->labels; i++) {
		const struct tw_label *l = &s->label[i];

		if (!tw_schema_is_scrape_label(l->name) ||
		    (other != NULL && tw_series_label(other, l->name) == l->value))
			continue;
		tw_buf_addf(out, "%s%s=\"%.30s\"", any ? "," : "", l->name, l->value);
		any = true;
	}
}

/* ---- values ---- */

/* The values of a series, interpolated between its samples: one or more, whose times
 * ascend. */
struct line {
	struct tw_unpack times, values;
	size_t left; /* samples that were not read */
	double from_ms, from, to_ms, to;
};

static struct line begin_line(const struct tw_series *s)
{
	struct line l = { .times = tw_unpack_begin(&s->time_ms),
			  .values = tw_unpack_begin(&s->value),
			  .left = s->value.count - 1 };

	l.from_ms = l.to_ms = tw_unpack_next(&l.times);
	l.from = l.to = tw_unpack_next(&l.values);
	return l;
}

/* The value at a time within the series. */
static double value_at(struct line *l, double ms)
{
	while (l->to_ms < ms && l->left > 0) {
		l->from_ms = l->to_ms;
		l->from = l->to;
		l->to_ms = tw_unpack_next(&l->times);
		l->to = tw_unpack_next(&l->values);
		l->left--;
	}
	if (l->to_ms <= l->from_ms)
		return l->to;
	return l->from + (l->to - l->from) * (ms - l->from_ms) / (l->to_ms - l->from_ms);
}

/* Two series compared over the time that they share. */
struct overlap {
	double from_ms, to_ms;
	size_t samples;    /* of the earlier one */
	double step_ms;    /* the shortest between them */
	double split_ms;   /* the shortest that a sample of the later one splits */
	double difference; /* sum over its samples */
	double size;       /* sum of its absolute values */
	double lag_share;  /* of the growth of a counter that is in a lag; gauge: all */
	double moved, other_moved;
};

/* How far the values move in [from_ms, to_ms]: a counter's growth, where a fall is a
 * reset; a gauge's range. */
static double movement(const struct tw_series *s, double from_ms, double to_ms,
		       bool gauge)
{
	struct tw_unpack times = tw_unpack_begin(&s->time_ms);
	struct tw_unpack values = tw_unpack_begin(&s->value);
	double sum = 0, last = INFINITY, low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < s->value.count; i++) {
		const double ms = tw_unpack_next(&times), v = tw_unpack_next(&values);

		if (ms < from_ms || ms > to_ms)
			continue;
		sum += fmax(v - last, 0);
		low = fmin(low, v);
		high = fmax(high, v);
		last = v;
	}
	return !gauge ? sum : fmax(high - low, 0);
}

static double mean_step(const struct tw_series *s)
{
	return (tw_packed_last(&s->time_ms) - tw_packed_first(&s->time_ms)) /
	       fmax((double)s->value.count - 1, 1);
}

static struct overlap compare(const struct tw_series *a, const struct tw_series *b,
			      double from_ms, bool gauge)
{
	struct tw_unpack times = tw_unpack_begin(&a->time_ms);
	struct tw_unpack values = tw_unpack_begin(&a->value);
	struct line other = begin_line(b);
	struct overlap o = { .from_ms = from_ms,
			     .to_ms = fmin(tw_packed_last(&a->time_ms),
					   tw_packed_last(&b->time_ms)),
			     .step_ms = INFINITY,
			     .split_ms = INFINITY };
	double last_ms = INFINITY;

	for (size_t i = 0; i < a->value.count; i++) {
		const double ms = tw_unpack_next(&times), v = tw_unpack_next(&values);

		if (ms < o.from_ms || ms > o.to_ms)
			continue;
		o.difference += fabs(v - value_at(&other, ms));
		if (ms > last_ms)
			o.step_ms = fmin(o.step_ms, ms - last_ms);
		if (other.from_ms > last_ms && other.from_ms < ms)
			o.split_ms = fmin(o.split_ms, ms - last_ms);
		last_ms = ms;
		o.size += fabs(v);
		o.samples++;
	}
	o.lag_share = gauge ? 1
			    : (LAG_MAX_MS + mean_step(a) + mean_step(b)) /
				      (o.to_ms - o.from_ms);
	o.moved = movement(a, o.from_ms, o.to_ms, gauge);
	o.other_moved = movement(b, o.from_ms, o.to_ms, gauge);
	return o;
}

/* Whether both are the same counter. Values of one scrape have no lag. */
static bool are_alike(const struct overlap *o, bool one_scrape)
{
	const double least = fmin(o->moved, o->other_moved);
	const double share = fmin(DIFFERENCE_MAX, o->lag_share);

	if (o->samples > 1 && o->size > 0 && o->difference <= ROUNDING * o->size)
		return true;
	return !one_scrape && o->samples >= SAMPLES_MIN && least > 0 &&
	       o->difference <= share * least * (double)o->samples;
}

/*
 * Whether a series has its last value since before the other's first sample. Of one
 * scrape the other must go on from about there: a process may be idle beside its
 * neighbours.
 */
static bool is_stale(const struct tw_series *s, const struct tw_series *other,
		     bool one_scrape)
{
	const double from_ms = tw_packed_first(&other->time_ms);
	const double first = tw_packed_first(&other->value);
	struct tw_unpack times = tw_unpack_begin(&s->time_ms);
	struct tw_unpack values = tw_unpack_begin(&s->value);
	double before = NAN, v = NAN;

	for (size_t i = 0; i < s->value.count; i++) {
		v = tw_unpack_next(&values);
		if (tw_unpack_next(&times) < from_ms)
			before = v;
	}
	return v == before &&
	       (!one_scrape || (v <= first && v > (1 - DIFFERENCE_MAX) * first));
}

/* ---- what is dropped ---- */

int tw_clean_refuse(const char *metric, const struct tw_series *a,
		    const struct tw_series *b, struct tw_err *err)
{
	struct tw_buf text[2] = { { 0 }, { 0 } };
	bool apart;
	int rc;

	describe(a, b, &text[0]);
	describe(b, a, &text[1]);
	apart = text[0].len + text[1].len > 0;
	if (!apart)
		describe(a, NULL, &text[0]);
	if (tw_buf_failed(&text[0]) || tw_buf_failed(&text[1]))
		rc = tw_fail(err, TW_NOMEM, "names of series");
	else if (!apart)
		rc = tw_fail(err, TW_INVALID,
			     "%s: two series {%.60s} differ at the same times: the label "
			     "that tells two machines apart is not read; give each its "
			     "own instance or node_name",
			     metric, text[0].data != NULL ? text[0].data : "");
	else
		rc = tw_fail(err, TW_INVALID,
			     "%s: {%.60s} and {%.60s} differ at the same times: two "
			     "machines have one name; give each its own instance or "
			     "node_name, or choose one with --match",
			     metric, text[0].data != NULL ? text[0].data : "",
			     text[1].data != NULL ? text[1].data : "");
	tw_buf_clear(&text[0]);
	tw_buf_clear(&text[1]);
	return rc;
}

/* Whether both exporters ran for a moment only: one replaced the other. */
static bool is_update(const struct tw_series *a, const struct tw_series *b,
		      const struct overlap *o)
{
	const double all_ms =
		fmax(tw_packed_last(&a->time_ms), tw_packed_last(&b->time_ms)) -
		tw_packed_first(&a->time_ms);

	return o->to_ms - o->from_ms <= UPDATE_MAX * all_ms;
}

/* Clean the earlier series a and the later one b, of the same labels. */
static int clean_pair(struct tw_counter_set *c, size_t a, size_t b,
		      const struct tw_schema_metric *m, bool of_node,
		      struct label_kinds *kinds, struct tw_err *err)
{
	const struct tw_series *one = c->at[a].series, *other = c->at[b].series;
	const double from_ms = tw_packed_first(&other->time_ms);
	const bool one_name = hash_labels(one, OF_SCRAPE, kinds) ==
			      hash_labels(other, OF_SCRAPE, kinds);
	bool one_scrape;
	struct overlap o;

	if (tw_packed_last(&one->time_ms) < from_ms)
		return 0;
	o = compare(one, other, from_ms, m != NULL && m->kind == TW_METRIC_POWER);
	/* A label that is not kept may tell two scrapes apart: samples of one are between
	 * those of the other. In one scrape they only fill its gaps. */
	one_scrape = one_name && o.split_ms >= GAP_MIN * o.step_ms;
	if (are_alike(&o, one_scrape)) {
		c->merged++;
		/* The later one may be of a part of the time only. */
		if (tw_packed_last(&other->time_ms) <= tw_packed_last(&one->time_ms))
			return tw_counter_set_cut(c, b, -INFINITY, err);
		return tw_counter_set_cut(c, a, from_ms, err);
	}
	if (is_stale(one, other, one_scrape) &&
	    tw_packed_last(&one->time_ms) < tw_packed_last(&other->time_ms)) {
		c->merged++;
		return tw_counter_set_cut(c, a, from_ms, err);
	}
	if (!of_node || o.samples < SAMPLES_MIN || o.moved == 0 || o.other_moved == 0)
		return 0;
	if (is_update(one, other, &o)) {
		c->merged++;
		return tw_counter_set_cut(c, a, from_ms, err);
	}
	return tw_clean_refuse(m->name, one, other, err);
}

static uint64_t hash_meter(const struct tw_series *s, struct label_kinds *kinds)
{
	return hash_labels(s, OF_METER, kinds) + hash_labels(s, OF_PATH, kinds);
}

/* Clean the series [from, to) of one counter, in order of their first samples. */
static int clean_counter(struct tw_counter_set *c, size_t from, size_t to,
			 const struct tw_schema_metric *m, bool of_node,
			 struct label_kinds *kinds, struct tw_err *err)
{
	for (size_t i = from; i < to; i++) {
		const uint64_t hash = hash_meter(c->at[i].series, kinds);

		for (size_t k = i + 1; k < to && k <= i + NEIGHBOURS_MAX; k++)
			if (c->at[i].series->value.count > 0 &&
			    c->at[k].series->value.count > 0 &&
			    hash_meter(c->at[k].series, kinds) == hash &&
			    clean_pair(c, i, k, m, of_node, kinds, err) < 0)
				return -1;
	}
	return 0;
}

/* Whether the kernel shows this meter by its memory-mapped registers. */
static bool is_mapped(const struct tw_series *s)
{
	const char *path = tw_series_label(s, "path");

	return path != NULL && strstr(path, "intel-rapl-mmio:") != NULL;
}

/* Whether two counters grow by the same in all of the time that they share. Each may
 * fall, as its register wraps around. */
static bool grow_alike(const struct tw_series *a, const struct tw_series *b)
{
	const double from_ms =
		fmax(tw_packed_first(&a->time_ms), tw_packed_first(&b->time_ms));
	const double to_ms =
		fmin(tw_packed_last(&a->time_ms), tw_packed_last(&b->time_ms));
	struct tw_unpack times = tw_unpack_begin(&a->time_ms);
	struct tw_unpack values = tw_unpack_begin(&a->value);
	struct line other = begin_line(b);
	double last = INFINITY, other_last = INFINITY;
	double apart = 0, growth = 0, difference = 0;
	size_t samples = 0;

	for (size_t i = 0; i < a->value.count; i++) {
		const double ms = tw_unpack_next(&times), v = tw_unpack_next(&values);
		double w;

		if (ms < from_ms || ms > to_ms)
			continue;
		w = value_at(&other, ms);
		if (v < last || w < other_last)
			apart = v - w;
		else
			growth += v - last;
		difference += fabs(v - w - apart);
		last = v;
		other_last = w;
		samples++;
	}
	return samples >= TWIN_SAMPLES_MIN && growth > 0 &&
	       difference <= TWIN_DIFFERENCE_MAX * growth * (double)samples;
}

/* Whether another path shows the meter of a mapped series, too. */
static bool has_twin(const struct tw_counter_set *c, const struct tw_series *mapped,
		     struct label_kinds *kinds)
{
	const uint64_t hash = hash_labels(mapped, OF_METER, kinds);

	for (size_t i = 0; i < c->count; i++) {
		const struct tw_series *s = c->at[i].series;

		if (!is_mapped(s) && hash_labels(s, OF_METER, kinds) == hash &&
		    grow_alike(mapped, s))
			return true;
	}
	return false;
}

int tw_clean_twins(struct tw_counter_set *c, struct tw_err *err)
{
	struct label_kinds kinds = { 0 };

	for (size_t i = 0; i < c->count; i++) {
		const struct tw_series *s = c->at[i].series;

		if (!is_mapped(s) || !has_twin(c, s, &kinds))
			continue;
		if (tw_counter_set_cut(c, i, -INFINITY, err) < 0)
			return -1;
		c->merged++;
	}
	tw_counter_set_drop_empty(c);
	return 0;
}

int tw_clean_series(struct tw_counter_set *c, const struct tw_metric_series *metric,
		    bool of_node, struct tw_err *err)
{
	struct label_kinds kinds = { 0 };
	size_t next;

	for (size_t i = 0; i < c->count; i = next) {
		const struct tw_schema_metric *m =
			metric != NULL ? metric[c->at[i].column].metric : NULL;

		next = tw_counter_set_next(c, i);
		if (next - i < 2 ||
		    (m != NULL && (m->kind == TW_METRIC_LEVEL || m->falls)))
			continue;
		if (clean_counter(c, i, next, m, of_node, &kinds, err) < 0)
			return -1;
	}
	tw_counter_set_drop_empty(c);
	return 0;
}
