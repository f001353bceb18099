/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/registry.h"

#include <assert.h>
#include <string.h>

/* Alphabetical: this is the order of the documentation. */
static const struct tw_predictor *const predictors[] = {
	&tw_predictor_curvefit, &tw_predictor_ensemble,   &tw_predictor_knn,
	&tw_predictor_linear,   &tw_predictor_polynomial, &tw_predictor_svr,
	&tw_predictor_trees,    &tw_predictor_xgboost,
};

#define COUNT (sizeof(predictors) / sizeof(predictors[0]))

size_t tw_predictor_count(void)
{
	return COUNT;
}

const struct tw_predictor *tw_predictor_at(size_t i)
{
	assert(i < COUNT);
	return predictors[i];
}

const struct tw_predictor *tw_predictor_find(const char *name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strcmp(predictors[i]->name, name) == 0)
			return predictors[i];
	return NULL;
}
