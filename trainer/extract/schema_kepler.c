/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kepler 0.10 and later: processor time of processes and containers, and node energy by
 * RAPL zone. Zones overlap (core and uncore are within package, all within psys): each
 * is a component of its own and none is added to another.
 */
#include "lib/core/array.h"
#include "trainer/extract/schema.h"

#define ZONE(text, whose, what)                                                   \
	{                                                                         \
		.name = "kepler_node_cpu_joules_total", .kind = TW_METRIC_ENERGY, \
		.component = what, .factor = 1.0, .label = "zone", .value = text, \
		.source = whose                                                   \
	}

static const struct tw_schema_metric metrics[] = {
	/* First, since they are of all processes; containers leave those of the host out.
	 */
	{ .name = "kepler_process_cpu_seconds_total",
	  .kind = TW_METRIC_FEATURE,
	  .feature = "bpf_cpu_time_ms",
	  .factor = 1e3 },
	{ .name = "kepler_container_cpu_seconds_total",
	  .kind = TW_METRIC_FEATURE,
	  .feature = "bpf_cpu_time_ms",
	  .factor = 1e3 },

	ZONE("core", "rapl-sysfs", TW_CORE),
	ZONE("dram", "rapl-sysfs", TW_DRAM),
	ZONE("package", "rapl-sysfs", TW_PACKAGE),
	ZONE("uncore", "rapl-sysfs", TW_UNCORE),
	ZONE("psys", "psys", TW_PLATFORM),
	{ .name = "kepler_platform_watts",
	  .kind = TW_METRIC_POWER,
	  .component = TW_PLATFORM,
	  .factor = 1.0 },
};

/* So that its models are for those who have BPFOnly. */
static const char *const untold[] = { "bpf_page_cache_hit", NULL };
static const char *const id_labels[] = { "container_id", "container_name",
					 "pod_id",       "vm_id",
					 "pid",          NULL };
static const char *const unit_labels[] = { "path", "bmc_id", "chassis_id", "source_id",
					   NULL };
static const char *const machine_labels[] = { "node_name", "exported_instance",
					      "instance", NULL };
/* comm and exe change at exec, state at the end. */
static const char *const other_labels[] = { "comm",  "exe",  "job",  "pod", "runtime",
					    "state", "type", "zone", NULL };

const struct tw_schema tw_schema_kepler = {
	.name = "kepler",
	.summary = "Kepler 0.10 and later: kepler_*_cpu_seconds_total, "
		   "kepler_node_cpu_joules_total",
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
