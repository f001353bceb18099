/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_AUTO_SEARCH_H
#define TW_TRAINER_AUTO_SEARCH_H

/*
 * The search of AutoTrainer: which trials it makes, and in which order.
 */

#include "trainer/fit/auto_trials.h"

/*
 * Search over independent rows: choose the features to keep, then try every learner on
 * them. *chosen has the features that are kept.
 */
int tw_auto_search_alone(struct tw_auto_trials *t, struct tw_auto_columns *chosen,
			 struct tw_err *err);

/* Search over a series: add columns of earlier rows to the chosen ones. */
int tw_auto_search_series(struct tw_auto_trials *t, const struct tw_auto_columns *chosen,
			  struct tw_err *err);

#endif /* TW_TRAINER_AUTO_SEARCH_H */
