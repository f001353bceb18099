/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_NEAREST_ERROR_H
#define TW_TRAINER_NEAREST_ERROR_H

/*
 * The error of the nearest measured machine, which the prior has to beat (model-db/index/
 * choose_prior.h).
 */

#include <stdbool.h>

struct tw_machine_table;
struct tw_prior;

/*
 * Set the prior's nearest_error: for each machine i with use[i], the power of the most
 * alike other one (profiler/likeness.h) whose processor differs, times the ratio of their
 * logical CPUs, against its own, by likeness. A processor has the same weight however
 * many machines have it. The error does not rise with likeness: neighbours are pooled.
 */
void tw_nearest_error(const struct tw_machine_table *t, const bool *use,
		      struct tw_prior *p);

#endif /* TW_TRAINER_NEAREST_ERROR_H */
