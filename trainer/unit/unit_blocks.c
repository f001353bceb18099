/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/unit_blocks.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/intern.h"
#include "lib/core/num.h"
#include "trainer/extract/counter_series.h"
#include "trainer/response/prom_store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scrapes in a block: usual, of a short recording, and the least that an option may ask.
 */
#define BLOCK_SCRAPES 8
#define BLOCK_SCRAPES_MIN 4
#define BLOCK_SCRAPES_LEAST 3
/* Blocks that a recording should have, and the most. */
#define BLOCKS_WANTED 64
#define BLOCKS_MAX 4096
/* An increase that took more than this many scrapes spans a gap. */
#define GAP 2
/* A series that begins with more than its counter's series can have in this multiple of
 * the time since the last tick was there before. */
#define BIRTH_RATE 4.0

/* The series of a counter, and how their increases are read. */
struct column {
	const struct tw_unit_source *source;
	struct tw_counter_set set;
	struct tw_restarts restarts;
	const struct tw_ticks *ticks;
	double most_per_ms;
	int64_t first_ms, last_ms; /* of the samples */
	int64_t known_ms;          /* its total is known from here on */
	double scrape_ms;
	struct tw_increment_counts counts;
};

enum { ENERGY, IDLE, WORK, COLUMNS = WORK + TW_UNIT_WORKS_MAX };

struct reading {
	const struct tw_unit_input *in;
	struct column column[COLUMNS];
	size_t columns; /* WORK + works */
	struct tw_ticks energy_ticks, work_ticks;
	int64_t start_ms, end_ms;
	struct tw_unit_blocks b;
	int64_t *cell_ms; /* 3 * count + 1 bounds of ends and inner parts */
	double *cell;     /* 3 * count */
};

/* ---- columns ---- */

/* The key of a series: all of its labels. */
static int add_series(struct column *c, const struct tw_series *s, struct tw_err *err)
{
	const char *labels[1] = { NULL };
	struct tw_buf text = { 0 };
	const char *key = NULL;

	if (tw_counter_set_add(&c->set, labels, 0, s, err) < 0)
		return -1;
	for (uint32_t i = 0; i < s->labels; i++)
		tw_buf_addf(&text, "%s=%s\n", s->label[i].name, s->label[i].value);
	tw_buf_adds(&text, "");
	if (tw_buf_failed(&text))
		tw_fail(err, TW_NOMEM, "key of a series");
	else
		key = tw_intern(&c->set.keys, text.data, text.len, err);
	tw_buf_clear(&text);
	if (key == NULL)
		return -1;
	c->set.at[c->set.count - 1].key = key;
	return 0;
}

static void measure_times(struct column *c)
{
	c->first_ms = INT64_MAX;
	c->last_ms = INT64_MIN;
	for (size_t i = 0; i < c->set.count; i++) {
		const struct tw_packed *t = &c->set.at[i].series->time_ms;
		const int64_t first = (int64_t)tw_packed_first(t);
		const int64_t last = (int64_t)tw_packed_last(t);

		c->first_ms = first < c->first_ms ? first : c->first_ms;
		c->last_ms = last > c->last_ms ? last : c->last_ms;
	}
}

static int open_column(struct reading *r, size_t i, const struct tw_unit_source *source,
		       struct tw_err *err)
{
	struct column *c = &r->column[i];
	struct tw_ticks *ticks = i < WORK ? &r->energy_ticks : &r->work_ticks;

	c->source = source;
	c->ticks = ticks;
	c->most_per_ms = INFINITY;
	for (size_t k = 0; k < source->count; k++)
		if (add_series(c, source->series[k], err) < 0)
			return -1;
	tw_counter_set_sort(&c->set);
	measure_times(c);
	return tw_ticks_add_set(ticks, &c->set, err);
}

static int open_columns(struct reading *r, struct tw_err *err)
{
	const struct tw_unit_input *in = r->in;

	r->columns = WORK + in->works;
	if (in->energy.count == 0)
		return tw_fail(err, TW_NOTFOUND, "no series of energy: %s",
			       in->energy.name);
	if (open_column(r, ENERGY, &in->energy, err) < 0 ||
	    open_column(r, IDLE, &in->idle, err) < 0)
		return -1;
	for (size_t i = 0; i < in->works; i++) {
		if (in->work[i].count == 0)
			return tw_fail(err, TW_NOTFOUND, "no series of the work %s",
				       in->work[i].name);
		if (open_column(r, WORK + i, &in->work[i], err) < 0)
			return -1;
	}
	if (tw_ticks_settle(&r->energy_ticks, err) < 0 ||
	    tw_ticks_settle(&r->work_ticks, err) < 0)
		return -1;
	/* A meter goes on while its exporter restarts. A counter of work does not. */
	for (size_t i = ENERGY; i <= IDLE; i++)
		if (r->column[i].set.count > 0 &&
		    tw_restarts_find(&r->column[i].set, r->column[i].ticks,
				     &r->column[i].restarts, err) < 0)
			return -1;
	return 0;
}

/* ---- increases ---- */

typedef int visit_fn(void *arg, const struct tw_increments *i,
		     const struct tw_series *series, struct tw_err *err);

/* Visit the increases of each series of a column. */
static int visit_column(struct column *c, visit_fn *visit, void *arg, struct tw_err *err)
{
	struct tw_increments inc = { 0 };
	const struct tw_increment_rules rules = {
		.ticks = c->ticks,
		.restarts = &c->restarts,
		.births = true,
		.first_ms = c->ticks->count > 0 ? c->ticks->ms[0] : 0,
		.most_per_ms = c->most_per_ms,
	};
	int rc = -1;

	for (size_t i = 0; i < c->set.count; i++)
		if (tw_increments_read(&inc, &c->set.at[i], 1, &rules, err) < 0 ||
		    visit(arg, &inc, c->set.at[i].series, err) < 0)
			goto out;
	c->counts = inc.counts;
	rc = 0;
out:
	tw_increments_release(&inc);
	return rc;
}

struct measures {
	double most_per_ms; /* of increases between two samples of a series */
	double scrape_ms;   /* the longest median of a series */
};

static int measure(void *arg, const struct tw_increments *inc,
		   const struct tw_series *series, struct tw_err *err)
{
	struct measures *m = arg;
	double *length = calloc(inc->count + 1, sizeof(*length));
	size_t n = 0;

	(void)series;
	if (length == NULL)
		return tw_fail(err, TW_NOMEM, "times of %zu increases", inc->count);
	for (size_t i = 0; i < inc->count; i++) {
		const struct tw_increment *x = &inc->at[i];

		if (x->born)
			continue;
		length[n] = (double)(x->to_ms - x->from_ms);
		m->most_per_ms = fmax(m->most_per_ms, x->amount / length[n]);
		n++;
	}
	if (n > 0)
		m->scrape_ms = fmax(m->scrape_ms, tw_nth(length, n, n / 2));
	free(length);
	return 0;
}

/* A first series that did not begin at 0: the counter is not known before it. */
static int find_known(void *arg, const struct tw_increments *inc,
		      const struct tw_series *series, struct tw_err *err)
{
	struct column *c = arg;
	const int64_t first = (int64_t)tw_packed_first(&series->time_ms);

	(void)err;
	if (first == c->first_ms && first > c->ticks->ms[0] && inc->count > 0 &&
	    !(inc->at[0].amount > 0) && tw_packed_first(&series->value) > 0)
		c->known_ms = first;
	return 0;
}

static int measure_columns(struct reading *r, struct tw_err *err)
{
	double scrape_ms = 0;

	for (size_t i = 0; i < r->columns; i++) {
		struct column *c = &r->column[i];
		struct measures m = { 0 };

		if (c->set.count == 0)
			continue;
		if (visit_column(c, measure, &m, err) < 0)
			return -1;
		c->most_per_ms =
			m.most_per_ms > 0 ? BIRTH_RATE * m.most_per_ms : INFINITY;
		c->known_ms = c->ticks->ms[0];
		if (visit_column(c, find_known, c, err) < 0)
			return -1;
		scrape_ms = fmax(scrape_ms, m.scrape_ms);
	}
	if (!(scrape_ms > 0))
		return tw_fail(err, TW_INVALID, "no series has two samples");
	r->b.scrape_ms = (int64_t)scrape_ms;
	return 0;
}

/* ---- bounds ---- */

/* The time in which energy, idle energy and work are known. */
static int find_range(struct reading *r, struct tw_err *err)
{
	const struct column *energy = &r->column[ENERGY], *idle = &r->column[IDLE];
	int64_t work_last_ms = INT64_MIN;

	r->start_ms = energy->first_ms;
	r->end_ms = energy->last_ms;
	if (idle->set.count > 0) {
		r->start_ms = idle->first_ms > r->start_ms ? idle->first_ms : r->start_ms;
		r->end_ms = idle->last_ms < r->end_ms ? idle->last_ms : r->end_ms;
	}
	for (size_t i = WORK; i < r->columns; i++) {
		const struct column *c = &r->column[i];

		r->start_ms = c->known_ms > r->start_ms ? c->known_ms : r->start_ms;
		work_last_ms = c->last_ms > work_last_ms ? c->last_ms : work_last_ms;
	}
	r->end_ms = work_last_ms < r->end_ms ? work_last_ms : r->end_ms;
	if (r->end_ms <= r->start_ms)
		return tw_fail(err, TW_INVALID,
			       "energy%s and work have no time in common: energy begins "
			       "at %.0f s, work ends at %.0f s",
			       idle->set.count > 0 ? ", idle energy" : "",
			       (double)energy->first_ms / 1e3,
			       (double)work_last_ms / 1e3);
	return 0;
}

/* Whole scrapes, so that each block has as many samples as the others. */
static int64_t choose_block(const struct reading *r)
{
	const int64_t scrape = r->b.scrape_ms, length = r->end_ms - r->start_ms;
	int64_t scrapes = BLOCK_SCRAPES;

	if (length / (scrapes * scrape) < BLOCKS_WANTED)
		scrapes = length / (BLOCKS_WANTED * scrape);
	if (scrapes < BLOCK_SCRAPES_MIN)
		scrapes = BLOCK_SCRAPES_MIN;
	if (length / (scrapes * scrape) >= BLOCKS_MAX)
		scrapes = length / (BLOCKS_MAX * scrape) + 1;
	return scrapes * scrape;
}

static int check_block(const struct reading *r, struct tw_err *err)
{
	const int64_t block = r->b.block_ms;

	if (block < BLOCK_SCRAPES_LEAST * r->b.scrape_ms)
		return tw_fail(err, TW_INVALID,
			       "blocks of %.3g s are too short for samples each %.3g s: "
			       "want %.3g s or more",
			       (double)block / 1e3, (double)r->b.scrape_ms / 1e3,
			       BLOCK_SCRAPES_LEAST * (double)r->b.scrape_ms / 1e3);
	if ((r->end_ms - r->start_ms) / block > 16 * BLOCKS_MAX)
		return tw_fail(err, TW_INVALID, "over %d blocks: want longer blocks",
			       16 * BLOCKS_MAX);
	return 0;
}

struct bounds {
	int64_t start_ms, block_ms, gap_ms;
	size_t count;
	bool *gone;
};

/* Remove the bounds within increases that span a gap. */
static int remove_bounds(void *arg, const struct tw_increments *inc,
			 const struct tw_series *series, struct tw_err *err)
{
	struct bounds *b = arg;

	(void)series;
	(void)err;
	for (size_t i = 0; i < inc->count; i++) {
		const struct tw_increment *x = &inc->at[i];
		const int64_t from = x->from_ms - b->start_ms;
		const int64_t to = x->to_ms - b->start_ms;

		if (to - from <= b->gap_ms || to <= 0)
			continue;
		for (size_t k = from < 0 ? 0 : (size_t)(from / b->block_ms) + 1;
		     k < b->count && (int64_t)k * b->block_ms < to; k++)
			b->gone[k] = true;
	}
	return 0;
}

/* The first and the last bound stay. */
static int keep_bounds(struct reading *r, const struct bounds *b, struct tw_err *err)
{
	int64_t *kept = calloc(b->count + 1, sizeof(*kept));
	size_t n = 0;

	if (kept == NULL)
		return tw_fail(err, TW_NOMEM, "%zu blocks", b->count);
	for (size_t k = 0; k < b->count; k++)
		if (k == 0 || !b->gone[k])
			kept[n++] = b->start_ms + (int64_t)k * b->block_ms;
	r->b.merged = b->count - n;
	kept[n] = r->end_ms;
	r->b.bound_ms = kept;
	r->b.count = n;
	return 0;
}

static int make_bounds(struct reading *r, struct tw_err *err)
{
	struct bounds b = { .start_ms = r->start_ms, .gap_ms = GAP * r->b.scrape_ms };
	int rc = -1;

	r->b.block_ms = r->in->block_ms > 0 ? (int64_t)r->in->block_ms : choose_block(r);
	if (check_block(r, err) < 0)
		return -1;
	b.block_ms = r->b.block_ms;
	b.count = (size_t)((r->end_ms - r->start_ms) / b.block_ms);
	if (TW_NEW(b.gone, b.count + 1, err) < 0)
		return -1;
	for (size_t i = 0; i < r->columns; i++)
		if (visit_column(&r->column[i], remove_bounds, &b, err) < 0)
			goto out;
	if (b.count == 0) {
		tw_fail(err, TW_INVALID,
			"energy and work have %.3g s in common, less "
			"than a block of %.3g s",
			(double)(r->end_ms - r->start_ms) / 1e3,
			(double)b.block_ms / 1e3);
		goto out;
	}
	rc = keep_bounds(r, &b, err);
out:
	free(b.gone);
	return rc;
}

/* ---- sums ---- */

static int make_cells(struct reading *r, struct tw_err *err)
{
	const size_t n = r->b.count;
	const size_t works = r->b.works;

	if (TW_NEW(r->cell_ms, 3 * n + 1, err) < 0 || TW_NEW(r->cell, 3 * n, err) < 0 ||
	    TW_NEW(r->b.energy_j, n, err) < 0 || TW_NEW(r->b.idle_j, n, err) < 0 ||
	    TW_NEW(r->b.intensity, n, err) < 0 || TW_NEW(r->b.batch, n, err) < 0 ||
	    TW_NEW(r->b.work, n * works, err) < 0 ||
	    TW_NEW(r->b.inner_work, n * works, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const int64_t from_ms = r->b.bound_ms[i], to_ms = r->b.bound_ms[i + 1];
		const int64_t part_ms = (to_ms - from_ms) / BLOCK_SCRAPES;
		const int64_t end_ms =
			part_ms > r->b.scrape_ms ? part_ms : r->b.scrape_ms;

		r->cell_ms[3 * i] = from_ms;
		r->cell_ms[3 * i + 1] = from_ms + end_ms;
		r->cell_ms[3 * i + 2] = to_ms - end_ms;
	}
	r->cell_ms[3 * n] = r->b.bound_ms[n];
	return 0;
}

/* Spread an amount evenly over the cells of its time. */
static void spread(struct reading *r, int64_t from_ms, int64_t to_ms, double amount)
{
	const size_t cells = 3 * r->b.count;
	const double per_ms = amount / (double)(to_ms - from_ms);
	size_t k = tw_times_find(r->cell_ms, cells + 1, 0, from_ms + 1);

	for (k -= k > 0; k < cells && r->cell_ms[k] < to_ms; k++) {
		const int64_t from = from_ms > r->cell_ms[k] ? from_ms : r->cell_ms[k];
		const int64_t to = to_ms < r->cell_ms[k + 1] ? to_ms : r->cell_ms[k + 1];

		if (to > from)
			r->cell[k] += per_ms * (double)(to - from);
	}
}

static int spread_increases(void *arg, const struct tw_increments *inc,
			    const struct tw_series *series, struct tw_err *err)
{
	(void)series;
	(void)err;
	for (size_t i = 0; i < inc->count; i++)
		if (inc->at[i].amount > 0)
			spread(arg, inc->at[i].from_ms, inc->at[i].to_ms,
			       inc->at[i].amount);
	return 0;
}

/* The whole of each block, and the inner part; either may be NULL. */
static void take_cells(struct reading *r, double *whole, double *inner, size_t stride)
{
	for (size_t i = 0; i < r->b.count; i++) {
		const double *cell = &r->cell[3 * i];

		whole[i * stride] = cell[0] + cell[1] + cell[2];
		if (inner != NULL)
			inner[i * stride] = cell[1];
	}
	memset(r->cell, 0, 3 * r->b.count * sizeof(*r->cell));
}

static int sum_columns(struct reading *r, struct tw_err *err)
{
	struct tw_unit_blocks *b = &r->b;

	for (size_t i = 0; i < r->columns; i++) {
		if (visit_column(&r->column[i], spread_increases, r, err) < 0)
			return -1;
		if (i == ENERGY)
			take_cells(r, b->energy_j, NULL, 1);
		else if (i == IDLE)
			take_cells(r, b->idle_j, NULL, 1);
		else
			take_cells(r, b->work + (i - WORK), b->inner_work + (i - WORK),
				   b->works);
	}
	for (size_t i = 0; i < b->works; i++)
		b->name[i] = r->in->work[i].name;
	b->energy_counts = r->column[ENERGY].counts;
	for (size_t i = 0; i < b->works; i++)
		b->work_counts[i] = r->column[WORK + i].counts;
	return 0;
}

/* A sample holds until the next one. ones: add 1 instead of the value. */
static void spread_gauge(struct reading *r, const struct tw_series *s, bool ones)
{
	struct tw_unpack times = tw_unpack_begin(&s->time_ms);
	struct tw_unpack values = tw_unpack_begin(&s->value);
	int64_t from_ms = (int64_t)tw_unpack_next(&times);
	double value = tw_unpack_next(&values);

	for (size_t i = 1; i < s->value.count; i++) {
		const int64_t to_ms = (int64_t)tw_unpack_next(&times);

		spread(r, from_ms, to_ms, (ones ? 1 : value) * (double)(to_ms - from_ms));
		from_ms = to_ms;
		value = tw_unpack_next(&values);
	}
}

static int average_gauge(struct reading *r, const struct tw_unit_source *s, double *out,
			 struct tw_err *err)
{
	double *time = calloc(r->b.count, sizeof(*time));

	if (time == NULL)
		return tw_fail(err, TW_NOMEM, "%zu blocks", r->b.count);
	for (size_t i = 0; i < s->count; i++)
		spread_gauge(r, s->series[i], false);
	take_cells(r, out, NULL, 1);
	for (size_t i = 0; i < s->count; i++)
		spread_gauge(r, s->series[i], true);
	take_cells(r, time, NULL, 1);
	for (size_t i = 0; i < r->b.count; i++)
		out[i] = time[i] > 0 ? out[i] / time[i] : NAN;
	free(time);
	return 0;
}

static void release_reading(struct reading *r)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		tw_counter_set_release(&r->column[i].set);
		tw_restarts_release(&r->column[i].restarts);
	}
	tw_ticks_release(&r->energy_ticks);
	tw_ticks_release(&r->work_ticks);
	free(r->cell_ms);
	free(r->cell);
}

int tw_unit_blocks_make(const struct tw_unit_input *in, struct tw_unit_blocks *out,
			struct tw_err *err)
{
	struct reading r = { .in = in, .b = { .works = in->works } };
	int rc = -1;

	if (open_columns(&r, err) < 0 || measure_columns(&r, err) < 0 ||
	    find_range(&r, err) < 0 || make_bounds(&r, err) < 0 ||
	    make_cells(&r, err) < 0 || sum_columns(&r, err) < 0 ||
	    average_gauge(&r, &in->intensity, r.b.intensity, err) < 0 ||
	    average_gauge(&r, &in->batch, r.b.batch, err) < 0)
		goto out;
	*out = r.b;
	r.b = (struct tw_unit_blocks){ 0 };
	rc = 0;
out:
	tw_unit_blocks_release(&r.b);
	release_reading(&r);
	return rc;
}

void tw_unit_blocks_release(struct tw_unit_blocks *b)
{
	free(b->bound_ms);
	free(b->energy_j);
	free(b->idle_j);
	free(b->work);
	free(b->inner_work);
	free(b->intensity);
	free(b->batch);
	*b = (struct tw_unit_blocks){ 0 };
}
