/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/glitches.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "trainer/online/window.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Fewer segments have no line. */
#define SEGMENTS_MIN 12
/* The line is of this many segments at most. */
#define POINTS_MAX 256
/* A segment is off the line by more deviations, and by this share of the median. */
#define DEVIATIONS 6
#define SHARE 0.02
/* A glitch has at most this many segments; the last ones are none. */
#define GLITCH_SEGMENTS 2
/*
 * A segment beside it, in which it may begin or end, is off by this share of that
 * distance.
 */
#define BESIDE 0.5
/* If a larger share is off, the line is wrong. */
#define GLITCHES_MAX 0.2

struct points {
	size_t count;
	size_t *at;           /* their segments */
	double *load, *watts; /* of each */
	double *off;          /* distance of each from the line */
	double *memory;       /* for sorting */
	double limit;         /* of the distance */
};

/* The mean of a segment's main feature. */
static double load_of(const struct tw_segment *g)
{
	const char *name[TW_SEGMENT_FEATURES_MAX];

	for (size_t i = 0; i < g->features; i++)
		name[i] = g->feature[i]->name;
	return g->mean[tw_main_feature(name, g->features, TW_PACKAGE)];
}

/* The segments with power and the same features as the last one. */
static void find_points(const struct tw_segments *w, struct points *p)
{
	const struct tw_segment *last = &w->at[w->count - 1];

	for (size_t i = 0; i < w->count; i++) {
		const struct tw_segment *g = &w->at[i];

		if (!isfinite(g->watts) || g->features == 0 ||
		    g->features != last->features ||
		    memcmp(g->feature, last->feature,
			   g->features * sizeof(g->feature[0])) != 0)
			continue;
		p->at[p->count] = i;
		p->load[p->count] = load_of(g);
		p->watts[p->count++] = g->watts;
	}
}

/* The median of the slopes between the points. */
static int find_slope(const struct points *p, double *out, struct tw_err *err)
{
	const size_t step = p->count / POINTS_MAX + 1;
	double *slope = calloc(POINTS_MAX * POINTS_MAX / 2, sizeof(*slope));
	size_t n = 0;

	if (slope == NULL)
		return tw_fail(err, TW_NOMEM, "slopes of %zu segments", p->count);
	for (size_t a = 0; a < p->count; a += step)
		for (size_t b = 0; b < a; b += step)
			if (p->load[a] != p->load[b])
				slope[n++] = (p->watts[a] - p->watts[b]) /
					     (p->load[a] - p->load[b]);
	*out = n > 0 ? fmax(tw_nth(slope, n, n / 2), 0) : 0;
	free(slope);
	return 0;
}

static int find_distances(struct points *p, struct tw_err *err)
{
	double slope, at_rest;

	if (find_slope(p, &slope, err) < 0)
		return -1;
	for (size_t i = 0; i < p->count; i++)
		p->memory[i] = p->off[i] = p->watts[i] - slope * p->load[i];
	at_rest = tw_nth(p->memory, p->count, p->count / 2);
	for (size_t i = 0; i < p->count; i++) {
		p->off[i] -= at_rest;
		p->memory[i] = fabs(p->off[i]);
	}
	p->limit = DEVIATIONS * 1.4826 * tw_nth(p->memory, p->count, p->count / 2);
	for (size_t i = 0; i < p->count; i++)
		p->memory[i] = p->watts[i];
	p->limit = fmax(p->limit, SHARE * tw_nth(p->memory, p->count, p->count / 2));
	return 0;
}

static bool is_off(const struct points *p, size_t i, double share)
{
	return fabs(p->off[i]) > share * p->limit;
}

/* Mark the points [from, end), which are off, if they are a glitch. Returns their number.
 */
static size_t mark(struct tw_segments *w, const struct points *p, size_t from, size_t end)
{
	bool still = true;

	for (size_t i = from; i < end; i++)
		still &= p->load[i] == 0 && p->off[i] > 0;
	if (!still && end - from > GLITCH_SEGMENTS)
		return 0;
	from -= from > 0 && is_off(p, from - 1, BESIDE);
	end += end + GLITCH_SEGMENTS < p->count && is_off(p, end, BESIDE);
	for (size_t i = from; i < end; i++)
		w->at[p->at[i]].glitch = true;
	return end - from;
}

static void mark_all(struct tw_segments *w, const struct points *p)
{
	size_t end, marked = 0;

	for (size_t i = 0; i < p->count; i = end) {
		const bool still = p->load[i] == 0;

		for (end = i;
		     end < p->count && is_off(p, end, 1) && (p->load[end] == 0) == still;
		     end++)
			;
		if (end > i && end + GLITCH_SEGMENTS <= p->count)
			marked += mark(w, p, i, end);
		end += end == i;
	}
	if ((double)marked <= GLITCHES_MAX * (double)p->count)
		return;
	for (size_t i = 0; i < w->count; i++)
		w->at[i].glitch = false;
}

int tw_glitches_mark(struct tw_segments *w, struct tw_err *err)
{
	const size_t n = w->count;
	struct points p = { .at = NULL };
	int rc = -1;

	if (TW_NEW(p.at, n, err) < 0 || TW_NEW(p.load, 4 * n, err) < 0)
		goto out;
	p.watts = p.load + n;
	p.off = p.watts + n;
	p.memory = p.off + n;
	if (n > 0)
		find_points(w, &p);
	if (p.count >= SEGMENTS_MIN) {
		if (find_distances(&p, err) < 0)
			goto out;
		mark_all(w, &p);
	}
	rc = 0;
out:
	free(p.at);
	free(p.load);
	return rc;
}
