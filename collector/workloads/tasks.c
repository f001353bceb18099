/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/tasks.h"

#include <string.h>

static const struct tw_task_source *const sources[] = {
#if TW_BPF
	&tw_task_source_walk,
	&tw_task_source_iter,
#endif
	&tw_task_source_proc,
};

size_t tw_task_source_count(void)
{
	return sizeof(sources) / sizeof(sources[0]);
}

const struct tw_task_source *tw_task_source_at(size_t i)
{
	return sources[i];
}

const struct tw_task_source *tw_task_source_find(const char *name)
{
	for (size_t i = 0; i < tw_task_source_count(); i++)
		if (strcmp(sources[i]->name, name) == 0)
			return sources[i];
	return NULL;
}
