/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/estimator.h"
#include "estimator/init_urls.h"
#include "estimator/settings.h"
#include "lib/ask/fetch.h"
#include "lib/core/err.h"
#include "lib/program/daemon.h"
#include "lib/program/file_limit.h"
#include "lib/program/kepler_key.h"
#include "lib/program/log.h"
#include "lib/program/std_files.h"
#include "lib/program/systemd.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Descriptors besides connections: sockets, epoll, inotify, files. */
#define OTHER_FDS 64

/* Longest wait of a request for a model. */
#define MODEL_WAIT_MS 2000

static const char *given(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
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

/* Sockets passed by systemd are used instead of paths. */
static int take_sockets(const struct tw_settings_parsed *parsed,
			struct tw_estimator_config *config, struct tw_err *err)
{
	config->sockets = &parsed->sockets;
	config->rights = parsed->rights;
	return tw_systemd_sockets(&config->passed_first, &config->passed, err);
}

static int serve(const struct tw_settings *s, const struct tw_settings_parsed *parsed,
		 struct tw_err *err)
{
	struct tw_estimator_config config = {
		.users = parsed->users.count > 0 ? &parsed->users : NULL,
		.metrics = given(s->metrics),
		.web_config = given(s->web_config),
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
	    take_sockets(parsed, &config, err) < 0 || tw_init_urls_read(&urls, err) < 0)
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

int main(int argc, char **argv)
{
	struct tw_settings s = { 0 };
	struct tw_settings_parsed parsed = { 0 };
	struct tw_err err = { 0 };
	enum tw_opts_action action;
	int rest, status = TW_EXIT_USAGE;

	if (!tw_std_files_open())
		return TW_EXIT_FAILED;
	if (tw_kepler_keys_load(tw_models_server_keys, &err) < 0 ||
	    tw_kepler_keys_load(tw_init_urls_keys, &err) < 0 ||
	    tw_models_server_default(&err) < 0)
		goto usage;
	if (tw_opts_parse(&tw_settings_opts, argc, argv, &s, &action, &rest, &err) < 0)
		goto usage;
	if (action == TW_OPTS_EXIT) {
		status = TW_EXIT_OK;
		goto out;
	}
	if (tw_settings_parse(&s, &parsed, &err) < 0)
		goto usage;
	tw_log_init("tw-estimator", s.log_level, s.log_format);
	give_back_large_blocks();
	status = TW_EXIT_OK;
	if (serve(&s, &parsed, &err) < 0) {
		tw_log_error("%s", err.text);
		status = TW_EXIT_FAILED;
	}
	goto out;
usage:
	fprintf(stderr, "tw-estimator: %s\n", err.text);
out:
	tw_settings_parsed_release(&parsed);
	tw_opts_release(&tw_settings_opts, &s);
	return status;
}
