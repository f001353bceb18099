/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/estimator.h"
#include "estimator/listen.h"
#include "estimator/stats.h"
#include "lib/ask/fetch.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/server/httpd.h"
#include "lib/program/daemon.h"
#include "lib/program/kepler_key.h"
#include "lib/program/log.h"
#include "lib/program/opt.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Descriptors besides connections: sockets, epoll, inotify, files. */
#define OTHER_FDS 64

/* Longest wait of a request for a model. */
#define MODEL_WAIT_MS 2000

/* The options. */
struct settings {
	char *sockets, *socket_mode;
	struct tw_strs users;
	char *owner;
	char *model_db, *shipped_models, *model_server;
	char *keep;
	uint64_t refresh_ms;
	char *proc, *sys;
	char *metrics, *web_config;
	struct tw_strs host_names;
	uint32_t connections;
	uint64_t idle_ms, request_ms;
	uint64_t series_bytes;
	unsigned log_level, log_format;
	char *ready_file;
	/* Parsed from the texts above, by set_parsed(). */
	struct tw_strs paths;
	struct tw_listener_rights rights;
	struct tw_users allowed;
};

static const char *given(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
}

#define OPT(kind, flag, field, what, line) \
	TW_OPT_ROW(struct settings, kind, flag, field, what, line)

static const struct tw_opt options[] = {
	{ OPT(TEXT, "socket", sockets, "PATH[,PATH]",
	      "paths of the Unix sockets to listen on"),
	  .env = "TW_ESTIMATOR_SOCKET",
	  .fallback = "/tmp/estimator.socket,/tmp/estimator.sock" },
	{ OPT(TEXT, "socket-mode", socket_mode, "MODE",
	      "permissions of the socket files, octal"),
	  .env = "TW_ESTIMATOR_SOCKET_MODE", .fallback = "0666" },
	{ OPT(TEXT, "socket-owner", owner, "[USER][:GROUP]",
	      "owner and group of the socket files (default: those of the process)"),
	  .env = "TW_ESTIMATOR_SOCKET_OWNER" },
	{ OPT(LIST, "allow-users", users, "USER[,USER]",
	      "accept only clients of these users and of root (default: all)"),
	  .env = "TW_ESTIMATOR_ALLOW_USERS" },
	{ OPT(TEXT, "model-db", model_db, "DIR", "directory of the model database"),
	  .env = "TW_MODEL_DB" },
	{ OPT(TEXT, "shipped-models", shipped_models, "DIR",
	      "model database of last resort; empty for none"),
	  .env = "TW_SHIPPED_MODELS", .fallback = TW_MODEL_DB },
	{ OPT(TEXT, "model-server", model_server, "URL",
	      "URL of a model server; its models take precedence over the database"),
	  .env = "MODEL_SERVER_URL" },
	{ OPT(DURATION_MS, "refresh", refresh_ms, "TIME",
	      "interval at which servers are asked again; 0 for once"),
	  .env = "TW_ESTIMATOR_REFRESH", .fallback = "1h" },
	{ OPT(TEXT, "keep", keep, "DIR",
	      "cache of the last good models of servers, for restarts"),
	  .env = "CACHE_DIRECTORY" },
	{ OPT(TEXT, "proc", proc, "DIR", "mount point of procfs"), .env = "TW_PROC",
	  .fallback = "/proc" },
	{ OPT(TEXT, "sys", sys, "DIR", "mount point of sysfs"), .env = "TW_SYS",
	  .fallback = "/sys" },
	{ OPT(LISTEN, "metrics-listen", metrics, "ADDR:PORT",
	      "address of GET /metrics (default: off)"),
	  .env = "TW_ESTIMATOR_METRICS_LISTEN" },
	{ OPT(TEXT, "web-config", web_config, "FILE",
	      "file with TLS and users of GET /metrics, as Prometheus' exporters take"),
	  .env = "TW_ESTIMATOR_WEB_CONFIG" },
	TW_OPTS_HOST_NAMES(struct settings, "TW_ESTIMATOR_HOST_NAMES"),
	{ OPT(U32, "connections", connections, "N",
	      "limit of open connections; one more closes the one idle longest"),
	  .env = "TW_ESTIMATOR_CONNECTIONS", .fallback = "512", .min = 1, .max = 100000 },
	{ OPT(DURATION_MS, "idle-timeout", idle_ms, "TIME",
	      "close a connection without traffic after this time"),
	  .env = "TW_ESTIMATOR_IDLE_TIMEOUT", .fallback = "60s", .min = 1 },
	{ OPT(DURATION_MS, "request-timeout", request_ms, "TIME",
	      "close a connection whose request is incomplete after this time"),
	  .env = "TW_ESTIMATOR_REQUEST_TIMEOUT", .fallback = "10s", .min = 1 },
	{ OPT(SIZE_BYTES, "series-memory", series_bytes, "SIZE",
	      "memory for the last rows of named series"),
	  .env = "TW_ESTIMATOR_SERIES_MEMORY", .fallback = "4MiB" },
	TW_OPT_READY_FILE(struct settings),
	TW_OPTS_LOG(struct settings),
};

static int check(void *config, struct tw_err *err);

static const struct tw_opts opts = {
	.program = "tw-estimator",
	.summary = "estimate power from feature rows, over a Unix socket",
	.opt = options,
	.count = TW_COUNT(options),
	.list_metrics = tw_stats_list,
	.check = check,
};

static int parse_mode(const char *text, mode_t *out, struct tw_err *err)
{
	mode_t mode = 0;
	size_t i;

	for (i = 0; text[i] >= '0' && text[i] <= '7' && i < 5; i++)
		mode = mode * 8 + (mode_t)(text[i] - '0');
	if (i == 0 || text[i] != '\0' || mode > 0777)
		return tw_fail(
			err, TW_INVALID,
			"--socket-mode '%s': expected an octal mode from 0 to 0777",
			text);
	*out = mode;
	return 0;
}

static int set_rights(struct settings *s, struct tw_err *err)
{
	struct tw_listener_rights *r = &s->rights;

	r->user = (uid_t)-1;
	r->group = (gid_t)-1;
	if (parse_mode(s->socket_mode, &r->mode, err) < 0)
		return -1;
	if (s->owner != NULL && tw_owner_read(s->owner, &r->user, &r->group, err) < 0)
		return tw_err_wrap(err, "--socket-owner");
	return 0;
}

static int set_parsed(struct settings *s, struct tw_err *err)
{
	if (set_rights(s, err) < 0 || tw_strs_split(&s->paths, s->sockets, err) < 0)
		return -1;
	if (s->paths.count == 0)
		return tw_fail(err, TW_INVALID, "--socket: expected at least one path");
	if (tw_users_read(&s->users, &s->allowed, err) < 0)
		return tw_err_wrap(err, "--allow-users");
	if (given(s->web_config) != NULL && given(s->metrics) == NULL)
		return tw_fail(err, TW_INVALID, "--web-config: needs --metrics-listen");
	return 0;
}

/* Raise RLIMIT_NOFILE for the wanted connections, and return how many it allows. */
static size_t limit_connections(size_t wanted)
{
	const uint64_t limit = tw_file_limit_raise(wanted + OTHER_FDS);

	if (limit >= wanted + OTHER_FDS)
		return wanted;
	return limit > 2 * OTHER_FDS ? (size_t)limit - OTHER_FDS : OTHER_FDS;
}

/* Start the HTTP helper if a server or a URL is configured. */
static int open_http(struct tw_models_config *c, struct tw_fetch **fetch,
		     struct tw_err *err)
{
	if (c->server_url == NULL && c->init_urls == NULL)
		return 0;
	if (tw_fetch_open(NULL, fetch, err) < 0)
		return -1;
	c->http = (struct tw_models_http){ .call = tw_fetch_call,
					   .stop = tw_fetch_stop,
					   .arg = *fetch };
	return 0;
}

/* The directory, or NULL if it does not exist: an installation does not add it later. */
static const char *existing(const char *dir)
{
	return given(dir) != NULL && access(dir, F_OK) == 0 ? dir : NULL;
}

static int serve(const struct settings *s, struct tw_err *err)
{
	struct tw_estimator_config config = {
		.sockets = &s->paths,
		.rights = s->rights,
		.users = s->allowed.count > 0 ? &s->allowed : NULL,
		.metrics = given(s->metrics),
		.web_config = given(s->web_config),
		.host_names = &s->host_names,
		.connections = limit_connections(s->connections),
		.idle_ms = s->idle_ms,
		.request_ms = s->request_ms,
		.model_wait_ms = MODEL_WAIT_MS,
		.series_bytes = s->series_bytes,
		.models = { .model_db = given(s->model_db),
			    .shipped_db = existing(s->shipped_models),
			    .refresh_ms = s->refresh_ms,
			    .keep_dir = given(s->keep),
			    .server_path = tw_models_server_path(),
			    .server_url = tw_models_server(s->model_server),
			    .proc = s->proc,
			    .sys = s->sys },
	};
	struct tw_estimator *e = NULL;
	struct tw_init_urls urls = { 0 };
	struct tw_fetch *fetch = NULL;
	bool ready = false;
	int signals = -1, rc = -1;

	if (tw_signals_open(&signals, err) < 0 ||
	    tw_systemd_sockets(&config.passed_first, &config.passed, err) < 0 ||
	    tw_init_urls_read(&urls, err) < 0)
		goto out;
	config.models.init_urls = tw_init_urls_any(&urls) ? &urls : NULL;
	if (open_http(&config.models, &fetch, err) < 0 ||
	    tw_estimator_open(&config, &e, err) < 0 ||
	    tw_daemon_ready(s->ready_file, s->sockets, err) < 0)
		goto out;
	ready = true;
	if (config.passed > 0)
		tw_log_info("answering on %u sockets passed by systemd", config.passed);
	else
		tw_log_info("answering on '%s'", s->sockets);
	if (tw_estimator_metrics(e) != NULL)
		tw_log_info("metrics on http://%s/metrics", tw_estimator_metrics(e));
	if (tw_estimator_run(e, signals, err) < 0)
		goto out;
	tw_log_info("stopped");
	rc = 0;
out:
	/* Do not remove the ready file of another instance. */
	if (ready)
		tw_daemon_stopping(s->ready_file);
	tw_estimator_close(e);
	tw_fetch_close(fetch);
	tw_init_urls_release(&urls);
	if (signals >= 0)
		close(signals);
	return rc;
}

/*
 * Return the memory of large requests to the system, and let it grow by mremap() without
 * copies. By default glibc raises the threshold with each large block that is freed.
 */
static void give_back_large_blocks(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
}

static int check(void *config, struct tw_err *err)
{
	struct settings *s = config;
	const struct tw_httpd_config web = { .web_config = given(s->web_config) };
	struct tw_init_urls urls = { 0 };
	int rc = set_parsed(s, err) < 0 || tw_httpd_check(&web, err) < 0 ? -1 : 0;

	for (size_t i = 0; rc == 0 && i < s->paths.count; i++)
		rc = tw_listener_check(s->paths.at[i], err);
	if (rc == 0)
		rc = tw_init_urls_read(&urls, err);
	tw_init_urls_release(&urls);
	return rc;
}

int main(int argc, char **argv)
{
	struct settings s = { 0 };
	struct tw_err err = { 0 };
	enum tw_opts_action action;
	int rest, status = TW_EXIT_USAGE;

	if (!tw_std_files_open())
		return TW_EXIT_FAILED;
	if (tw_kepler_keys_load(tw_models_server_keys, &err) < 0 ||
	    tw_kepler_keys_load(tw_init_urls_keys, &err) < 0 ||
	    tw_models_server_default(&err) < 0)
		goto usage;
	if (tw_opts_parse(&opts, argc, argv, &s, &action, &rest, &err) < 0)
		goto usage;
	if (action == TW_OPTS_EXIT) {
		status = TW_EXIT_OK;
		goto out;
	}
	if (set_parsed(&s, &err) < 0)
		goto usage;
	tw_log_init("tw-estimator", s.log_level, s.log_format);
	give_back_large_blocks();
	status = TW_EXIT_OK;
	if (serve(&s, &err) < 0) {
		tw_log_error("%s", err.text);
		status = TW_EXIT_FAILED;
	}
	goto out;
usage:
	fprintf(stderr, "tw-estimator: %s\n", err.text);
out:
	tw_strs_clear(&s.paths);
	tw_users_release(&s.allowed);
	tw_opts_release(&opts, &s);
	return status;
}
