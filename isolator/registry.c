/* SPDX-License-Identifier: Apache-2.0 */
#include "isolator/isolator.h"
#include "lib/core/array.h"

#include <assert.h>
#include <string.h>

/* Sorted by name. */
static const struct tw_isolator *const isolators[] = {
	&tw_isolator_idle_regression, &tw_isolator_min_idle, &tw_isolator_none,
	&tw_isolator_profile,         &tw_isolator_train,
};

size_t tw_isolator_count(void)
{
	return TW_COUNT(isolators);
}

const struct tw_isolator *tw_isolator_at(size_t i)
{
	assert(i < TW_COUNT(isolators));
	return isolators[i];
}

const struct tw_isolator *tw_isolator_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(isolators); i++)
		if (strcmp(isolators[i]->name, name) == 0)
			return isolators[i];
	return NULL;
}
