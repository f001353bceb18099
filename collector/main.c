/* SPDX-License-Identifier: Apache-2.0 */
/* tw-collector: exports the energy of each workload of this machine. */
#include "collector/collector.h"
#include "collector/expose/routes.h"
#include "collector/loop.h"
#include "collector/power/power.h"
#include "collector/rights.h"
#include "collector/settings.h"
#include "collector/system/privilege.h"
#include "collector/texts.h"
#include "collector/workloads/tasks.h"
#include "collector/workloads/workload.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd.h"
#include "lib/http/web/web_log.h"
#include "lib/program/daemon.h"
#include "lib/program/log.h"
#include "lib/program/opt.h"
#include "lib/program/std_files.h"

#include <linux/capability.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	if (!c->node.there)
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
				      .web_changed = tw_web_log_changed };
	struct tw_httpd *httpd = NULL;
	struct tw_loop *loop = NULL;
	bool ready = false;
	int signals = -1, finder = -1, rc = -1;

	if (tw_texts_open(&c.texts, err) < 0)
		goto out;
	hc.routes = tw_collector_routes(&hc.route_count);
	if (tw_collector_start_finder(&c, config, &finder, err) < 0 ||
	    tw_signals_open(&signals, err) < 0) {
		if (finder >= 0)
			close(finder);
		goto out;
	}
	if (tw_collector_open(&c, config, finder, passed_over, meter_found, err) < 0 ||
	    tw_collector_tick(&c, 0, 0, err) < 0 || tw_httpd_open(&hc, &httpd, err) < 0)
		goto out;
	/* Loading the BPF programs needs much more memory than keeping them. */
	tw_daemon_trim();
	if (tw_loop_open(&c, httpd, signals,
			 config->powercap_out != NULL || config->vm_power_dir != NULL,
			 &loop, err) < 0 ||
	    tw_daemon_ready(config->ready_file, tw_httpd_address(httpd), err) < 0)
		goto out;
	ready = true;
	/* Only now: the first tick ran as root, and its files would be owned by root. */
	c.powercap.node_dir = config->powercap_out;
	c.powercap.vm_dir = config->vm_power_dir;
	if (tw_rights_drop(&c, config, err) < 0)
		goto out;
	if (c.workloads != NULL)
		log_missing(&c);
	log_unreadable(httpd, config);
	log_answering(&c, tw_httpd_address(httpd));
	if (tw_loop_run(loop, tick_failed, err) < 0)
		goto out;
	tw_log_info("stopping");

	rc = 0;
out:
	/* Do not remove the ready file of another instance. */
	if (ready)
		tw_daemon_stopping(config->ready_file);
	tw_loop_close(loop);
	if (c.texts != NULL)
		tw_texts_finish(c.texts, FINISH_MS);
	tw_httpd_close(httpd);
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

int main(int argc, char **argv)
{
	struct tw_opts opts = tw_collector_opts;
	struct tw_collector_settings config = { 0 };
	enum tw_opts_action action = TW_OPTS_RUN;
	struct tw_err err = { 0 };
	int rest, status = TW_EXIT_OK;

	opts.list_metrics = tw_collector_list_metrics;
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
