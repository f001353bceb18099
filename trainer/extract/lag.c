/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/lag.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/line.h"
#include "trainer/extract/node_rows.h"
#include "trainer/extract/power_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lags are tried in steps of a row, then of a row's tenth around the best. */
#define STEPS_A_ROW 10
/* A lag is seen if it explains so much of the variance, and so much more of it. */
#define SHARE_MIN 0.5
#define GAIN 0.01
/* Fewer rows to compare show no lag. */
#define ROWS_MIN 24
/* How far lags are looked for: so long, within these numbers of rows. */
#define REACH_MS 15000
#define REACH_ROWS_MIN 3
#define REACH_ROWS_MAX 30

/* ---- steps of time ---- */

/* Rows of which each has a time from and a time to. filled: NULL for all of them. */
struct steps {
	size_t count;
	const int64_t *from_ms, *time_ms;
	const bool *filled;
};

static bool is_filled(const struct steps *s, size_t k)
{
	return s->filled == NULL || s->filled[k];
}

/*
 * Whether rows cover from to to, ms; if so, *first is the first row that meets it. Rows
 * before *first have been passed.
 */
static bool covers(const struct steps *s, double from, double to, size_t *first)
{
	size_t k = *first;

	while (k < s->count && (double)s->time_ms[k] <= from)
		k++;
	*first = k;
	if (k == s->count || (double)s->from_ms[k] > from || !is_filled(s, k))
		return false;
	while ((double)s->time_ms[k] < to)
		if (++k == s->count || s->from_ms[k] != s->time_ms[k - 1] ||
		    !is_filled(s, k))
			return false;
	return true;
}

/* The mean of values from from to to, ms, which rows from `first` on cover. */
static double mean_over(const struct steps *s, const double *value, size_t first,
			double from, double to)
{
	double sum = 0;

	for (size_t k = first; k < s->count && (double)s->from_ms[k] < to; k++)
		sum += value[k] * (fmin(to, (double)s->time_ms[k]) -
				   fmax(from, (double)s->from_ms[k]));
	return sum / (to - from);
}

/* ---- finding ---- */

struct search {
	const struct tw_measured_rows *r;
	double step_ms; /* the median step */
	struct steps steps;
	bool *usable; /* rows whose time is covered with any lag within reach */
	size_t count; /* of them */
	int reach;    /* in rows */
};

static void find_usable(struct search *s, int reach)
{
	const double more_ms = (double)reach * s->step_ms;
	size_t first = 0;

	s->reach = reach;
	s->count = 0;
	for (size_t k = 0; k < s->steps.count; k++) {
		s->usable[k] = covers(&s->steps, (double)s->steps.from_ms[k] - more_ms,
				      (double)s->steps.time_ms[k] + more_ms, &first);
		s->count += s->usable[k];
	}
}

/* Gaps leave few rows with a wide reach: most of the recording is to be compared. */
static void find_reach(struct search *s)
{
	const double wanted = REACH_MS / s->step_ms;
	int reach = wanted < REACH_ROWS_MIN   ? REACH_ROWS_MIN
		    : wanted > REACH_ROWS_MAX ? REACH_ROWS_MAX
					      : (int)wanted;

	find_usable(s, reach);
	while (reach > REACH_ROWS_MIN && 3 * s->count < 2 * s->steps.count)
		find_usable(s, --reach);
}

/* Squared correlation of power with a feature that lies `lag_ms` before it. */
static double explained(const struct search *s, const double *v, double lag_ms)
{
	struct tw_line l = { 0 };
	size_t first = 0;

	for (size_t k = 0; k < s->steps.count; k++) {
		const double from = (double)s->steps.from_ms[k] - lag_ms,
			     to = (double)s->steps.time_ms[k] - lag_ms;

		if (s->usable[k] && covers(&s->steps, from, to, &first))
			tw_line_add(&l, mean_over(&s->steps, v, first, from, to),
				    s->r->watts[k]);
	}
	return tw_line_share(&l);
}

/* The best lag found so far. */
struct best {
	const double *feature; /* NULL: none */
	double share, lag_ms;
};

static void try_lag(const struct search *s, const double *feature, double lag_ms,
		    struct best *best)
{
	const double share = explained(s, feature, lag_ms);

	if (isfinite(share) && share > best->share)
		*best = (struct best){ feature, share, lag_ms };
}

/* A value between two rows is smoother than either, so that a lag must gain something. */
static double find_best(const struct search *s)
{
	const struct tw_measured_rows *r = s->r;
	struct best without = { .share = 0 }, best;
	double row_ms;

	for (size_t f = 0; f < r->features; f++)
		try_lag(s, r->feature[f], 0, &without);
	best = without;
	for (int i = -s->reach; i <= s->reach; i++)
		for (size_t f = 0; f < r->features; f++)
			try_lag(s, r->feature[f], i * s->step_ms, &best);
	if (best.feature == NULL)
		return 0;
	row_ms = best.lag_ms;
	for (int i = 1 - STEPS_A_ROW; i < STEPS_A_ROW; i++) {
		const double lag_ms = row_ms + i * s->step_ms / STEPS_A_ROW;

		if (fabs(lag_ms) <= s->reach * s->step_ms)
			try_lag(s, best.feature, lag_ms, &best);
	}
	return best.share > SHARE_MIN && best.share > without.share + GAIN ? best.lag_ms
									   : 0;
}

int tw_lag_find(const struct tw_measured_rows *r, double step_ms, double *lag_ms,
		struct tw_err *err)
{
	struct search s = { .r = r,
			    .step_ms = step_ms,
			    .steps = { r->rows, r->from_ms, r->time_ms, r->filled } };

	*lag_ms = 0;
	if (r->rows < ROWS_MIN || !(step_ms > 0))
		return 0;
	if (TW_NEW(s.usable, r->rows, err) < 0)
		return -1;
	find_reach(&s);
	if (s.count >= ROWS_MIN)
		*lag_ms = find_best(&s);
	free(s.usable);
	return 0;
}

/* ---- correcting ---- */

static double energy_j(const struct tw_power_series *p)
{
	double sum = 0;

	for (size_t k = 0; k < p->times; k++)
		sum += p->column[0].watts[k] * (double)(p->time_ms[k] - p->from_ms[k]) /
		       1e3;
	return sum;
}

/* Write the shifted rows to out, by column, and their places to row. */
static size_t shift(const struct tw_power_series *p, double lag_ms, size_t *row,
		    double *out)
{
	const struct steps steps = { p->times, p->from_ms, p->time_ms, NULL };
	size_t first = 0, n = 0;

	for (size_t k = 0; k < p->times; k++) {
		const double from = (double)p->from_ms[k] + lag_ms;
		const double to = (double)p->time_ms[k] + lag_ms;

		if (!covers(&steps, from, to, &first))
			continue;
		for (size_t c = 0; c < p->columns; c++)
			out[c * p->times + n] =
				mean_over(&steps, p->column[c].watts, first, from, to);
		row[n++] = k;
	}
	return n;
}

int tw_lag_correct(struct tw_power_series *p, double lag_ms, struct tw_err *err)
{
	size_t *row = NULL;
	double *watts = NULL;
	const double before_j = energy_j(p);
	size_t n;
	int rc = -1;

	if (TW_NEW(row, p->times + 1, err) < 0 ||
	    TW_NEW(watts, p->times * p->columns + 1, err) < 0)
		goto out;
	n = shift(p, lag_ms, row, watts);
	for (size_t c = 0; c < p->columns; c++)
		memcpy(p->column[c].watts, watts + c * p->times, n * sizeof(*watts));
	for (size_t k = 0; k < n; k++) {
		p->from_ms[k] = p->from_ms[row[k]];
		p->time_ms[k] = p->time_ms[row[k]];
	}
	p->times = n;
	/* The meter's growth is compared with the energy of the rows that are left. */
	if (p->grown_j > 0)
		p->grown_j += energy_j(p) - before_j;

	rc = 0;
out:
	free(row);
	free(watts);
	return rc;
}
