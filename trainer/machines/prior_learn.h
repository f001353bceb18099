/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PRIOR_LEARN_H
#define TW_TRAINER_PRIOR_LEARN_H

/* Learns all of a prior, with its errors for machines that its table lacks. */

#include "model-db/prior/prior.h"

#include <stdbool.h>

struct tw_err;
struct tw_machine_table;

/*
 * Learn everything from the machines i with use[i]: what tw_prior_learn_known()
 * learns, nearest_error and the misses of later generations. threads 0: one for each CPU.
 *
 * Intervals of held-out processors are too narrow for later generations, because the
 * other processors are of the same years. For every other year with at least 100 earlier
 * machines, everything is learned up to that year, and judged by machines of the next
 * five years whose generation is new then. A processor has the same weight in each year.
 * Misses are no smaller than those of known generations; without such machines they
 * equal them.
 */
int tw_prior_learn(struct tw_prior *p, const struct tw_machine_table *t, const bool *use,
		   unsigned threads, struct tw_err *err);

#endif /* TW_TRAINER_PRIOR_LEARN_H */
