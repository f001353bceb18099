/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/registry.h"

#include "lib/core/array.h"

#include <assert.h>
#include <string.h>

/* In alphabetical order, which is that of lists and of the documentation. */
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

size_t tw_trainer_count(void)
{
	return TW_COUNT(trainers);
}

const struct tw_trainer *tw_trainer_at(size_t i)
{
	assert(i < TW_COUNT(trainers));
	return trainers[i];
}

const struct tw_trainer *tw_trainer_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(trainers); i++)
		if (strcmp(trainers[i]->name, name) == 0)
			return trainers[i];
	return NULL;
}
