/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_UNIT_POWER_H
#define TW_COLLECTOR_UNIT_POWER_H

/*
 * What the users of a zone take while they use it, learned from the zone's own meter. A
 * GPU that works for one process may take twice the power that it takes for another, and
 * its driver tells only for how long it worked for each.
 *
 * Power above idle is taken for a sum: what it takes to be awake, which is of all
 * processes in equal parts, and for each unit (a process, or a part of the zone that
 * several share) a power times its part of the time. Awake power is that of times in
 * which nobody uses it. A Kalman filter follows the powers of the units: one that has run
 * alone is well known, and what it does not explain is of the others. Where parts of the
 * time are means of few samples, rows of unlike units count the less, the shorter they
 * are. Units that always run together have equal powers, which is the plain rule: by
 * time.
 *
 * Powers divide; they never change a sum.
 */

#include "collector/meters/meter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More units at a time are not learned; they count as the mean of the others. */
#define TW_UNITS_MAX 16

struct tw_zone_unit {
	uint32_t id; /* 0: none */
	/* In W if it uses the whole zone: before the current row, and with it. */
	double power_w, now_w;
	double used_s;   /* in the row */
	double row_used; /* its part of the row */
	double gain;     /* its covariance with the power of the row */
	double part;     /* of the time of this tick */
	double recent;   /* its share of the use of the last ticks */
	unsigned absent; /* rows without it */
};

/* Of one zone. All zero bytes: nothing learned. */
struct tw_unit_power {
	struct tw_zone_unit unit[TW_UNITS_MAX];
	double covariance[TW_UNITS_MAX][TW_UNITS_MAX]; /* before the current row */
	/*
	 * Of the current row, ticks with the same users; of its power, the variance and
	 * how far it is from what was expected.
	 */
	double energy_j, over_s, variance, error_w;
	double recent_s;       /* the time that recent shares are of */
	double awake_w, rests; /* a mean, and of how many ticks */
};

/*
 * Learn from a tick, if over_ns is not 0: the users of a zone and its energy without its
 * idle part. weight[0..count) is what each user took, on any scale.
 */
void tw_unit_power_weigh(struct tw_unit_power *u, const struct tw_zone_user *user,
			 size_t count, uint64_t energy_uj, uint64_t over_ns,
			 uint64_t *weight);

#endif /* TW_COLLECTOR_UNIT_POWER_H */
