/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/response/schema.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <assert.h>
#include <string.h>

/* ---- rows of the tables ---- */

/* A workload's or a node's counter. */
#define COUNTER(metric, canonical, times)                                        \
	{                                                                        \
		.name = metric, .kind = TW_METRIC_FEATURE, .feature = canonical, \
		.factor = times                                                  \
	}
/* A container's memory, as Kepler exports it: a counter that falls when memory is freed.
 */
#define MEMORY(canonical)                                                       \
	{                                                                       \
		.name = "kepler_container_" canonical "_total",                 \
		.kind = TW_METRIC_FEATURE, .feature = canonical, .factor = 1.0, \
		.falls = true                                                   \
	}
/* The node's processor time in one mode. */
#define MODE(metric, mode)                                                         \
	{                                                                          \
		.name = metric, .kind = TW_METRIC_FEATURE,                         \
		.feature = "node_cpu_" mode "_ms", .factor = 1e3, .label = "mode", \
		.value = mode                                                      \
	}
/* Modes that are work: idle and iowait are not, steal is not this machine's, and guest is
 * part of user. */
#define MODES(metric)                                                       \
	MODE(metric, "irq"), MODE(metric, "nice"), MODE(metric, "softirq"), \
		MODE(metric, "system"), MODE(metric, "user")
/* The node's energy, by a metric for each component. origin: the energy source, or NULL.
 */
#define ENERGY(metric, origin, part)                                         \
	{                                                                    \
		.name = metric, .kind = TW_METRIC_ENERGY, .component = part, \
		.factor = 1.0, .source = origin                              \
	}
/* The node's energy, by a metric with a label `zone`. */
#define ZONE(metric, zone, origin, part)                                        \
	{                                                                       \
		.name = metric, .kind = TW_METRIC_ENERGY, .component = part,    \
		.factor = 1.0, .label = "zone", .value = zone, .source = origin \
	}
#define GAUGE(metric, what, ...)                                         \
	{                                                                \
		.name = metric, .kind = what, .factor = 1.0, __VA_ARGS__ \
	}

static const char *const machine_labels[] = { "node_name", "exported_instance",
					      "instance", NULL };

/* Labels that Prometheus adds by its scrape job and target, or Thanos and Mimir by the
 * server; stored, too. */
static const char *const scrape_labels[] = {
	"cluster",    "container",          "endpoint", "job",     "namespace", "pod",
	"prometheus", "prometheus_replica", "replica",  "service", NULL
};

/*
 * ---- Kepler 0.10 and later ----
 *
 * Processor time of processes and containers, and node energy by RAPL zone. Zones overlap
 * (core and uncore are within package, all are within psys): each is a component of its
 * own, and zones are never added up.
 */

static const struct tw_schema_metric kepler_metrics[] = {
	/* Processes first, because containers leave out the processes of the host. */
	COUNTER("kepler_process_cpu_seconds_total", "bpf_cpu_time_ms", 1e3),
	COUNTER("kepler_container_cpu_seconds_total", "bpf_cpu_time_ms", 1e3),

#define KEPLER_ZONE(zone, origin, part) \
	ZONE("kepler_node_cpu_joules_total", zone, origin, part)
	KEPLER_ZONE("core", "rapl-sysfs", TW_CORE),
	KEPLER_ZONE("dram", "rapl-sysfs", TW_DRAM),
	KEPLER_ZONE("package", "rapl-sysfs", TW_PACKAGE),
	KEPLER_ZONE("uncore", "rapl-sysfs", TW_UNCORE),
	KEPLER_ZONE("psys", "psys", TW_PLATFORM),
	GAUGE("kepler_platform_watts", TW_METRIC_POWER, .component = TW_PLATFORM,
	      .entries = true),
	GAUGE("kepler_node_cpu_info", TW_METRIC_SPEC, ),
	GAUGE(TW_SCHEMA_STARTS, TW_METRIC_START, ),
};

/* Kepler 0.10 does not export it. BPFOnly is extracted without it, so that models exist
 * for clients of that group. */
static const char *const kepler_optional[] = { "bpf_page_cache_hit", NULL };
static const char *const kepler_id_labels[] = { "container_id", "container_name",
						"pod_id",       "vm_id",
						"pid",          NULL };
static const char *const kepler_unit_labels[] = { "path", "bmc_id", "chassis_id",
						  "source_id", NULL };
/* comm and exe change at exec, state at the end of a process. */
static const char *const kepler_other_labels[] = {
	"comm",      "exe",         "model_name",  "physical_id", "processor",
	"runtime",   "source_name", "source_type", "state",       "type",
	"vendor_id", "zone",        NULL
};

static const struct tw_schema kepler = {
	.name = "kepler",
	.summary = "Kepler 0.10 and later: kepler_*_cpu_seconds_total, "
		   "kepler_node_cpu_joules_total",
	.metrics = kepler_metrics,
	.metric_count = TW_COUNT(kepler_metrics),
	.some_components = true,
	.optional = kepler_optional,
	.source_label = "source",
	.id_labels = kepler_id_labels,
	.unit_labels = kepler_unit_labels,
	.machine_labels = machine_labels,
	.other_labels = kepler_other_labels,
};

/*
 * ---- Kepler 0.5 to 0.9 ----
 *
 * Counters of containers, and node energy by package and mode; dynamic and idle add up.
 */

static const struct tw_schema_metric legacy_metrics[] = {
#define CONTAINER(metric, canonical, times) \
	COUNTER("kepler_container_" metric "_total", canonical, times)
	CONTAINER("bpf_block_irq", "bpf_block_irq", 1.0),
	CONTAINER("bpf_cpu_time_ms", "bpf_cpu_time_ms", 1.0),
	CONTAINER("bpf_net_rx_irq", "bpf_net_rx_irq", 1.0),
	CONTAINER("bpf_net_tx_irq", "bpf_net_tx_irq", 1.0),
	CONTAINER("bpf_page_cache_hit", "bpf_page_cache_hit", 1.0),
	CONTAINER("cache_miss", "cache_miss", 1.0),
	CONTAINER("cpu_cycles", "cpu_cycles", 1.0),
	CONTAINER("cpu_instructions", "cpu_instructions", 1.0),
	/* Kepler 0.5 to 0.7.2. */
	CONTAINER("bpf_cpu_time_us", "bpf_cpu_time_ms", 1.0),
	/* Kepler up to 0.7.11. */
	CONTAINER("cgroupfs_cpu_usage_us", "cgroupfs_cpu_usage_us", 1.0),
	MEMORY("cgroupfs_memory_usage_bytes"),
	CONTAINER("cgroupfs_system_cpu_usage_us", "cgroupfs_system_cpu_usage_us", 1.0),
	CONTAINER("cgroupfs_user_cpu_usage_us", "cgroupfs_user_cpu_usage_us", 1.0),
	CONTAINER("kubelet_cpu_usage", "kubelet_cpu_usage", 1.0),
	MEMORY("kubelet_memory_bytes"),
	/* Older releases. */
	CONTAINER("block_irq", "bpf_block_irq", 1.0),
	CONTAINER("cpu_instr", "cpu_instructions", 1.0),
	CONTAINER("net_rx_irq", "bpf_net_rx_irq", 1.0),
	CONTAINER("net_tx_irq", "bpf_net_tx_irq", 1.0),

	GAUGE("kepler_node_accelerator_intel_qat", TW_METRIC_LEVEL,
	      .feature = "accelerator_intel_qat"),
	GAUGE("kepler_node_cpu_scaling_frequency_hertz", TW_METRIC_LEVEL,
	      .feature = "cpu_scaling_frequency_hertz"),
	/* kepler-model-server's name, whose value is a node type; Kepler's is always 1.
	 */
	GAUGE("kepler_node_node_info", TW_METRIC_LEVEL, .feature = "node_info"),
	GAUGE("kepler_node_info", TW_METRIC_LEVEL, .feature = "node_info"),

	ENERGY("kepler_node_core_joules_total", NULL, TW_CORE),
	ENERGY("kepler_node_dram_joules_total", NULL, TW_DRAM),
	ENERGY("kepler_node_gpu_joules_total", NULL, TW_GPU),
	ENERGY("kepler_node_package_joules_total", NULL, TW_PACKAGE),
	ENERGY("kepler_node_platform_joules_total", NULL, TW_PLATFORM),
	ENERGY("kepler_node_uncore_joules_total", NULL, TW_UNCORE),

	{ .name = "kepler_container_cpu_usage_per_package_ratio",
	  .kind = TW_METRIC_PACKAGE_USE,
	  .factor = 1.0 },
};

static const struct tw_schema_source legacy_sources[] = {
	{ "intel_rapl", "rapl-sysfs" }, /* Kepler 0.7.3 to 0.7.7 */
	{ "rapl", "rapl-sysfs" },       /* Kepler before 0.7.3 */
};

/* Not exported by releases before 0.7, and by tw-collector on request only. */
static const char *const legacy_optional[] = { "bpf_page_cache_hit", NULL };
static const char *const legacy_together[] = { "bpf_block_irq", "bpf_net_rx_irq",
					       "bpf_net_tx_irq", NULL };
static const char *const legacy_id_labels[] = { "container_id", "pod_name",
						"container_name", "container_namespace",
						NULL };
static const char *const legacy_unit_labels[] = { "mode", "package", NULL };
/* command changes at exec. */
static const char *const legacy_other_labels[] = { "command",  "cpu",  "pkg_id",
						   "qatDevID", "type", NULL };

static const struct tw_schema kepler_legacy = {
	.name = "kepler-legacy",
	.summary =
		"Kepler 0.5 to 0.9: kepler_container_*_total, kepler_node_*_joules_total",
	.metrics = legacy_metrics,
	.metric_count = TW_COUNT(legacy_metrics),
	.some_components = true,
	.optional = legacy_optional,
	.together = legacy_together,
	.source_label = "source",
	.package_label = "package",
	.package_use_label = "pkg_id",
	.sources = legacy_sources,
	.source_count = TW_COUNT(legacy_sources),
	.id_labels = legacy_id_labels,
	.unit_labels = legacy_unit_labels,
	.machine_labels = machine_labels,
	.other_labels = legacy_other_labels,
};

/*
 * ---- node_exporter ----
 *
 * Processor time of the node by mode, and its energy. node_exporter knows no workloads:
 * the "workloads" of an extraction are CPUs, and only their sum is meaningful.
 */

static const struct tw_schema_metric node_metrics[] = {
	MODES("node_cpu_seconds_total"),
	COUNTER("node_context_switches_total", "node_context_switches", 1.0),
	COUNTER("node_intr_total", "node_interrupts", 1.0),
	COUNTER("node_vmstat_pgfault", "node_page_faults", 1.0),
	GAUGE("node_cpu_scaling_frequency_hertz", TW_METRIC_LEVEL,
	      .feature = "cpu_scaling_frequency_hertz"),

	ENERGY("node_rapl_core_joules_total", "rapl-sysfs", TW_CORE),
	ENERGY("node_rapl_dram_joules_total", "rapl-sysfs", TW_DRAM),
	ENERGY("node_rapl_package_joules_total", "rapl-sysfs", TW_PACKAGE),
	ENERGY("node_rapl_uncore_joules_total", "rapl-sysfs", TW_UNCORE),
	ENERGY("node_rapl_psys_joules_total", "psys", TW_PLATFORM),
	/* Other hwmon chips report power, too: ACPI000D is the ACPI power meter. */
	GAUGE("node_hwmon_power_average_watt", TW_METRIC_POWER, .component = TW_PLATFORM,
	      .label = "chip", .value = "acpi000d", .within = true, .source = "acpi"),
	/* ipmi_exporter on the same machine. */
	GAUGE("ipmi_dcmi_power_consumption_watts", TW_METRIC_POWER,
	      .component = TW_PLATFORM, .source = "ipmi"),
};

static const char *const node_id_labels[] = { "cpu", NULL };
static const char *const node_unit_labels[] = { "index", "path", "chip", "sensor", NULL };
static const char *const node_other_labels[] = { "mode", NULL };

static const struct tw_schema node_exporter = {
	.name = "node-exporter",
	.summary = "node_exporter: node_cpu_seconds_total, node_rapl_*_joules_total",
	.metrics = node_metrics,
	.metric_count = TW_COUNT(node_metrics),
	.some_components = true,
	.id_labels = node_id_labels,
	.unit_labels = node_unit_labels,
	.machine_labels = machine_labels,
	.other_labels = node_other_labels,
};

/*
 * ---- tw-collector ----
 *
 * Node energy by zone and mode (dynamic and idle add up), counters of processes,
 * containers and VMs, and processor time of the node by mode.
 */

static const struct tw_schema_metric tallywatt_metrics[] = {
/* Processes first, because containers leave out the processes of the host. */
#define WORKLOAD(metric, canonical, times)                                         \
	COUNTER("tallywatt_process_" metric "_total", canonical, times),           \
		COUNTER("tallywatt_container_" metric "_total", canonical, times), \
		COUNTER("tallywatt_vm_" metric "_total", canonical, times)
	WORKLOAD("cpu_seconds", "bpf_cpu_time_ms", 1e3),
	WORKLOAD("cpu_cycles", "cpu_cycles", 1.0),
	WORKLOAD("cpu_instructions", "cpu_instructions", 1.0),
	WORKLOAD("cache_misses", "cache_miss", 1.0),
	WORKLOAD("page_cache_hits", "bpf_page_cache_hit", 1.0),
	WORKLOAD("net_tx_softirqs", "bpf_net_tx_irq", 1.0),
	WORKLOAD("net_rx_softirqs", "bpf_net_rx_irq", 1.0),
	WORKLOAD("block_softirqs", "bpf_block_irq", 1.0),

	MODES("tallywatt_node_cpu_seconds_total"),
	COUNTER("tallywatt_node_context_switches_total", "node_context_switches", 1.0),
	COUNTER("tallywatt_node_interrupts_total", "node_interrupts", 1.0),
	COUNTER("tallywatt_node_page_faults_total", "node_page_faults", 1.0),
	GAUGE("tallywatt_node_cpu_frequency_hertz", TW_METRIC_LEVEL,
	      .feature = "cpu_scaling_frequency_hertz"),
	GAUGE("tallywatt_collector_tick_time_seconds", TW_METRIC_TICK, ),
	GAUGE("tallywatt_node_info", TW_METRIC_SPEC, ),
	GAUGE("tallywatt_meter_violation", TW_METRIC_SPEC, ),

#define NODE_ZONE(zone, origin, part) \
	ZONE("tallywatt_node_energy_joules_total", zone, origin, part)
	NODE_ZONE("core", NULL, TW_CORE),
	NODE_ZONE("dram", NULL, TW_DRAM),
	NODE_ZONE("gpu", NULL, TW_GPU),
	NODE_ZONE("package", NULL, TW_PACKAGE),
	NODE_ZONE("uncore", NULL, TW_UNCORE),
	NODE_ZONE("platform", NULL, TW_PLATFORM),
	NODE_ZONE("psys", "psys", TW_PLATFORM),
};

/* The collector counts it only if configured to. */
static const char *const tallywatt_optional[] = { "bpf_page_cache_hit", NULL };
static const char *const tallywatt_id_labels[] = { "container_id", "container_name",
						   "pod_name",     "namespace",
						   "vm_id",        "pid",
						   "cpu",          NULL };
static const char *const tallywatt_unit_labels[] = { "mode", "path", "package", NULL };
/* command changes at exec, cgroup at a move, serial where a pid is used again. */
static const char *const tallywatt_other_labels[] = {
	/* Labels of workloads and zones. */
	"cgroup", "comm", "command", "exe", "reason", "serial", "zone",
	/* Labels of the machine. */
	"chips", "cores", "frequency", "memory", "processor", "threads_per_core",
	"vendor", NULL
};

static const struct tw_schema tallywatt = {
	.name = "tallywatt",
	.summary = "this project's collector: tallywatt_*",
	.metrics = tallywatt_metrics,
	.metric_count = TW_COUNT(tallywatt_metrics),
	.some_components = true,
	.optional = tallywatt_optional,
	.source_label = "source",
	.id_labels = tallywatt_id_labels,
	.unit_labels = tallywatt_unit_labels,
	.machine_labels = machine_labels,
	.other_labels = tallywatt_other_labels,
};

/* ---- look-up ---- */

/* Sorted by name. */
static const struct tw_schema *const schemas[] = {
	&kepler,
	&kepler_legacy,
	&node_exporter,
	&tallywatt,
};

size_t tw_schema_count(void)
{
	return TW_COUNT(schemas);
}

const struct tw_schema *tw_schema_at(size_t i)
{
	assert(i < TW_COUNT(schemas));
	return schemas[i];
}

static bool equal(const char *text, const char *name, size_t len)
{
	/* Most names differ in the first byte: 12 % of extraction's instructions. */
	return len > 0 && text[0] == name[0] && strncmp(text, name, len) == 0 &&
	       text[len] == '\0';
}

static const struct tw_schema *find_by_metric(const char *name, size_t len)
{
	for (size_t i = 0; i < TW_COUNT(schemas); i++)
		for (size_t j = 0; j < schemas[i]->metric_count; j++)
			if (equal(schemas[i]->metrics[j].name, name, len))
				return schemas[i];
	return NULL;
}

const struct tw_schema *tw_schema_of_metric(const char *name)
{
	return find_by_metric(name, strlen(name));
}

const char *const *tw_schema_machine_labels(const char *metric)
{
	const struct tw_schema *s = tw_schema_of_metric(metric);

	return s != NULL ? s->machine_labels : schemas[0]->machine_labels;
}

bool tw_schema_has_metric(const char *name, size_t len)
{
	return memchr(name, '\0', len) == NULL && find_by_metric(name, len) != NULL;
}

static bool is_among(const char *const *names, const char *name, size_t len)
{
	for (; *names != NULL; names++)
		if (equal(*names, name, len))
			return true;
	return false;
}

bool tw_schema_has_label(const char *name, size_t len)
{
	if (memchr(name, '\0', len) != NULL)
		return false;
	if (is_among(scrape_labels, name, len))
		return true;
	for (size_t i = 0; i < TW_COUNT(schemas); i++) {
		const struct tw_schema *s = schemas[i];

		if ((s->source_label != NULL && equal(s->source_label, name, len)) ||
		    is_among(s->id_labels, name, len) ||
		    is_among(s->unit_labels, name, len) ||
		    is_among(s->machine_labels, name, len) ||
		    is_among(s->other_labels, name, len))
			return true;
	}
	return false;
}

bool tw_schema_is_scrape_label(const char *name)
{
	const size_t len = strlen(name);

	return is_among(scrape_labels, name, len) || is_among(machine_labels, name, len);
}

const char *tw_schema_source(const struct tw_schema *s, const char *label)
{
	for (size_t i = 0; i < s->source_count; i++)
		if (strcmp(s->sources[i].label, label) == 0)
			return s->sources[i].source;
	return tw_energy_source_of_meter(label);
}

/* ---- choice of metrics ---- */

#define NAME_MAX_BYTES 1024
#define PATTERN_MAX_BYTES 1024

int tw_metric_choice_open(struct tw_metric_choice *c, const char *pattern,
			  const struct tw_strs *more, struct tw_err *err)
{
	struct tw_metric_choice opened = { .more = more };
	char reason[128];
	int e;

	if (pattern != NULL) {
		if (strlen(pattern) > PATTERN_MAX_BYTES)
			return tw_fail(err, TW_INVALID, "pattern of %zu bytes",
				       strlen(pattern));
		e = regcomp(&opened.pattern, pattern, REG_EXTENDED);
		if (e != 0) {
			regerror(e, &opened.pattern, reason, sizeof(reason));
			return tw_fail(err, e == REG_ESPACE ? TW_NOMEM : TW_INVALID,
				       "pattern '%.64s': %s", pattern, reason);
		}
		opened.by_pattern = true;
	}
	*c = opened;
	return 0;
}

void tw_metric_choice_release(struct tw_metric_choice *c)
{
	if (c->by_pattern)
		regfree(&c->pattern);
	*c = (struct tw_metric_choice){ 0 };
}

/* Whether the whole name matches. POSIX finds the leftmost longest match, so comparing
 * its bounds with the name's is enough. */
static bool matches(const regex_t *pattern, const char *name, size_t len)
{
	char text[NAME_MAX_BYTES + 1];
	regmatch_t m;

	if (len > NAME_MAX_BYTES || memchr(name, '\0', len) != NULL)
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	return regexec(pattern, text, 1, &m, 0) == 0 && m.rm_so == 0 &&
	       (size_t)m.rm_eo == len;
}

bool tw_metric_choice_has(const struct tw_metric_choice *c, const char *name, size_t len)
{
	for (size_t i = 0; c->more != NULL && i < c->more->count; i++)
		if (strlen(c->more->at[i]) == len &&
		    memcmp(c->more->at[i], name, len) == 0)
			return true;
	return c->by_pattern ? matches(&c->pattern, name, len)
			     : tw_schema_has_metric(name, len);
}
