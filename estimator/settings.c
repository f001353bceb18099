/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/settings.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/program/log.h"

#include <stddef.h>

static const struct tw_opt options[] = {
	{ .name = "socket",
	  .env = "TW_ESTIMATOR_SOCKET",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_settings, sockets),
	  .fallback = "/tmp/estimator.socket,/tmp/estimator.sock",
	  .arg = "PATH[,PATH]",
	  .help = "paths of the Unix sockets to listen on" },
	{ .name = "socket-mode",
	  .env = "TW_ESTIMATOR_SOCKET_MODE",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_settings, socket_mode),
	  .fallback = "0666",
	  .arg = "MODE",
	  .help = "permissions of the socket files, octal" },
	{ .name = "socket-owner",
	  .env = "TW_ESTIMATOR_SOCKET_OWNER",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_settings, owner),
	  .arg = "[USER][:GROUP]",
	  .help = "owner and group of the socket files (default: those of the process)" },
	{ .name = "allow-users",
	  .env = "TW_ESTIMATOR_ALLOW_USERS",
	  .type = TW_OPT_LIST,
	  .offset = offsetof(struct tw_settings, users),
	  .arg = "USER[,USER]",
	  .help = "accept only clients of these users and of root (default: all)" },
	{ .name = "model-db",
	  .env = "TW_MODEL_DB",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_settings, model_db),
	  .arg = "DIR",
	  .help = "directory of the model database" },
	{ .name = "shipped-models",
	  .env = "TW_SHIPPED_MODELS",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_settings, shipped_models),
	  .fallback = TW_MODEL_DB,
	  .arg = "DIR",
	  .help = "model database of last resort; empty for none" },
	{ .name = "model-server",
	  .env = "MODEL_SERVER_URL",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_settings, model_server),
	  .arg = "URL",
	  .help = "URL of a model server; its models take precedence over the database" },
	{ .name = "refresh",
	  .env = "TW_ESTIMATOR_REFRESH",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct tw_settings, refresh_ms),
	  .fallback = "1h",
	  .arg = "TIME",
	  .help = "interval at which servers are asked again; 0 for once" },
	{ .name = "keep",
	  .env = "CACHE_DIRECTORY",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_settings, keep),
	  .arg = "DIR",
	  .help = "cache of the last good models of servers, for restarts" },
	{ .name = "proc",
	  .env = "TW_PROC",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_settings, proc),
	  .fallback = "/proc",
	  .arg = "DIR",
	  .help = "mount point of procfs" },
	{ .name = "sys",
	  .env = "TW_SYS",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_settings, sys),
	  .fallback = "/sys",
	  .arg = "DIR",
	  .help = "mount point of sysfs" },
	{ .name = "metrics-listen",
	  .env = "TW_ESTIMATOR_METRICS_LISTEN",
	  .type = TW_OPT_LISTEN,
	  .offset = offsetof(struct tw_settings, metrics),
	  .arg = "ADDR:PORT",
	  .help = "address of GET /metrics (default: off)" },
	{ .name = "web-config",
	  .env = "TW_ESTIMATOR_WEB_CONFIG",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct tw_settings, web_config),
	  .arg = "FILE",
	  .help = "file with TLS and users of GET /metrics, as Prometheus' exporters "
		  "take" },
	{ .name = "connections",
	  .env = "TW_ESTIMATOR_CONNECTIONS",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct tw_settings, connections),
	  .fallback = "512",
	  .arg = "N",
	  .help = "limit of open connections; one more closes the one idle longest",
	  .min = 1,
	  .max = 100000 },
	{ .name = "idle-timeout",
	  .env = "TW_ESTIMATOR_IDLE_TIMEOUT",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct tw_settings, idle_ms),
	  .fallback = "60s",
	  .arg = "TIME",
	  .help = "close a connection without traffic after this time" },
	{ .name = "request-timeout",
	  .env = "TW_ESTIMATOR_REQUEST_TIMEOUT",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct tw_settings, request_ms),
	  .fallback = "10s",
	  .arg = "TIME",
	  .help = "close a connection whose request is incomplete after this time" },
	{ .name = "series-memory",
	  .env = "TW_ESTIMATOR_SERIES_MEMORY",
	  .type = TW_OPT_SIZE_BYTES,
	  .offset = offsetof(struct tw_settings, series_bytes),
	  .fallback = "4MiB",
	  .arg = "SIZE",
	  .help = "memory for the last rows of named series" },
	TW_OPT_READY_FILE(struct tw_settings),
	TW_OPTS_LOG(struct tw_settings),
};

const struct tw_opts tw_settings_opts = {
	.program = "tw-estimator",
	.summary = "estimate power from feature rows, over a Unix socket",
	.opt = options,
	.count = TW_COUNT(options),
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
