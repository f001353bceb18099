/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/settings.h"

#include "collector/ask/connector.h"
#include "collector/meters/meter.h"
#include "collector/power/attribute.h"
#include "collector/power/estimates.h"
#include "collector/workloads/cgroup.h"
#include "collector/workloads/traces.h"
#include "estimator/models.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd.h"
#include "lib/program/kepler_key.h"
#include "lib/program/log.h"
#include "model-db/index/filter.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const bpf_names[] = { "auto", "off", "walk", "iter", NULL };
static const char *const counters_names[] = { "auto", "off", "software", NULL };
static const char *const compat_names[] = { "kepler", "kepler-legacy", "kepler-0.5",
					    NULL };

#define OPT(kind, flag, field, what, line) \
	TW_OPT_ROW(struct tw_collector_settings, kind, flag, field, what, line)

static const struct tw_opt options[] = {
	{ OPT(LISTEN, "listen", listen, "ADDR:PORT", "listen for HTTP requests here"),
	  .env = "TW_COLLECTOR_LISTEN", .fallback = "127.0.0.1:8103" },
	{ OPT(TEXT, "web-config", web_config, "FILE",
	      "file with TLS and users, in the format of Prometheus exporters"),
	  .env = "TW_COLLECTOR_WEB_CONFIG" },
	TW_OPTS_HOST_NAMES(struct tw_collector_settings, "TW_COLLECTOR_HOST_NAMES"),
	{ OPT(DURATION_MS, "interval", interval_ms, "TIME", "time between two ticks"),
	  .env = "TW_INTERVAL", .fallback = "3s", .min = 100, .max = 3600000 },
	{ OPT(CHOICE, "bpf", bpf, "HOW",
	      "source of CPU times: auto (the best that works), walk, iter, or off "
	      "(/proc)"),
	  .env = "TW_BPF", .fallback = "auto", .choices = bpf_names },
	{ OPT(CHOICE, "counters", counters, "WHICH",
	      "hardware counters: auto (if there are any), off, or software (for tests)"),
	  .env = "TW_COUNTERS", .fallback = "auto", .choices = counters_names },
	{ OPT(LIST, "trace", trace, "WHAT,...",
	      "also count page-cache or softirqs; each event costs 0.1 to 0.2 us"),
	  .env = "TW_TRACE", .choices = tw_trace_names },
	{ OPT(CHOICE, "cgroups", cgroups, "VERSION",
	      "cgroup hierarchy to export: auto, v1 or v2"),
	  .env = "TW_CGROUPS", .fallback = "auto", .choices = tw_cgroup_choice_names },
	{ OPT(TEXT, "proc", proc, "DIR", "path of the machine's /proc"), .env = "TW_PROC",
	  .fallback = "/proc" },
	{ OPT(TEXT, "sys", sys, "DIR", "path of the machine's /sys"), .env = "TW_SYS",
	  .fallback = "/sys" },
	{ OPT(TEXT, "dev", dev, "DIR", "path of the machine's /dev"), .env = "TW_DEV",
	  .fallback = "/dev" },
	{ OPT(LIST, "meters", meters, "NAME,...",
	      "read only these meters (default: all that the machine has)"),
	  .env = "TW_METERS" },
	TW_OPTS_REDFISH(struct tw_collector_settings),
	{ OPT(DURATION_MS, "redfish-interval", redfish.interval_ms, "TIME",
	      "time between two readings"),
	  .env = "TW_REDFISH_INTERVAL", .fallback = "10s", .min = 1000, .max = 3600000 },
	TW_OPTS_OWN_METER(struct tw_collector_settings),
	{ OPT(DURATION_MS, "ipmi-interval", ipmi_interval_ms, "TIME",
	      "time between two IPMI power readings"),
	  .env = "TW_IPMI_INTERVAL", .fallback = "10s", .min = 1000, .max = 3600000 },
	{ OPT(TEXT, "kubelet", pods.kubelet, "URL",
	      "get pod names from this kubelet: https://ADDR:10250"),
	  .env = "TW_KUBELET" },
	{ OPT(TEXT, "kube-api", pods.kube_api, "URL",
	      "or from this API server, for the pods of --node-name"),
	  .env = "TW_KUBE_API" },
	{ OPT(TEXT, "kube-token", pods.token, "FILE",
	      "bearer token (default: the service account's)"),
	  .env = "TW_KUBE_TOKEN" },
	{ OPT(TEXT, "kube-ca", pods.ca, "FILE",
	      "trust these certificate authorities (default: the service account's, else "
	      "the system's)"),
	  .env = "TW_KUBE_CA" },
	{ OPT(BOOL, "kube-insecure", pods.insecure, NULL,
	      "do not verify certificates; allow http://"),
	  .env = "TW_KUBE_INSECURE" },
	{ OPT(DURATION_MS, "kube-interval", pods.interval_ms, "TIME",
	      "time between two requests, besides those for new pods"),
	  .env = "TW_KUBE_INTERVAL", .fallback = "1m", .min = 1000, .max = 3600000 },
	{ OPT(TEXT, "otlp", push.url[TW_PUSH_OTLP], "URL",
	      "push the metrics to this receiver by OTLP over HTTP (without a path: "
	      "/v1/metrics)"),
	  .env = "TW_OTLP" },
	{ OPT(TEXT, "otlp-access", push.access[TW_PUSH_OTLP], "FILE",
	      "file with user, password, token-file, ca, cert, key, insecure for --otlp"),
	  .env = "TW_OTLP_ACCESS" },
	{ OPT(TEXT, "remote-write", push.url[TW_PUSH_REMOTE_WRITE], "URL",
	      "push the metrics by Prometheus' remote write to this URL"),
	  .env = "TW_REMOTE_WRITE" },
	{ OPT(TEXT, "remote-write-access", push.access[TW_PUSH_REMOTE_WRITE], "FILE",
	      "file as for --otlp-access, for --remote-write"),
	  .env = "TW_REMOTE_WRITE_ACCESS" },
	{ OPT(DURATION_MS, "push-interval", push.interval_ms, "TIME",
	      "time between two pushes"),
	  .env = "TW_PUSH_INTERVAL", .fallback = "15s", .min = 100, .max = 3600000 },
	{ OPT(DURATION_MS, "push-timeout", push.timeout_ms, "TIME",
	      "longest time of a request to a receiver"),
	  .env = "TW_PUSH_TIMEOUT", .fallback = "10s", .min = 100, .max = 60000 },
	{ OPT(LIST, "push-labels", push.labels, "NAME=VALUE,...",
	      "add these resource attributes, or labels, to pushed metrics"),
	  .env = "TW_PUSH_LABELS" },
	{ OPT(TEXT, "carbon", tariff.of[TW_TARIFF_CO2E], "G|FILE|URL",
	      "carbon intensity in gCO2e/kWh: a number, a file of TIME,NUMBER lines, or "
	      "an exporter"),
	  .env = "TW_CARBON" },
	{ OPT(TEXT, "carbon-series", tariff.series[TW_TARIFF_CO2E], "NAME",
	      "series of that exporter: name{label=\"value\"}"),
	  .env = "TW_CARBON_SERIES" },
	{ OPT(TEXT, "price", tariff.of[TW_TARIFF_PRICE], "N|FILE|URL",
	      "price of a kWh, likewise, in a currency of your own"),
	  .env = "TW_PRICE" },
	{ OPT(TEXT, "price-series", tariff.series[TW_TARIFF_PRICE], "NAME",
	      "series of that exporter"),
	  .env = "TW_PRICE_SERIES" },
	{ OPT(DURATION_MS, "tariff-interval", tariff.interval_ms, "TIME",
	      "time between two looks at a file or an exporter"),
	  .env = "TW_TARIFF_INTERVAL", .fallback = "1m", .min = 100, .max = 3600000 },
	{ OPT(TEXT, "container-names", container_names, "WHERE",
	      "names of Docker's and podman's containers: auto (the sockets that are "
	      "there), off, or the path of a socket"),
	  .env = "TW_CONTAINER_NAMES", .fallback = "auto" },
#if TW_FLEET
	{ OPT(LIST, "agents", agents.urls, "URL,...",
	      "sum these collectors: http://ADDR:8103, or dns:NAME for all its "
	      "addresses"),
	  .env = "TW_AGENTS" },
	{ OPT(DURATION_MS, "agents-interval", agents.interval_ms, "TIME",
	      "time between two requests to an agent"),
	  .env = "TW_AGENTS_INTERVAL", .fallback = "10s", .min = 100, .max = 3600000 },
	{ OPT(DURATION_MS, "agents-timeout", agents.timeout_ms, "TIME",
	      "longest time of a request to an agent"),
	  .env = "TW_AGENTS_TIMEOUT", .fallback = "5s", .min = 100, .max = 60000 },
	{ OPT(DURATION_MS, "agents-refresh", agents.refresh_ms, "TIME",
	      "time between two lookups of dns:NAME"),
	  .env = "TW_AGENTS_REFRESH", .fallback = "30s", .min = 1000, .max = 3600000 },
	{ OPT(LIST, "agents-levels", agents.levels, "LEVEL,...",
	      "sums to export, of node, namespace, pod, container, vm, job"),
	  .env = "TW_AGENTS_LEVELS", .fallback = "node,namespace,pod,container,vm,job",
	  .choices = tw_sum_level_names + TW_SUM_NODE },
	{ OPT(CHOICE, "agents-guests", agents.guests, "HOW",
	      "agents in virtual machines: auto (not in the sum, if their host is), or "
	      "add"),
	  .env = "TW_AGENTS_GUESTS", .fallback = "auto", .choices = tw_guests_names },
	{ OPT(TEXT, "agents-access", agents.access, "FILE",
	      "file with user, password, token-file, ca, cert, key, insecure of the "
	      "requests"),
	  .env = "TW_AGENTS_ACCESS" },
	{ OPT(BOOL, "local", local, NULL,
	      "export this machine, too; no: only the sums of --agents"),
	  .env = "TW_LOCAL", .fallback = "yes" },
#endif
	{ OPT(CHOICE, "idle-by", idle_by, "HOW",
	      "attribute idle energy by CPU use or by requested CPU share"),
	  .env = "TW_IDLE_BY", .fallback = "use", .choices = tw_idle_by_names },
	{ OPT(LIST, "levels", levels, "LEVEL,...",
	      "levels to export, of process, cgroup, container, pod, vm, job, step"),
	  .env = "TW_LEVELS", .fallback = "process,cgroup,container,pod,vm,job,step",
	  .choices = tw_level_names },
	{ OPT(U32, "top", top, "N",
	      "export only the N processes and cgroups with most energy; 0: all"),
	  .env = "TW_TOP", .fallback = "1000" },
	{ OPT(U32, "min-joules", min_joules, "J",
	      "export only processes and cgroups with at least J joules"),
	  .env = "TW_MIN_JOULES", .fallback = "0" },
	{ OPT(LIST, "compat", compat, "NAME,...",
	      "also export the metrics of Kepler 0.10 (kepler), of 0.5 to 0.9 "
	      "(kepler-legacy), and those removed by 0.7.12 (kepler-0.5)"),
	  .env = "TW_COMPAT", .choices = compat_names },
	{ OPT(TEXT, "node-name", node_name, "NAME",
	      "name of this node in Kepler's metrics (default: the host name)"),
	  .env = "TW_NODE_NAME" },
	{ OPT(TEXT, "powercap", powercap, "DIR",
	      "path of powercap (default: below --sys); in a VM, the tree from its host"),
	  .env = "TW_POWERCAP" },
	{ OPT(TEXT, "nvml", nvml, "FILE",
	      "NVIDIA's management library, for the meter nvml"),
	  .env = "TW_NVML", .fallback = "libnvidia-ml.so.1" },
	{ OPT(TEXT, "amdsmi", amdsmi, "FILE",
	      "AMD's management library, for the meter amdsmi (default: libamd_smi.so of "
	      "the system or ROCm)"),
	  .env = "TW_AMDSMI" },
	{ OPT(LIST, "model", models, "PATH,...",
	      "estimate power by these trained models where no meter measures it"),
	  .env = "TW_MODEL" },
	{ OPT(TEXT, "model-server", model_server, "URL",
	      "fetch models from this server, in the background"),
	  .env = "MODEL_SERVER_URL" },
	{ OPT(TEXT, "model-db", model_db, "DIR",
	      "read models from this database, in the background"),
	  .env = "TW_MODEL_DB" },
	{ OPT(TEXT, "shipped-models", shipped_models, "DIR",
	      "database of last resort, also without other models where no meter "
	      "measures the machine; empty for none"),
	  .env = "TW_SHIPPED_MODELS", .fallback = TW_MODEL_DB },
	{ OPT(LIST, "model-source", model_sources, "NAME,...",
	      "energy sources to find models for"),
	  .env = "TW_MODEL_SOURCE", .fallback = "rapl-sysfs,acpi" },
	{ OPT(TEXT, "model-trainer", model_trainer, "NAME",
	      "use only models of this trainer"),
	  .env = "TW_MODEL_TRAINER" },
	{ OPT(TEXT, "model-filter", model_filter, "TEXT",
	      "use only models within these errors: \"mae:5;mape:10\""),
	  .env = "TW_MODEL_FILTER" },
	{ OPT(DURATION_MS, "model-refresh", model_refresh_ms, "TIME",
	      "how often to ask a server for newer models; 0 for once"),
	  .env = "TW_MODEL_REFRESH", .fallback = "1h" },
	{ OPT(TEXT, "keep", keep, "DIR",
	      "keep the last good copies of a server's models in this directory"),
	  .env = "CACHE_DIRECTORY" },
	{ OPT(CHOICE, "estimated-idle", estimated_idle, "HOW",
	      "idle power of models: hide, scale by cores, or auto (hide in a VM)"),
	  .env = "TW_ESTIMATED_IDLE", .fallback = "auto",
	  .choices = tw_estimated_idle_names },
	{ OPT(TEXT, "powercap-out", powercap_out, "DIR",
	      "write this machine's energy here, as a powercap tree"),
	  .env = "TW_POWERCAP_OUT" },
	{ OPT(TEXT, "vm-power-dir", vm_power_dir, "DIR",
	      "write the energy of each VM below this directory, as powercap trees"),
	  .env = "TW_VM_POWER_DIR" },
	{ OPT(LIST, "vm-users", vm_users, "NAME,...",
	      "users whose processes may name virtual machines; default: root, "
	      "libvirt-qemu, qemu"),
	  .env = "TW_VM_USERS" },
	{ OPT(DURATION_MS, "keep-ended", keep_ended_ms, "TIME",
	      "how long to export an exited process, cgroup, container, pod or VM"),
	  .env = "TW_KEEP_ENDED", .fallback = "2m" },
	{ OPT(U32, "ended-max", ended_max, "N",
	      "how many exited processes to keep; more are merged by cgroup"),
	  .env = "TW_ENDED_MAX", .fallback = "10000" },
	{ OPT(U32, "events-max", events_max, "N",
	      "size of the kernel's buffer for exits and moves of processes"),
	  .env = "TW_EVENTS_MAX", .fallback = "4096", .min = 1, .max = 1u << 20 },
	{ OPT(TEXT, "user", user, "NAME",
	      "switch to this user once everything is open, if started as root"),
	  .env = "TW_USER", .fallback = "nobody" },
	{ OPT(BOOL, "filter", filter, NULL, "refuse unneeded system calls (seccomp)"),
	  .env = "TW_FILTER", .fallback = "yes" },
	TW_OPTS_LOG(struct tw_collector_settings),
	TW_OPT_READY_FILE(struct tw_collector_settings),
};

const struct tw_opts tw_collector_opts = {
	.program = "tw-collector",
	.summary = "Export the energy of each workload of this machine.",
	.opt = options,
	.count = TW_COUNT(options),
};

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

static int check_names(const struct tw_collector_settings *s, struct tw_err *err)
{
	const char *choice = s->container_names;

	if (strcmp(choice, "auto") == 0 || strcmp(choice, "off") == 0 ||
	    (choice[0] == '/' && strlen(choice) <= TW_SOCKET_PATH_MAX))
		return 0;
	return tw_fail(
		err, TW_INVALID,
		"--container-names: want auto, off, or the path of a socket, of at "
		"most %d bytes",
		TW_SOCKET_PATH_MAX);
}

static int check_filter(const char *text, struct tw_err *err)
{
	struct tw_filter filter = { 0 };
	const int rc = tw_filter_parse(text, &filter, err);

	tw_filter_release(&filter);
	return rc == 0 ? 0 : tw_err_wrap(err, "--model-filter");
}

/* A tree that is not there would be a machine without processes. */
static int check_tree(const char *option, const char *path, struct tw_err *err)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode)
		       ? 0
		       : tw_fail(err, TW_INVALID, "%s: no directory '%.200s'", option,
				 path);
}

int tw_collector_settings_check(const struct tw_collector_settings *s, struct tw_err *err)
{
	if (check_tree("--proc", s->proc, err) < 0 ||
	    check_tree("--sys", s->sys, err) < 0 ||
	    check_filter(s->model_filter, err) < 0)
		return -1;
	for (size_t i = 0; i < s->meters.count; i++)
		if (tw_meter_find(s->meters.at[i]) == NULL)
			return tw_fail(err, TW_INVALID, "--meters: no meter '%s'",
				       s->meters.at[i]);
#if TW_FLEET
	if (!s->local && s->agents.urls.count == 0)
		return tw_fail(err, TW_INVALID, "--local=no: want --agents");
	if (tw_agents_options_check(&s->agents, err) < 0)
		return -1;
#endif
	return check_models(s, err) < 0 || check_names(s, err) < 0 ||
			       tw_pods_options_check(&s->pods, err) < 0 ||
			       tw_push_options_check(&s->push, err) < 0 ||
			       tw_tariff_options_check(&s->tariff, err) < 0 ||
			       tw_own_meter_options_check(&s->own_meter, err) < 0
		       ? -1
		       : tw_redfish_options_check(&s->redfish, err);
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

	show.kepler_legacy = show.kepler_05 || tw_strs_has(&s->compat, "kepler-legacy");
	for (int level = 0; level < TW_LEVEL_COUNT; level++)
		show.level[level] = tw_strs_has(&s->levels, tw_level_names[level]);
	if (show.node_name == NULL) {
		if (gethostname(host, size - 1) < 0)
			host[0] = '\0';
		host[size - 1] = '\0';
		show.node_name = host;
	}
	return show;
}
