/* SPDX-License-Identifier: Apache-2.0 */
/* tw-collector: exports the energy of each workload of this machine. */
#include "collector/agents/agents.h"
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/expose/push.h"
#include "collector/expose/routes.h"
#include "collector/power/estimates.h"
#include "collector/power/power.h"
#include "collector/settings.h"
#include "collector/system/privilege.h"
#include "collector/texts.h"
#include "collector/system/hypervisor.h"
#include "collector/workloads/pods.h"
#include "collector/workloads/tasks.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd.h"
#include "lib/http/web/web.h"
#include "lib/program/daemon.h"
#include "lib/program/log.h"
#include "lib/program/opt.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#if TW_BPF
#include <bpf/libbpf.h>
#endif

/* Open connections: scrapers and clients of the API. */
#define CONNECTIONS_MAX 64

/* A client has so long to take an answer; Prometheus gives up after 10 s by default. */
#define ANSWER_TIMEOUT_MS 30000

/* Time for answers in progress at the end. */
#define FINISH_MS 2000

static void passed_over(void *arg, const char *source, const struct tw_err *why)
{
	(void)arg;
	(void)source;
	tw_log_info("no %s", why->text);
}

static void meter_found(void *arg, const char *meter)
{
	(void)arg;
	tw_log_info("a meter has appeared name=%s", meter);
}

static void tick_failed(const struct tw_err *why)
{
	static struct tw_log_limit limit;

	tw_log_warn_limited(&limit, "a tick failed, trying the next: %s", why->text);
}

/* Log once what this user cannot read. */
static void log_missing(const struct tw_collector *c)
{
	const bool bpf =
		tw_task_source_find(tw_workloads_source(c->workloads))->reports_exits;
	bool whole = false;

	if (!bpf)
		tw_log_warn(
			"without BPF: processes that start and exit between two ticks "
			"are not seen");
	for (int kind = 0; kind < TW_ZONE_SENSOR; kind++)
		whole = whole ||
			tw_power_meter(c->power, (enum tw_zone_kind)kind) != NULL;
	if (!whole)
		tw_log_warn("no power meter: CPU time is exported, energy is not; use "
			    "--model or --model-db to estimate it");
	if (!c->node.fresh)
		tw_log_warn(
			"cannot read %s/stat or %s/vmstat: the counters of the machine "
			"are not exported",
			c->roots.proc, c->roots.proc);
	if (tw_proc_is_hidden(&c->roots) && !tw_has_capability(CAP_SYS_PTRACE))
		tw_log_warn("%s hides processes of other users (hidepid): %s",
			    c->roots.proc,
			    bpf ? "virtual machines are known only by their cgroups"
				: "they are not seen");
}

/* Files that only root can read do not change until a restart. */
static void log_unreadable(const struct tw_httpd *httpd,
			   const struct tw_collector_settings *config)
{
	struct tw_err err = { 0 };

	if (tw_httpd_can_reload(httpd, &err) < 0)
		tw_log_warn("changes of the web configuration need a restart, because "
			    "user %s cannot read it: %s",
			    config->user, err.text);
}

static void log_answering(const struct tw_collector *c, const char *address)
{
	if (c->workloads != NULL)
		tw_log_info("answering address=%s tasks=%s cgroups=\"%s\"", address,
			    tw_workloads_source(c->workloads),
			    tw_workloads_cgroups(c->workloads));
	else
		tw_log_info("answering address=%s, for agents only", address);
}

/* ---- rights ---- */

/*
 * Root on a host of virtual machines reads the descriptors of hypervisors, which may be
 * of other users.
 */
static bool reads_descriptors(const struct tw_collector *c, const char *user)
{
	const int devices = user == NULL || strcmp(user, "root") == 0
				    ? tw_hypervisor_devices(c->roots.sys)
				    : -1;

	if (devices >= 0)
		close(devices);
	return devices >= 0;
}

/* Capabilities to keep: CAP_BPF for reading maps, CAP_SYS_PTRACE under hidepid. */
static uint64_t capabilities(const struct tw_collector *c, const char *user)
{
	const struct tw_task_source *s;
	uint64_t keep = 0;

	if (c->workloads == NULL)
		return 0;
	s = tw_task_source_find(tw_workloads_source(c->workloads));
	if (s->reports_exits || c->counters != NULL || c->traces != NULL)
		keep |= UINT64_C(1) << CAP_BPF;
	if (tw_proc_is_hidden(&c->roots) || reads_descriptors(c, user))
		keep |= UINT64_C(1) << CAP_SYS_PTRACE;
	return keep;
}

/* The keeper retires the trees after this many intervals and KEEPER_MS without a tick. */
#define KEEPER_TICKS 3
#define KEEPER_MS 5000

static int start_keeper(struct tw_collector *c, const struct tw_collector_settings *s,
			struct tw_err *err)
{
	const struct tw_powercap_keeper_config k = {
		.node_dir = s->powercap_out,
		.vm_dir = s->vm_power_dir,
		.privilege = { .user = s->user, .filter = s->filter, .may_write = true },
		.patience_ms = KEEPER_TICKS * (int)s->interval_ms + KEEPER_MS
	};

	return tw_powercap_keeper_start(&k, &c->powercap.keeper, err);
}

/*
 * Drop all rights that c does not need (collector/system/privilege.h). Creates the output
 * directories of c and gives them to the new user.
 */
static int drop_rights(const struct tw_collector *c,
		       const struct tw_collector_settings *s, struct tw_err *err)
{
	const struct tw_privilege p = { .user = s->user,
					.keep = capabilities(c, s->user),
					.filter = s->filter,
					.may_write = c->powercap.node_dir != NULL ||
						     c->powercap.vm_dir != NULL };
	struct tw_hypervisor_users users;

	if (tw_give_directory(c->powercap.node_dir, s->user, err) < 0 ||
	    tw_give_directory(c->powercap.vm_dir, s->user, err) < 0)
		return -1;
	if (c->powercap.vm_dir != NULL &&
	    (tw_hypervisor_users_read(&s->vm_users, &users, err) < 0 ||
	     tw_hypervisor_users_share(&users, c->powercap.vm_dir, err) < 0))
		return -1;
	return tw_privilege_drop(&p, err);
}

/* ---- the main loop ---- */

#define MS UINT64_C(1000000)

/*
 * The main thread runs ticks by a timer, and serves HTTP and kernel events between them.
 */
struct loop {
	struct tw_collector *collector;
	struct tw_httpd *httpd;
	int epoll, timer, signals;
	int watch_timer; /* -1: ticks are near enough */
	int step_timer;  /* of powercap trees; -1: none */
	uint64_t due_ns; /* CLOCK_MONOTONIC of the next tick */
	uint64_t interval_ns;
};

/* The kinds of descriptors that epoll watches. */
enum kind {
	KIND_TIMER,
	KIND_WATCH,
	KIND_STEP,
	KIND_SIGNALS,
	KIND_HTTP,
	KIND_EVENTS,
	KIND_FINDER,
	KIND_PODS,
	KIND_ENGINES,
	KIND_TEXTS,
	KIND_PUSH, /* of each receiver */
	KIND_PUSH_LAST = KIND_PUSH + TW_PUSH_COUNT - 1,
#if TW_FLEET
	KIND_AGENTS,
#endif
	KIND_COUNT
};

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / (1000 * MS)),
				  .tv_nsec = (long)(ns % (1000 * MS)) };
}

static int start_timer(struct loop *l, struct tw_err *err)
{
	struct itimerspec when;

	l->interval_ns = l->collector->interval_ms * MS;
	l->due_ns = tw_now_ns() + l->interval_ns;
	when = (struct itimerspec){ .it_interval = timespec_of(l->interval_ns),
				    .it_value = timespec_of(l->due_ns) };
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (l->timer < 0 || timerfd_settime(l->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		return tw_fail_errno(err, errno, "cannot start a timer");
	return 0;
}

/* Let a timer expire every ns; 0: stop it. */
static int set_timer(int timer, uint64_t ns)
{
	const struct itimerspec every = { .it_interval = timespec_of(ns),
					  .it_value = timespec_of(ns) };

	return timerfd_settime(timer, 0, &every, NULL);
}

/* A timer between ticks that are further apart. */
static int start_between(const struct loop *l, uint64_t ns, int *timer,
			 struct tw_err *err)
{
	if (l->interval_ns <= ns)
		return 0;
	*timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (*timer < 0 || set_timer(*timer, ns) < 0)
		return tw_fail_errno(err, errno, "cannot start a timer");
	return 0;
}

static int watch_all(const struct loop *l, struct tw_err *err)
{
	const struct tw_collector *c = l->collector;
	const int fds[KIND_COUNT] = {
		[KIND_TIMER] = l->timer,
		[KIND_WATCH] = l->watch_timer,
		[KIND_STEP] = l->step_timer,
		[KIND_SIGNALS] = l->signals,
		[KIND_HTTP] = tw_httpd_fd(l->httpd),
		[KIND_EVENTS] = c->workloads != NULL ? tw_workloads_fd(c->workloads) : -1,
		[KIND_FINDER] = c->estimates != NULL ? tw_estimates_fd(c->estimates) : -1,
		[KIND_PODS] = c->pods != NULL ? tw_pods_fd(c->pods) : -1,
		[KIND_ENGINES] = c->engines != NULL ? tw_pods_fd(c->engines) : -1,
		[KIND_TEXTS] = tw_texts_fd(c->texts),
		[KIND_PUSH + TW_PUSH_OTLP] = tw_push_fd(c->push, TW_PUSH_OTLP),
		[KIND_PUSH + TW_PUSH_REMOTE_WRITE] =
			tw_push_fd(c->push, TW_PUSH_REMOTE_WRITE),
#if TW_FLEET
		[KIND_AGENTS] = c->agents != NULL ? tw_agents_fd(c->agents) : -1,
#endif
	};

	for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
		struct epoll_event ev = { .events = EPOLLIN, .data = { .u32 = kind } };

		if (fds[kind] >= 0 &&
		    epoll_ctl(l->epoll, EPOLL_CTL_ADD, fds[kind], &ev) < 0)
			return tw_fail_errno(err, errno, "epoll");
	}
	return 0;
}

/*
 * Start the timers. powercap starts the timer of the steps of powercap trees, too; their
 * directories may be set later. Call close_loop() after a failure, too.
 */
static int open_loop(struct loop *l, bool powercap, struct tw_err *err)
{
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		return tw_fail_errno(err, errno, "epoll");
	/*
	 * Between two ticks that are far apart, counters may wrap around more than once,
	 * and drivers forget the processes that used a GPU. A GPU may appear later.
	 */
	if (start_timer(l, err) < 0 ||
	    (l->collector->power != NULL &&
	     start_between(l, TW_METER_WATCH_NS, &l->watch_timer, err) < 0) ||
	    (powercap && start_between(l, TW_POWERCAP_STEP_NS, &l->step_timer, err) < 0))
		return -1;
	return watch_all(l, err);
}

static void close_loop(struct loop *l)
{
	const int fds[] = { l->timer, l->watch_timer, l->step_timer, l->epoll };

	for (size_t i = 0; i < TW_COUNT(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* A read returns the number of expirations since the last read. */
static void run_timer(struct loop *l)
{
	struct tw_err err = { 0 };
	uint64_t count, late_ns;

	if (read(l->timer, &count, sizeof(count)) != (ssize_t)sizeof(count) || count == 0)
		return;
	l->due_ns += count * l->interval_ns;
	late_ns = tw_now_ns() - (l->due_ns - l->interval_ns);
	if (tw_collector_tick(l->collector, late_ns, count - 1, &err) < 0)
		tick_failed(&err);
	if (l->step_timer >= 0)
		(void)set_timer(l->step_timer, TW_POWERCAP_STEP_NS);
	tw_texts_tidy(l->collector->texts, tw_collector_tick_number(l->collector));
	tw_metrics_push(l->collector);
}

static void run_watch(const struct loop *l)
{
	uint64_t count;

	if (read(l->watch_timer, &count, sizeof(count)) == (ssize_t)sizeof(count))
		tw_power_watch(l->collector->power, tw_boot_ns());
}

/* The next tick starts the steps again. */
static void run_step(const struct loop *l)
{
	uint64_t count;

	if (read(l->step_timer, &count, sizeof(count)) == (ssize_t)sizeof(count) &&
	    !tw_powercap_step(&l->collector->powercap, tw_now_ns()))
		(void)set_timer(l->step_timer, 0);
}

/* Return false on a stop signal; any other signal reloads the models. */
static bool go_on(const struct loop *l)
{
	enum tw_signal signal;

	while ((signal = tw_signals_next(l->signals)) != TW_SIGNAL_NONE) {
		if (signal == TW_SIGNAL_STOP)
			return false;
		if (l->collector->estimates != NULL)
			tw_estimates_reload(l->collector->estimates);
	}
	return true;
}

/* Handle an event. False: stop. */
static bool handle_event(struct loop *l, uint32_t kind)
{
	const struct tw_collector *c = l->collector;

	if (kind >= KIND_PUSH && kind <= KIND_PUSH_LAST) {
		tw_push_hear(c->push, (int)(kind - KIND_PUSH));
		return true;
	}
	switch (kind) {
	case KIND_SIGNALS:
		return go_on(l);
	case KIND_TIMER:
		run_timer(l);
		break;
	case KIND_WATCH:
		run_watch(l);
		break;
	case KIND_STEP:
		run_step(l);
		break;
	case KIND_EVENTS:
		tw_workloads_drain(c->workloads);
		break;
	case KIND_FINDER:
		/* A finder that exits closes its descriptor, so epoll forgets it. */
		(void)tw_estimates_hear(c->estimates);
		break;
	case KIND_PODS:
		tw_pods_drain(c->pods);
		break;
	case KIND_ENGINES:
		tw_pods_drain(c->engines);
		break;
	case KIND_TEXTS:
		tw_texts_hear(c->texts);
		break;
#if TW_FLEET
	case KIND_AGENTS:
		tw_agents_drain(c->agents);
		break;
#endif
	default: /* KIND_HTTP: served after all events */
		break;
	}
	return true;
}

/* Run until a stop signal. After a failed tick, continue with the next. */
static int run_loop(struct loop *l, struct tw_err *err)
{
	for (;;) {
		struct epoll_event ev[KIND_COUNT];
		const int n = epoll_wait(l->epoll, ev, KIND_COUNT,
					 tw_httpd_timeout_ms(l->httpd));

		if (n < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "epoll");
		for (int i = 0; i < n; i++)
			if (!handle_event(l, ev[i].data.u32))
				return 0;
		tw_httpd_run(l->httpd);
	}
}

/*
 * Open what needs rights, and run the first tick. The caller closes c and *signals, also
 * after a failure.
 */
static int open_collector(struct tw_collector *c,
			  const struct tw_collector_settings *config, int *signals,
			  struct tw_err *err)
{
	int finder = -1;

	if (start_keeper(c, config, err) < 0 || tw_texts_open(&c->texts, err) < 0)
		return -1;
	if (tw_collector_start_finder(c, config, &finder, err) < 0 ||
	    tw_signals_open(signals, err) < 0) {
		if (finder >= 0)
			close(finder);
		return -1;
	}
	return tw_collector_open(c, config, finder, passed_over, meter_found, err) < 0 ||
			       tw_push_open(config, c->show.node_name, &c->push, err) <
				       0 ||
			       tw_collector_tick(c, 0, 0, err) < 0
		       ? -1
		       : 0;
}

/* After the first tick: it ran as root, so root would own its files. */
static void set_trees(struct tw_collector *c, const struct tw_collector_settings *config)
{
	c->powercap.node_dir = config->powercap_out;
	c->powercap.vm_dir = config->vm_power_dir;
	c->powercap.trees_max = TW_POWERCAP_TREES_MAX;
	c->powercap.keep_ns = config->keep_ended_ms * MS;
}

static int serve(const struct tw_collector_settings *config, struct tw_err *err)
{
	char host[256];
	struct tw_collector c = {
		.roots = { config->proc, config->sys, config->dev, config->powercap },
		.interval_ms = config->interval_ms,
		.show = tw_collector_settings_show(config, host, sizeof(host))
	};
	struct tw_httpd_config hc = { .listen = config->listen,
				      .app = &c,
				      .callers_thread = true,
				      .connections_max = CONNECTIONS_MAX,
				      .answer_timeout_ms = ANSWER_TIMEOUT_MS,
				      .web_config = config->web_config,
				      .host_names = &config->host_names,
				      .web_changed = tw_web_log_changed };
	struct tw_httpd *httpd = NULL;
	struct loop loop = { .collector = &c,
			     .epoll = -1,
			     .timer = -1,
			     .watch_timer = -1,
			     .step_timer = -1 };
	bool ready = false;
	int signals = -1, rc = -1;

	hc.routes = tw_collector_routes(&hc.route_count);
	if (open_collector(&c, config, &signals, err) < 0 ||
	    tw_httpd_open(&hc, &httpd, err) < 0)
		goto out;
	/* Loading the BPF programs needs much more memory than keeping them. */
	tw_daemon_trim();
	loop.httpd = httpd;
	loop.signals = signals;
	if (open_loop(&loop, config->powercap_out != NULL || config->vm_power_dir != NULL,
		      err) < 0 ||
	    tw_daemon_ready(config->ready_file, tw_httpd_address(httpd), err) < 0)
		goto out;
	ready = true;
	set_trees(&c, config);
	if (drop_rights(&c, config, err) < 0)
		goto out;
	if (c.workloads != NULL)
		log_missing(&c);
	log_unreadable(httpd, config);
	log_answering(&c, tw_httpd_address(httpd));
	if (run_loop(&loop, err) < 0)
		goto out;
	tw_log_info("stopping");

	rc = 0;
out:
	/* Do not remove the ready file of another instance. */
	if (ready)
		tw_daemon_stopping(config->ready_file);
	close_loop(&loop);
	if (c.texts != NULL)
		tw_texts_finish(c.texts, FINISH_MS);
	tw_httpd_close(httpd);
	tw_push_close(c.push);
	tw_collector_close(&c);
	if (signals >= 0)
		close(signals);
	return rc;
}

#if TW_BPF
/* libbpf logs whole verifier logs in one call: log them line by line, for debugging. */
__attribute__((format(printf, 2, 0))) static int
log_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text, *save = NULL;

	(void)level;
	if (vasprintf(&text, format, args) < 0)
		return 0;
	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		tw_log_debug("%s", line);
	free(text);
	return 0;
}
#endif

static int check(void *settings, struct tw_err *err)
{
	const struct tw_collector_settings *s = settings;
	const struct tw_httpd_config web = { .web_config = s->web_config };

	return tw_collector_settings_check(s, err) < 0 ||
			       tw_collector_check(s, err) < 0 ||
			       tw_httpd_check(&web, err) < 0
		       ? -1
		       : 0;
}

int main(int argc, char **argv)
{
	struct tw_opts opts = tw_collector_opts;
	struct tw_collector_settings config = { 0 };
	enum tw_opts_action action = TW_OPTS_RUN;
	struct tw_err err = { 0 };
	int rest, status = TW_EXIT_OK;

	opts.list_metrics = tw_collector_list_metrics;
	opts.check = check;
	if (!tw_std_files_open())
		return TW_EXIT_FAILED;
	if (tw_collector_settings_kepler(&err) < 0 ||
	    tw_opts_parse(&opts, argc, argv, &config, &action, &rest, &err) < 0 ||
	    (action == TW_OPTS_RUN && tw_collector_settings_check(&config, &err) < 0)) {
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
