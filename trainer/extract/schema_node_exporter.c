/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_exporter: what a node's processors do, by mode, and its energy. There are no
 * workloads; a "workload" of the extraction is a CPU, and only their sum means something.
 */
#include "lib/core/array.h"
#include "trainer/extract/schema.h"

#define MODE(text)                                                                 \
	{                                                                          \
		.name = "node_cpu_seconds_total", .kind = TW_METRIC_FEATURE,       \
		.feature = "node_cpu_" text "_ms", .factor = 1e3, .label = "mode", \
		.value = text                                                      \
	}
#define FEATURE(metric, canonical)                                               \
	{                                                                        \
		.name = metric, .kind = TW_METRIC_FEATURE, .feature = canonical, \
		.factor = 1.0                                                    \
	}
#define ENERGY(text, whose, what)                                                    \
	{                                                                            \
		.name = "node_rapl_" text "_joules_total", .kind = TW_METRIC_ENERGY, \
		.component = what, .factor = 1.0, .source = whose                    \
	}

static const struct tw_schema_metric metrics[] = {
	/* idle and iowait are not work, steal is not this machine's, guest is in user. */
	MODE("irq"),
	MODE("nice"),
	MODE("softirq"),
	MODE("system"),
	MODE("user"),
	FEATURE("node_context_switches_total", "node_context_switches"),
	FEATURE("node_intr_total", "node_interrupts"),
	FEATURE("node_vmstat_pgfault", "node_page_faults"),
	{ .name = "node_cpu_scaling_frequency_hertz",
	  .kind = TW_METRIC_LEVEL,
	  .feature = "cpu_scaling_frequency_hertz",
	  .factor = 1.0 },

	ENERGY("core", "rapl-sysfs", TW_CORE),
	ENERGY("dram", "rapl-sysfs", TW_DRAM),
	ENERGY("package", "rapl-sysfs", TW_PACKAGE),
	ENERGY("uncore", "rapl-sysfs", TW_UNCORE),
	ENERGY("psys", "psys", TW_PLATFORM),
	/* Other chips have power, too: ACPI000D is the identity of ACPI's power meter. */
	{ .name = "node_hwmon_power_average_watt",
	  .kind = TW_METRIC_POWER,
	  .component = TW_PLATFORM,
	  .factor = 1.0,
	  .label = "chip",
	  .value = "acpi000d",
	  .within = true,
	  .source = "acpi" },
};

static const char *const id_labels[] = { "cpu", NULL };
static const char *const unit_labels[] = { "index", "path", "chip", "sensor", NULL };
static const char *const machine_labels[] = { "node_name", "exported_instance",
					      "instance", NULL };
static const char *const other_labels[] = { "job", "mode", "pod", NULL };

const struct tw_schema tw_schema_node_exporter = {
	.name = "node-exporter",
	.summary = "node_exporter: node_cpu_seconds_total, node_rapl_*_joules_total",
	.metrics = metrics,
	.metric_count = TW_COUNT(metrics),
	.some_components = true,
	.id_labels = id_labels,
	.unit_labels = unit_labels,
	.machine_labels = machine_labels,
	.other_labels = other_labels,
};
