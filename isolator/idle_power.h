/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ISOLATOR_IDLE_POWER_H
#define TW_ISOLATOR_IDLE_POWER_H

/*
 * Idle power: what a machine draws at zero use, from samples of use and watts, few of
 * which need to be idle and many of which may be wrong.
 *
 *	a = mean of the middle half of (P - b u) over the window,	b >= 0
 *
 * The window is the 5 % of the rows with the least use (10 rows at least): power rises
 * more steeply at little use than at much, so that a line through all rows would meet
 * zero use far above idle. b minimises sum |P - a' - b u| over the half with less use.
 * Neither heeds odd rows: meter and counters are not read at the same instant, and a
 * load that begins or ends is in one of them only.
 *
 * Where more than 5 % of all rows draw less than a, by more than three times the
 * window's spread, use does not tell when the machine is idle. Then a is that of as
 * many rows as the window has, those that draw least.
 *
 * The interval is the 95 % one of the jackknife that leaves out one of ten blocks of time
 * (B. Efron, The Jackknife, the Bootstrap and Other Resampling Plans, 1982): neighbours
 * in time are alike, and leaving out single rows would call it narrower than it is.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

struct tw_idle_power {
	double watts;     /* not negative */
	double low, high; /* of the interval; NaN with fewer than 3 rows */
	bool by_use;      /* false: of the rows that draw least */
};

/* use and watts: finite, in order of time; rows is at least 1. */
int tw_idle_power_find(const double *use, const double *watts, size_t rows,
		       struct tw_idle_power *out, struct tw_err *err);

#endif /* TW_ISOLATOR_IDLE_POWER_H */
