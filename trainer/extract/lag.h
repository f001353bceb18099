/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_LAG_H
#define TW_TRAINER_LAG_H

/*
 * The lag of power: how much later than the features a meter shows the same work. Meters
 * average, and exporters read meter and counters at different instants. The lag is that
 * of the highest correlation of power with a feature.
 */

struct tw_err;
struct tw_measured_rows;
struct tw_power_series;

/*
 * Find the lag in ms; positive if power follows the features. step_ms is the median step.
 * It is looked for within 15 s and 3 to 30 rows either way, less if gaps leave too few
 * rows. 0 if there are too few rows, or if a lag does not explain half of the variance of
 * power, and at least 1 % more of it than no lag: noise has no lag.
 */
int tw_lag_find(const struct tw_measured_rows *r, double step_ms, double *lag_ms,
		struct tw_err *err);

/*
 * Undo a lag: the power of a row becomes the mean power over its time plus the lag. Rows
 * whose shifted time the power does not cover are dropped.
 */
int tw_lag_correct(struct tw_power_series *p, double lag_ms, struct tw_err *err);

#endif /* TW_TRAINER_LAG_H */
