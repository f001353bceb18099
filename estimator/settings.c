/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/settings.h"

#include "estimator/stats.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/program/log.h"

#include <stddef.h>

#define OPT(kind, flag, field, what, line) \
	TW_OPT_ROW(struct tw_settings, kind, flag, field, what, line)

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
	{ OPT(U32, "connections", connections, "N",
	      "limit of open connections; one more closes the one idle longest"),
	  .env = "TW_ESTIMATOR_CONNECTIONS", .fallback = "512", .min = 1, .max = 100000 },
	{ OPT(DURATION_MS, "idle-timeout", idle_ms, "TIME",
	      "close a connection without traffic after this time"),
	  .env = "TW_ESTIMATOR_IDLE_TIMEOUT", .fallback = "60s" },
	{ OPT(DURATION_MS, "request-timeout", request_ms, "TIME",
	      "close a connection whose request is incomplete after this time"),
	  .env = "TW_ESTIMATOR_REQUEST_TIMEOUT", .fallback = "10s" },
	{ OPT(SIZE_BYTES, "series-memory", series_bytes, "SIZE",
	      "memory for the last rows of named series"),
	  .env = "TW_ESTIMATOR_SERIES_MEMORY", .fallback = "4MiB" },
	TW_OPT_READY_FILE(struct tw_settings),
	TW_OPTS_LOG(struct tw_settings),
};

const struct tw_opts tw_settings_opts = {
	.program = "tw-estimator",
	.summary = "estimate power from feature rows, over a Unix socket",
	.opt = options,
	.count = TW_COUNT(options),
	.list_metrics = tw_stats_list,
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

static int make_rights(const struct tw_settings *s, struct tw_listener_rights *r,
		       struct tw_err *err)
{
	r->user = (uid_t)-1;
	r->group = (gid_t)-1;
	if (parse_mode(s->socket_mode, &r->mode, err) < 0)
		return -1;
	if (s->owner != NULL && tw_owner_read(s->owner, &r->user, &r->group, err) < 0)
		return tw_err_wrap(err, "--socket-owner");
	return 0;
}

int tw_settings_parse(const struct tw_settings *s, struct tw_settings_parsed *out,
		      struct tw_err *err)
{
	if (make_rights(s, &out->rights, err) < 0 ||
	    tw_strs_split(&out->sockets, s->sockets, err) < 0)
		return -1;
	if (out->sockets.count == 0)
		return tw_fail(err, TW_INVALID, "--socket: expected at least one path");
	if (tw_users_read(&s->users, &out->users, err) < 0)
		return tw_err_wrap(err, "--allow-users");
	if (s->web_config != NULL && s->web_config[0] != '\0' &&
	    (s->metrics == NULL || s->metrics[0] == '\0'))
		return tw_fail(err, TW_INVALID, "--web-config: needs --metrics-listen");
	if (s->idle_ms == 0 || s->request_ms == 0)
		return tw_fail(err, TW_INVALID, "--%s-timeout 0: expected more than 0",
			       s->idle_ms == 0 ? "idle" : "request");
	return 0;
}

void tw_settings_parsed_release(struct tw_settings_parsed *m)
{
	tw_strs_clear(&m->sockets);
	tw_users_release(&m->users);
}
