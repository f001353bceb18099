/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_UNIT_POWER_H
#define TW_COLLECTOR_UNIT_POWER_H

/*
 * The power of a zone for each of its users, learned from the zone's own meter. A GPU may
 * take twice the power for one process that it takes for another, and its driver reports
 * only for how long it worked for each.
 *
 * The model of power above idle is a sum: the power of being awake, in equal parts for
 * all processes, and for each unit (a process, or a part of the zone that several share)
 * its own power times its part of the time. Awake power is measured while the zone is
 * unused. A Kalman filter follows the powers of the units: the power of a unit that has
 * run alone is well known, and the rest belongs to the others. If parts of the time are
 * means of few samples, short rows of unlike units have less weight. Units that always
 * run together have equal powers: their energy is divided by time.
 *
 * Powers divide; they never change a sum.
 */

#include "collector/meters/meter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The powers of further units are not learned: they have the mean of the others. */
#define TW_UNITS_MAX 16

struct tw_zone_unit {
	uint32_t id; /* 0: none */
	/*
	 * Power if the unit used the whole zone, in W: before the current row, and with
	 * it.
	 */
	double power_w, now_w;
	double used_s;   /* in the row */
	double row_used; /* its part of the row */
	double gain;     /* its covariance with the power of the row */
	double part;     /* of the time of this tick */
	double recent;   /* its share of the use of the last ticks */
	unsigned absent; /* rows without it */
};

/* The units of one zone. All zero bytes: nothing learned. */
struct tw_unit_power {
	struct tw_zone_unit unit[TW_UNITS_MAX];
	double covariance[TW_UNITS_MAX][TW_UNITS_MAX]; /* before the current row */
	/*
	 * The current row: ticks with the same users. variance and error_w are of its
	 * power; the error is the measured less the expected power.
	 */
	double energy_j, over_s, variance, error_w;
	double recent_s;       /* the time that recent shares are of */
	double awake_w, rests; /* awake power is a mean of this many ticks */
};

/*
 * Learn from a tick, if over_ns is not 0: the users of a zone and its energy without its
 * idle part. weight[0..count) becomes the energy of each user, on any scale.
 */
void tw_unit_power_weigh(struct tw_unit_power *u, const struct tw_zone_user *user,
			 size_t count, uint64_t energy_uj, uint64_t over_ns,
			 uint64_t *weight);

#endif /* TW_COLLECTOR_UNIT_POWER_H */
