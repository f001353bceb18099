/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/registry.h"

#include <assert.h>
#include <string.h>

/* Alphabetical: this is the order of lists and of the documentation. */
static const struct tw_trainer *const trainers[] = {
	&tw_trainer_auto,
	&tw_trainer_exponential,
#if TW_XGBOOST
	&tw_trainer_gradient_boosting,
#endif
	&tw_trainer_knn,
	&tw_trainer_linear,
	&tw_trainer_logarithmic,
	&tw_trainer_logistic,
	&tw_trainer_polynomial,
	&tw_trainer_ridge,
#if TW_LIBSVM
	&tw_trainer_svr,
#endif
#if TW_XGBOOST
	&tw_trainer_xgboost,
#endif
};

#define COUNT (sizeof(trainers) / sizeof(trainers[0]))

size_t tw_trainer_count(void)
{
	return COUNT;
}

const struct tw_trainer *tw_trainer_at(size_t i)
{
	assert(i < COUNT);
	return trainers[i];
}

const struct tw_trainer *tw_trainer_find(const char *name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strcmp(trainers[i]->name, name) == 0)
			return trainers[i];
	return NULL;
}
