/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kepler 0.5 to 0.9: counters of containers, and node energy split by mode (dynamic
 * and idle, which add up) and package.
 */
#include "lib/core/array.h"
#include "trainer/extract/schema.h"

#define FEATURE(metric, canonical, times)                                               \
	{                                                                               \
		.name = "kepler_container_" metric "_total", .kind = TW_METRIC_FEATURE, \
		.feature = canonical, .factor = times                                   \
	}
#define ENERGY(text, what)                                                             \
	{                                                                              \
		.name = "kepler_node_" text "_joules_total", .kind = TW_METRIC_ENERGY, \
		.component = what, .factor = 1.0                                       \
	}

static const struct tw_schema_metric metrics[] = {
	FEATURE("bpf_block_irq", "bpf_block_irq", 1.0),
	FEATURE("bpf_cpu_time_ms", "bpf_cpu_time_ms", 1.0),
	FEATURE("bpf_net_rx_irq", "bpf_net_rx_irq", 1.0),
	FEATURE("bpf_net_tx_irq", "bpf_net_tx_irq", 1.0),
	FEATURE("bpf_page_cache_hit", "bpf_page_cache_hit", 1.0),
	FEATURE("cache_miss", "cache_miss", 1.0),
	FEATURE("cpu_cycles", "cpu_cycles", 1.0),
	FEATURE("cpu_instructions", "cpu_instructions", 1.0),
	/* 0.5 to 0.7.2 */
	FEATURE("bpf_cpu_time_us", "bpf_cpu_time_ms", 1e-3),
	/* before */
	FEATURE("block_irq", "bpf_block_irq", 1.0),
	FEATURE("cpu_instr", "cpu_instructions", 1.0),
	FEATURE("net_rx_irq", "bpf_net_rx_irq", 1.0),
	FEATURE("net_tx_irq", "bpf_net_tx_irq", 1.0),

	ENERGY("core", TW_CORE),
	ENERGY("dram", TW_DRAM),
	ENERGY("package", TW_PACKAGE),
	ENERGY("platform", TW_PLATFORM),
	ENERGY("uncore", TW_UNCORE),

	{ .name = "kepler_container_cpu_usage_per_package_ratio",
	  .kind = TW_METRIC_PACKAGE_USE,
	  .factor = 1.0 },
};

static const struct tw_schema_source sources[] = {
	{ "intel_rapl", "rapl-sysfs" }, /* 0.7.3 to 0.7.7 */
	{ "rapl", "rapl-sysfs" },       /* before */
};

static const char *const id_labels[] = { "container_id", "pod_name", "container_name",
					 "container_namespace", NULL };
static const char *const unit_labels[] = { "mode", "package", NULL };
static const char *const machine_labels[] = { "node_name", "exported_instance",
					      "instance", NULL };
/* command changes at exec, pod when the exporter is started again. */
static const char *const other_labels[] = { "command", "job", "pkg_id", "pod", NULL };

const struct tw_schema tw_schema_kepler_legacy = {
	.name = "kepler-legacy",
	.summary =
		"Kepler 0.5 to 0.9: kepler_container_*_total, kepler_node_*_joules_total",
	.metrics = metrics,
	.metric_count = TW_COUNT(metrics),
	.source_label = "source",
	.package_label = "package",
	.package_use_label = "pkg_id",
	.sources = sources,
	.source_count = TW_COUNT(sources),
	.id_labels = id_labels,
	.unit_labels = unit_labels,
	.machine_labels = machine_labels,
	.other_labels = other_labels,
};
