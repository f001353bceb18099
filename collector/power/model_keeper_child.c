/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/model_keeper_child.h"

#include "collector/power/model_keeper.h"
#include "collector/system/privilege.h"
#include "estimator/models.h"
#include "estimator/request.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/http/fetch.h"
#include "lib/program/log.h"
#include "lib/program/opt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* How often what an origin has confirmed is told, though nothing has changed. */
#define TELL_MS 60000

struct keeper {
	const struct tw_keeper_config *c;
	int fd;
	struct tw_models *models;
	struct tw_strs metrics;
	struct {
		struct tw_served *served; /* the one that was sent; counted */
		struct tw_keeper_news news;
	} told[TW_KEEPER_SOURCES_MAX];
};

/* ---- what is told ---- */

/* With an open file, or without: -1. */
static int send_news(const struct keeper *k, const struct tw_keeper_news *news, int file)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec from = { .iov_base = (void *)(uintptr_t)news,
			      .iov_len = sizeof(*news) };
	struct msghdr m = { .msg_iov = &from, .msg_iovlen = 1 };

	if (file >= 0) {
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(file));
		memcpy(CMSG_DATA(&control.header), &file, sizeof(file));
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
	}
	return sendmsg(k->fd, &m, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* The model's zip as an open file: of the database, or what a server has sent. */
static int open_zip(const struct tw_served *s, struct tw_err *err)
{
	int fd;

	if (s->origin == TW_ORIGIN_DB || s->origin == TW_ORIGIN_SHIPPED) {
		fd = open(s->from, O_RDONLY | O_CLOEXEC);
		return fd >= 0 ? fd : tw_fail_errno(err, errno, "'%s'", s->from);
	}
	if (s->zip == NULL)
		return tw_fail(err, TW_NOMEM, "model");
	fd = memfd_create("model", MFD_CLOEXEC);
	if (fd < 0)
		return tw_fail_errno(err, errno, "model");
	if (tw_fd_write(fd, s->zip, s->zip_len, "model", err) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static uint32_t failing(struct tw_models *m)
{
	struct tw_models_counts counts;
	size_t sum = 0;

	tw_models_count(m, &counts);
	for (int o = 0; o < TW_ORIGIN_COUNT; o++)
		sum += counts.of[o].failing;
	return (uint32_t)sum;
}

/* A model that is another than the last: served is taken. */
static void hand_on(struct keeper *k, size_t i, struct tw_served *served,
		    struct tw_keeper_news *news)
{
	struct tw_err err = { 0 };
	const int file = open_zip(served, &err);

	if (file < 0) {
		snprintf(news->why, sizeof(news->why), "%s", err.text);
		tw_models_release(k->models, served);
		served = NULL;
	}
	if (send_news(k, news, file) == 0 && served != NULL) {
		if (k->told[i].served != NULL)
			tw_models_release(k->models, k->told[i].served);
		k->told[i].served = served;
		served = NULL;
	}
	k->told[i].news = *news;
	if (served != NULL)
		tw_models_release(k->models, served);
	if (file >= 0)
		close(file);
}

static void look(struct keeper *k, size_t i)
{
	const struct tw_request wish = {
		.metrics = k->metrics,
		.output = TW_ABS_POWER,
		.source = tw_energy_source_find(k->c->sources->at[i]),
		.trainer = (char *)(uintptr_t)k->c->trainer,
		.filter = (char *)(uintptr_t)k->c->filter,
	};
	struct tw_keeper_news news;
	struct tw_served *served = NULL;
	struct tw_err why = { 0 };
	const enum tw_models_state state =
		tw_models_find(k->models, &wish, &served, &why);

	if (state == TW_MODELS_PENDING)
		return;
	memset(&news, 0, sizeof(news)); /* compared as bytes */
	news.source = (uint32_t)i;
	news.failing = failing(k->models);
	snprintf(news.why, sizeof(news.why), "%s", why.text);
	if (served != NULL) {
		news.confirmed_s = atomic_load(&served->confirmed_s);
		snprintf(news.origin, sizeof(news.origin), "%s",
			 tw_origin_name(served->origin));
		snprintf(news.from, sizeof(news.from), "%s", served->from);
	}
	if (served != NULL && served != k->told[i].served) {
		hand_on(k, i, served, &news);
		return;
	}
	if (served != NULL)
		tw_models_release(k->models, served);
	if (memcmp(&news, &k->told[i].news, sizeof(news)) != 0 &&
	    send_news(k, &news, -1) == 0)
		k->told[i].news = news;
}

/* ---- its life ---- */

static int open_models(struct keeper *k, struct tw_fetch **fetch, struct tw_err *err)
{
	const struct tw_keeper_config *c = k->c;
	struct tw_models_config config = { .model_db = c->model_db,
					   .shipped_db = c->shipped_db,
					   .server_url = c->server_url,
					   .server_path = c->server_path,
					   .init_urls = c->urls,
					   .keep_dir = c->keep_dir,
					   .refresh_ms = c->refresh_ms,
					   .sys = c->sys,
					   .keep_zips = true };

	if (c->server_url != NULL || c->urls != NULL) {
		if (tw_fetch_open(NULL, fetch, err) < 0)
			return -1;
		config.http = (struct tw_models_http){ .call = tw_fetch_call,
						       .stop = tw_fetch_stop,
						       .arg = *fetch };
	}
	return tw_models_open(&config, &k->models, err);
}

/* False: the collector is gone. */
static bool listen_to_collector(struct keeper *k)
{
	char text[TW_KEEPER_METRICS_MAX];
	struct tw_err err = { 0 };
	const ssize_t n = recv(k->fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	text[n] = '\0';
	if (text[0] == '\0') {
		tw_models_reload(k->models);
		return true;
	}
	return k->metrics.count > 0 || tw_strs_split(&k->metrics, text, &err) == 0;
}

static void serve(struct keeper *k)
{
	struct pollfd p[] = { { .fd = k->fd, .events = POLLIN },
			      { .fd = tw_models_fd(k->models), .events = POLLIN } };
	uint64_t changes;

	for (;;) {
		if (poll(p, 2, TELL_MS) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (p[0].revents != 0 && !listen_to_collector(k))
			return;
		/* How often it changed does not matter. */
		if (p[1].revents != 0)
			(void)!read(p[1].fd, &changes, sizeof(changes));
		for (size_t i = 0; k->metrics.count > 0 && i < k->c->sources->count; i++)
			look(k, i);
	}
}

/* It ends with the collector, not by the signals that are for that. */
static void block_signals(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGTERM);
	sigaddset(&s, SIGINT);
	sigaddset(&s, SIGHUP);
	sigprocmask(SIG_BLOCK, &s, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int run(struct keeper *k, struct tw_err *err)
{
	const struct tw_privilege p = { .user = k->c->user,
					.filter = k->c->filter_calls,
					.may_write = true,
					.may_start = true };
	struct tw_fetch *fetch = NULL;
	bool filtered;
	int rc = -1;

	/* Threads have the rights of the one that starts them. */
	if (tw_give_directory(k->c->keep_dir, k->c->user, err) < 0 ||
	    tw_privilege_drop(&p, &filtered, err) < 0 || open_models(k, &fetch, err) < 0)
		goto out;
	serve(k);
	rc = 0;
out:
	for (size_t i = 0; i < TW_KEEPER_SOURCES_MAX; i++)
		if (k->told[i].served != NULL)
			tw_models_release(k->models, k->told[i].served);
	tw_models_close(k->models);
	tw_fetch_close(fetch);
	tw_strs_clear(&k->metrics);
	return rc;
}

int tw_keeper_run(const struct tw_keeper_config *c, int fd)
{
	struct keeper k = { .c = c, .fd = fd };
	struct tw_err err = { 0 };

	block_signals();
	if (run(&k, &err) < 0) {
		tw_log_error("models are neither found nor refreshed: %s", err.text);
		return TW_EXIT_FAILED;
	}
	return TW_EXIT_OK;
}
