/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/steady.h"

#include <math.h>

/* A load that changes by less than this share of its range is steady. */
#define STEADY_SHARE 0.1
/* A reading may be so many rows old. */
#define BEFORE_MAX 3
/* Changes of load explain this share of the distances, and by so many times more than
 * chance does. */
#define EXPLAINED_MIN 0.1
#define CHANCES 10
/* Lines that differ by this share at rest or at nine tenths of the load are not the same.
 */
#define DIFFERENCE 0.01
#define FULL 0.9
/* More rows before are worth it if the error falls to this share: by chance the fewer
 * rows that are left then may be nearer to their line. */
#define WORTH 0.75
/* Steady rows have a line if there are so many, and with this share of the range. */
#define ROWS_MIN 20
#define RANGE_MIN 0.5

struct rows {
	const double *load, *watts;
	size_t count;
	double low, high; /* of the loads */
	size_t after;     /* rows after a row that count */
};

struct line {
	double at_0, slope;
	double variance;     /* of a row's distance */
	double low, high;    /* of its rows' loads */
	double mean, spread; /* of these; the sum of squares */
	size_t count;
};

/* Whether the load is the same in so many rows before row i, and in those after it. */
static bool is_steady(const struct rows *r, size_t i, size_t before)
{
	double low = r->load[i], high = low;

	for (size_t k = i > before ? i - before : 0; k < r->count && k <= i + r->after;
	     k++) {
		low = fmin(low, r->load[k]);
		high = fmax(high, r->load[k]);
	}
	return high - low <= STEADY_SHARE * (r->high - r->low);
}

/* The line of the rows that are steady since so many rows; 0: of all rows. */
static struct line fit(const struct rows *r, size_t before)
{
	double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
	struct line l = { .low = INFINITY, .high = -INFINITY };

	for (size_t i = 0; i < r->count; i++) {
		const double u = r->load[i], w = r->watts[i];

		if (before > 0 && !is_steady(r, i, before))
			continue;
		l.low = fmin(l.low, u);
		l.high = fmax(l.high, u);
		n++;
		x += (u - x) / n;
		y += (w - y) / n;
		l.count++;
	}
	for (size_t i = 0; i < r->count; i++) {
		const double u = r->load[i] - x, w = r->watts[i] - y;

		if (before > 0 && !is_steady(r, i, before))
			continue;
		xx += u * u;
		xy += u * w;
		yy += w * w;
	}
	l.slope = xx > 0 ? xy / xx : 0;
	l.at_0 = y - l.slope * x;
	l.mean = x;
	l.spread = xx;
	l.variance = n > 2 ? fmax(yy - l.slope * xy, 0) / (n - 2) : INFINITY;
	return l;
}

static double line_at(const struct line *l, double load)
{
	return l->at_0 + l->slope * load;
}

/* ---- whether rows belong together ---- */

/* The share of the distances from the line that the change of load from `a` rows after a
 * row to `b` rows after it explains. */
static double explained(const struct rows *r, const struct line *l, size_t a, size_t b)
{
	double dd = 0, de = 0, ee = 0;

	for (size_t i = 1; i + 1 < r->count; i++) {
		const double change = r->load[i - 1 + b] - r->load[i - 1 + a];
		const double off = r->watts[i] - line_at(l, r->load[i]);

		dd += change * change;
		de += change * off;
		ee += off * off;
	}
	return dd > 0 && ee > 0 ? de * de / (dd * ee) : 0;
}

static bool belong_together(const struct rows *r, const struct line *l)
{
	const double share = fmax(explained(r, l, 0, 1), explained(r, l, 1, 2));

	return share < EXPLAINED_MIN || share * (double)r->count < CHANCES;
}

static bool differ(const struct rows *r, const struct line *a, const struct line *b)
{
	const double most = FULL * r->high;

	return fabs(a->at_0 - b->at_0) > DIFFERENCE * fabs(b->at_0) ||
	       fabs(line_at(a, most) - line_at(b, most)) >
		       DIFFERENCE * fabs(line_at(b, most));
}

/* The variance of the line's watts at a load. */
static double variance_at(const struct line *l, double load)
{
	const double off = load - l->mean;

	return l->variance * (1.0 / (double)l->count + off * off / l->spread);
}

/* The larger one at the ends of the loads: a line without rows at rest is uncertain
 * there. */
static double error_of(const struct rows *r, const struct line *l)
{
	return fmax(variance_at(l, r->low), variance_at(l, r->high));
}

/* The line of the rows that are steady since `from` to `to` rows; *before 0: of none. */
static struct line find_best(const struct rows *r, size_t from, size_t to, size_t *before)
{
	struct line best = { 0 };
	double least = INFINITY;

	*before = 0;
	for (size_t n = from; n <= to; n++) {
		const struct line l = fit(r, n);

		if (l.count >= ROWS_MIN &&
		    l.high - l.low > RANGE_MIN * (r->high - r->low) &&
		    error_of(r, &l) < WORTH * least) {
			least = error_of(r, &l);
			best = l;
			*before = n;
		}
	}
	return best;
}

enum tw_steady tw_steady_find(const double *load, const double *watts, size_t count,
			      struct tw_inertia inertia, bool *unsteady)
{
	const bool inert = inertia.before + inertia.after > 0;
	const size_t from = inertia.before > 1 ? inertia.before : 1;
	const size_t to = inert ? from : BEFORE_MAX;
	struct rows r = { load, watts, count, INFINITY, -INFINITY, 1 + inertia.after };
	struct line all, best;
	size_t before;

	for (size_t i = 0; i < count; i++) {
		r.low = fmin(r.low, load[i]);
		r.high = fmax(r.high, load[i]);
	}
	if (count < ROWS_MIN || !(r.high > r.low))
		return TW_STEADY_ALL;
	all = fit(&r, 0);
	if (!inert && belong_together(&r, &all))
		return TW_STEADY_ALL;
	best = find_best(&r, from, to, &before);
	if (before == 0)
		return TW_STEADY_FEW;
	if (!differ(&r, &all, &best) && error_of(&r, &all) <= error_of(&r, &best))
		return TW_STEADY_ALL;
	for (size_t i = 0; i < count; i++)
		unsteady[i] = !is_steady(&r, i, before);
	return TW_STEADY_MOST;
}
