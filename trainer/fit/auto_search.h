/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_AUTO_SEARCH_H
#define TW_TRAINER_AUTO_SEARCH_H

/*
 * Which trials AutoTrainer makes, in which order.
 */

#include "trainer/fit/auto_trials.h"

/*
 * Of rows that stand alone: which features to keep, then every learner on those.
 * *chosen is what was kept.
 */
int tw_auto_search_alone(struct tw_auto_trials *t, struct tw_auto_columns *chosen,
			 struct tw_err *err);

/* Of a series: which earlier rows to look at, then learners on those. */
int tw_auto_search_series(struct tw_auto_trials *t, const struct tw_auto_columns *chosen,
			  struct tw_err *err);

#endif /* TW_TRAINER_AUTO_SEARCH_H */
