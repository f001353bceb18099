/* SPDX-License-Identifier: Apache-2.0 */
/* tw-collector: what each workload of this machine uses. */
#include "collector/attribute.h"
#include "collector/cgroup.h"
#include "collector/collector.h"
#include "collector/counters.h"
#include "collector/exporter.h"
#include "collector/loop.h"
#include "collector/meter.h"
#include "collector/power.h"
#include "collector/privilege.h"
#include "collector/tasks.h"
#include "collector/workload.h"
#include "lib/daemon.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/httpd.h"
#include "lib/log.h"
#include "lib/opt.h"
#include "lib/strs.h"

#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if TW_BPF
#include <bpf/libbpf.h>
#endif

#define INTERVAL_MIN_MS 100
#define INTERVAL_MAX_MS 3600000

/* How many that scrape at a time. */
#define CONNECTIONS_MAX 64

struct config {
	char *listen;
	uint64_t interval_ms;
	unsigned bpf;
	unsigned counters;
	unsigned cgroups;
	char *proc;
	char *sys;
	char *dev;
	uint64_t keep_ended_ms;
	uint32_t ended_max;
	uint32_t events_max;
	struct tw_strs meters;
	unsigned idle_by;
	struct tw_strs levels;
	struct tw_strs compat;
	uint32_t top;
	uint32_t min_joules;
	char *node_name;
	char *powercap;
	char *model;
	char *powercap_out;
	char *vm_power_dir;
	char *user;
	bool filter;
	unsigned log_level;
	unsigned log_format;
	char *ready_file;
};

enum bpf_choice { BPF_AUTO, BPF_OFF, BPF_WALK, BPF_ITER };

static const char *const bpf_names[] = { "auto", "off", "walk", "iter", NULL };

enum counters_choice { COUNTERS_AUTO, COUNTERS_OFF, COUNTERS_SOFTWARE };

static const char *const counters_names[] = { "auto", "off", "software", NULL };

static const struct tw_opt options[] = {
	{ .name = "listen",
	  .env = "TW_COLLECTOR_LISTEN",
	  .type = TW_OPT_LISTEN,
	  .offset = offsetof(struct config, listen),
	  .fallback = "127.0.0.1:8103",
	  .arg = "ADDR:PORT",
	  .help = "answer HTTP here" },
	{ .name = "interval",
	  .env = "TW_INTERVAL",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct config, interval_ms),
	  .fallback = "3s",
	  .arg = "TIME",
	  .help = "between two ticks: 100ms to 1h" },
	{ .name = "bpf",
	  .env = "TW_BPF",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct config, bpf),
	  .fallback = "auto",
	  .arg = "HOW",
	  .help = "auto (the best that works), walk, iter, or off (/proc)",
	  .choices = bpf_names },
	{ .name = "counters",
	  .env = "TW_COUNTERS",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct config, counters),
	  .fallback = "auto",
	  .arg = "WHICH",
	  .help = "auto (the processor's, if it has any), off, or software (for tests)",
	  .choices = counters_names },
	{ .name = "cgroups",
	  .env = "TW_CGROUPS",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct config, cgroups),
	  .fallback = "auto",
	  .arg = "VERSION",
	  .help = "auto, v1 or v2: whose cgroups are told",
	  .choices = tw_cgroup_choice_names },
	{ .name = "proc",
	  .env = "TW_PROC",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, proc),
	  .fallback = "/proc",
	  .arg = "DIR",
	  .help = "where the machine's /proc is" },
	{ .name = "sys",
	  .env = "TW_SYS",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, sys),
	  .fallback = "/sys",
	  .arg = "DIR",
	  .help = "where the machine's /sys is" },
	{ .name = "dev",
	  .env = "TW_DEV",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, dev),
	  .fallback = "/dev",
	  .arg = "DIR",
	  .help = "where the machine's /dev is" },
	{ .name = "meters",
	  .env = "TW_METERS",
	  .type = TW_OPT_LIST,
	  .offset = offsetof(struct config, meters),
	  .arg = "NAME,...",
	  .help = "read these meters only; if not given, all that there are" },
	{ .name = "idle-by",
	  .env = "TW_IDLE_BY",
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct config, idle_by),
	  .fallback = "use",
	  .arg = "HOW",
	  .help = "idle energy goes by use of CPUs, or by share that was requested",
	  .choices = tw_idle_by_names },
	{ .name = "levels",
	  .env = "TW_LEVELS",
	  .type = TW_OPT_LIST,
	  .offset = offsetof(struct config, levels),
	  .fallback = "process,cgroup,container,pod,vm",
	  .arg = "LEVEL,...",
	  .help = "of process, cgroup, container, pod, vm: what is told" },
	{ .name = "top",
	  .env = "TW_TOP",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct config, top),
	  .fallback = "1000",
	  .arg = "N",
	  .help = "tell so many processes and cgroups, those of most energy; 0: all" },
	{ .name = "min-joules",
	  .env = "TW_MIN_JOULES",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct config, min_joules),
	  .fallback = "0",
	  .arg = "J",
	  .help = "and only those of so much energy" },
	{ .name = "compat",
	  .env = "TW_COMPAT",
	  .type = TW_OPT_LIST,
	  .offset = offsetof(struct config, compat),
	  .arg = "NAME,...",
	  .help = "kepler, kepler-legacy: also the metrics of Kepler 0.10, of 0.5 to "
		  "0.9" },
	{ .name = "node-name",
	  .env = "TW_NODE_NAME",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, node_name),
	  .arg = "NAME",
	  .help = "of this machine, in Kepler's metrics; if not given, its host name" },
	{ .name = "powercap",
	  .env = "TW_POWERCAP",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, powercap),
	  .arg = "DIR",
	  .help = "where powercap is, if not below --sys: in a VM, what its host gives" },
	{ .name = "model",
	  .env = "TW_MODEL",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, model),
	  .arg = "PATH",
	  .help = "estimate by this trained model what no meter tells" },
	{ .name = "powercap-out",
	  .env = "TW_POWERCAP_OUT",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, powercap_out),
	  .arg = "DIR",
	  .help = "write this machine's energy here, as a tree of powercap" },
	{ .name = "vm-power-dir",
	  .env = "TW_VM_POWER_DIR",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, vm_power_dir),
	  .arg = "DIR",
	  .help = "write the energy of each VM below here, the same way" },
	{ .name = "keep-ended",
	  .env = "TW_KEEP_ENDED",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct config, keep_ended_ms),
	  .fallback = "5m",
	  .arg = "TIME",
	  .help = "how long a process that ended waits for a scrape" },
	{ .name = "ended-max",
	  .env = "TW_ENDED_MAX",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct config, ended_max),
	  .fallback = "10000",
	  .arg = "N",
	  .help = "how many of them wait; others become one for each cgroup" },
	{ .name = "events-max",
	  .env = "TW_EVENTS_MAX",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct config, events_max),
	  .fallback = "4096",
	  .min = 1,
	  .max = 1u << 20,
	  .arg = "N",
	  .help = "room in the kernel for ends and moves of processes" },
	{ .name = "user",
	  .env = "TW_USER",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, user),
	  .fallback = "nobody",
	  .arg = "NAME",
	  .help = "become this user once all is open, if started as root" },
	{ .name = "filter",
	  .env = "TW_FILTER",
	  .type = TW_OPT_BOOL,
	  .offset = offsetof(struct config, filter),
	  .fallback = "yes",
	  .help = "refuse system calls that are not needed any more (seccomp)" },
	TW_OPTS_LOG(struct config),
	TW_OPT_READY_FILE(struct config),
};

static const struct tw_opts opts = {
	.program = "tw-collector",
	.summary = "Tell what each workload of this machine uses.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

static bool find_level(const char *name, enum tw_level *out)
{
	for (int level = 0; level < TW_LEVEL_COUNT; level++) {
		*out = (enum tw_level)level;
		if (strcmp(tw_level_name(*out), name) == 0)
			return true;
	}
	return false;
}

static int check_config(const struct config *c, struct tw_err *err)
{
	enum tw_level level;

	if (c->interval_ms < INTERVAL_MIN_MS || c->interval_ms > INTERVAL_MAX_MS)
		return tw_fail(err, TW_INVALID, "--interval: want 100ms to 1h");
	for (size_t i = 0; i < c->levels.count; i++)
		if (!find_level(c->levels.at[i], &level))
			return tw_fail(err, TW_INVALID, "--levels: no level '%s'",
				       c->levels.at[i]);
	for (size_t i = 0; i < c->compat.count; i++)
		if (strcmp(c->compat.at[i], "kepler") != 0 &&
		    strcmp(c->compat.at[i], "kepler-legacy") != 0)
			return tw_fail(err, TW_INVALID,
				       "--compat: want kepler or kepler-legacy");
	for (size_t i = 0; i < c->meters.count; i++)
		if (tw_meter_find(c->meters.at[i]) == NULL)
			return tw_fail(err, TW_INVALID, "--meters: no meter '%s'",
				       c->meters.at[i]);
	return 0;
}

static void passed_over(void *arg, const char *source, const struct tw_err *why)
{
	(void)arg;
	(void)source;
	tw_log_info("no %s", why->text);
}

static void tick_failed(const struct tw_err *why)
{
	static struct tw_log_limit limit;

	tw_log_warn_limited(&limit, "a tick failed, trying the next: %s", why->text);
}

/* Those that a machine has not got are no failure unless they were asked for. */
static int open_counters(const struct config *config, struct tw_counters **out,
			 struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (config->counters == COUNTERS_SOFTWARE)
		return tw_counters_open(true, out, err);
	if (config->counters == COUNTERS_AUTO && config->bpf != BPF_OFF &&
	    tw_counters_open(false, out, &why) < 0)
		tw_log_info("no counters: %s", why.text);
	return 0;
}

static int open_workloads(const struct config *config, const struct tw_roots *roots,
			  struct tw_counters *counters, struct tw_workloads **out,
			  struct tw_err *err)
{
	struct tw_workloads_config c = {
		.roots = roots,
		.counters = counters,
		.cgroups = config->cgroups,
		.bpf = config->bpf == BPF_AUTO,
		.keep_ms = config->keep_ended_ms,
		.ended_max = config->ended_max,
		.events_max = config->events_max,
		.passed = passed_over,
	};

	if (config->bpf == BPF_WALK || config->bpf == BPF_ITER) {
		c.source = tw_task_source_find(config->bpf == BPF_WALK ? "bpf-walk"
								       : "bpf-iter");
		if (c.source == NULL)
			return tw_fail(err, TW_UNSUPPORTED, "built without BPF");
	}
	return tw_workloads_open(&c, out, err);
}

static int open_power(const struct config *config, struct tw_collector *c,
		      struct tw_err *err)
{
	const struct tw_power_config pc = {
		.meter = { .roots = &c->roots, .node = &c->node, .model = config->model },
		.meters = &config->meters,
		.passed = passed_over,
	};

	if (tw_node_open(&c->node, &c->roots, err) < 0 ||
	    tw_attribution_open(config->idle_by, &c->attribution, err) < 0)
		return -1;
	return tw_power_open(&pc, &c->power, err);
}

/* They are told to whoever knows them from Kepler, once. */
static void read_processors(const struct config *config, struct tw_collector *c)
{
	struct tw_err why = { 0 };

	if (tw_strs_has(&config->compat, "kepler") &&
	    tw_processors_read(&c->roots, &c->processors, &why) < 0)
		tw_log_info("processors are not known: %s", why.text);
}

/* host has room for a host name. */
static struct tw_show show_of(const struct config *config, char *host, size_t size)
{
	struct tw_show s = { .top = config->top,
			     .min_uj = config->min_joules * UINT64_C(1000000),
			     .kepler = tw_strs_has(&config->compat, "kepler"),
			     .kepler_legacy =
				     tw_strs_has(&config->compat, "kepler-legacy"),
			     .node_name = config->node_name };
	enum tw_level level;

	for (size_t i = 0; i < config->levels.count; i++)
		if (find_level(config->levels.at[i], &level))
			s.level[level] = true;
	if (s.node_name == NULL) {
		if (gethostname(host, size - 1) < 0)
			host[0] = '\0';
		host[size - 1] = '\0';
		s.node_name = host;
	}
	return s;
}

/* Of a source that needs one for each read, and of a /proc that hides. */
static uint64_t capabilities(const struct tw_collector *c, bool counters)
{
	const struct tw_task_source *s =
		tw_task_source_find(tw_workloads_source(c->workloads));
	uint64_t keep = 0;

	if (s->tells_ends || counters)
		keep |= UINT64_C(1) << CAP_BPF;
	if (tw_proc_is_hidden(&c->roots))
		keep |= UINT64_C(1) << CAP_SYS_PTRACE;
	return keep;
}

/* What this user cannot see is said once, at the start. */
static void tell_what_is_missing(const struct tw_collector *c)
{
	const bool bpf =
		tw_task_source_find(tw_workloads_source(c->workloads))->tells_ends;
	size_t zones;

	if (!bpf)
		tw_log_warn("without BPF: processes that begin and end between two ticks "
			    "are not seen");
	tw_power_zones(c->power, &zones);
	if (zones == 0)
		tw_log_warn("no meter of power: CPU time is told, energy is not");
	if (!c->node.there)
		tw_log_warn(
			"%s/stat or %s/vmstat cannot be read: what the machine counts "
			"is not told",
			c->roots.proc, c->roots.proc);
	if (tw_proc_is_hidden(&c->roots) && !tw_has_capability(CAP_SYS_PTRACE))
		tw_log_warn("%s hides processes of other users (hidepid): %s",
			    c->roots.proc,
			    bpf ? "virtual machines are known by their cgroups only"
				: "they are not seen");
}

/* Files are written after root is given up: the directory is the new user's. */
static int give_directory(const char *dir, const char *user, struct tw_err *err)
{
	const struct passwd *pw;

	if (dir == NULL)
		return 0;
	if (tw_dir_make(dir, err) < 0)
		return -1;
	if (geteuid() != 0)
		return 0;
	pw = getpwnam(user);
	if (pw == NULL)
		return tw_fail(err, TW_NOTFOUND, "no user '%s'", user);
	if (chown(dir, pw->pw_uid, pw->pw_gid) < 0)
		return tw_fail_errno(err, errno, "cannot give '%s' to '%s'", dir, user);
	return 0;
}

static int drop_privileges(const struct config *config, const struct tw_collector *c,
			   bool counters, struct tw_err *err)
{
	const struct tw_privilege p = { .user = config->user,
					.keep = capabilities(c, counters),
					.filter = config->filter,
					.may_write = c->powercap_out != NULL ||
						     c->vm_power_dir != NULL };
	bool filtered;

	if (give_directory(c->powercap_out, config->user, err) < 0 ||
	    give_directory(c->vm_power_dir, config->user, err) < 0)
		return -1;
	if (tw_privilege_drop(&p, &filtered, err) < 0)
		return -1;
	if (config->filter && !filtered)
		tw_log_info("no filter of system calls on this architecture");
	return 0;
}

static int serve(const struct config *config, struct tw_err *err)
{
	char host[256];
	struct tw_collector c = { .roots = { config->proc, config->sys, config->dev,
					     config->powercap },
				  .interval_ms = config->interval_ms,
				  .show = show_of(config, host, sizeof(host)) };
	struct tw_httpd_config hc = { .listen = config->listen,
				      .app = &c,
				      .callers_thread = true,
				      .connections_max = CONNECTIONS_MAX };
	struct tw_httpd *httpd = NULL;
	struct tw_counters *counters = NULL;
	struct tw_loop *loop = NULL;
	bool ready = false;
	int signals = -1, rc = -1;

	read_processors(config, &c);
	hc.routes = tw_collector_routes(&hc.route_count);
	if (tw_signals_open(&signals, err) < 0 ||
	    open_counters(config, &counters, err) < 0 ||
	    open_workloads(config, &c.roots, counters, &c.workloads, err) < 0 ||
	    open_power(config, &c, err) < 0 || tw_collector_tick(&c, 0, 0, err) < 0 ||
	    tw_httpd_open(&hc, &httpd, err) < 0)
		goto out;
	/* Loading programs takes many times what they keep. */
	tw_daemon_trim();
	if (tw_loop_open(&c, httpd, signals, &loop, err) < 0 ||
	    tw_daemon_ready(config->ready_file, tw_httpd_address(httpd), err) < 0)
		goto out;
	ready = true;
	/* Not at the first tick, which is root's. */
	c.powercap_out = config->powercap_out;
	c.vm_power_dir = config->vm_power_dir;
	if (drop_privileges(config, &c, counters != NULL, err) < 0)
		goto out;
	tell_what_is_missing(&c);
	tw_log_info("answering address=%s tasks=%s cgroups=\"%s\"",
		    tw_httpd_address(httpd), tw_workloads_source(c.workloads),
		    tw_workloads_cgroups(c.workloads));
	if (tw_loop_run(loop, tick_failed, err) < 0)
		goto out;
	tw_log_info("stopping");

	rc = 0;
out:
	/* Another's ready file is not ours to remove. */
	if (ready)
		tw_daemon_stopping(config->ready_file);
	tw_loop_close(loop);
	tw_httpd_close(httpd);
	tw_power_close(c.power);
	tw_attribution_close(c.attribution);
	tw_node_release(&c.node);
	tw_processors_release(&c.processors);
	tw_workloads_close(c.workloads);
	tw_counters_close(counters);
	if (signals >= 0)
		close(signals);
	return rc;
}

#if TW_BPF
/* What libbpf has to say is for whoever looks for a mistake. */
__attribute__((format(printf, 2, 0))) static int
log_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[1024];
	size_t len;

	(void)level;
	vsnprintf(line, sizeof(line), format, args);
	len = strcspn(line, "\n");
	line[len] = '\0';
	tw_log_debug("%s", line);
	return 0;
}
#endif

int main(int argc, char **argv)
{
	struct config config = { 0 };
	enum tw_opts_action action = TW_OPTS_RUN;
	struct tw_err err = { 0 };
	int rest, status = TW_EXIT_OK;

	if (tw_opts_parse(&opts, argc, argv, &config, &action, &rest, &err) < 0 ||
	    (action == TW_OPTS_RUN && check_config(&config, &err) < 0)) {
		fprintf(stderr, "tw-collector: %s\n", err.text);
		status = TW_EXIT_USAGE;
	} else if (action == TW_OPTS_RUN) {
		tw_log_init("tw-collector", config.log_level, config.log_format);
#if TW_BPF
		libbpf_set_print(log_libbpf);
#endif
		if (serve(&config, &err) < 0) {
			tw_log_error("%s", err.text);
			status = TW_EXIT_FAILED;
		}
	}
	tw_opts_release(&opts, &config);
	return status;
}
