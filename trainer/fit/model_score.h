/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_MODEL_SCORE_H
#define TW_TRAINER_MODEL_SCORE_H

/*
 * How far any model is from any measurements: it predicts as it would be served, and is
 * judged as in docs/accuracy.md.
 */

#include "lib/field/energy.h"
#include "trainer/fit/score.h"

struct tw_dataset;
struct tw_err;
struct tw_power_model;

struct tw_model_score {
	size_t rows;
	size_t outside; /* with a feature beyond all that the model was trained on */
	size_t seen;    /* of the time of its training data: errors on them flatter */
	enum tw_component component[TW_COMPONENT_COUNT];
	struct tw_score score[TW_COMPONENT_COUNT]; /* of each of these */
	size_t components;                         /* that both model and data have */
};

/*
 * d has the model's features, and power above idle where the model is of DynPower.
 * TW_NOTFOUND, with its name, where a feature is missing, or where there is no component
 * that both have.
 */
int tw_model_score(const struct tw_power_model *p, const struct tw_dataset *d,
		   struct tw_model_score *out, struct tw_err *err);

#endif /* TW_TRAINER_MODEL_SCORE_H */
