/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/daemon.h"
#include "estimator/fetch.h"
#include "estimator/init_urls.h"
#include "lib/daemon.h"
#include "lib/err.h"
#include "lib/log.h"
#include "lib/opt.h"
#include "lib/strs.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Descriptors that are no connections: sockets, epoll, inotify, files being read. */
#define OTHER_FDS 64

struct config {
	char *sockets, *socket_mode;
	char *model_db, *shipped_models, *model_server;
	char *config_path, *keep;
	uint64_t refresh_ms;
	char *sys;
	uint32_t connections;
	uint64_t idle_ms;
	unsigned log_level, log_format;
	char *ready_file;
};

static const struct tw_opt options[] = {
	{ .name = "socket",
	  .env = "TW_ESTIMATOR_SOCKET",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, sockets),
	  .fallback = "/tmp/estimator.socket,/tmp/estimator.sock",
	  .arg = "PATH[,PATH]",
	  .help = "answer on these Unix sockets" },
	{ .name = "socket-mode",
	  .env = "TW_ESTIMATOR_SOCKET_MODE",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, socket_mode),
	  .fallback = "0660",
	  .arg = "MODE",
	  .help = "permissions of the sockets, octal" },
	{ .name = "model-db",
	  .env = "TW_MODEL_DB",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, model_db),
	  .arg = "DIR",
	  .help = "model database" },
	{ .name = "shipped-models",
	  .env = "TW_SHIPPED_MODELS",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, shipped_models),
	  .fallback = TW_MODEL_DB,
	  .arg = "DIR",
	  .help = "model database for what nobody else has; empty for none" },
	{ .name = "model-server",
	  .env = "MODEL_SERVER_URL",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, model_server),
	  .arg = "URL",
	  .help = "model server, asked before the database" },
	{ .name = "config-path",
	  .env = "CONFIG_PATH",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, config_path),
	  .fallback = "/etc/kepler/kepler.config",
	  .arg = "DIR",
	  .help = "files MODEL_CONFIG and NODE_TOTAL_INIT_URL and the like" },
	{ .name = "refresh",
	  .env = "TW_ESTIMATOR_REFRESH",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct config, refresh_ms),
	  .fallback = "1h",
	  .arg = "TIME",
	  .help = "how often servers are asked again; 0 for once" },
	{ .name = "keep",
	  .env = "CACHE_DIRECTORY",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, keep),
	  .arg = "DIR",
	  .help = "keep the last good copies of servers' models here" },
	{ .name = "sys",
	  .env = "TW_SYS",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, sys),
	  .fallback = "/sys",
	  .arg = "DIR",
	  .help = "where the kernel's sysfs is" },
	{ .name = "connections",
	  .env = "TW_ESTIMATOR_CONNECTIONS",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct config, connections),
	  .fallback = "512",
	  .arg = "N",
	  .help = "open at once; beyond, the one idle longest is closed",
	  .min = 1,
	  .max = 100000 },
	{ .name = "idle-timeout",
	  .env = "TW_ESTIMATOR_IDLE_TIMEOUT",
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct config, idle_ms),
	  .fallback = "60s",
	  .arg = "TIME",
	  .help = "close a connection on which nothing moves for so long" },
	TW_OPT_READY_FILE(struct config),
	TW_OPTS_LOG(struct config),
};

static const struct tw_opts opts = {
	.program = "tw-estimator",
	.summary = "answer feature rows with watts on a Unix socket",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

/* The first request for a model may wait so long for it. */
#define MODEL_WAIT_MS 2000

static int parse_mode(const char *text, mode_t *out, struct tw_err *err)
{
	mode_t mode = 0;
	size_t i;

	for (i = 0; text[i] >= '0' && text[i] <= '7' && i < 5; i++)
		mode = mode * 8 + (mode_t)(text[i] - '0');
	if (i == 0 || text[i] != '\0' || mode > 0777)
		return tw_fail(err, TW_INVALID, "--socket-mode '%s' is not 0 to 0777",
			       text);
	*out = mode;
	return 0;
}

static const char *given(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
}

/* As many connections as are wanted and descriptors allow. */
static size_t limit_connections(size_t wanted)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return wanted;
	if (l.rlim_cur < wanted + OTHER_FDS && l.rlim_cur < l.rlim_max) {
		l.rlim_cur =
			l.rlim_max < wanted + OTHER_FDS ? l.rlim_max : wanted + OTHER_FDS;
		if (setrlimit(RLIMIT_NOFILE, &l) < 0 && getrlimit(RLIMIT_NOFILE, &l) < 0)
			return wanted;
	}
	if (l.rlim_cur >= wanted + OTHER_FDS)
		return wanted;
	return l.rlim_cur > 2 * OTHER_FDS ? (size_t)l.rlim_cur - OTHER_FDS : OTHER_FDS;
}

/* Set where a server or a URL is to be asked. */
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

/* The directory, if there is one: what is part of an installation does not come later. */
static const char *existing(const char *dir)
{
	return given(dir) != NULL && access(dir, F_OK) == 0 ? dir : NULL;
}

static const struct tw_init_urls *any(const struct tw_init_urls *u)
{
	for (int o = 0; o < TW_OUTPUT_COUNT; o++)
		if (u->of[o][0] != NULL || u->of[o][1] != NULL)
			return u;
	return NULL;
}

static int serve(const struct config *c, const struct tw_strs *sockets, mode_t mode,
		 struct tw_err *err)
{
	struct tw_estimator_config config = {
		.sockets = sockets,
		.socket_mode = mode,
		.connections = limit_connections(c->connections),
		.idle_ms = c->idle_ms,
		.model_wait_ms = MODEL_WAIT_MS,
		.models = { .model_db = given(c->model_db),
			    .shipped_db = existing(c->shipped_models),
			    .refresh_ms = c->refresh_ms,
			    .keep_dir = given(c->keep),
			    .server_url = given(c->model_server),
			    .sys = c->sys },
	};
	struct tw_estimator *e = NULL;
	struct tw_init_urls urls = { 0 };
	struct tw_fetch *fetch = NULL;
	int signals = -1, rc = -1;

	if (tw_signals_open(&signals, err) < 0)
		goto out;
	if (tw_init_urls_read(tw_init_urls_get, c->config_path, &urls, err) < 0)
		goto out;
	config.models.init_urls = any(&urls);
	if (open_http(&config.models, &fetch, err) < 0)
		goto out;
	if (tw_estimator_open(&config, &e, err) < 0)
		goto out;
	if (tw_daemon_ready(c->ready_file, c->sockets, err) < 0)
		goto out;
	tw_log_info("answering on '%s'", c->sockets);
	if (tw_estimator_run(e, signals, err) < 0)
		goto out;
	tw_log_info("stopped");
	rc = 0;
out:
	tw_daemon_stopping(c->ready_file);
	tw_estimator_close(e);
	tw_fetch_close(fetch);
	tw_init_urls_release(&urls);
	if (signals >= 0)
		close(signals);
	return rc;
}

int main(int argc, char **argv)
{
	struct config c = { 0 };
	struct tw_strs sockets = { 0 };
	struct tw_err err = { 0 };
	enum tw_opts_action action;
	mode_t mode = 0;
	int rest, status = TW_EXIT_USAGE;

	if (tw_opts_parse(&opts, argc, argv, &c, &action, &rest, &err) < 0)
		goto usage;
	if (action == TW_OPTS_EXIT) {
		status = TW_EXIT_OK;
		goto out;
	}
	if (parse_mode(c.socket_mode, &mode, &err) < 0 ||
	    tw_strs_split(&sockets, c.sockets, &err) < 0)
		goto usage;
	if (sockets.count == 0) {
		tw_fail(&err, TW_INVALID, "--socket: no path given");
		goto usage;
	}
	if (c.idle_ms == 0) {
		tw_fail(&err, TW_INVALID, "--idle-timeout 0: a time is wanted");
		goto usage;
	}
	tw_log_init("tw-estimator", c.log_level, c.log_format);
	status = TW_EXIT_OK;
	if (serve(&c, &sockets, mode, &err) < 0) {
		tw_log_error("%s", err.text);
		status = TW_EXIT_FAILED;
	}
	goto out;
usage:
	fprintf(stderr, "tw-estimator: %s\n", err.text);
out:
	tw_strs_clear(&sockets);
	tw_opts_release(&opts, &c);
	return status;
}
