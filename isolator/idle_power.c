/* SPDX-License-Identifier: Apache-2.0 */
#include "isolator/idle_power.h"

#include "lib/core/err.h"
#include "lib/core/num.h"

#include <math.h>
#include <stdlib.h>

#define BLOCKS 10
#define WINDOW_SHARE 20 /* the window is this fraction of the rows */
#define WINDOW_MIN 10
/* Rows that the slope is estimated from, evenly sampled; more do not change it. */
#define SLOPE_ROWS_MAX 2048
#define SLOPE_TURNS 60
#define REST_SHARE 0.05
/* Rows of equal usage that spread by more of their power have work that usage misses. */
#define NOISE_MAX 0.1
/* Standard deviation of a normal distribution by its median absolute deviation. */
#define MAD_TO_SIGMA 1.4826

/* A row and its block of time. */
struct row {
	double use, watts;
	size_t block;
};

struct idle {
	struct row *row; /* all rows, in order of usage */
	size_t rows;
	size_t blocks;
	struct row *part; /* rows of one estimate, in order of usage */
	double *room;     /* scratch for medians, `rows` values */
};

/* ---- order ---- */

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->use != y->use)
		return x->use < y->use ? -1 : 1;
	return x->watts < y->watts ? -1 : x->watts > y->watts;
}

/* Interquartile mean: less noisy than the median, and as robust to outliers. Reorders v.
 */
static double middle(double *v, size_t n)
{
	const size_t quarter = n / 4, half = n - 2 * quarter;
	double sum = 0.0;

	tw_put_in_place(v, n, quarter);
	tw_put_in_place(v + quarter, n - quarter, half - 1);
	for (size_t i = 0; i < half; i++)
		sum += v[quarter + i];
	return sum / (double)half;
}

/* ---- one estimate ---- */

/* Sum of |P - a' - b u| over every step-th row, with a' = median (P - b u). */
static double distance(struct idle *s, size_t rows, size_t step, double b)
{
	double sum = 0.0, a;
	size_t n = 0;

	for (size_t r = 0; r < rows; r += step)
		s->room[n++] = s->part[r].watts - b * s->part[r].use;
	a = tw_nth(s->room, n, (n - 1) / 2);
	for (size_t i = 0; i < n; i++)
		sum += fabs(s->room[i] - a);
	return sum;
}

/*
 * The slope b of least distance(), which is convex in b: golden-section search from 0 to
 * four times the slope of the rows' whole range.
 */
static double find_slope(struct idle *s, size_t rows)
{
	const double part = (sqrt(5.0) - 1.0) / 2.0;
	const size_t step = rows / SLOPE_ROWS_MAX + 1;
	const double run = s->part[rows - 1].use - s->part[0].use;
	double low = 0.0, high, least = s->part[0].watts, most = least, b;

	for (size_t r = 1; r < rows; r++) {
		least = fmin(least, s->part[r].watts);
		most = fmax(most, s->part[r].watts);
	}
	high = 4.0 * (most - least) / run;
	if (!isfinite(high))
		return 0.0; /* all rows have the same usage, or nearly so */
	for (int i = 0; i < SLOPE_TURNS; i++) {
		const double x = high - part * (high - low);
		const double y = low + part * (high - low);

		if (distance(s, rows, step, x) <= distance(s, rows, step, y))
			high = y;
		else
			low = x;
	}
	b = (low + high) / 2.0;
	return distance(s, rows, step, 0.0) <= distance(s, rows, step, b) ? 0.0 : b;
}

/* Rows of an estimate: this many of the lowest usage. */
static size_t find_window(size_t rows)
{
	const size_t window =
		rows / WINDOW_SHARE > WINDOW_MIN ? rows / WINDOW_SHARE : WINDOW_MIN;

	return window > rows ? rows : window;
}

/* Extend the window by the rows that have the usage of its last row. Rows of equal usage
 * are in order of watts, so a part of them would have the lowest watts. */
static size_t add_equal(const struct idle *s, size_t rows, size_t window)
{
	while (window < rows && s->part[window].use <= s->part[window - 1].use)
		window++;
	return window;
}

/* Middle of the window's power at zero usage, and the spread of its rows. */
static double find_level(struct idle *s, size_t rows, size_t window, double *spread)
{
	const double b = find_slope(s, rows / 2 > window ? rows / 2 : window);
	double a;

	for (size_t r = 0; r < window; r++)
		s->room[r] = s->part[r].watts - b * s->part[r].use;
	a = middle(s->room, window);
	for (size_t r = 0; r < window; r++)
		s->room[r] = fabs(s->room[r] - a);
	*spread = MAD_TO_SIGMA * tw_nth(s->room, window, (window - 1) / 2);
	return a;
}

/* Interquartile mean of the `window` lowest watts. */
static double find_least(struct idle *s, size_t rows, size_t window)
{
	for (size_t r = 0; r < rows; r++)
		s->room[r] = s->part[r].watts;
	tw_put_in_place(s->room, rows, window - 1);
	return middle(s->room, window);
}

/* Estimate idle power from all rows but those of one block. */
static double estimate(struct idle *s, size_t without, bool *by_use)
{
	size_t rows = 0, window, below = 0;
	double a, spread;

	for (size_t r = 0; r < s->rows; r++)
		if (s->row[r].block != without)
			s->part[rows++] = s->row[r];
	window = find_window(rows);

	a = find_level(s, rows, add_equal(s, rows, window), &spread);
	if (spread > NOISE_MAX * a)
		a = find_level(s, rows, window, &spread);
	for (size_t r = 0; r < rows; r++)
		below += s->part[r].watts < a - 3.0 * spread;

	*by_use = below <= rows / WINDOW_SHARE;
	return fmax(*by_use ? a : find_least(s, rows, window), 0.0);
}

/* ---- the interval ---- */

/* Whether a quarter of the window's share of the rows has next to no usage. */
static bool has_rested(const struct idle *s)
{
	return s->row[s->rows / (4 * WINDOW_SHARE)].use <=
	       REST_SHARE * s->row[s->rows - 1].use;
}

/* The interval without rest: up to the lowest power, or to the estimate above it. */
static void widen_interval(const struct idle *s, struct tw_idle_power *p)
{
	double least = s->row[0].watts;

	for (size_t r = 1; r < s->rows; r++)
		least = fmin(least, s->row[r].watts);
	p->low = 0.0;
	p->high = fmax(fmax(least, p->watts), 0.0);
}

static void find_interval(struct idle *s, struct tw_idle_power *p)
{
	/* 97.5 % quantile of Student's t, by degrees of freedom. */
	static const double t[BLOCKS] = { 0,     12.706, 4.303, 3.182, 2.776,
					  2.571, 2.447,  2.365, 2.306, 2.262 };
	const double g = (double)s->blocks;
	double sum = 0.0, squares = 0.0, mean, half;
	double without[BLOCKS];
	bool by_use;

	p->low = p->high = NAN;
	if (s->blocks < 3)
		return;
	for (size_t i = 0; i < s->blocks; i++) {
		without[i] = estimate(s, i, &by_use);
		sum += without[i];
	}
	mean = sum / g;
	for (size_t i = 0; i < s->blocks; i++)
		squares += (without[i] - mean) * (without[i] - mean);
	half = t[s->blocks - 1] * sqrt((g - 1.0) / g * squares);
	p->low = fmax(p->watts - half, 0.0);
	p->high = p->watts + half;
	if (!p->rested)
		widen_interval(s, p);
}

int tw_idle_power_find(const double *use, const double *watts, size_t rows,
		       struct tw_idle_power *out, struct tw_err *err)
{
	struct idle s = { .rows = rows, .blocks = rows < BLOCKS ? rows : BLOCKS };
	int rc = -1;

	s.row = calloc(rows, sizeof(*s.row));
	s.part = calloc(rows, sizeof(*s.part));
	s.room = calloc(rows, sizeof(*s.room));
	if (s.row == NULL || s.part == NULL || s.room == NULL) {
		tw_fail(err, TW_NOMEM, "idle power from %zu rows", rows);
		goto out;
	}
	for (size_t r = 0; r < rows; r++)
		s.row[r] = (struct row){ use[r], watts[r], r * s.blocks / rows };
	qsort(s.row, rows, sizeof(*s.row), compare_rows);
	out->watts = estimate(&s, s.blocks, &out->by_use);
	out->rested = has_rested(&s);
	find_interval(&s, out);

	rc = 0;
out:
	free(s.row);
	free(s.part);
	free(s.room);
	return rc;
}
