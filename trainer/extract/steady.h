/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_STEADY_H
#define TW_TRAINER_STEADY_H

/*
 * Rows whose load is steady. A gauge shows the power of an instant, or that of some time
 * ago, and a row has the work of all its time. Where the load changes, they do not belong
 * together, and a fit is too flat.
 *
 * That shows where the distance of power from the line follows the change of load since
 * the row before, or to the row after. A law that is not a line has no such distances.
 */

#include "trainer/extract/inertia.h"

#include <stdbool.h>
#include <stddef.h>

enum tw_steady {
	TW_STEADY_ALL,  /* rows belong together, or it makes no difference */
	TW_STEADY_MOST, /* the others are marked */
	TW_STEADY_FEW,  /* rows do not belong together, and too few are steady */
};

/*
 * Mark the rows, which are in order of time, in which the load is not steady, if their
 * power moves the line by 1 % at rest or at nine tenths of the largest load, or if the
 * line is more certain without them. As many rows before them count as make the line most
 * certain where the load is least and largest, up to three; with an inertia of the meter,
 * as many rows before and after them as it has.
 */
enum tw_steady tw_steady_find(const double *load, const double *watts, size_t count,
			      struct tw_inertia inertia, bool *unsteady);

#endif /* TW_TRAINER_STEADY_H */
