/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_READINGS_H
#define TW_TRAINER_READINGS_H

/* Readings of a machine's power at some loads, for a calibration. */

#include <stddef.h>

struct tw_err;

struct tw_power_reading {
	double load;  /* share of full load, 0 .. 1 */
	double w;     /* of the whole machine, or of the share of it that is described */
	double error; /* relative standard error of w */
};

/* Two readings must differ by this load, at least. */
#define TW_READING_STEP 0.05

/*
 * Sort readings by load. TW_INVALID if there are none or too many, if a load is outside
 * of 0 .. 1, if loads are too close, or if power is not above 0 or falls with load.
 */
int tw_readings_check(struct tw_power_reading *r, size_t count, struct tw_err *err);

/*
 * Reduce any number of readings to as many as a posterior uses: readings of similar loads
 * become their median, and power that falls with load is pooled. A few wrong readings
 * among many change little. count is the old number; the new one is returned, 0 without
 * memory.
 */
size_t tw_readings_reduce(struct tw_power_reading *r, size_t count);

#endif /* TW_TRAINER_READINGS_H */
