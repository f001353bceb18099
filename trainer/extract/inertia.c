/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/inertia.h"

#include "lib/core/array.h"

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
/* An exponential mean has forgotten a load after so many of its lengths: to 2 %. */
#define LENGTHS 4

/* The line of power over the load itself differs from that over the mean by this share,
 * at rest or at the most load. Else the inertia does no harm. */
#define BENT 0.02

/* Lengths of means, rows. */
static const size_t lengths[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24 };
static const size_t decays[] = { 2, 3, 5, 7, 10, 14, 20 };

/* Power over means of the load. */
struct line {
	double share; /* of its variance that they explain */
	double at_rest, slope;
};

struct search {
	const double *load, *watts;
	size_t first, end; /* the rows to explain */
	double *sum;       /* of the load of all rows before */
	double *mean;      /* of each row to explain */
	struct line line;  /* of the best mean */
	struct tw_inertia best;
};

/* The share is 0 where power falls with load. */
static struct line fit(const struct search *s)
{
	double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;

	for (size_t i = s->first; i < s->end; i++) {
		const double u = s->mean[i] - x, w = s->watts[i] - y;

		n++;
		x += u / n;
		y += w / n;
		xx += u * (s->mean[i] - x);
		yy += w * (s->watts[i] - y);
		xy += u * (s->watts[i] - y);
	}
	if (!(xy > 0 && xx > 0 && yy > 0))
		return (struct line){ 0, 0, 0 };
	return (struct line){ xy * xy / (xx * yy), y - x * xy / xx, xy / xx };
}

static bool differ(const struct line *a, const struct line *b, double most)
{
	const double top = b->at_rest + b->slope * most;

	return fabs(a->at_rest - b->at_rest) > BENT * fabs(b->at_rest) ||
	       fabs(a->at_rest + a->slope * most - top) > BENT * fabs(top);
}

static void judge(struct search *s, size_t before, size_t after)
{
	const struct line line = fit(s);

	if (line.share <= s->line.share)
		return;
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
	struct line own;

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
	own = s.line;
	if (1 - own.share < LEFT_MIN)
		return (struct tw_inertia){ 0, 0 };
	try_all(&s, before, after);
	if (s.line.share < SHARE_MIN || 1 - s.line.share > LEFT_MAX * (1 - own.share) ||
	    !differ(&own, &s.line, most))
		return (struct tw_inertia){ 0, 0 };
	return s.best;
}
