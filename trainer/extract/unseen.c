/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/unseen.h"

#include <math.h>
#include <stdbool.h>

/* Fewer rows have no line, nor do those with less than this share of the loads. */
#define ROWS_MIN 20
#define RANGE_MIN 0.5
/* Fewer rows show no difference. */
#define FEW_MIN 3
/* Lines differ by this share of power where they have rows, and by so many standard
 * errors.
 */
#define DIFFERENCE 0.01
#define ERRORS 4

struct line {
	double n, load, watts;   /* means */
	double slope, low, high; /* low, high: of the loads */
	double variance,
		spread; /* of a row's distance; the sum of squares of the loads */
};

static struct line fit(const double *load, const double *watts, size_t count)
{
	struct line l = { .n = (double)count, .low = INFINITY, .high = -INFINITY };
	double xy = 0, yy = 0;

	for (size_t i = 0; i < count; i++) {
		l.load += load[i] / l.n;
		l.watts += watts[i] / l.n;
		l.low = fmin(l.low, load[i]);
		l.high = fmax(l.high, load[i]);
	}
	for (size_t i = 0; i < count; i++) {
		const double x = load[i] - l.load, y = watts[i] - l.watts;

		l.spread += x * x;
		xy += x * y;
		yy += y * y;
	}
	l.slope = l.spread > 0 ? xy / l.spread : 0;
	l.variance = l.n > 2 ? fmax(yy - l.slope * xy, 0) / (l.n - 2) : INFINITY;
	return l;
}

static double line_at(const struct line *l, double load)
{
	return l->watts + l->slope * (load - l->load);
}

static double variance_at(const struct line *l, double load)
{
	const double off = load - l->load;

	return l->variance *
	       (1 / l->n + (l->spread > 0 ? off * off / l->spread : INFINITY));
}

/* Whether the rows before have more power for a load: for the work that they show. */
static bool is_above_at(const struct line *before, const struct line *after, double load)
{
	const double off = line_at(before, load) - line_at(after, load);

	return off > DIFFERENCE * fabs(line_at(after, load)) &&
	       off > ERRORS * sqrt(variance_at(before, load) + variance_at(after, load));
}

/* Whether a few rows are below a line, all in all. */
static bool are_below(const struct line *l, const double *load, const double *watts,
		      size_t count)
{
	double off = 0, mean = 0;

	for (size_t i = 0; i < count; i++) {
		off += (line_at(l, load[i]) - watts[i]) / (double)count;
		mean += watts[i] / (double)count;
	}
	return off > DIFFERENCE * fabs(mean) &&
	       off > ERRORS * sqrt(l->variance / (double)count);
}

enum tw_unseen_work tw_unseen_find(const double *load, const double *watts, size_t count,
				   size_t first)
{
	const struct line before = fit(load, watts, first);
	const struct line after = fit(load + first, watts + first, count - first);
	const double low = fmin(before.low, after.low);
	const double high = fmax(before.high, after.high);

	if (first < ROWS_MIN || count - first < FEW_MIN)
		return TW_UNSEEN_NONE;
	if (count - first < ROWS_MIN || after.high - after.low < RANGE_MIN * (high - low))
		return are_below(&before, load + first, watts + first, count - first)
			       ? TW_UNSEEN_FEW
			       : TW_UNSEEN_NONE;
	return is_above_at(&before, &after, after.low) ||
			       is_above_at(&before, &after, after.high)
		       ? TW_UNSEEN_WORK
		       : TW_UNSEEN_NONE;
}
