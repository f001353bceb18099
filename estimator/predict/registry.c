/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/registry.h"

#include "lib/core/array.h"

#include <assert.h>
#include <string.h>

/* Alphabetical, as in the documentation. */
static const struct tw_predictor *const predictors[] = {
	&tw_predictor_curvefit, &tw_predictor_ensemble, &tw_predictor_isotonic,
	&tw_predictor_knn,      &tw_predictor_linear,   &tw_predictor_polynomial,
	&tw_predictor_svr,      &tw_predictor_trees,    &tw_predictor_xgboost,
};

size_t tw_predictor_count(void)
{
	return TW_COUNT(predictors);
}

const struct tw_predictor *tw_predictor_at(size_t i)
{
	assert(i < TW_COUNT(predictors));
	return predictors[i];
}

const struct tw_predictor *tw_predictor_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(predictors); i++)
		if (strcmp(predictors[i]->name, name) == 0)
			return predictors[i];
	return NULL;
}
