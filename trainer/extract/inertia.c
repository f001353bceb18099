/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/inertia.h"

#include "lib/core/array.h"
#include "lib/core/line.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Fewer rows show no inertia. */
#define ROWS_MIN 60
/* How far to look: a share of the rows, within these limits. */
#define REACH_SHARE 5
#define BEFORE_MAX 24
#define AFTER_MAX 12
/* A mean of the load explains this share of the variance of power, and leaves at most
 * this share of the variance that the load itself leaves. */
#define SHARE_MIN 0.5
#define LEFT_MAX 0.5
/* Less variance that the load leaves does not bend a line. */
#define LEFT_MIN 0.001
/* An exponential mean has forgotten a load after this many of its lengths: to 2 %. */
#define LENGTHS 4

/* The line of power over the load itself differs from that over the mean by this share,
 * at rest or at the most load. Else the inertia does no harm. */
#define BENT 0.02

/* Lengths of means, rows. */
static const size_t lengths[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24 };
static const size_t decays[] = { 2, 3, 5, 7, 10, 14, 20 };

struct search {
	const double *load, *watts;
	size_t first, end;   /* the rows to explain */
	double *sum;         /* of the load of all rows before */
	double *mean;        /* of each row to explain */
	struct tw_line line; /* of the best mean */
	double share;        /* of the variance of power that it explains */
	struct tw_inertia best;
};

/* Power over the means of the load. */
static struct tw_line fit(const struct search *s)
{
	struct tw_line l = { 0 };

	for (size_t i = s->first; i < s->end; i++)
		tw_line_add(&l, s->mean[i], s->watts[i]);
	return l;
}

static bool differ_at(const struct tw_line *a, const struct tw_line *b, double load)
{
	const double watts = tw_line_at(b, load);

	return fabs(tw_line_at(a, load) - watts) > BENT * fabs(watts);
}

static void judge(struct search *s, size_t before, size_t after)
{
	const struct tw_line line = fit(s);
	const double share = tw_line_share(&line);

	if (share <= s->share)
		return;
	s->share = share;
	s->line = line;
	s->best = (struct tw_inertia){ before, after };
}

/* Means of `length` rows, the last of which is `lag` rows before; negative: after. */
static void try_mean(struct search *s, size_t length, ptrdiff_t lag)
{
	const ptrdiff_t before = lag + (ptrdiff_t)length - 1;

	for (size_t i = s->first; i < s->end; i++) {
		const size_t to = (size_t)((ptrdiff_t)i - lag) + 1;

		s->mean[i] = (s->sum[to] - s->sum[to - length]) / (double)length;
	}
	judge(s, before > 0 ? (size_t)before : 0, lag < 0 ? (size_t)-lag : 0);
}

static void try_decay(struct search *s, size_t length)
{
	double mean = s->load[0];

	for (size_t i = 0; i < s->end; i++) {
		mean += (s->load[i] - mean) / (double)length;
		s->mean[i] = mean;
	}
	judge(s, LENGTHS * length, 0);
}

static void try_all(struct search *s, size_t before, size_t after)
{
	for (size_t k = 0; k < TW_COUNT(lengths); k++)
		for (ptrdiff_t lag = -(ptrdiff_t)after; lag <= (ptrdiff_t)before; lag++)
			if (lag + (ptrdiff_t)lengths[k] - 1 <= (ptrdiff_t)before)
				try_mean(s, lengths[k], lag);
	for (size_t k = 0; k < TW_COUNT(decays); k++)
		try_decay(s, decays[k]);
}

struct tw_inertia tw_inertia_find(const double *load, const double *watts, size_t count,
				  double *memory)
{
	const size_t reach = count / REACH_SHARE;
	const size_t before = reach < BEFORE_MAX ? reach : BEFORE_MAX;
	const size_t after = reach < AFTER_MAX ? reach : AFTER_MAX;
	struct search s = { .load = load, .watts = watts };
	double most = 0;
	struct tw_line own;
	double left; /* by the load itself */

	if (count < ROWS_MIN)
		return s.best;
	s.sum = memory;
	s.sum[0] = 0;
	s.mean = memory + count + 1;
	s.first = before + 1;
	s.end = count - after;
	for (size_t i = 0; i < count; i++) {
		s.sum[i + 1] = s.sum[i] + load[i];
		most = fmax(most, load[i]);
	}
	try_mean(&s, 1, 0);
	own = fit(&s);
	left = 1 - s.share;
	if (left < LEFT_MIN)
		return (struct tw_inertia){ 0, 0 };
	try_all(&s, before, after);
	if (s.share < SHARE_MIN || 1 - s.share > LEFT_MAX * left ||
	    !(differ_at(&own, &s.line, 0) || differ_at(&own, &s.line, most)))
		return (struct tw_inertia){ 0, 0 };
	return s.best;
}
