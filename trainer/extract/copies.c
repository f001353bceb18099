/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/copies.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/extract/metric_series.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Two series with fewer samples in the time that they share are not compared. */
#define SAMPLES_MIN 3
/* Copies differ by less than this share of their growth: they are scraped at other times.
 */
#define DIFFERENCE_MAX 0.2
/*
 * Series that a series is compared with: the next ones in order of their last values,
 * where copies stand together. A response may have thousands with the same labels.
 */
#define NEIGHBOURS_MAX 16

/* A series and the hash of the labels that identify what it counts. */
struct item {
	uint64_t hash;
	double first_ms, last_ms, last;
	const struct tw_series *series;
};

/* ---- labels ---- */

/* A process keeps its counters when its name changes. */
static bool is_process_name(const char *label)
{
	return strcmp(label, "comm") == 0 || strcmp(label, "command") == 0;
}

/*
 * Of the labels of the scrape, or of those that tell what the series counts. Independent
 * of their order. Equal texts have equal addresses.
 */
static uint64_t hash_labels(const struct tw_series *s, bool of_scrape)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->labels; i++) {
		const struct tw_label *l = &s->label[i];
		uint64_t h = (uint64_t)(uintptr_t)l->value;

		if (tw_schema_is_scrape_label(l->name) != of_scrape ||
		    is_process_name(l->name))
			continue;
		h ^= (uint64_t)(uintptr_t)l->name * UINT64_C(0x9e3779b97f4a7c15);
		h *= UINT64_C(0xbf58476d1ce4e5b9);
		sum += h ^ (h >> 31);
	}
	return sum;
}

/* Append the scrape's labels of s that other lacks or has with another text. */
static void describe(const struct tw_series *s, const struct tw_series *other,
		     struct tw_buf *out)
{
	bool any = false;

	for (size_t i = 0; i < s->labels; i++) {
		const struct tw_label *l = &s->label[i];

		if (!tw_schema_is_scrape_label(l->name) ||
		    tw_series_label(other, l->name) == l->value)
			continue;
		tw_buf_addf(out, "%s%s=\"%.30s\"", any ? "," : "", l->name, l->value);
		any = true;
	}
}

/* ---- values ---- */

/* The values of a series, interpolated between its samples. Times ascend. */
struct line {
	struct tw_unpack times, values;
	size_t left; /* samples that were not read */
	double from_ms, from, to_ms, to;
};

static struct line begin_line(const struct tw_series *s)
{
	struct line l = { .times = tw_unpack_begin(&s->time_ms),
			  .values = tw_unpack_begin(&s->value),
			  .left = s->value.count };

	if (l.left > 0) {
		l.from_ms = l.to_ms = tw_unpack_next(&l.times);
		l.from = l.to = tw_unpack_next(&l.values);
		l.left--;
	}
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

/* What the counter grows by between its samples of [from_ms, to_ms]; a fall is a reset.
 */
static double growth(const struct tw_series *s, double from_ms, double to_ms)
{
	struct tw_unpack times = tw_unpack_begin(&s->time_ms);
	struct tw_unpack values = tw_unpack_begin(&s->value);
	double sum = 0, last = INFINITY;

	for (size_t i = 0; i < s->value.count; i++) {
		const double ms = tw_unpack_next(&times), v = tw_unpack_next(&values);

		if (ms < from_ms || ms > to_ms)
			continue;
		sum += fmax(v - last, 0);
		last = v;
	}
	return sum;
}

/* Whether both grow alike in the time that they share. */
static bool grow_alike(const struct item *a, const struct item *b)
{
	const double from = fmax(a->first_ms, b->first_ms);
	const double to = fmin(a->last_ms, b->last_ms);
	struct tw_unpack times = tw_unpack_begin(&a->series->time_ms);
	struct tw_unpack values = tw_unpack_begin(&a->series->value);
	struct line other = begin_line(b->series);
	double sum = 0, least;
	size_t n = 0;

	if (to <= from)
		return false;
	for (size_t i = 0; i < a->series->value.count; i++) {
		const double ms = tw_unpack_next(&times), v = tw_unpack_next(&values);

		if (ms < from || ms > to)
			continue;
		sum += fabs(v - value_at(&other, ms));
		n++;
	}
	least = fmin(growth(a->series, from, to), growth(b->series, from, to));
	return n >= SAMPLES_MIN && least > 0 && sum <= DIFFERENCE_MAX * least * (double)n;
}

/* ---- copies ---- */

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->last != y->last)
		return x->last < y->last ? -1 : 1;
	return x->series < y->series ? -1 : x->series > y->series;
}

static int refuse(const char *metric, const struct tw_series *a,
		  const struct tw_series *b, struct tw_err *err)
{
	struct tw_buf text[2] = { { 0 }, { 0 } };
	const char *one, *other;
	int rc;

	describe(a, b, &text[0]);
	describe(b, a, &text[1]);
	one = text[0].data != NULL ? text[0].data : "";
	other = text[1].data != NULL ? text[1].data : "";
	if (tw_buf_failed(&text[0]) || tw_buf_failed(&text[1]))
		rc = tw_fail(err, TW_NOMEM, "copies of series");
	else
		rc = tw_fail(err, TW_INVALID,
			     "%s: {%.60s} and {%.60s} have the same values, as if an "
			     "exporter were scraped twice; read it once: --match '%.*s' "
			     "(tallywatt query, tw-trainer)",
			     metric, one, other,
			     (int)strcspn(one[0] != '\0' ? one : other, ","),
			     one[0] != '\0' ? one : other);
	tw_buf_clear(&text[0]);
	tw_buf_clear(&text[1]);
	return rc;
}

static bool are_copies(const struct item *a, const struct item *b)
{
	return hash_labels(a->series, true) != hash_labels(b->series, true) &&
	       a->series->guest == b->series->guest && grow_alike(a, b);
}

/* Compare each series with its neighbours of the same labels. */
static int compare_all(const char *metric, const struct item *item, size_t count,
		       struct tw_err *err)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1;
		     k < count && k <= i + NEIGHBOURS_MAX && item[k].hash == item[i].hash;
		     k++)
			if (are_copies(&item[i], &item[k]))
				return refuse(metric, item[i].series, item[k].series,
					      err);
	return 0;
}

/* Whether one scrape made all series. */
static bool is_of_one_scrape(const struct tw_metric_series *m)
{
	const struct tw_series *s, *last = NULL;
	uint64_t first = 0;
	size_t i = 0;

	while ((s = tw_metric_series_next(m, &i)) != NULL) {
		/* Series of a workload share a list of labels. */
		if (last != NULL && s->label == last->label)
			continue;
		if (last == NULL)
			first = hash_labels(s, true);
		else if (hash_labels(s, true) != first)
			return false;
		last = s;
	}
	return true;
}

int tw_copies_check(const struct tw_metric_series *m, struct tw_err *err)
{
	const struct tw_series *s;
	struct item *item;
	size_t n = 0, i = 0;
	int status;

	if (m->metric == NULL || m->metric->falls ||
	    (m->metric->kind != TW_METRIC_FEATURE &&
	     m->metric->kind != TW_METRIC_ENERGY) ||
	    is_of_one_scrape(m))
		return 0;
	item = calloc(m->count + 1, sizeof(*item));
	if (item == NULL)
		return tw_fail(err, TW_NOMEM, "%zu series of '%s'", m->count,
			       m->metric->name);
	while ((s = tw_metric_series_next(m, &i)) != NULL)
		item[n++] = (struct item){ hash_labels(s, false),
					   tw_packed_first(&s->time_ms),
					   tw_packed_last(&s->time_ms),
					   tw_packed_last(&s->value), s };
	qsort(item, n, sizeof(*item), compare_items);
	status = compare_all(m->metric->name, item, n, err);
	free(item);
	return status;
}

int tw_copies_check_all(const struct tw_prom *p, struct tw_err *err)
{
	for (size_t k = 0; k < tw_schema_count(); k++) {
		const struct tw_schema *schema = tw_schema_at(k);

		for (size_t i = 0; i < schema->metric_count; i++) {
			struct tw_metric_series m = { .schema = schema,
						      .metric = &schema->metrics[i] };

			m.series = tw_prom_series(p, m.metric->name, &m.count);
			if (tw_copies_check(&m, err) < 0)
				return -1;
		}
	}
	return 0;
}
