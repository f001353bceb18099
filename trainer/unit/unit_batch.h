/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_UNIT_BATCH_H
#define TW_TRAINER_UNIT_BATCH_H

/*
 * Joules of a unit by the size of batches: a server that works on many requests at once
 * takes less energy for each.
 *
 * Blocks are sorted by their mean batch size into parts of equal number. In each, the
 * joules of counter k are the energy without standing power and without that of the other
 * counters, by the fit of all blocks, divided by the units:
 *
 *	(sum E - P sum T - sum over j other than k of c[j] sum W[j]) / sum W[k]
 */

#include "trainer/unit/unit_blocks.h"

#include <stddef.h>

struct tw_err;
struct tw_unit_fit;

#define TW_UNIT_BATCH_PARTS 4

struct tw_unit_batch {
	size_t blocks;
	double size;                      /* mean of the gauge */
	double joules[TW_UNIT_WORKS_MAX]; /* NaN: no units */
};

/* Blocks without a sample of the gauge are left out. TW_NOTFOUND: they are too many. */
int tw_unit_batches(const struct tw_unit_blocks *b, const struct tw_unit_fit *f,
		    struct tw_unit_batch out[TW_UNIT_BATCH_PARTS], struct tw_err *err);

#endif /* TW_TRAINER_UNIT_BATCH_H */
