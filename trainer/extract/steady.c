/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/steady.h"

#include "lib/core/line.h"

#include <math.h>

/* A load that changes by less than this share of its range is steady. */
#define STEADY_SHARE 0.1
/* A reading may be this many rows old. */
#define BEFORE_MAX 3
/*
 * Changes of load explain this share of the distances, and by this many times more than
 * chance does.
 */
#define EXPLAINED_MIN 0.1
#define CHANCES 10
/* Lines that differ by this share at rest or at nine tenths of the load are not the same.
 */
#define DIFFERENCE 0.01
#define FULL 0.9
/* More rows before are worth it if the error falls to this share: by chance the fewer
 * rows that are left then may be nearer to their line. */
#define WORTH 0.75
/* Steady rows have a line if there are this many, and with this share of the range. */
#define ROWS_MIN 20
#define RANGE_MIN 0.5

struct rows {
	const double *load, *watts;
	size_t count;
	double low, high; /* of the loads */
	size_t after;     /* rows after a row that count */
};

struct part {
	struct tw_line line; /* of power over load */
	double low, high;    /* of the loads */
};

/* Whether the load is the same in this many rows before row i, and in those after it. */
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

/* The rows that have been steady for this many rows; 0: all rows. */
static struct part fit(const struct rows *r, size_t before)
{
	struct part p = { .low = INFINITY, .high = -INFINITY };

	for (size_t i = 0; i < r->count; i++) {
		if (before > 0 && !is_steady(r, i, before))
			continue;
		tw_line_add(&p.line, r->load[i], r->watts[i]);
		p.low = fmin(p.low, r->load[i]);
		p.high = fmax(p.high, r->load[i]);
	}
	return p;
}

/* ---- whether rows belong together ---- */

/* The share of the distances from the line that the change of load from `a` rows after a
 * row to `b` rows after it explains. */
static double explained(const struct rows *r, const struct tw_line *l, size_t a, size_t b)
{
	double dd = 0, de = 0, ee = 0;

	for (size_t i = 1; i + 1 < r->count; i++) {
		const double change = r->load[i - 1 + b] - r->load[i - 1 + a];
		const double off = r->watts[i] - tw_line_at(l, r->load[i]);

		dd += change * change;
		de += change * off;
		ee += off * off;
	}
	return dd > 0 && ee > 0 ? de * de / (dd * ee) : 0;
}

static bool belong_together(const struct rows *r, const struct tw_line *l)
{
	const double share = fmax(explained(r, l, 0, 1), explained(r, l, 1, 2));

	return share < EXPLAINED_MIN || share * (double)r->count < CHANCES;
}

static bool differ_at(const struct tw_line *a, const struct tw_line *b, double load)
{
	const double watts = tw_line_at(b, load);

	return fabs(tw_line_at(a, load) - watts) > DIFFERENCE * fabs(watts);
}

/* The larger variance of the line at the ends of the loads: a line without rows at rest
 * is uncertain there. */
static double error_of(const struct rows *r, const struct tw_line *l)
{
	return fmax(tw_line_variance_at(l, r->low), tw_line_variance_at(l, r->high));
}

/* The line of the rows that are steady since `from` to `to` rows; *before 0: of none. */
static struct tw_line find_best(const struct rows *r, size_t from, size_t to,
				size_t *before)
{
	struct tw_line best = { 0 };
	double least = INFINITY;

	*before = 0;
	for (size_t n = from; n <= to; n++) {
		const struct part p = fit(r, n);

		if (p.line.n >= ROWS_MIN &&
		    p.high - p.low > RANGE_MIN * (r->high - r->low) &&
		    error_of(r, &p.line) < WORTH * least) {
			least = error_of(r, &p.line);
			best = p.line;
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
	struct tw_line all, best;
	size_t before;

	for (size_t i = 0; i < count; i++) {
		r.low = fmin(r.low, load[i]);
		r.high = fmax(r.high, load[i]);
	}
	if (count < ROWS_MIN || !(r.high > r.low))
		return TW_STEADY_ALL;
	all = fit(&r, 0).line;
	if (!inert && belong_together(&r, &all))
		return TW_STEADY_ALL;
	best = find_best(&r, from, to, &before);
	if (before == 0)
		return TW_STEADY_FEW;
	if (!differ_at(&all, &best, 0) && !differ_at(&all, &best, FULL * r.high) &&
	    error_of(&r, &all) <= error_of(&r, &best))
		return TW_STEADY_ALL;
	for (size_t i = 0; i < count; i++)
		unsteady[i] = !is_steady(&r, i, before);
	return TW_STEADY_MOST;
}
