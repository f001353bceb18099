/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/increments.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "trainer/extract/starts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ended series of a counter that a later one may continue: the last this many. */
#define ENDED_MAX 8

/* ---- the samples of a counter, each with the one before it ---- */

struct step {
	const struct tw_series *series;
	size_t column;
	bool first;  /* no sample of the counter is before it */
	bool within; /* the sample before it is of the same series */
	int64_t from_ms, ms;
	double before, value;
	double peak; /* before the last dip; the counter may come back to it */
	double rate; /* the last rate before this step, per ms */
};

typedef int step_fn(void *arg, const struct step *s, struct tw_err *err);

struct ended {
	const struct tw_series *series;
	int64_t ms;
	double value, rate;
};

static void drop_ended(struct ended *ended, size_t *count, size_t i)
{
	--*count;
	memmove(&ended[i], &ended[i + 1], (*count - i) * sizeof(*ended));
}

/* Take the series that ended last before a time. Returns whether there is one. */
static bool take_ended(struct ended *ended, size_t *count, int64_t before_ms,
		       struct ended *out)
{
	size_t best = *count;

	for (size_t i = 0; i < *count; i++)
		if (ended[i].ms < before_ms &&
		    (best == *count || ended[i].ms > ended[best].ms))
			best = i;
	if (best == *count)
		return false;
	*out = ended[best];
	drop_ended(ended, count, best);
	return true;
}

static void keep_ended(struct ended *ended, size_t *count, struct ended last)
{
	if (*count == ENDED_MAX)
		drop_ended(ended, count, 0);
	ended[(*count)++] = last;
}

/*
 * The growth of the counter in a step without a reset: 0 in a dip, and after it the part
 * above the value before the dip.
 */
static double growth(const struct step *s)
{
	const double before = s->value >= s->peak ? fmax(s->peak, s->before) : s->before;

	return fmax(s->value - before, 0);
}

static void update_rate(struct step *s)
{
	if (!s->first && s->value >= s->before)
		s->rate = growth(s) / (double)(s->ms - s->from_ms);
}

/* Advance to the sample after s. */
static void advance(struct step *s, int64_t ms, double value)
{
	update_rate(s);
	s->peak = !s->first && tw_counter_dips(s->before, s->value) ? s->before : 0;
	s->first = false;
	s->within = true;
	s->from_ms = s->ms;
	s->before = s->value;
	s->ms = ms;
	s->value = value;
}

/* Samples of a series without a tick between them at which it was absent. */
struct segment {
	const struct tw_counter_series *of;
	struct tw_unpack times, values; /* before its first sample */
	size_t samples, place;
	int64_t ms; /* of its first sample */
};

struct segments {
	struct segment *at;
	size_t count, size;
};

static int walk_segment(const struct segment *seg, struct ended *ended, size_t *count,
			step_fn *visit, void *arg, struct tw_err *err)
{
	struct tw_unpack times = seg->times, values = seg->values;
	struct step s = { .series = seg->of->series,
			  .column = seg->of->column,
			  .first = true,
			  .ms = (int64_t)tw_unpack_next(&times) };
	struct ended last;

	s.value = tw_unpack_next(&values);
	if (take_ended(ended, count, s.ms, &last)) {
		s.first = false;
		s.within = last.series == s.series;
		s.from_ms = last.ms;
		s.before = last.value;
		s.rate = last.rate;
	}
	if (visit(arg, &s, err) < 0)
		return -1;
	for (size_t i = 1; i < seg->samples; i++) {
		const int64_t ms = (int64_t)tw_unpack_next(&times);

		advance(&s, ms, tw_unpack_next(&values));
		if (visit(arg, &s, err) < 0)
			return -1;
	}
	update_rate(&s);
	keep_ended(ended, count, (struct ended){ s.series, s.ms, s.value, s.rate });
	return 0;
}

static int add_segment(struct segments *to, const struct segment *seg, struct tw_err *err)
{
	if (!tw_grow(&to->at, &to->size, to->count, sizeof(*to->at)))
		return tw_fail(err, TW_NOMEM, "%zu parts of series", to->count);
	to->at[to->count] = *seg;
	to->at[to->count].place = to->count;
	to->count++;
	return 0;
}

/* Cut a series where it was absent: another series of the counter may have gone on. */
static int cut_series(const struct tw_counter_series *of, const struct tw_ticks *ticks,
		      struct segments *to, struct tw_err *err)
{
	struct tw_unpack times = tw_unpack_begin(&of->series->time_ms);
	struct tw_unpack values = tw_unpack_begin(&of->series->value);
	struct segment seg = { 0 };
	int64_t last_ms = 0;
	size_t place = 0;

	for (size_t i = 0; i < of->series->value.count; i++) {
		const struct tw_unpack here = times;
		const int64_t ms = (int64_t)tw_unpack_next(&times);

		if (i > 0 && tw_ticks_before(ticks, ms, &place) > last_ms &&
		    add_segment(to, &seg, err) < 0)
			return -1;
		if (i == 0 || tw_ticks_before(ticks, ms, &place) > last_ms)
			seg = (struct segment){
				.of = of, .times = here, .values = values, .ms = ms
			};
		seg.samples++;
		tw_unpack_next(&values);
		last_ms = ms;
	}
	return add_segment(to, &seg, err);
}

static int compare_segments(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Visit the samples of a counter, one segment after the other, by their begin. */
static int walk(const struct tw_counter_series *at, size_t count,
		const struct tw_ticks *ticks, step_fn *visit, void *arg,
		struct tw_err *err)
{
	const struct segment whole = { .of = at,
				       .times = tw_unpack_begin(&at->series->time_ms),
				       .values = tw_unpack_begin(&at->series->value),
				       .samples = at->series->value.count };
	struct segments s = { 0 };
	struct ended ended[ENDED_MAX] = { { 0 } };
	size_t n = 0;
	int rc = -1;

	if (count == 1)
		return walk_segment(&whole, ended, &n, visit, arg, err);
	for (size_t i = 0; i < count; i++)
		if (cut_series(&at[i], ticks, &s, err) < 0)
			goto out;
	if (s.count > 0)
		qsort(s.at, s.count, sizeof(*s.at), compare_segments);
	for (size_t i = 0; i < s.count; i++)
		if (walk_segment(&s.at[i], ended, &n, visit, arg, err) < 0)
			goto out;
	rc = 0;
out:
	free(s.at);
	return rc;
}

/* ---- restarts ---- */

static int compare_restarts(const void *a, const void *b)
{
	const struct tw_restart *x = a, *y = b;

	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	return x->ms < y->ms ? -1 : x->ms > y->ms;
}

struct falls {
	struct tw_restart *at;
	size_t count, size;
};

static int note_fall(void *arg, const struct step *s, struct tw_err *err)
{
	struct falls *f = arg;

	if (s->first || s->value >= s->before || tw_counter_dips(s->before, s->value))
		return 0;
	if (!tw_grow(&f->at, &f->size, f->count, sizeof(*f->at)))
		return tw_fail(err, TW_NOMEM, "%zu falls of counters", f->count);
	f->at[f->count++] = (struct tw_restart){ s->column, s->from_ms, s->ms, 1,
						 s->within ? s->series : NULL };
	return 0;
}

static int find_falls(const struct tw_counter_set *c, const struct tw_ticks *ticks,
		      struct falls *f, struct tw_err *err)
{
	size_t next;

	for (size_t i = 0; i < c->count; i = next) {
		next = tw_counter_set_next(c, i);
		if (next - i == 1 && tw_packed_rises(&c->at[i].series->value))
			continue;
		if (walk(&c->at[i], next - i, ticks, note_fall, f, err) < 0)
			return -1;
	}
	return 0;
}

/* Keep an entry for each column and time, with the number of counters that fell. */
static void join_falls(struct falls *f)
{
	size_t n = 0;

	if (f->count > 1)
		qsort(f->at, f->count, sizeof(*f->at), compare_restarts);
	for (size_t i = 0; i < f->count; i++) {
		if (n > 0 && compare_restarts(&f->at[n - 1], &f->at[i]) == 0) {
			f->at[n - 1].fell++;
			if (f->at[i].from_ms < f->at[n - 1].from_ms)
				f->at[n - 1].from_ms = f->at[i].from_ms;
			if (f->at[n - 1].series == NULL)
				f->at[n - 1].series = f->at[i].series;
			continue;
		}
		f->at[n++] = f->at[i];
	}
	f->count = n;
}

/* Keep the falls of f->at[from..to), all of one column, that are restarts. `first` and
 * `last` are the sorted times of the column's series. */
static void keep_restarts(struct falls *f, size_t from, size_t to, size_t *kept,
			  const int64_t *first, const int64_t *last, size_t series)
{
	for (size_t i = from; i < to; i++) {
		const int64_t ms = f->at[i].ms;
		/* Series with a sample both before this time and at it, or later. */
		const size_t going = tw_times_find(first, series, 0, ms) -
				     tw_times_find(last, series, 0, ms);

		if (2 * f->at[i].fell >= going)
			f->at[(*kept)++] = f->at[i];
	}
}

static int keep_column(const struct tw_counter_set *c, struct falls *f, size_t from,
		       size_t to, size_t *kept, struct tw_err *err)
{
	int64_t *first = calloc(2 * c->count + 1, sizeof(*first)), *last;
	size_t n = 0;

	if (first == NULL)
		return tw_fail(err, TW_NOMEM, "times of %zu series", c->count);
	last = first + c->count;
	for (size_t i = 0; i < c->count; i++) {
		if (c->at[i].column != f->at[from].column)
			continue;
		first[n] = (int64_t)tw_packed_first(&c->at[i].series->time_ms);
		last[n++] = (int64_t)tw_packed_last(&c->at[i].series->time_ms);
	}
	qsort(first, n, sizeof(*first), tw_compare_int64);
	qsort(last, n, sizeof(*last), tw_compare_int64);
	keep_restarts(f, from, to, kept, first, last, n);
	free(first);
	return 0;
}

int tw_restarts_find(const struct tw_counter_set *c, const struct tw_ticks *ticks,
		     struct tw_restarts *out, struct tw_err *err)
{
	struct falls f = { 0 };
	size_t kept = 0, to;

	if (find_falls(c, ticks, &f, err) < 0)
		goto fail;
	join_falls(&f);
	for (size_t from = 0; from < f.count; from = to) {
		for (to = from + 1; to < f.count; to++)
			if (f.at[to].column != f.at[from].column)
				break;
		if (keep_column(c, &f, from, to, &kept, err) < 0)
			goto fail;
	}
	*out = (struct tw_restarts){ f.at, kept };
	return 0;
fail:
	free(f.at);
	return -1;
}

void tw_restarts_release(struct tw_restarts *r)
{
	free(r->at);
	*r = (struct tw_restarts){ 0 };
}

static bool is_restart(const struct tw_restarts *r, size_t column, int64_t ms)
{
	const struct tw_restart wanted = { .column = column, .ms = ms };

	return r->count > 0 && bsearch(&wanted, r->at, r->count, sizeof(*r->at),
				       compare_restarts) != NULL;
}

/* ---- increments ---- */

struct reading {
	struct tw_increments *out;
	const struct tw_increment_rules *rules;
};

static int add_span(struct tw_increments *i, int64_t from_ms, int64_t to_ms,
		    double amount, bool born, struct tw_err *err)
{
	if (!tw_grow(&i->at, &i->size, i->count, sizeof(*i->at)))
		return tw_fail(err, TW_NOMEM, "%zu increments", i->count);
	i->at[i->count++] = (struct tw_increment){ from_ms, to_ms, amount, born };
	return 0;
}

/* Whether a workload was there before the tick, and the exporter did not show it: one of
 * its counters has more than a workload that began since then can have. */
static bool is_hidden(const struct tw_increment_rules *rules, double amount, int64_t tick,
		      int64_t ms)
{
	struct tw_hidden *h = rules->hidden;

	for (size_t i = 0; h != NULL && i < h->count; i++)
		if (h->ms[i] == ms)
			return true;
	if (!(amount > rules->most_per_ms * (double)(ms - tick)))
		return false;
	if (h != NULL && h->count < TW_HIDDEN_MAX)
		h->ms[h->count++] = ms;
	return true;
}

static void count_hidden(struct tw_increment_counts *n, int64_t ms)
{
	struct tw_hidden *h = &n->hidden_at;
	size_t at = h->count;

	n->hidden++;
	while (at > 0 && h->ms[at - 1] > ms)
		at--;
	if (at > 0 && h->ms[at - 1] == ms)
		return;
	if (h->count == TW_HIDDEN_MAX) {
		if (at == 0)
			return;
		memmove(h->ms, h->ms + 1, --at * sizeof(*h->ms));
	} else {
		memmove(h->ms + at + 1, h->ms + at, (h->count++ - at) * sizeof(*h->ms));
	}
	h->ms[at] = ms;
}

/* Count from a known start, if that is within the recording; else from the sample. */
static int count_from_start(const struct reading *r, const struct step *s,
			    int64_t start_ms, struct tw_err *err)
{
	const int64_t least = s->first ? r->rules->first_ms : s->from_ms;
	struct tw_increment_counts *n = &r->out->counts;

	if (start_ms < least) {
		count_hidden(n, s->ms);
		return add_span(r->out, least, s->ms, 0, false, err);
	}
	n->births += s->first;
	n->singles += s->first && s->series->value.count == 1;
	n->reused += !s->first;
	return add_span(r->out, start_ms, s->ms, s->value, false, err);
}

/* Count from 0, since the tick before. A sample before it is at that tick, or earlier. */
static int count_from_zero(const struct reading *r, const struct step *s,
			   struct tw_err *err)
{
	const struct tw_increment_rules *rules = r->rules;
	struct tw_increment_counts *n = &r->out->counts;
	size_t place = 0;
	const int64_t tick = tw_ticks_before(rules->ticks, s->ms, &place);
	const int64_t start_ms = tw_start_of(rules->starts, s->series, s->ms - 1);
	double amount = s->value;

	if (tick >= s->ms)
		return 0;
	if (start_ms != TW_START_UNKNOWN)
		return count_from_start(r, s, start_ms, err);
	if (is_hidden(rules, amount, tick, s->ms)) {
		count_hidden(n, s->ms);
		amount = 0;
	} else if (s->first) {
		n->births++;
		n->singles += s->series->value.count == 1;
	} else {
		n->reused++;
	}
	return add_span(r->out, tick, s->ms, amount, true, err);
}

static int read_step(void *arg, const struct step *s, struct tw_err *err)
{
	const struct reading *r = arg;
	const int64_t length = s->ms - s->from_ms;
	bool dips;

	if (s->first && (!r->rules->births || s->ms <= r->rules->first_ms))
		return 0;
	if (s->first)
		return count_from_zero(r, s, err);
	dips = tw_counter_dips(s->before, s->value);
	if (is_restart(r->rules->restarts, s->column, s->ms) ||
	    (s->value < s->before && !dips && !r->rules->births)) {
		r->out->counts.carried++;
		return add_span(r->out, s->from_ms, s->ms, s->rate * (double)length,
				false, err);
	}
	if (s->value < s->before && !dips)
		return count_from_zero(r, s, err);
	return add_span(r->out, s->from_ms, s->ms, growth(s), false, err);
}

int tw_increments_read(struct tw_increments *i, const struct tw_counter_series *at,
		       size_t count, const struct tw_increment_rules *rules,
		       struct tw_err *err)
{
	struct reading r = { i, rules };

	i->count = 0;
	return walk(at, count, rules->ticks, read_step, &r, err);
}

void tw_increments_release(struct tw_increments *i)
{
	free(i->at);
	*i = (struct tw_increments){ 0 };
}
