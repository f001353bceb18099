/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_MODEL_SCORE_H
#define TW_TRAINER_MODEL_SCORE_H

/*
 * Errors of a served model on a dataset (docs/accuracy.md). The predictions are those of
 * the estimator.
 */

#include "lib/field/energy.h"
#include "trainer/fit/interval_score.h"
#include "trainer/fit/score.h"

struct tw_dataset;
struct tw_err;
struct tw_power_model;

struct tw_model_score {
	size_t rows;
	size_t outside; /* rows with a feature outside the range of the training data */
	size_t seen;    /* rows within the time of the training data; their errors are too
			   low */
	/* The components that both the model and the data have, and the score of each. */
	enum tw_component component[TW_COMPONENT_COUNT];
	struct tw_score score[TW_COMPONENT_COUNT];
	struct tw_interval_score interval[TW_COMPONENT_COUNT];
	size_t components;
};

/*
 * d has the features of the model, and isolated power if the model is a DynPower one.
 * TW_NOTFOUND if a feature is missing (the error names it), or if model and data have no
 * component in common.
 */
int tw_model_score(const struct tw_power_model *p, const struct tw_dataset *d,
		   struct tw_model_score *out, struct tw_err *err);

#endif /* TW_TRAINER_MODEL_SCORE_H */
