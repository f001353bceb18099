/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_SCORES_H
#define TW_TRAINER_TRAIN_SCORES_H

/*
 * Predictions of held-out rows by the models of one trainer on one tw_train_data, their
 * scores, and the model's metadata (docs/model-format.md).
 */

#include "trainer/fit/calibrate.h"
#include "trainer/fit/drift.h"
#include "trainer/fit/score.h"
#include "trainer/train_data.h"

#include <jansson.h>

/* Key of a model's metadata: the drift of a component in W an hour. */
#define TW_DRIFT_KEY "%s_drift"

struct tw_model_part;

struct tw_train_scores {
	const struct tw_train_data *data;
	/*
	 * Held-out predictions of each component: d.rows numbers each, of own rows. Those
	 * of the blocks of time come first, then those of each alternative folds.
	 */
	double *predicted;
	/* The same of rows as a series; NULL if the predictor ignores earlier rows. */
	double *predicted_series;
	/* Scores of the blocks of time, then of each alternative division into folds. */
	struct tw_score score[1 + TW_TRAIN_ALT_FOLDS_MAX][TW_COMPONENT_COUNT];
	struct tw_drift drift[TW_COMPONENT_COUNT];
	struct tw_err alt_err[TW_TRAIN_ALT_FOLDS_MAX]; /* why scores are missing */
	struct tw_score score_series[TW_COMPONENT_COUNT];
	/* Intervals and expected errors; a series without rows has no keys. */
	struct tw_calibrated alone[TW_COMPONENT_COUNT], series[TW_COMPONENT_COUNT];
	double step_ms[TW_COMPONENT_COUNT];
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
			    struct tw_err *err);

/* Set the part's file of expected errors, if there is one. */
int tw_train_scores_set_errors(const struct tw_train_scores *s, size_t c,
			       struct tw_model_part *part, struct tw_err *err);

/*
 * The model's metadata. It has no nested objects but in lists: the estimator of
 * kepler-model-server treats each object in metadata.json as a model. NULL without
 * memory.
 */
json_t *tw_train_metadata(const struct tw_train_scores *s);

/* Free the predictions. */
void tw_train_scores_drop(struct tw_train_scores *s);

void tw_train_scores_release(struct tw_train_scores *s);

#endif /* TW_TRAINER_TRAIN_SCORES_H */
