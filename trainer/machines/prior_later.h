/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PRIOR_LATER_H
#define TW_TRAINER_PRIOR_LATER_H

/*
 * How far the prior is from machines of generations that its table lacks: intervals of
 * held-out processors are too narrow for them, because the others are of the same years.
 */

#include "model-db/prior/prior.h"

#include <stdbool.h>

struct tw_err;
struct tw_machine_table;

/*
 * Set the misses of later generations of all views. For every other year with at least
 * 100 earlier machines, everything is learned from the machines i with use[i] up to that
 * year, and judged by machines of the next five years whose generation is new then. A
 * processor has the same weight in each year. Misses are no smaller than those of known
 * generations; without such machines they equal them.
 */
int tw_prior_later(struct tw_prior *p, const struct tw_machine_table *t, const bool *use,
		   unsigned threads, struct tw_err *err);

#endif /* TW_TRAINER_PRIOR_LATER_H */
