/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/usage.h"

static const char *const names[TW_COUNTER_COUNT] = {
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
	return names[c];
}
