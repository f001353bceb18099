/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_SCORES_H
#define TW_TRAINER_TRAIN_SCORES_H

/*
 * Predictions of held-out rows by the models of one trainer on one tw_train_data, and
 * their scores.
 */

#include "trainer/fit/score.h"
#include "trainer/train_data.h"
#include "trainer/train_errors.h"

struct tw_train_scores {
	const struct tw_train_data *data;
	/*
	 * Held-out predictions of each component: d.rows numbers each, of own rows. Those
	 * of the blocks of time come first, then those of each alternative folds.
	 */
	double *predicted;
	/* The same of rows as a series; NULL if the predictor ignores earlier rows. */
	double *predicted_series;
	struct tw_score score[TW_COMPONENT_COUNT], score_series[TW_COMPONENT_COUNT];
	struct tw_train_errors errors[TW_COMPONENT_COUNT];
	struct tw_score alt[TW_TRAIN_ALT_FOLDS_MAX][TW_COMPONENT_COUNT];
	struct tw_err alt_err[TW_TRAIN_ALT_FOLDS_MAX]; /* why scores are missing */
};

/* *s must be all zero. series: the predictor uses earlier rows. data is borrowed. */
int tw_train_scores_init(struct tw_train_scores *s, const struct tw_train_data *data,
			 bool series, struct tw_err *err);

/* Predictions of a component: of the blocks of time (alt 0), or of the folds alt - 1. */
double *tw_train_scores_held_out(const struct tw_train_scores *s, size_t alt, size_t c);

/* Predictions of a component in the blocks of time, as a series; or NULL. */
double *tw_train_scores_series(const struct tw_train_scores *s, size_t c);

/*
 * Compute the scores. step_err: failures of each component's splits; one in alternative
 * folds leaves their scores out (alt_err).
 */
int tw_train_scores_compute(struct tw_train_scores *s, const struct tw_err *step_err,
			    uint64_t seed, struct tw_err *err);

/* Free the predictions. */
void tw_train_scores_drop(struct tw_train_scores *s);

void tw_train_scores_release(struct tw_train_scores *s);

#endif /* TW_TRAINER_TRAIN_SCORES_H */
