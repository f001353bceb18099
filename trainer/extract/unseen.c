/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/unseen.h"

#include "lib/core/line.h"

#include <math.h>
#include <stdbool.h>

/* Fewer rows have no line, nor do those with less than this share of the loads. */
#define ROWS_MIN 20
#define RANGE_MIN 0.5
/* Fewer rows show no difference. */
#define FEW_MIN 3
/*
 * Lines differ by this share of power where they have rows, and by this many standard
 * errors.
 */
#define DIFFERENCE 0.01
#define ERRORS 4

struct part {
	struct tw_line line; /* of power over load */
	double low, high;    /* of the loads */
};

static struct part fit(const double *load, const double *watts, size_t count)
{
	struct part p = { .low = INFINITY, .high = -INFINITY };

	for (size_t i = 0; i < count; i++) {
		tw_line_add(&p.line, load[i], watts[i]);
		p.low = fmin(p.low, load[i]);
		p.high = fmax(p.high, load[i]);
	}
	return p;
}

/* Whether the rows before have more power for a load: for the work that they show. */
static bool is_above_at(const struct tw_line *before, const struct tw_line *after,
			double load)
{
	const double off = tw_line_at(before, load) - tw_line_at(after, load);

	return off > DIFFERENCE * fabs(tw_line_at(after, load)) &&
	       off > ERRORS * sqrt(tw_line_variance_at(before, load) +
				   tw_line_variance_at(after, load));
}

/* Whether a few rows are below a line, all in all. */
static bool are_below(const struct tw_line *l, const double *load, const double *watts,
		      size_t count)
{
	double off = 0, mean = 0;

	for (size_t i = 0; i < count; i++) {
		off += (tw_line_at(l, load[i]) - watts[i]) / (double)count;
		mean += watts[i] / (double)count;
	}
	return off > DIFFERENCE * fabs(mean) &&
	       off > ERRORS * sqrt(tw_line_variance(l) / (double)count);
}

enum tw_unseen_work tw_unseen_find(const double *load, const double *watts, size_t count,
				   size_t first)
{
	const struct part before = fit(load, watts, first);
	const struct part after = fit(load + first, watts + first, count - first);
	const double low = fmin(before.low, after.low);
	const double high = fmax(before.high, after.high);

	if (first < ROWS_MIN || count - first < FEW_MIN)
		return TW_UNSEEN_NONE;
	if (count - first < ROWS_MIN || after.high - after.low < RANGE_MIN * (high - low))
		return are_below(&before.line, load + first, watts + first, count - first)
			       ? TW_UNSEEN_FEW
			       : TW_UNSEEN_NONE;
	return is_above_at(&before.line, &after.line, after.low) ||
			       is_above_at(&before.line, &after.line, after.high)
		       ? TW_UNSEEN_WORK
		       : TW_UNSEEN_NONE;
}
