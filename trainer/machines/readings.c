/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/machines/readings.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "model-db/prior/prior_machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define W_MAX 1e6
#define ERROR_MAX 0.5
#define BINS 21 /* of TW_READING_STEP, from 0 to 1 */
#define LEAST 3 /* readings of a median */
#define MANY 30
#define ABSURD 3 /* times the 99th percentile */

/* Loads are the first member. */
static void sort(struct tw_power_reading *r, size_t count)
{
	if (count > 0)
		qsort(r, count, sizeof(*r), tw_compare_doubles);
}

int tw_readings_check(struct tw_power_reading *r, size_t count, struct tw_err *err)
{
	if (count == 0 || count > TW_PRIOR_READINGS_MAX)
		return tw_fail(err, TW_INVALID, "%zu readings, want 1 to %d", count,
			       TW_PRIOR_READINGS_MAX);
	sort(r, count);
	for (size_t i = 0; i < count; i++) {
		if (!(r[i].load >= 0 && r[i].load <= 1))
			return tw_fail(err, TW_INVALID,
				       "a load of %g %%, want 0 to 100 %%",
				       100 * r[i].load);
		if (!(r[i].w > 0 && r[i].w <= W_MAX))
			return tw_fail(err, TW_INVALID,
				       "%g W at %g %% load, want above 0 and at most %g",
				       r[i].w, 100 * r[i].load, W_MAX);
		if (!(r[i].error >= 0 && r[i].error <= ERROR_MAX))
			return tw_fail(err, TW_INVALID,
				       "%g %% error of a reading, want 0 to %g %%",
				       100 * r[i].error, 100 * ERROR_MAX);
		if (i > 0 && r[i].load - r[i - 1].load < TW_READING_STEP - 1e-9)
			return tw_fail(
				err, TW_INVALID,
				"readings at %g %% and %g %% load, want them %g %% "
				"apart",
				100 * r[i - 1].load, 100 * r[i].load,
				100 * TW_READING_STEP);
		if (i > 0 && r[i].w < r[i - 1].w)
			return tw_fail(err, TW_INVALID,
				       "%g W at %g %% load, but %g W at %g %%: power "
				       "falls with load",
				       r[i - 1].w, 100 * r[i - 1].load, r[i].w,
				       100 * r[i].load);
	}
	return 0;
}

/* ---- reduction ---- */

/* A reading that stands for several. */
struct group {
	double load, w, error, count;
};

static struct group join(const struct group *a, const struct group *b)
{
	const double n = a->count + b->count;

	return (struct group){ .load = (a->load * a->count + b->load * b->count) / n,
			       .w = (a->w * a->count + b->w * b->count) / n,
			       .error = fmax(a->error, b->error),
			       .count = n };
}

static size_t join_at(struct group *g, size_t count, size_t i)
{
	g[i] = join(&g[i], &g[i + 1]);
	memmove(&g[i + 1], &g[i + 2], (count - i - 2) * sizeof(*g));
	return count - 1;
}

/* The pair of neighbours with the least distance. */
static size_t find_closest(const struct group *g, size_t count, double *distance)
{
	size_t found = 0;

	*distance = INFINITY;
	for (size_t i = 0; i + 1 < count; i++)
		if (g[i + 1].load - g[i].load < *distance) {
			*distance = g[i + 1].load - g[i].load;
			found = i;
		}
	return found;
}

/* The median of readings sorted by load: a few wrong ones do not move it. */
static struct group median_of(const struct tw_power_reading *r, size_t count, double *w)
{
	struct group g = { .count = (double)count };

	for (size_t i = 0; i < count; i++) {
		w[i] = r[i].w;
		g.error = fmax(g.error, r[i].error);
	}
	g.w = tw_median(w, count);
	g.load = (r[(count - 1) / 2].load + r[count / 2].load) / 2;
	return g;
}

static size_t bin_of(double load)
{
	return (size_t)fmin(fmax(load, 0) / TW_READING_STEP, BINS - 1);
}

/*
 * Medians of the readings within a bin of TW_READING_STEP. Bins with fewer readings than
 * a median needs are joined with the next one, if there are many readings.
 */
static size_t fill_bins(const struct tw_power_reading *r, size_t count, struct group *g,
			double *w)
{
	const size_t least = count >= MANY ? LEAST : 1;
	size_t n = 0;

	for (size_t from = 0, to; from < count; from = to) {
		to = from + least < count ? from + least : count;
		while (to < count && bin_of(r[to].load) == bin_of(r[to - 1].load))
			to++;
		if (count - to < least)
			to = count;
		g[n++] = median_of(r + from, to - from, w);
	}
	return n;
}

/* Drop readings far above almost all others. They are sorted by load. */
static size_t drop_absurd(struct tw_power_reading *r, size_t count, double *w)
{
	const size_t few = 1 + count / 100;
	double most;
	size_t n = 0;

	if (count < MANY)
		return count;
	for (size_t i = 0; i < count; i++)
		w[i] = r[i].w;
	most = ABSURD * tw_nth(w, count, count - 1 - few);
	for (size_t i = 0; i < count; i++)
		if (r[i].w <= most)
			r[n++] = r[i];
	return n;
}

size_t tw_readings_reduce(struct tw_power_reading *r, size_t count)
{
	struct group g[BINS] = { { 0 } };
	double *w = calloc(count + 1, sizeof(*w));
	double distance;
	size_t n, at;

	if (w == NULL)
		return 0;
	sort(r, count);
	count = drop_absurd(r, count, w);
	n = fill_bins(r, count, g, w);
	free(w);
	for (at = find_closest(g, n, &distance);
	     n > 1 && (n > TW_PRIOR_READINGS_MAX || distance < TW_READING_STEP);
	     at = find_closest(g, n, &distance))
		n = join_at(g, n, at);
	for (size_t i = 0; i + 1 < n;)
		if (g[i + 1].w < g[i].w) {
			n = join_at(g, n, i);
			i = i > 0 ? i - 1 : 0;
		} else {
			i++;
		}
	for (size_t i = 0; i < n; i++)
		r[i] = (struct tw_power_reading){ g[i].load, g[i].w, g[i].error };
	return n;
}
