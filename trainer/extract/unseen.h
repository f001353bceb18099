/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_UNSEEN_H
#define TW_TRAINER_UNSEEN_H

/*
 * Rows that lack work. A workload that ran before appears within the recording, with a
 * large total: the exporter did not show it before. Its work is missing from the rows
 * before it, and a fit to them is too steep. A workload that is idle makes no difference.
 *
 * That shows where the line of power over load of the rows before is not that of the rows
 * after.
 */

#include <stddef.h>

enum tw_unseen_work {
	TW_UNSEEN_NONE, /* the rows before and after it have one line, or too few rows to
			   tell */
	TW_UNSEEN_WORK, /* the rows before it lack work */
	TW_UNSEEN_FEW,  /* so they do, and the rows after it are too few to fit */
};

/* A workload appears at row `first` of `count` rows, which are in order of time. */
enum tw_unseen_work tw_unseen_find(const double *load, const double *watts, size_t count,
				   size_t first);

#endif /* TW_TRAINER_UNSEEN_H */
