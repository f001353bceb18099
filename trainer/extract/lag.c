/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/lag.h"

#include "lib/core/err.h"
#include "trainer/extract/power_series.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Lags are tried in steps of a row's tenth. */
#define STEPS_A_ROW 10
/* A lag is seen if it explains so much more of the variance. */
#define GAIN 0.01
#define ROWS_MIN 30

/* ---- finding ---- */

/* The feature's value `lag` rows before row k, between rows by a straight line. */
static double value_before(const double *v, size_t k, double lag)
{
	const double at = (double)k - lag;
	const double low = floor(at);

	return v[(size_t)low] + (at - low) * (v[(size_t)ceil(at)] - v[(size_t)low]);
}

/* Squared correlation of power with a feature that lies `lag` rows before it. */
static double explained(const struct tw_lag_rows *r, const double *v, double lag)
{
	double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0, cov;

	for (size_t k = r->first + TW_LAG_ROWS_MAX; k + TW_LAG_ROWS_MAX < r->end; k++) {
		const double u = value_before(v, k, lag), w = r->watts[k];

		n++;
		x += u;
		y += w;
		xx += u * u;
		yy += w * w;
		xy += u * w;
	}
	cov = n * xy - x * y;
	return cov <= 0 ? 0 : cov * cov / ((n * xx - x * x) * (n * yy - y * y));
}

/* The feature that explains most of the power without a lag, or NULL. */
static const double *best_feature(const struct tw_lag_rows *r, double *share)
{
	const double *best = NULL;

	*share = 0;
	for (size_t f = 0; f < r->features; f++) {
		const double here = explained(r, r->feature[f], 0);

		if (!isfinite(here) || here <= *share)
			continue;
		*share = here;
		best = r->feature[f];
	}
	return best;
}

/* A value between two rows is smoother than either, so that a lag must gain something. */
double tw_lag_find(const struct tw_lag_rows *r)
{
	const int most = TW_LAG_ROWS_MAX * STEPS_A_ROW;
	double without, best, lag = 0;
	const double *v;

	if (r->end < r->first + ROWS_MIN)
		return 0;
	v = best_feature(r, &without);
	if (v == NULL)
		return 0;
	best = without;
	for (int i = -most; i <= most; i++) {
		const double share = explained(r, v, (double)i / STEPS_A_ROW);

		if (isfinite(share) && share > best) {
			best = share;
			lag = (double)i / STEPS_A_ROW;
		}
	}
	return best > without + GAIN ? lag : 0;
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

/*
 * Whether power covers from to to, ms; if so, *first is the first row that meets it. Rows
 * before *first have been passed.
 */
static bool covers(const struct tw_power_series *p, double from, double to, size_t *first)
{
	size_t k = *first;

	while (k < p->times && (double)p->time_ms[k] <= from)
		k++;
	*first = k;
	if (k == p->times || (double)p->from_ms[k] > from)
		return false;
	while ((double)p->time_ms[k] < to)
		if (++k == p->times || p->from_ms[k] != p->time_ms[k - 1])
			return false;
	return true;
}

/* The mean of a column from from to to, ms, which rows from `first` on cover. */
static double mean_watts(const struct tw_power_series *p, const double *watts,
			 size_t first, double from, double to)
{
	double sum = 0;

	for (size_t k = first; k < p->times && (double)p->from_ms[k] < to; k++)
		sum += watts[k] * (fmin(to, (double)p->time_ms[k]) -
				   fmax(from, (double)p->from_ms[k]));
	return sum / (to - from);
}

/* Write the shifted rows to out, by column, and their places to row. */
static size_t shift(const struct tw_power_series *p, double lag_ms, size_t *row,
		    double *out)
{
	size_t first = 0, n = 0;

	for (size_t k = 0; k < p->times; k++) {
		const double from = (double)p->from_ms[k] + lag_ms;
		const double to = (double)p->time_ms[k] + lag_ms;

		if (!covers(p, from, to, &first))
			continue;
		for (size_t c = 0; c < p->columns; c++)
			out[c * p->times + n] =
				mean_watts(p, p->column[c].watts, first, from, to);
		row[n++] = k;
	}
	return n;
}

int tw_lag_correct(struct tw_power_series *p, double lag_ms, struct tw_err *err)
{
	size_t *row = calloc(p->times + 1, sizeof(*row));
	double *watts = calloc(p->times * p->columns + 1, sizeof(*watts));
	const double before_j = energy_j(p);
	size_t n;
	int rc = -1;

	if (row == NULL || watts == NULL) {
		tw_fail(err, TW_NOMEM, "%zu rows", p->times);
		goto out;
	}
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
