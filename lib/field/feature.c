/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/field/feature.h"

#include "lib/core/array.h"
#include "lib/core/strs.h"

#include <assert.h>
#include <string.h>

static const struct tw_feature features[] = {
	{ "accelerator_intel_qat", "utilisation" },
	{ "bpf_block_irq", "softirqs/s" },
	{ "bpf_cpu_time_ms", "ms/s" },
	{ "bpf_net_rx_irq", "softirqs/s" },
	{ "bpf_net_tx_irq", "softirqs/s" },
	{ "bpf_page_cache_hit", "hits/s" },
	{ "cache_miss", "events/s" },
	{ "cgroupfs_cpu_usage_us", "us/s" },
	{ "cgroupfs_memory_usage_bytes", "bytes/s" },
	{ "cgroupfs_system_cpu_usage_us", "us/s" },
	{ "cgroupfs_user_cpu_usage_us", "us/s" },
	{ "cpu_cycles", "events/s" },
	{ "cpu_instructions", "events/s" },
	{ "cpu_scaling_frequency_hertz", "Hz" },
	{ "kubelet_cpu_usage", "s/s" },
	{ "kubelet_memory_bytes", "bytes/s" },
	{ "node_context_switches", "switches/s" },
	{ "node_cpu_irq_ms", "ms/s" },
	{ "node_cpu_nice_ms", "ms/s" },
	{ "node_cpu_softirq_ms", "ms/s" },
	{ "node_cpu_system_ms", "ms/s" },
	{ "node_cpu_user_ms", "ms/s" },
	{ "node_info", "" },
	{ "node_interrupts", "interrupts/s" },
	{ "node_page_faults", "faults/s" },
};

/*
 * cpu_instr and irq_* occur in requests of Kepler up to 0.5.3 (pkg/config/types.go). The
 * names without bpf_ occur in its metrics and in old models. bpf_cpu_time_us of Kepler
 * 0.5 to 0.7.2 occurs in all of them. It is in milliseconds, whatever its name: its BPF
 * program divides nanoseconds by 1000000 (bpfassets/libbpf/src/kepler.bpf.c,
 * get_on_cpu_time()).
 */
static const struct tw_feature_old old_names[] = {
	{ "block_irq", "bpf_block_irq" },    { "bpf_cpu_time_us", "bpf_cpu_time_ms" },
	{ "cpu_instr", "cpu_instructions" }, { "irq_block", "bpf_block_irq" },
	{ "irq_net_rx", "bpf_net_rx_irq" },  { "irq_net_tx", "bpf_net_tx_irq" },
	{ "net_rx_irq", "bpf_net_rx_irq" },  { "net_tx_irq", "bpf_net_tx_irq" },
};

_Static_assert(TW_COUNT(old_names) <= 32,
	       "a set of old names is a bit mask in an unsigned");

static const char *const accelerator_only[] = { "accelerator_intel_qat" };
static const char *const basic[] = { "bpf_cpu_time_ms", "bpf_page_cache_hit",
				     "cache_miss", "cpu_cycles", "cpu_instructions" };
static const char *const bpf_irq[] = { "bpf_block_irq", "bpf_cpu_time_ms",
				       "bpf_net_rx_irq", "bpf_net_tx_irq",
				       "bpf_page_cache_hit" };
static const char *const bpf_only[] = { "bpf_cpu_time_ms", "bpf_page_cache_hit" };
static const char *const cgroup_only[] = { "cgroupfs_cpu_usage_us",
					   "cgroupfs_memory_usage_bytes",
					   "cgroupfs_system_cpu_usage_us",
					   "cgroupfs_user_cpu_usage_us" };
static const char *const counter_irq[] = { "bpf_block_irq",  "bpf_net_rx_irq",
					   "bpf_net_tx_irq", "cache_miss",
					   "cpu_cycles",     "cpu_instructions" };
static const char *const counter_only[] = { "cache_miss", "cpu_cycles",
					    "cpu_instructions" };
static const char *const full[] = { "accelerator_intel_qat",
				    "bpf_block_irq",
				    "bpf_cpu_time_ms",
				    "bpf_net_rx_irq",
				    "bpf_net_tx_irq",
				    "bpf_page_cache_hit",
				    "cache_miss",
				    "cpu_cycles",
				    "cpu_instructions",
				    "cpu_scaling_frequency_hertz",
				    "node_info" };
static const char *const kubelet_only[] = { "kubelet_cpu_usage", "kubelet_memory_bytes" };
static const char *const node_cpu_freq[] = { "cpu_scaling_frequency_hertz",
					     "node_context_switches",
					     "node_cpu_irq_ms",
					     "node_cpu_nice_ms",
					     "node_cpu_softirq_ms",
					     "node_cpu_system_ms",
					     "node_cpu_user_ms",
					     "node_interrupts",
					     "node_page_faults" };
/* NodeCPU lacks the first of NodeCPUFreq, WorkloadOnly the last two of Full. */
static const struct tw_feature_group groups[] = {
	{ "AcceleratorOnly", accelerator_only, TW_COUNT(accelerator_only), false, false },
	{ "BPFIRQ", bpf_irq, TW_COUNT(bpf_irq), false, false },
	{ "BPFOnly", bpf_only, TW_COUNT(bpf_only), false, false },
	{ "Basic", basic, TW_COUNT(basic), false, false },
	{ "CgroupOnly", cgroup_only, TW_COUNT(cgroup_only), false, true },
	{ "CounterIRQCombined", counter_irq, TW_COUNT(counter_irq), false, false },
	{ "CounterOnly", counter_only, TW_COUNT(counter_only), false, false },
	{ "Full", full, TW_COUNT(full), false, false },
	{ "KubeletOnly", kubelet_only, TW_COUNT(kubelet_only), false, true },
	{ "NodeCPU", node_cpu_freq + 1, TW_COUNT(node_cpu_freq) - 1, true, false },
	{ "NodeCPUFreq", node_cpu_freq, TW_COUNT(node_cpu_freq), true, false },
	{ "ThirdParty", NULL, 0, false, false },
	{ "WorkloadOnly", full, TW_COUNT(full) - 2, false, false },
};

const char *const tw_output_names[] = {
	[TW_ABS_POWER] = "AbsPower",
	[TW_DYN_POWER] = "DynPower",
	[TW_OUTPUT_COUNT] = NULL,
};

const struct tw_feature *tw_feature_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(features); i++)
		if (strcmp(features[i].name, name) == 0)
			return &features[i];
	return NULL;
}

bool tw_feature_is_work(const char *name)
{
	static const char *const states[] = { "cpu_scaling_frequency_hertz",
					      "node_info" };

	for (size_t i = 0; i < TW_COUNT(states); i++)
		if (strcmp(states[i], name) == 0)
			return false;
	return true;
}

bool tw_feature_is_counter(const char *name)
{
	static const char *const counters[] = { "cache_miss", "cpu_cycles",
						"cpu_instructions" };

	for (size_t i = 0; i < TW_COUNT(counters); i++)
		if (strcmp(counters[i], name) == 0)
			return true;
	return false;
}

bool tw_feature_list_unproven(const struct tw_strs *names)
{
	return tw_strs_has(names, "cpu_ref_cycles");
}

size_t tw_feature_old_count(void)
{
	return TW_COUNT(old_names);
}

const struct tw_feature_old *tw_feature_old_at(size_t i)
{
	assert(i < TW_COUNT(old_names));
	return &old_names[i];
}

const struct tw_feature_old *tw_feature_old_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(old_names); i++)
		if (old_names[i].name[0] == name[0] &&
		    strcmp(old_names[i].name, name) == 0)
			return &old_names[i];
	return NULL;
}

const struct tw_feature_old *tw_feature_old_alias(const struct tw_strs *names, size_t i)
{
	const struct tw_feature_old *old = tw_feature_old_find(names->at[i]);

	if (old == NULL || tw_strs_has(names, old->feature))
		return NULL;
	return old;
}

size_t tw_feature_group_count(void)
{
	return TW_COUNT(groups);
}

const struct tw_feature_group *tw_feature_group_at(size_t i)
{
	assert(i < TW_COUNT(groups));
	return &groups[i];
}

const struct tw_feature_group *tw_feature_group_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(groups); i++)
		if (strcmp(groups[i].name, name) == 0)
			return &groups[i];
	return NULL;
}

bool tw_feature_group_valid(const struct tw_feature_group *g, const struct tw_strs *names)
{
	for (size_t i = 0; i < g->count; i++)
		if (!tw_strs_has(names, g->features[i]))
			return false;
	return true;
}

const char *tw_output_name(enum tw_output o)
{
	assert((unsigned)o < TW_OUTPUT_COUNT);
	return tw_output_names[o];
}

bool tw_output_find(const char *name, enum tw_output *out)
{
	for (size_t i = 0; i < TW_OUTPUT_COUNT; i++) {
		if (strcmp(tw_output_names[i], name) == 0) {
			*out = (enum tw_output)i;
			return true;
		}
	}
	return false;
}

static bool find_name(const char *const *names, size_t cols, const char *name,
		      size_t *out)
{
	for (size_t c = 0; c < cols; c++)
		if (strcmp(names[c], name) == 0) {
			*out = c;
			return true;
		}
	return false;
}

size_t tw_main_feature(const char *const *names, size_t cols, enum tw_component c)
{
	static const char *const compute[] = { "cpu_instructions", "bpf_cpu_time_ms",
					       "node_cpu_user_ms",
					       "cgroupfs_cpu_usage_us",
					       "kubelet_cpu_usage" };
	static const char *const memory[] = { "cache_miss", "bpf_page_cache_hit",
					      "node_page_faults",
					      "cgroupfs_memory_usage_bytes",
					      "kubelet_memory_bytes" };
	const char *const *preferred = c == TW_DRAM ? memory : compute;
	size_t column = 0;

	for (size_t i = 0; i < 5 && !find_name(names, cols, preferred[i], &column); i++)
		continue;
	return column;
}

size_t tw_load_feature(const char *const *names, size_t cols)
{
	static const char *const preferred[] = { "cpu_cycles", "cpu_instructions",
						 "bpf_cpu_time_ms", "node_cpu_user_ms" };
	size_t column = 0;

	for (size_t i = 0; i < TW_COUNT(preferred); i++)
		if (find_name(names, cols, preferred[i], &column))
			return column;
	while (column + 1 < cols && !tw_feature_is_work(names[column]))
		column++;
	return column;
}
