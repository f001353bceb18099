/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/smooth.h"

#include "isolator/isolator.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/field/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const tw_extractor_names[] = { "default", "smooth", NULL };

/* Index of the rows by time and by workload. */
struct places {
	size_t *time; /* for each row: the index of its time */
	size_t times;
	size_t *first; /* for each time: its first row */
	size_t *list;  /* rows by workload, each in order of time */
	size_t *start; /* for each workload: its start in list; then the end */
	size_t ids;
};

static int places_init(struct places *p, const struct tw_dataset *d, struct tw_err *err)
{
	p->ids = d->id != NULL ? d->ids.count : 1;
	if (TW_NEW(p->time, 3 * d->rows + p->ids + 2, err) < 0)
		return -1;
	p->first = p->time + d->rows;
	p->list = p->first + d->rows;
	p->start = p->list + d->rows;
	for (size_t r = 0; r < d->rows; r++) {
		if (r == 0 || d->time_ms[r] != d->time_ms[r - 1])
			p->first[p->times++] = r;
		p->time[r] = p->times - 1;
		p->start[(d->id != NULL ? d->id[r] : 0) + 2]++;
	}
	for (size_t i = 2; i <= p->ids; i++)
		p->start[i] += p->start[i - 1];
	for (size_t r = 0; r < d->rows; r++)
		p->list[p->start[(d->id != NULL ? d->id[r] : 0) + 1]++] = r;
	return 0;
}

/* Whether the feature describes the system, not usage: it is not smoothed. */
static bool is_of_system(const char *name)
{
	return strcmp(name, "cpu_scaling_frequency_hertz") == 0 ||
	       strcmp(name, "node_info") == 0;
}

static bool is_smoothed(const char *name)
{
	return tw_ends_with(name, "_power") ||
	       (!is_of_system(name) && !tw_isolate_is_of_node(name));
}

/* Smooth the rows of one workload, from the last to the first, because a mean needs the
 * original values before it. Each window is summed anew: a running sum would drift. */
static void smooth_rows(const struct places *p, const size_t *row, size_t rows, double *v,
			size_t window)
{
	for (size_t i = rows; i-- > 0;) {
		double sum = 0.0;

		for (size_t k = i + 1;
		     k-- > 0 && p->time[row[k]] + window > p->time[row[i]];)
			sum += v[row[k]];
		v[row[i]] = sum / (double)window;
	}
}

/* Smooth a package's share: its share of the window's usage, as in
 * tw_isolate_aggregate(). */
static void smooth_share_rows(const struct places *p, const size_t *row, size_t rows,
			      const double *use, double *v, size_t window)
{
	for (size_t i = rows; i-- > 0;) {
		double part = 0.0, whole = 0.0;

		for (size_t k = i + 1;
		     k-- > 0 && p->time[row[k]] + window > p->time[row[i]];) {
			part += v[row[k]] * use[row[k]];
			whole += use[row[k]];
		}
		if (whole > 0.0 && isfinite(part / whole))
			v[row[i]] = part / whole;
	}
}

/* Smooth all shares. This needs the usage before smoothing. Shares of windows without
 * usage stay as they are. */
static void smooth_shares(struct tw_dataset *d, const struct places *p, size_t window)
{
	const double *use = tw_dataset_find(d, TW_PACKAGE_USAGE);

	for (size_t c = 0; use != NULL && c < d->cols; c++)
		for (size_t i = 0; tw_isolate_is_share(d->col[c].name) && i < p->ids; i++)
			smooth_share_rows(p, p->list + p->start[i],
					  p->start[i + 1] - p->start[i], use, d->col[c].v,
					  window);
}

static void smooth_column(const struct tw_dataset *d, const struct places *p,
			  struct tw_column *c, size_t window)
{
	if (!tw_ends_with(c->name, "_power")) {
		for (size_t i = 0; i < p->ids; i++)
			smooth_rows(p, p->list + p->start[i],
				    p->start[i + 1] - p->start[i], c->v, window);
		return;
	}
	/* Power is the node's: all rows of a time have the same value. */
	smooth_rows(p, p->first, p->times, c->v, window);
	for (size_t r = 0; r < d->rows; r++)
		c->v[r] = c->v[p->first[p->time[r]]];
}

int tw_smooth(struct tw_dataset *d, size_t window, struct tw_err *err)
{
	struct places p = { 0 };
	bool *keep = NULL;
	int rc = -1;

	if (places_init(&p, d, err) < 0)
		goto out;
	if (TW_NEW(keep, d->rows + 1, err) < 0)
		goto out;
	if (p.times < window) {
		tw_fail(err, TW_INVALID, "%zu times, fewer than the smooth window of %zu",
			p.times, window);
		goto out;
	}
	smooth_shares(d, &p, window);
	for (size_t i = 0; i < d->cols; i++)
		if (is_smoothed(d->col[i].name))
			smooth_column(d, &p, &d->col[i], window);
	for (size_t r = 0; r < d->rows; r++)
		keep[r] = p.time[r] >= window - 1;
	tw_dataset_keep(d, keep);
	rc = 0;
out:
	free(p.time);
	free(keep);
	return rc;
}
