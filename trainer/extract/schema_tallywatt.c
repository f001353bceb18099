/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ours: what the collector of this project tells. Node energy by zone and mode (dynamic
 * and idle, which add up), workloads at the levels of process, container and VM, and the
 * node's processors by mode.
 */
#include "lib/core/array.h"
#include "trainer/extract/schema.h"

#define USE(level, metric, canonical, times)                                     \
	{                                                                        \
		.name = "tallywatt_" level "_" metric "_total",                  \
		.kind = TW_METRIC_FEATURE, .feature = canonical, .factor = times \
	}
/* Processes first, since all that runs is one: containers leave the host's out. */
#define WORKLOAD(metric, canonical, times)                  \
	USE("process", metric, canonical, times),           \
		USE("container", metric, canonical, times), \
		USE("vm", metric, canonical, times)
#define MODE(text)                                                                     \
	{                                                                              \
		.name = "tallywatt_node_cpu_seconds_total", .kind = TW_METRIC_FEATURE, \
		.feature = "node_cpu_" text "_ms", .factor = 1e3, .label = "mode",     \
		.value = text                                                          \
	}
#define ZONE(text, whose, what)                                                         \
	{                                                                               \
		.name = "tallywatt_node_energy_joules_total", .kind = TW_METRIC_ENERGY, \
		.component = what, .factor = 1.0, .label = "zone", .value = text,       \
		.source = whose                                                         \
	}

static const struct tw_schema_metric metrics[] = {
	WORKLOAD("cpu_seconds", "bpf_cpu_time_ms", 1e3),
	WORKLOAD("cpu_cycles", "cpu_cycles", 1.0),
	WORKLOAD("cpu_instructions", "cpu_instructions", 1.0),
	WORKLOAD("cache_misses", "cache_miss", 1.0),
	WORKLOAD("page_cache_hits", "bpf_page_cache_hit", 1.0),
	WORKLOAD("net_tx_softirqs", "bpf_net_tx_irq", 1.0),
	WORKLOAD("net_rx_softirqs", "bpf_net_rx_irq", 1.0),
	WORKLOAD("block_softirqs", "bpf_block_irq", 1.0),

	/* idle and iowait are not work, steal is not this machine's, guest is in user. */
	MODE("irq"),
	MODE("nice"),
	MODE("softirq"),
	MODE("system"),
	MODE("user"),
	USE("node", "context_switches", "node_context_switches", 1.0),
	USE("node", "interrupts", "node_interrupts", 1.0),
	USE("node", "page_faults", "node_page_faults", 1.0),
	{ .name = "tallywatt_node_cpu_frequency_hertz",
	  .kind = TW_METRIC_LEVEL,
	  .feature = "cpu_scaling_frequency_hertz",
	  .factor = 1.0 },

	ZONE("core", NULL, TW_CORE),
	ZONE("dram", NULL, TW_DRAM),
	ZONE("package", NULL, TW_PACKAGE),
	ZONE("uncore", NULL, TW_UNCORE),
	ZONE("platform", NULL, TW_PLATFORM),
	ZONE("psys", "psys", TW_PLATFORM),
};

/* Counted where it is asked for; else a group that has it goes without. */
static const char *const untold[] = { "bpf_page_cache_hit", NULL };
static const char *const id_labels[] = { "container_id", "container_name",
					 "pod_name",     "namespace",
					 "vm_id",        "pid",
					 "cpu",          NULL };
static const char *const unit_labels[] = { "mode", "path", "package", NULL };
static const char *const machine_labels[] = { "node_name", "exported_instance",
					      "instance", NULL };
/* comm and exe change at exec. */
static const char *const other_labels[] = { "comm", "exe", "job", "pod", "zone", NULL };

const struct tw_schema tw_schema_tallywatt = {
	.name = "tallywatt",
	.summary = "this project's collector: tallywatt_*",
	.metrics = metrics,
	.metric_count = TW_COUNT(metrics),
	.some_components = true,
	.untold = untold,
	.source_label = "source",
	.id_labels = id_labels,
	.unit_labels = unit_labels,
	.machine_labels = machine_labels,
	.other_labels = other_labels,
};
