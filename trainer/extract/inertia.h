/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_INERTIA_H
#define TW_TRAINER_INERTIA_H

/*
 * The inertia of a power meter: its readings are those of some rows ago or ahead, the
 * mean of the rows before, or an exponential mean of them. A fit to the load of each row
 * alone is too flat.
 *
 * Inertia is seen where such a mean of the load leaves half as much of the variance of
 * power as the load of the row itself does, and moves the line by 2 %.
 */

#include <stddef.h>

/*
 * Power depends on the load of this many rows before and after its own. 0: on its own
 * only.
 */
struct tw_inertia {
	size_t before, after;
};

/* Find the inertia of rows in order of time. memory: room for 2 * count + 1 numbers. */
struct tw_inertia tw_inertia_find(const double *load, const double *watts, size_t count,
				  double *memory);

#endif /* TW_TRAINER_INERTIA_H */
