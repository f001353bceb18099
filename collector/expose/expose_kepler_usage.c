/* SPDX-License-Identifier: Apache-2.0 */
/* What workloads used, under the names of Kepler 0.5 to 0.9. */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/workloads/cgroup.h"
#include "lib/core/array.h"

#include <stdlib.h>

/* In the order of COUNTERS(). */
static const enum tw_counter counters[] = {
	TW_COUNTER_CYCLES,          TW_COUNTER_INSTRUCTIONS,
	TW_COUNTER_CACHE_MISSES,    TW_COUNTER_PAGE_CACHE_HITS,
	TW_COUNTER_NET_TX_SOFTIRQS, TW_COUNTER_NET_RX_SOFTIRQS,
	TW_COUNTER_BLOCK_SOFTIRQS,
};

#define USAGE(level, name, text)                                               \
	{                                                                      \
		"kepler_" level "_" name "_total", TW_EXPO_COUNTER, NULL, text \
	}
#define COUNTERS(level)                                                             \
	{                                                                           \
		USAGE(level, "cpu_cycles", "CPU cycles."),                          \
			USAGE(level, "cpu_instructions", "Instructions."),          \
			USAGE(level, "cache_miss", "Misses of the last cache."),    \
			USAGE(level, "bpf_page_cache_hit",                          \
			      "Pages read where they were cached, or written."),    \
			USAGE(level, "bpf_net_tx_irq", "Softirqs of sending."),     \
			USAGE(level, "bpf_net_rx_irq", "Softirqs of receiving."),   \
			USAGE(level, "bpf_block_irq", "Softirqs of block devices.") \
	}

static const struct {
	struct tw_expo_family counter[TW_COUNT(counters)], ms, us;
} families[TW_LEVEL_COUNT] = {
#define LEVEL(name)                                                                  \
	{                                                                            \
		COUNTERS(name),                                                      \
			USAGE(name, "bpf_cpu_time_ms", "CPU time in milliseconds."), \
			USAGE(name, "bpf_cpu_time_us", "CPU time in microseconds.")  \
	}
	[TW_LEVEL_PROCESS] = LEVEL("process"),
	[TW_LEVEL_CONTAINER] = LEVEL("container"),
	[TW_LEVEL_VM] = LEVEL("vm"),
};

/* Of containers; what is said to grow is memory that is used now, as it was there. */
static const struct old {
	struct tw_expo_family family;
	enum tw_cgroup_figure figure;
	unsigned decimals;
	bool of_pods;
} old[] = {
	{ USAGE("container", "cgroupfs_cpu_usage_us", "CPU time of the cgroup."),
	  TW_CGROUP_CPU_US, 0, false },
	{ USAGE("container", "cgroupfs_user_cpu_usage_us", "Its part in programs."),
	  TW_CGROUP_USER_US, 0, false },
	{ USAGE("container", "cgroupfs_system_cpu_usage_us", "Its part in the kernel."),
	  TW_CGROUP_SYSTEM_US, 0, false },
	{ USAGE("container", "cgroupfs_memory_usage_bytes", "Memory that it uses."),
	  TW_CGROUP_MEMORY_BYTES, 0, false },
	{ USAGE("container", "kubelet_cpu_usage",
		"CPU time in seconds, which the kubelet tells, too."),
	  TW_CGROUP_CPU_US, 6, true },
	{ USAGE("container", "kubelet_memory_bytes",
		"Working set, which the kubelet tells, too."),
	  TW_CGROUP_WORKING_SET_BYTES, 0, true },
};

static bool is_of_pod(const struct tw_workload *w)
{
	return w->who != NULL && w->who->pod_uid[0] != '\0';
}

static void expose_old(const struct tw_exposure *x, const struct tw_shown *s,
		       const struct tw_cgroup_use *use)
{
	static const struct tw_expo_label source = { "source", "cgroup" };
	struct tw_buf b = { 0 };
	const struct tw_expo_text more = tw_shown_text(x, &b, &source, 1);

	for (size_t k = 0; k < TW_COUNT(old); k++) {
		const struct old *o = &old[k];

		tw_expo_family(x->e, &o->family);
		for (size_t i = 0; i < s->count; i++)
			if (use[i].known[o->figure] &&
			    (!o->of_pods || is_of_pod(s->of[i].w)))
				tw_shown_say(x, s, i, &more, use[i].of[o->figure],
					     o->decimals);
	}
	tw_buf_clear(&b);
}

/* Read when they are asked for: no tick needs them. */
static void expose_cgroups(const struct tw_exposure *x, const struct tw_shown *s)
{
	const struct tw_cgroup_tree *tree = tw_workloads_tree(x->c->workloads);
	struct tw_cgroup_use *use = calloc(s->count + 1, sizeof(*use));

	if (use == NULL) {
		x->e->out->failed = true;
		return;
	}
	for (size_t i = 0; i < s->count; i++)
		if (s->of[i].w->path != NULL)
			tw_cgroup_use_read(tree, s->of[i].w->path, &use[i]);
	expose_old(x, s, use);
	free(use);
}

static void expose_cpu_time(const struct tw_exposure *x, const struct tw_shown *s,
			    const struct tw_expo_family *family, unsigned decimals,
			    const struct tw_expo_text *bpf)
{
	tw_expo_family(x->e, family);
	for (size_t i = 0; i < s->count; i++)
		tw_shown_say(x, s, i, bpf, s->of[i].w->used.cpu_ns, decimals);
}

void tw_expose_kepler_usage(const struct tw_exposure *x, const struct tw_shown *s,
			    enum tw_level level)
{
	static const struct tw_expo_label source = { "source", "bpf" };
	struct tw_buf b = { 0 };
	const struct tw_expo_text bpf = tw_shown_text(x, &b, &source, 1);

	for (size_t k = 0; k < TW_COUNT(counters); k++) {
		if (!tw_workloads_counts(x->c->workloads, counters[k]))
			continue;
		tw_expo_family(x->e, &families[level].counter[k]);
		for (size_t i = 0; i < s->count; i++)
			tw_shown_say(x, s, i, &bpf, s->of[i].w->used.counter[counters[k]],
				     0);
	}
	expose_cpu_time(x, s, &families[level].ms, 6, &bpf);
	if (x->c->show.kepler_05)
		expose_cpu_time(x, s, &families[level].us, 3, &bpf);
	if (x->c->show.kepler_05 && level == TW_LEVEL_CONTAINER)
		expose_cgroups(x, s);
	tw_buf_clear(&b);
}
