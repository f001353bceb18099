/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_LAG_H
#define TW_TRAINER_LAG_H

/*
 * The lag of power: how much later than the features a meter shows the same work. Meters
 * average, and exporters read meter and counters at different instants. The lag is that
 * of the highest correlation of power with a feature.
 */

#include <stddef.h>

struct tw_err;
struct tw_power_series;

/* Bound of the lag, in rows. */
#define TW_LAG_ROWS_MAX 3

/* Rows without gaps, in order of time. */
struct tw_lag_rows {
	size_t first, end; /* the rows to compare */
	double *const *feature;
	size_t features;
	const double *watts;
};

/*
 * The lag in rows, from -TW_LAG_ROWS_MAX to TW_LAG_ROWS_MAX by tenths; positive if power
 * follows the features. 0 if there are fewer than 30 rows, or if a lag does not explain
 * at least 1 % more of the variance.
 */
double tw_lag_find(const struct tw_lag_rows *r);

/*
 * Undo a lag: the power of a row becomes the mean power over its time plus the lag. Rows
 * whose shifted time the power does not cover are dropped.
 */
int tw_lag_correct(struct tw_power_series *p, double lag_ms, struct tw_err *err);

#endif /* TW_TRAINER_LAG_H */
