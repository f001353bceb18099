/* SPDX-License-Identifier: Apache-2.0 */
/* tw-server: chooses and serves models from a model database. */
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/server/httpd.h"
#include "lib/http/server/httpd_stats.h"
#include "lib/http/web/web.h"
#include "lib/program/daemon.h"
#include "lib/program/log.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"
#include "model-db/index/watch.h"
#include "profiler/spec.h"
#include "server/fleet/pull.h"
#include "server/fleet/pull_source.h"
#include "server/fleet/rollout.h"
#include "server/model_request.h"
#include "server/routes.h"
#include "server/service.h"
#include "server/settings.h"
#include "server/uploads.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Delay of a reload after the last change, and its limit after the first. */
#define QUIET_MS 100
#define QUIET_MAX_MS 1000

/* Interval of looking for a database directory that does not exist. */
#define MISSING_MS 1000

/* File descriptors besides connections and the zips that are sent to them. */
#define FILES_MORE 64

struct server {
	const struct tw_server_settings *config;
	struct tw_service service;
	struct tw_uploads *uploads;
#if TW_FLEET
	struct tw_pulls *pulls;
	struct tw_replica replica;
#endif
	struct tw_strs prefer;
	struct tw_machine_spec default_machine;
	struct tw_watch watch;
	int signals;
	bool missing; /* the database did not exist at the last look */
};

static void refused(void *arg, const char *path, const struct tw_err *why)
{
	unsigned long long *count = arg;

	(*count)++;
	tw_log_warn("cannot load a model, continuing without it path=%s: %s", path,
		    why->text);
}

static int64_t now_us(void)
{
	return (int64_t)(tw_now_ns() / 1000);
}

/* Watch the directory before reading it, so that no change is missed. */
static void reload(struct server *s)
{
	struct tw_service *service = &s->service;
	struct tw_index *index = NULL;
	struct tw_err err = { 0 };
	const int64_t start_us = now_us();
	unsigned long long left_out = 0;
	bool exists = tw_watch_directory(&s->watch, s->config->model_db);
	const struct tw_index_preference prefer = { .pipelines = &s->prefer,
						    .prior = s->config->prior,
						    .error = s->config->error_key,
						    .admit = tw_uploads_admit,
						    .admit_arg = s->uploads };

	if (!exists && !s->missing)
		tw_log_warn("no model database yet, waiting for it db=%s",
			    s->config->model_db);
	s->missing = !exists;
	if (tw_index_load_preferring(s->config->model_db, &prefer, refused, &left_out,
				     &index, &err) < 0) {
		tw_log_error("cannot load the model database, the models loaded before "
			     "stay in use: %s",
			     err.text);
		atomic_fetch_add(&service->reloads_failed, 1);
		return;
	}
	if (exists)
		tw_log_info("models loaded db=%s count=%zu", s->config->model_db,
			    tw_index_count(index));
	tw_catalog_take(&service->catalog, index);
	atomic_store(&service->refused, left_out);
	atomic_store(&service->load_us, (unsigned long long)(now_us() - start_us));
	atomic_store(&service->loaded_s, (long long)time(NULL));
	atomic_fetch_add(&service->reloads, 1);
	tw_daemon_trim();
}

/* Return true on a signal to stop. */
static bool take_signals(struct server *s)
{
	enum tw_signal signal;

	while ((signal = tw_signals_next(s->signals)) != TW_SIGNAL_NONE) {
		if (signal == TW_SIGNAL_STOP)
			return true;
		tw_daemon_reloading();
		reload(s);
#if TW_FLEET
		tw_pulls_again(s->pulls);
#endif
		tw_daemon_reloaded();
	}
	return false;
}

/* Whether POST /-/reload was called. */
static bool take_request(const struct server *s)
{
	uint64_t count;

	return read(s->service.reload_fd, &count, sizeof(count)) ==
	       (ssize_t)sizeof(count);
}

/* Times that the loop waits for. */
struct timing {
	int64_t first_us; /* time of the first change that is not loaded; 0: none */
	int64_t due_us;   /* time of the next reload; 0: none */
	int64_t alive_us; /* time of the next watchdog message; 0: never */
	int64_t alive_every_us;
};

/* Publishers change several names: wait until they are done, up to a limit. */
static void note_change(struct timing *t)
{
	const int64_t now = now_us();

	if (t->first_us == 0)
		t->first_us = now;
	t->due_us = now + QUIET_MS * 1000;
	if (t->due_us > t->first_us + QUIET_MAX_MS * 1000)
		t->due_us = t->first_us + QUIET_MAX_MS * 1000;
}

static int until_ms(const struct timing *t)
{
	int64_t next = t->due_us;

	if (t->alive_us != 0 && (next == 0 || t->alive_us < next))
		next = t->alive_us;
	if (next == 0)
		return -1;
	next -= now_us();
	return next > 0 ? (int)(next / 1000) + 1 : 0;
}

static void do_what_is_due(struct server *s, struct timing *t)
{
	const int64_t now = now_us();

	if (t->alive_us != 0 && now >= t->alive_us) {
		tw_daemon_alive();
		t->alive_us = now + t->alive_every_us;
	}
	if (t->due_us == 0 || now < t->due_us)
		return;
	reload(s);
	t->first_us = 0;
	t->due_us = 0;
}

/* Handle signals, reload requests and changes of the database until a stop. */
static int watch_and_wait(struct server *s, struct tw_err *err)
{
	struct pollfd fds[] = { { .fd = s->signals, .events = POLLIN },
				{ .fd = s->watch.fd, .events = POLLIN },
				{ .fd = s->service.reload_fd, .events = POLLIN } };
	struct timing t = { .alive_every_us = (int64_t)tw_daemon_watchdog_ms() * 1000 };

	if (t.alive_every_us != 0)
		t.alive_us = now_us();
	for (;;) {
		if (t.due_us == 0 && s->watch.wd < 0)
			t.due_us = now_us() + MISSING_MS * 1000;
		if (poll(fds, 3, until_ms(&t)) < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "poll");
		if (take_signals(s))
			return 0;
		if ((fds[1].revents != 0 && tw_watch_changed(&s->watch)) ||
		    (fds[2].revents != 0 && take_request(s)))
			note_change(&t);
		do_what_is_due(s, &t);
	}
}

/* Use the socket that systemd passed, if any, instead of --listen. */
static int take_socket(struct tw_httpd_config *c, struct tw_err *err)
{
	unsigned count;
	int first;

	if (tw_systemd_sockets(&first, &count, err) < 0)
		return -1;
	if (count > 1)
		return tw_fail(err, TW_INVALID, "%u sockets from systemd, want one",
			       count);
	if (count == 1)
		c->socket = first;
	return 0;
}

static int open_uploads(struct server *s, struct tw_err *err)
{
	const struct tw_uploads_config c = {
		.model_db = s->config->model_db,
		.auth_file = s->config->publish_auth,
		.keys = &s->config->public_keys,
		.require_signature = s->config->require_signature,
		.allow_downgrade = s->config->allow_downgrade,
	};

	if (tw_uploads_new(&c, &s->uploads, err) < 0)
		return -1;
	s->service.uploads = s->uploads;
	return 0;
}

#if TW_FLEET
/* Start threads after signals are blocked, so that they inherit the mask. */
static int open_pulls(struct server *s, struct tw_err *err)
{
	const struct tw_pulls_config c = {
		.from = &s->config->pull,
		.top = s->config->pull_from,
		.model_db = s->config->model_db,
		.replica = &s->replica,
		.uploads = s->uploads,
		.refresh_ms = s->config->pull_refresh_ms,
		.timeout_ms = s->config->pull_timeout_ms,
		.reload_fd = s->service.reload_fd,
	};

	if (tw_pulls_open(&c, &s->pulls, err) < 0)
		return -1;
	s->service.pulls = s->pulls;
	return 0;
}
#endif

/* Read the files that the settings name. Opens nothing else. */
static int read_settings(struct server *s, struct tw_err *err)
{
	const struct tw_server_settings *config = s->config;

	if (config->prefer != NULL && tw_strs_split(&s->prefer, config->prefer, err) < 0)
		return -1;
	if (config->default_machine != NULL) {
		if (tw_default_machine_parse(config->default_machine, &s->default_machine,
					     err) < 0)
			return tw_err_wrap(err, "--default-machine");
		s->service.default_machine = &s->default_machine;
	}
#if TW_FLEET
	if (tw_replica_init(config->replica, &config->replica_labels, &s->replica, err) <
	    0)
		return -1;
#endif
	return open_uploads(s, err);
}

/* Set up the state of the routes. close_service() releases it, also after a failure. */
static int open_service(struct server *s, struct tw_httpd_config *c, struct tw_err *err)
{
	const struct tw_server_settings *config = s->config;

	if (read_settings(s, err) < 0 || take_socket(c, err) < 0)
		return -1;
	s->service.model_db = config->model_db;
	s->service.serve_foreign = config->serve_foreign;
	s->service.weights_metrics = config->weights_metrics;
	s->service.reload_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->service.reload_fd < 0)
		return tw_fail_errno(err, errno, "eventfd");
	if (tw_http_stats_new(c->routes, c->route_count, &s->service.http, err) < 0)
		return -1;
	c->stats = s->service.http;
	if (tw_signals_open(&s->signals, err) < 0 || tw_watch_open(&s->watch, err) < 0)
		return -1;
	reload(s);
#if TW_FLEET
	return open_pulls(s, err);
#else
	return 0;
#endif
}

static void close_service(struct server *s)
{
#if TW_FLEET
	tw_pulls_close(s->pulls);
#endif
	tw_catalog_take(&s->service.catalog, NULL);
	tw_watch_close(&s->watch);
	tw_uploads_free(s->uploads);
	tw_strs_clear(&s->prefer);
	tw_http_stats_free(s->service.http);
	if (s->service.reload_fd >= 0)
		close(s->service.reload_fd);
	if (s->signals >= 0)
		close(s->signals);
}

/* ---- routes at the paths of the old program ---- */

struct routes {
	struct tw_http_route *at;
	size_t count;
	char *path[2];
};

/* Add a path to a route, unless the route has it. */
static int add_path(struct routes *r, size_t i, const char *route, const char *path,
		    struct tw_err *err)
{
	const struct tw_http_route *of = r->at;
	struct tw_buf b = { 0 };

	if (path == NULL || *path == '\0')
		return 0;
	tw_buf_addf(&b, "%s%s", *path != '/' ? "/" : "", path);
	r->path[i] = tw_buf_detach(&b, NULL);
	if (r->path[i] == NULL)
		return tw_fail(err, TW_NOMEM, "path of a route");
	if (strcmp(r->path[i], route) == 0)
		return 0;
	for (size_t k = 0; k < r->count; k++) {
		if (strcmp(r->at[k].path, r->path[i]) == 0)
			return tw_fail(err, TW_INVALID,
				       "path '%.64s' is another route's already",
				       r->path[i]);
		if (strcmp(r->at[k].path, route) == 0)
			of = &r->at[k];
	}
	r->at[r->count] = *of;
	r->at[r->count++].path = r->path[i];
	return 0;
}

/* Release *r, also after a failure. */
static int make_routes(const struct tw_server_settings *c, struct routes *r,
		       struct tw_err *err)
{
	const struct tw_http_route *ours = tw_server_routes(&r->count);

	if (TW_NEW(r->at, r->count + 2, err) < 0)
		return -1;
	memcpy(r->at, ours, r->count * sizeof(*ours));
	return add_path(r, 0, "/model", c->model_path, err) < 0 ||
			       add_path(r, 1, "/best-models", c->best_models_path, err) <
				       0
		       ? -1
		       : 0;
}

static void release_routes(struct routes *r)
{
	free(r->at);
	free(r->path[0]);
	free(r->path[1]);
}

static int serve(struct server *s, struct tw_err *err)
{
	struct tw_httpd_config c = { .listen = s->config->listen,
				     .app = &s->service,
				     .threads = s->config->threads,
				     .connections_max = s->config->connections,
				     .files_more = s->config->connections + FILES_MORE,
				     .web_config = s->config->web_config,
				     .host_names = &s->config->host_names,
				     .web_changed = tw_web_log_changed };
	struct routes routes = { 0 };
	struct tw_httpd *httpd = NULL;
	bool ready = false;
	int rc = -1;

	if (make_routes(s->config, &routes, err) < 0)
		goto out;
	c.routes = routes.at;
	c.route_count = routes.count;
	if (open_service(s, &c, err) < 0 || tw_httpd_open(&c, &httpd, err) < 0 ||
	    tw_daemon_ready(s->config->ready_file, tw_httpd_address(httpd), err) < 0)
		goto out;
	ready = true;
	tw_log_info("answering address=%s", tw_httpd_address(httpd));
	if (watch_and_wait(s, err) < 0)
		goto out;
	tw_log_info("stopping");

	rc = 0;
out:
	/* Remove only our own ready file. */
	if (ready)
		tw_daemon_stopping(s->config->ready_file);
	tw_httpd_close(httpd);
	close_service(s);
	release_routes(&routes);
	return rc;
}

static int check_pulls(const struct tw_server_settings *c, struct tw_err *err)
{
#if TW_FLEET
	struct tw_pull_sources sources = { 0 };
	const int rc = tw_pull_sources_read(&c->pull, c->pull_from, &sources, err);

	tw_pull_sources_release(&sources);
	return rc;
#else
	(void)c;
	(void)err;
	return 0;
#endif
}

static int check(void *settings, struct tw_err *err)
{
	const struct tw_server_settings *config = settings;
	struct server s = { .config = config,
			    .service = TW_SERVICE_EMPTY,
			    .watch = TW_WATCH_NONE,
			    .signals = -1 };
	const struct tw_httpd_config c = { .web_config = config->web_config };
	struct routes routes = { 0 };
	const int rc = make_routes(config, &routes, err) < 0 ||
				       read_settings(&s, err) < 0 ||
				       check_pulls(config, err) < 0 ||
				       tw_httpd_check(&c, err) < 0
			       ? -1
			       : 0;

	close_service(&s);
	release_routes(&routes);
	return rc;
}

int main(int argc, char **argv)
{
	struct tw_server_settings config = { 0 };
	struct tw_opts opts = tw_server_opts;
	struct server s = { .config = &config,
			    .service = TW_SERVICE_EMPTY,
			    .watch = TW_WATCH_NONE,
			    .signals = -1 };
	enum tw_opts_action action = TW_OPTS_RUN;
	struct tw_err err = { 0 };
	int rest, status = TW_EXIT_OK;

	opts.check = check;
	if (!tw_std_files_open())
		return TW_EXIT_FAILED;
	if (tw_server_old_keys(&err) < 0 ||
	    tw_opts_parse(&opts, argc, argv, &config, &action, &rest, &err) < 0) {
		fprintf(stderr, "tw-server: %s\n", err.text);
		status = TW_EXIT_USAGE;
	} else if (action == TW_OPTS_RUN) {
		tw_log_init("tw-server", config.log_level, config.log_format);
		if (serve(&s, &err) < 0) {
			tw_log_error("%s", err.text);
			status = TW_EXIT_FAILED;
		}
	}
	tw_opts_release(&opts, &config);
	return status;
}
