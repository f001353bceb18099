/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/settings.h"

#include "collector/meters/meter.h"
#include "collector/power/attribute.h"
#include "collector/power/estimates.h"
#include "collector/show.h"
#include "collector/workloads/cgroup.h"
#include "collector/workloads/traces.h"
#include "estimator/init_urls.h"
#include "estimator/models.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/program/daemon.h"
#include "lib/program/kepler_key.h"
#include "lib/program/log.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const bpf_names[] = { "auto", "off", "walk", "iter", NULL };
static const char *const counters_names[] = { "auto", "off", "software", NULL };

static const struct tw_opt options[] = {
	{ .name = "listen",
	  .env = "TW_COLLECTOR_LISTEN",
	  .type = TW_OPT_LISTEN,
	  .offset = offsetof(struct tw_collector_settings, listen),
	  .fallback = "127.0.0.1:8103",
	  .arg = "ADDR:PORT",
	  .help = "listen for HTTP requests here" },
	{ .name = "web-config",
	  .env = "TW_COLLECTOR_WEB_CONFIG",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, web_config),
	  .arg = "FILE",
	  .help = "file with TLS and users, in the format of Prometheus exporters" },
	{ .name = "interval",
	  .env = "TW_INTERVAL",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct tw_collector_settings, interval_ms),
	  .fallback = "3s",
	  .arg = "TIME",
	  .help = "time between two ticks: 100ms to 1h" },
	{ .name = "bpf",
	  .env = "TW_BPF",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct tw_collector_settings, bpf),
	  .fallback = "auto",
	  .arg = "HOW",
	  .help = "source of CPU times: auto (the best that works), walk, iter, or off "
		  "(/proc)",
	  .choices = bpf_names },
	{ .name = "counters",
	  .env = "TW_COUNTERS",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct tw_collector_settings, counters),
	  .fallback = "auto",
	  .arg = "WHICH",
	  .help = "hardware counters: auto (if there are any), off, or software (for "
		  "tests)",
	  .choices = counters_names },
	{ .name = "trace",
	  .env = "TW_TRACE",
	  .type = TW_OPT_LIST,
	  .offset = offsetof(struct tw_collector_settings, trace),
	  .arg = "WHAT,...",
	  .help = "also count page-cache or softirqs; each event costs 0.1 to 0.2 us" },
	{ .name = "cgroups",
	  .env = "TW_CGROUPS",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct tw_collector_settings, cgroups),
	  .fallback = "auto",
	  .arg = "VERSION",
	  .help = "cgroup hierarchy to export: auto, v1 or v2",
	  .choices = tw_cgroup_choice_names },
	{ .name = "proc",
	  .env = "TW_PROC",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, proc),
	  .fallback = "/proc",
	  .arg = "DIR",
	  .help = "path of the machine's /proc" },
	{ .name = "sys",
	  .env = "TW_SYS",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, sys),
	  .fallback = "/sys",
	  .arg = "DIR",
	  .help = "path of the machine's /sys" },
	{ .name = "dev",
	  .env = "TW_DEV",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, dev),
	  .fallback = "/dev",
	  .arg = "DIR",
	  .help = "path of the machine's /dev" },
	{ .name = "meters",
	  .env = "TW_METERS",
	  .type = TW_OPT_LIST,
	  .offset = offsetof(struct tw_collector_settings, meters),
	  .arg = "NAME,...",
	  .help = "read only these meters (default: all that the machine has)" },
	TW_OPTS_REDFISH(struct tw_collector_settings),
	TW_OPT_REDFISH_INTERVAL(struct tw_collector_settings),
	TW_OPTS_OWN_METER(struct tw_collector_settings),
	{ .name = "ipmi-interval",
	  .env = "TW_IPMI_INTERVAL",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct tw_collector_settings, ipmi_interval_ms),
	  .fallback = "10s",
	  .arg = "TIME",
	  .help = "time between two IPMI power readings: 1s to 1h" },
	TW_OPTS_PODS(struct tw_collector_settings),
	TW_OPTS_AGENTS(struct tw_collector_settings),
	{ .name = "local",
	  .env = "TW_LOCAL",
	  .type = TW_OPT_BOOL,
	  .offset = offsetof(struct tw_collector_settings, local),
	  .fallback = "yes",
	  .help = "export this machine, too; no: only the sums of --agents" },
	{ .name = "idle-by",
	  .env = "TW_IDLE_BY",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct tw_collector_settings, idle_by),
	  .fallback = "use",
	  .arg = "HOW",
	  .help = "attribute idle energy by CPU use or by requested CPU share",
	  .choices = tw_idle_by_names },
	{ .name = "levels",
	  .env = "TW_LEVELS",
	  .type = TW_OPT_LIST,
	  .offset = offsetof(struct tw_collector_settings, levels),
	  .fallback = "process,cgroup,container,pod,vm,job,step",
	  .arg = "LEVEL,...",
	  .help = "levels to export, of process, cgroup, container, pod, vm, job, step" },
	{ .name = "top",
	  .env = "TW_TOP",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct tw_collector_settings, top),
	  .fallback = "1000",
	  .arg = "N",
	  .help = "export only the N processes and cgroups with most energy; 0: all" },
	{ .name = "min-joules",
	  .env = "TW_MIN_JOULES",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct tw_collector_settings, min_joules),
	  .fallback = "0",
	  .arg = "J",
	  .help = "export only processes and cgroups with at least J joules" },
	{ .name = "compat",
	  .env = "TW_COMPAT",
	  .type = TW_OPT_LIST,
	  .offset = offsetof(struct tw_collector_settings, compat),
	  .arg = "NAME,...",
	  .help = "also export the metrics of Kepler 0.10 (kepler), of 0.5 to 0.9 "
		  "(kepler-legacy), and those removed by 0.7.12 (kepler-0.5)" },
	{ .name = "node-name",
	  .env = "TW_NODE_NAME",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, node_name),
	  .arg = "NAME",
	  .help = "name of this node in Kepler's metrics (default: the host name)" },
	{ .name = "powercap",
	  .env = "TW_POWERCAP",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, powercap),
	  .arg = "DIR",
	  .help = "path of powercap (default: below --sys); in a VM, the tree from its "
		  "host" },
	{ .name = "nvml",
	  .env = "TW_NVML",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, nvml),
	  .fallback = "libnvidia-ml.so.1",
	  .arg = "FILE",
	  .help = "NVIDIA's management library, for the meter nvml" },
	{ .name = "model",
	  .env = "TW_MODEL",
	  .type = TW_OPT_LIST,
	  .offset = offsetof(struct tw_collector_settings, models),
	  .arg = "PATH,...",
	  .help = "estimate power by these trained models where no meter measures it" },
	{ .name = "model-server",
	  .env = "MODEL_SERVER_URL",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, model_server),
	  .arg = "URL",
	  .help = "fetch models from this server, in the background" },
	{ .name = "model-db",
	  .env = "TW_MODEL_DB",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, model_db),
	  .arg = "DIR",
	  .help = "read models from this database, in the background" },
	{ .name = "shipped-models",
	  .env = "TW_SHIPPED_MODELS",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, shipped_models),
	  .fallback = TW_MODEL_DB,
	  .arg = "DIR",
	  .help = "database of last resort, also without other models where no meter "
		  "measures the machine; empty for none" },
	{ .name = "model-source",
	  .env = "TW_MODEL_SOURCE",
	  .type = TW_OPT_LIST,
	  .offset = offsetof(struct tw_collector_settings, model_sources),
	  .fallback = "rapl-sysfs,acpi",
	  .arg = "NAME,...",
	  .help = "energy sources to find models for" },
	{ .name = "model-trainer",
	  .env = "TW_MODEL_TRAINER",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, model_trainer),
	  .arg = "NAME",
	  .help = "use only models of this trainer" },
	{ .name = "model-filter",
	  .env = "TW_MODEL_FILTER",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, model_filter),
	  .arg = "TEXT",
	  .help = "use only models within these errors: \"mae:5;mape:10\"" },
	{ .name = "model-refresh",
	  .env = "TW_MODEL_REFRESH",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct tw_collector_settings, model_refresh_ms),
	  .fallback = "1h",
	  .arg = "TIME",
	  .help = "how often to ask a server for newer models; 0 for once" },
	{ .name = "keep",
	  .env = "CACHE_DIRECTORY",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, keep),
	  .arg = "DIR",
	  .help = "keep the last good copies of a server's models in this directory" },
	{ .name = "estimated-idle",
	  .env = "TW_ESTIMATED_IDLE",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct tw_collector_settings, estimated_idle),
	  .fallback = "auto",
	  .arg = "HOW",
	  .help = "idle power of models: hide, scale by cores, or auto (hide in a VM)",
	  .choices = tw_estimated_idle_names },
	{ .name = "powercap-out",
	  .env = "TW_POWERCAP_OUT",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, powercap_out),
	  .arg = "DIR",
	  .help = "write this machine's energy here, as a powercap tree" },
	{ .name = "vm-power-dir",
	  .env = "TW_VM_POWER_DIR",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, vm_power_dir),
	  .arg = "DIR",
	  .help = "write the energy of each VM below this directory, as powercap trees" },
	{ .name = "keep-ended",
	  .env = "TW_KEEP_ENDED",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct tw_collector_settings, keep_ended_ms),
	  .fallback = "2m",
	  .arg = "TIME",
	  .help = "how long to export an exited process, cgroup, container, pod or VM" },
	{ .name = "ended-max",
	  .env = "TW_ENDED_MAX",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct tw_collector_settings, ended_max),
	  .fallback = "10000",
	  .arg = "N",
	  .help = "how many exited processes to keep; more are merged by cgroup" },
	{ .name = "events-max",
	  .env = "TW_EVENTS_MAX",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct tw_collector_settings, events_max),
	  .fallback = "4096",
	  .min = 1,
	  .max = 1u << 20,
	  .arg = "N",
	  .help = "size of the kernel's buffer for exits and moves of processes" },
	{ .name = "user",
	  .env = "TW_USER",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_collector_settings, user),
	  .fallback = "nobody",
	  .arg = "NAME",
	  .help = "switch to this user once everything is open, if started as root" },
	{ .name = "filter",
	  .env = "TW_FILTER",
	  .type = TW_OPT_BOOL,
	  .offset = offsetof(struct tw_collector_settings, filter),
	  .fallback = "yes",
	  .help = "refuse unneeded system calls (seccomp)" },
	TW_OPTS_LOG(struct tw_collector_settings),
	TW_OPT_READY_FILE(struct tw_collector_settings),
};

const struct tw_opts tw_collector_opts = {
	.program = "tw-collector",
	.summary = "Export the energy of each workload of this machine.",
	.opt = options,
	.count = TW_COUNT(options),
};

#define INTERVAL_MIN_MS 100
#define INTERVAL_MAX_MS 3600000
#define POLL_MIN_MS 1000

static bool is_trace(const char *name)
{
	for (size_t i = 0; tw_trace_names[i] != NULL; i++)
		if (strcmp(tw_trace_names[i], name) == 0)
			return true;
	return false;
}

#define KEPLER_IDLE "EXPOSE_ESTIMATED_IDLE_POWER_METRICS"
static const char *const kepler_keys[] = { KEPLER_IDLE, NULL };

int tw_collector_settings_kepler(struct tw_err *err)
{
	const char *idle;

	if (tw_kepler_keys_load(kepler_keys, err) < 0 ||
	    tw_kepler_keys_load(tw_models_server_keys, err) < 0 ||
	    tw_kepler_keys_load(tw_init_urls_keys, err) < 0)
		return -1;
	idle = getenv(KEPLER_IDLE);
	if (idle == NULL || idle[0] == '\0')
		return 0;
	if (setenv("TW_ESTIMATED_IDLE", strcasecmp(idle, "true") == 0 ? "scale" : "hide",
		   0) < 0)
		return tw_fail(err, TW_NOMEM, KEPLER_IDLE);
	return 0;
}

static bool find_level(const char *name, enum tw_level *out)
{
	for (int level = 0; level < TW_LEVEL_COUNT; level++) {
		*out = (enum tw_level)level;
		if (strcmp(tw_level_name(*out), name) == 0)
			return true;
	}
	return false;
}

static int check_models(const struct tw_collector_settings *s, struct tw_err *err)
{
	const struct tw_energy_source *source;

	if (s->models.count > TW_ESTIMATES_MAX)
		return tw_fail(err, TW_INVALID, "--model: at most %d", TW_ESTIMATES_MAX);
	if (s->model_sources.count > TW_ESTIMATES_MAX)
		return tw_fail(err, TW_INVALID, "--model-source: at most %d",
			       TW_ESTIMATES_MAX);
	for (size_t i = 0; i < s->model_sources.count; i++)
		if (tw_energy_source_open(s->model_sources.at[i], &source, err) < 0)
			return tw_err_wrap(err, "--model-source");
	return 0;
}

/* Shared services are polled at most once a second. */
static int check_intervals(const struct tw_collector_settings *s, struct tw_err *err)
{
	const struct {
		const char *name;
		uint64_t ms;
	} intervals[] = { { "--redfish-interval", s->redfish.interval_ms },
			  { "--ipmi-interval", s->ipmi_interval_ms },
			  { "--kube-interval", s->pods.interval_ms } };

	for (size_t i = 0; i < TW_COUNT(intervals); i++)
		if (intervals[i].ms < POLL_MIN_MS || intervals[i].ms > INTERVAL_MAX_MS)
			return tw_fail(err, TW_INVALID, "%s: want 1s to 1h",
				       intervals[i].name);
	if (tw_pods_options_check(&s->pods, err) < 0 ||
	    tw_own_meter_options_check(&s->own_meter, err) < 0)
		return -1;
	return tw_redfish_options_check(&s->redfish, err);
}

int tw_collector_settings_check(const struct tw_collector_settings *s, struct tw_err *err)
{
	enum tw_level level;

	if (s->interval_ms < INTERVAL_MIN_MS || s->interval_ms > INTERVAL_MAX_MS)
		return tw_fail(err, TW_INVALID, "--interval: want 100ms to 1h");
	for (size_t i = 0; i < s->levels.count; i++)
		if (!find_level(s->levels.at[i], &level))
			return tw_fail(err, TW_INVALID, "--levels: no level '%s'",
				       s->levels.at[i]);
	for (size_t i = 0; i < s->trace.count; i++)
		if (!is_trace(s->trace.at[i]))
			return tw_fail(err, TW_INVALID,
				       "--trace: want page-cache or softirqs");
	for (size_t i = 0; i < s->compat.count; i++)
		if (strcmp(s->compat.at[i], "kepler") != 0 &&
		    strcmp(s->compat.at[i], "kepler-legacy") != 0 &&
		    strcmp(s->compat.at[i], "kepler-0.5") != 0)
			return tw_fail(
				err, TW_INVALID,
				"--compat: want kepler, kepler-legacy or kepler-0.5");
	for (size_t i = 0; i < s->meters.count; i++)
		if (tw_meter_find(s->meters.at[i]) == NULL)
			return tw_fail(err, TW_INVALID, "--meters: no meter '%s'",
				       s->meters.at[i]);
	if (!s->local && s->agents.urls.count == 0)
		return tw_fail(err, TW_INVALID, "--local=no: want --agents");
	if (tw_agents_options_check(&s->agents, err) < 0)
		return -1;
	return check_models(s, err) < 0 ? -1 : check_intervals(s, err);
}

struct tw_show tw_collector_settings_show(const struct tw_collector_settings *s,
					  char *host, size_t size)
{
	struct tw_show show = { .top = s->top,
				.min_uj = s->min_joules * UINT64_C(1000000),
				.kepler = tw_strs_has(&s->compat, "kepler"),
				.kepler_05 = tw_strs_has(&s->compat, "kepler-0.5"),
				.node_name = s->node_name,
				.redfish = s->redfish.url };
	enum tw_level level;

	show.kepler_legacy = show.kepler_05 || tw_strs_has(&s->compat, "kepler-legacy");
	for (size_t i = 0; i < s->levels.count; i++)
		if (find_level(s->levels.at[i], &level))
			show.level[level] = true;
	if (show.node_name == NULL) {
		if (gethostname(host, size - 1) < 0)
			host[0] = '\0';
		host[size - 1] = '\0';
		show.node_name = host;
	}
	return show;
}
