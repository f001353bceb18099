/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/scrapes.h"

#include <math.h>

/* Intervals of scrapes: whole seconds, up to a minute. */
#define UNIT_MS 1000
#define INTERVAL_MAX_MS 60000
/* A row of more scrapes has nearly the right time. */
#define SCRAPES_MAX 6
/* This many rows are enough to show intervals below the step. */
#define ROWS_MOST 256
/* Fewer rows show no scrapes. */
#define ROWS_MIN 20
/* Rows that are this close to their line, as a share of mean power, need no other times;
 * nor do a few of them, which may be glitches. */
#define DISTANCE_MIN 0.01
#define SHARE_MIN 0.03
/* A load of this share of the largest is rest. */
#define REST 0.05
/* Other times explain the rows if these are this many times closer to their line. */
#define BETTER 2

/* ---- the line ---- */

struct points {
	size_t count;
	double x[TW_SCRAPES_ROWS_MAX], y[TW_SCRAPES_ROWS_MAX];
};

static void add_point(struct points *p, double x, double y)
{
	p->x[p->count] = x;
	p->y[p->count++] = y;
}

/* A line through the points that lie within `limit` of another line, but not falling. */
struct line {
	double at_0, slope;
	double distance; /* the mean one of all points */
	double y;        /* the mean of those */
	size_t count;
};

static double distance(const struct line *l, double x, double y)
{
	return fabs(y - l->at_0 - l->slope * x);
}

static struct line fit(const struct points *p, const struct line *near, double limit)
{
	double x = 0, y = 0, xx = 0, xy = 0;
	struct line l = { 0 };

	for (size_t i = 0; i < p->count; i++) {
		if (distance(near, p->x[i], p->y[i]) > limit)
			continue;
		x += p->x[i];
		y += p->y[i];
		xx += p->x[i] * p->x[i];
		xy += p->x[i] * p->y[i];
		l.count++;
	}
	if (l.count == 0)
		return l;
	xx -= x * x / (double)l.count;
	xy -= x * y / (double)l.count;
	l.slope = xx > 0 && xy > 0 ? xy / xx : 0;
	l.y = y / (double)l.count;
	l.at_0 = l.y - l.slope * x / (double)l.count;
	for (size_t i = 0; i < p->count; i++)
		l.distance += distance(&l, p->x[i], p->y[i]) / (double)p->count;
	return l;
}

/* The line of all points, or of most if that is closer to all: rows in which the load
 * changed may lie apart, but so may the few rows with load. */
static struct line fit_most(const struct points *p)
{
	const struct line all = fit(p, &(struct line){ 0 }, INFINITY);
	const struct line most = fit(p, &all, 2 * all.distance);

	return most.distance < all.distance ? most : all;
}

/* ---- scrapes ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

int64_t tw_scrapes_within(const struct tw_scrape_times *s, int64_t from_ms, int64_t to_ms)
{
	return floor_div(to_ms - s->offset_ms, s->interval_ms) -
	       floor_div(from_ms - s->offset_ms, s->interval_ms);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b != 0) {
		const int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The longest step of which all times are multiples after the first; 0: none. */
static int64_t find_grid(const struct tw_scraped_row *row, size_t count)
{
	int64_t step = 0;

	for (size_t i = 0; i < count && (i == 0 || step >= UNIT_MS); i++) {
		step = common_divisor(row[i].from_ms - row[0].from_ms, step);
		step = common_divisor(row[i].to_ms - row[0].from_ms, step);
	}
	return step >= UNIT_MS ? step : 0;
}

/* The distance of the rows from their line by the times of scrapes; INFINITY if work or
 * energy came without one, or if rows are too few. p is memory. */
static double distance_by(const struct tw_scrape_times *s,
			  const struct tw_scraped_row *row, size_t count, bool by_gauge,
			  struct points *p)
{
	p->count = 0;
	for (size_t i = 0; i < count; i++) {
		const double length_ms = (double)(row[i].to_ms - row[i].from_ms);
		const int64_t n = tw_scrapes_within(s, row[i].from_ms, row[i].to_ms);
		const double longer = (double)(n * s->interval_ms) / length_ms;

		if (n == 0 && (row[i].load > 0 || !by_gauge))
			return INFINITY;
		if (n > 0)
			add_point(p, row[i].load / longer,
				  by_gauge ? row[i].watts : row[i].watts / longer);
	}
	return p->count < ROWS_MIN ? INFINITY : fit_most(p).distance;
}

/* Whether so many rows are off their line that their times may be wrong. At rest a gauge
 * has the same power at all times. */
static bool are_off(const struct points *p, const struct line *l, bool by_gauge)
{
	size_t off = 0, count = 0;
	double most = 0;

	for (size_t i = 0; i < p->count; i++)
		most = fmax(most, p->x[i]);
	for (size_t i = 0; i < p->count; i++) {
		if (by_gauge && p->x[i] <= REST * most)
			continue;
		count++;
		off += distance(l, p->x[i], p->y[i]) > DISTANCE_MIN * l->y;
	}
	return l->distance > DISTANCE_MIN * l->y &&
	       (double)off > SHARE_MIN * (double)count;
}

struct tw_scrape_times tw_scrapes_find(const struct tw_scraped_row *row, size_t count,
				       bool by_gauge)
{
	const int64_t grid_ms = find_grid(row, count);
	struct tw_scrape_times best = { 0 };
	struct points p; /* large: set only as far as there are rows */
	struct line line;
	double least;

	if (grid_ms == 0 || count > TW_SCRAPES_ROWS_MAX)
		return best;
	p.count = 0;
	for (size_t i = 0; i < count; i++)
		add_point(&p, row[i].load, row[i].watts);
	line = fit_most(&p);
	if (!are_off(&p, &line, by_gauge))
		return best;
	least = line.distance / BETTER;
	for (int64_t ms = UNIT_MS; ms <= INTERVAL_MAX_MS; ms += UNIT_MS) {
		const int64_t apart = common_divisor(ms, grid_ms);

		if (grid_ms % ms == 0 || ms * SCRAPES_MAX < grid_ms)
			continue;
		for (int64_t at = 0; at < ms; at += apart) {
			const struct tw_scrape_times s = { .interval_ms = ms,
							   .offset_ms = row[0].from_ms +
									at + apart / 2,
							   .divides = ms % grid_ms == 0 };
			const double left = distance_by(
				&s, row,
				ms < grid_ms && count > ROWS_MOST ? ROWS_MOST : count,
				by_gauge, &p);

			if (left < least) {
				least = left;
				best = s;
			}
		}
	}
	return best;
}
