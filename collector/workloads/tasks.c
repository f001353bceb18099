/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/tasks.h"

#include "lib/core/array.h"

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
	return TW_COUNT(sources);
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

static const char *const counter_names[TW_COUNTER_COUNT] = {
	[TW_COUNTER_CYCLES] = "cycles",
	[TW_COUNTER_REF_CYCLES] = "ref-cycles",
	[TW_COUNTER_INSTRUCTIONS] = "instructions",
	[TW_COUNTER_CACHE_MISSES] = "cache-misses",
	[TW_COUNTER_PAGE_CACHE_HITS] = "page-cache-hits",
	[TW_COUNTER_NET_TX_SOFTIRQS] = "net-tx-softirqs",
	[TW_COUNTER_NET_RX_SOFTIRQS] = "net-rx-softirqs",
	[TW_COUNTER_BLOCK_SOFTIRQS] = "block-softirqs",
};

void tw_usage_add(struct tw_usage *to, const struct tw_usage *more)
{
	to->cpu_ns += more->cpu_ns;
	for (int i = 0; i < TW_COUNTER_COUNT; i++)
		to->counter[i] += more->counter[i];
}

const char *tw_counter_name(enum tw_counter c)
{
	return counter_names[c];
}
