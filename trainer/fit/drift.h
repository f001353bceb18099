/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_DRIFT_H
#define TW_TRAINER_DRIFT_H

/*
 * The drift of a machine's power: a trend over time of measured - predicted power of rows
 * of equal load (docs/accuracy.md, "Drift"). For each model that is trained, the
 * prediction is by one line, of LinearRegressionTrainer, fitted on all rows. A model that
 * bends more would follow the drift where kinds of work take turns.
 */

struct tw_err;
struct tw_samples;

/* All zero: no drift is certain. */
struct tw_drift {
	double watts_per_hour;
	double watts; /* in the time of one more recording */
};

/* Time stamps ascend. *out is unchanged on failure. */
int tw_drift_find(const struct tw_samples *s, struct tw_drift *out, struct tw_err *err);

#endif /* TW_TRAINER_DRIFT_H */
