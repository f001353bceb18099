/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ISOLATOR_IDLE_POWER_H
#define TW_ISOLATOR_IDLE_POWER_H

/*
 * Robust estimate of idle power, the power at zero usage, from samples of usage u and
 * watts P. Few samples need to be idle, and many may be outliers.
 *
 *	a = mean of the middle half of (P - b u) over the window,	b >= 0
 *
 * The window is the 5 % of the rows with the lowest usage (at least 10 rows), and all
 * with the same usage as the last of them, unless these spread by more than a tenth of
 * their power: then usage misses some work, and the lowest watts count. Power rises more
 * steeply at low usage than at high usage, so a line through all rows would have its
 * intercept far above idle power. The slope b minimises sum |P - a' - b u| over the half
 * of the rows with the lower usage. Both estimates ignore outliers: meter and counters
 * are not read at the same instant, and a load that starts or ends shows in one of them
 * first.
 *
 * If more than 5 % of all rows draw less than a by more than three times the window's
 * spread, usage does not indicate when the machine is idle. Then a is the mean of the
 * middle half of the lowest watts, of 5 % of the rows.
 *
 * The 95 % confidence interval is a jackknife over ten blocks of time (B. Efron, The
 * Jackknife, the Bootstrap and Other Resampling Plans, 1982). Neighbouring rows are
 * correlated; leaving out single rows would give too narrow an interval.
 *
 * It holds only if the machine rested: one row of 80, or more, has at most 5 % of the
 * largest usage. Else no intercept is right, however narrow its interval, as power
 * is not linear down to rest. The interval is then all that the rows support: from 0 to
 * the lowest power.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

struct tw_idle_power {
	double watts;     /* not negative */
	double low, high; /* confidence interval; NaN with fewer than 3 rows */
	bool by_use;      /* estimated at low usage; false: from the lowest watts */
	bool rested;      /* by usage, some rows are idle */
};

/* use and watts are finite and in order of time; rows is at least 1. */
int tw_idle_power_find(const double *use, const double *watts, size_t rows,
		       struct tw_idle_power *out, struct tw_err *err);

#endif /* TW_ISOLATOR_IDLE_POWER_H */
