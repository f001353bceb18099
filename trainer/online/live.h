/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_LIVE_H
#define TW_ONLINE_LIVE_H

/*
 * The live error of a model: its mean absolute error on the samples of the last
 * intervals, which it has not seen.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The live error is of the last so many intervals with rows. */
#define TW_LIVE_INTERVALS 5

/* The model drifts if its live error exceeds its expected error so many times. */
#define TW_LIVE_DRIFT 2.0

struct tw_live_interval {
	int64_t from_ms;
	size_t rows;
	double error_sum_w; /* of |predicted - measured| */
	double bias_sum_w;  /* of predicted - measured */
};

/* All zero bytes: no interval yet. */
struct tw_live {
	struct tw_live_interval at[TW_LIVE_INTERVALS]; /* the oldest first */
	size_t count;
};

/* Add an interval, or replace the last if it is that; one without rows is skipped. */
void tw_live_add(struct tw_live *l, const struct tw_live_interval *i);

double tw_live_mae_w(const struct tw_live *l);  /* NaN without rows */
double tw_live_bias_w(const struct tw_live *l); /* NaN without rows */

/*
 * Live error divided by the expected error; NaN if either is unknown, or if there are
 * fewer than two intervals, because the load of a single one may be unusual.
 */
double tw_live_drift(const struct tw_live *l, double expected_w);

/* The start of the first interval whose own error is that of a drift. */
int64_t tw_live_onset_ms(const struct tw_live *l, double expected_w);

#endif /* TW_ONLINE_LIVE_H */
