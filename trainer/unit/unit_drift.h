/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_UNIT_DRIFT_H
#define TW_TRAINER_UNIT_DRIFT_H

/*
 * Drift of a unit of work: whether the newest blocks have other joules or another
 * standing power than the blocks before them.
 *
 * Both parts are fitted apart, so their errors are independent. A value drifts if its
 * difference is more than the intervals of both explain,
 *
 *	|now - before| > 2 sqrt(h1^2 + h2^2),	h: half of an interval of 90 %
 *
 * (twice 90 % is about 99 % with the few degrees of freedom of an interval), and more
 * than a twentieth of the value before.
 */

#include "trainer/unit/unit_fit.h"

#include <stddef.h>

struct tw_err;

/* Least number of blocks of each part. */
#define TW_UNIT_DRIFT_BLOCKS 48

enum tw_unit_drift_state {
	TW_UNIT_DRIFT_UNKNOWN, /* too few blocks, or a part is refused by tw_unit_fit() */
	TW_UNIT_DRIFT_NONE,
	TW_UNIT_DRIFT_SEEN,
};

struct tw_unit_drift {
	enum tw_unit_drift_state state;
	/* Of TW_UNIT_DRIFT_SEEN: what drifts most. */
	size_t work; /* index of the counter; SIZE_MAX: standing power */
	double before, now;
	double seconds; /* length of the newest part */
};

/* Fails without memory only. */
int tw_unit_drift_find(const struct tw_unit_blocks *b, struct tw_unit_drift *out,
		       struct tw_err *err);

#endif /* TW_TRAINER_UNIT_DRIFT_H */
