/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/model_finder.h"

#include "collector/system/aside.h"
#include "collector/system/privilege.h"
#include "estimator/models.h"
#include "estimator/predict/power_model.h"
#include "estimator/request.h"
#include "lib/ask/fetch.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/program/log.h"
#include "lib/program/opt.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time between two messages that only repeat a confirmation. */
#define REPEAT_MS 60000

#define ZIP_MAX ((size_t)64 << 20)

/* Longest list of features, separated by commas: one datagram. */
#define METRICS_MAX 2048

/* Wait before a new finder: it doubles up to the longest, and falls back after that time.
 */
#define WAIT_MIN_MS 1000
#define WAIT_MAX_MS 60000

struct finder {
	const struct tw_model_finder_config *c;
	int fd;
	struct tw_fetch *fetch; /* NULL: no calls */
	struct tw_models *models;
	struct tw_strs metrics;
	struct {
		struct tw_served *served; /* the model that was sent; holds a reference */
		struct tw_model_news news;
	} sent[TW_FINDER_SOURCES_MAX];
};

/* ---- the child: messages ---- */

/* Send a message, with an open file or without (-1). */
static bool send_news(const struct finder *f, const struct tw_model_news *news, int file)
{
	return tw_aside_send(f->fd, news, sizeof(*news), (int[]){ file, -1 });
}

/*
 * Open the zip of a model: a file of the database, or a memfd with bytes in memory, which
 * were downloaded or made of the prior.
 */
static int open_zip(const struct tw_served *s, struct tw_err *err)
{
	int fd;

	if (s->zip == NULL &&
	    (s->origin == TW_ORIGIN_DB || s->origin == TW_ORIGIN_SHIPPED)) {
		fd = open(s->from, O_RDONLY | O_CLOEXEC);
		return fd >= 0 ? fd : tw_fail_errno(err, errno, "'%s'", s->from);
	}
	if (s->zip == NULL)
		return tw_fail(err, TW_NOMEM, "model");
	fd = tw_file_in_memory("model", false);
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

/* Send a model that differs from the last one; served is taken. */
static void send_model(struct finder *f, size_t i, struct tw_served *served,
		       struct tw_model_news *news)
{
	struct tw_err err = { 0 };
	const int file = open_zip(served, &err);

	if (file < 0) {
		snprintf(news->why, sizeof(news->why), "%s", err.text);
		tw_models_release(f->models, served);
		served = NULL;
	}
	if (send_news(f, news, file) && served != NULL) {
		if (f->sent[i].served != NULL)
			tw_models_release(f->models, f->sent[i].served);
		f->sent[i].served = served;
		served = NULL;
	}
	f->sent[i].news = *news;
	if (served != NULL)
		tw_models_release(f->models, served);
	if (file >= 0)
		close(file);
}

static enum tw_models_state find(struct finder *f, size_t i, enum tw_output output,
				 struct tw_served **served, struct tw_err *why)
{
	const struct tw_request wish = {
		.metrics = f->metrics,
		.output = output,
		.source = tw_energy_source_find(f->c->sources->at[i]),
		.trainer = (char *)(uintptr_t)f->c->trainer,
		.filter = (char *)(uintptr_t)f->c->filter,
	};

	return tw_models_find(f->models, &wish, served, why);
}

/*
 * Find a model of AbsPower. Only if there has been none: a model of DynPower, with the
 * first reason if there is none either.
 */
static enum tw_models_state find_any(struct finder *f, size_t i,
				     struct tw_served **served, struct tw_err *why)
{
	const struct tw_served *sent = f->sent[i].served;
	struct tw_err second = { 0 };
	enum tw_models_state state = find(f, i, TW_ABS_POWER, served, why);

	if (state != TW_MODELS_NONE ||
	    (sent != NULL && tw_power_model_info(sent->model)->output == TW_ABS_POWER))
		return state;
	state = find(f, i, TW_DYN_POWER, served, &second);
	if (state == TW_MODELS_READY)
		*why = second;
	return state;
}

static void look(struct finder *f, size_t i)
{
	struct tw_model_news news;
	struct tw_served *served = NULL;
	struct tw_err why = { 0 };

	if (find_any(f, i, &served, &why) == TW_MODELS_PENDING)
		return;
	memset(&news, 0, sizeof(news)); /* compared as bytes */
	news.source = (uint32_t)i;
	news.failing = failing(f->models);
	snprintf(news.why, sizeof(news.why), "%s", why.text);
	if (served != NULL) {
		news.confirmed_s = atomic_load(&served->confirmed_s);
		snprintf(news.origin, sizeof(news.origin), "%s",
			 tw_origin_name(served->origin));
		snprintf(news.from, sizeof(news.from), "%s", served->from);
	}
	if (served != NULL && served != f->sent[i].served) {
		send_model(f, i, served, &news);
		return;
	}
	if (served != NULL)
		tw_models_release(f->models, served);
	if (memcmp(&news, &f->sent[i].news, sizeof(news)) != 0 && send_news(f, &news, -1))
		f->sent[i].news = news;
}

/* ---- the child: main loop ---- */

static int open_models(struct finder *f, struct tw_err *err)
{
	const struct tw_model_finder_config *c = f->c;
	struct tw_models_config config = { .model_db = c->model_db,
					   .shipped_db = c->shipped_db,
					   .server_url = c->server_url,
					   .server_path = c->server_path,
					   .init_urls = c->urls,
					   .keep_dir = c->keep_dir,
					   .refresh_ms = c->refresh_ms,
					   .proc = c->proc,
					   .sys = c->sys,
					   .keep_zips = true };

	if (f->fetch != NULL)
		config.http = (struct tw_models_http){ .call = tw_fetch_call,
						       .stop = tw_fetch_stop,
						       .arg = f->fetch };
	return tw_models_open(&config, &f->models, err);
}

/* Read a message of the collector: a reload. False: the collector has exited. */
static bool read_from_collector(struct finder *f)
{
	char text[1];
	const ssize_t n = recv(f->fd, text, sizeof(text), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n > 0)
		tw_models_reload(f->models);
	return n > 0;
}

static void serve(struct finder *f)
{
	struct pollfd p[] = { { .fd = f->fd, .events = POLLIN },
			      { .fd = tw_models_fd(f->models), .events = POLLIN } };
	uint64_t changes;

	for (;;) {
		for (size_t i = 0; i < f->c->sources->count; i++)
			look(f, i);
		if (poll(p, 2, REPEAT_MS) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (p[0].revents != 0 && !read_from_collector(f))
			return;
		/* Only the fact of a change matters, not their number. */
		if (p[1].revents != 0)
			(void)!read(p[1].fd, &changes, sizeof(changes));
	}
}

/* The finder exits when the collector closes its end, not by signals. */
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

/* The finder itself, a child of the process that restarts it. Returns its exit status. */
static int find_models(struct finder *f)
{
	struct tw_err err = { 0 };
	bool opened;

	/* A finder that could not open the models has stopped the calls of all. */
	if (f->fetch != NULL)
		tw_fetch_resume(f->fetch);
	opened = open_models(f, &err) == 0;
	if (opened)
		serve(f);
	else
		tw_log_error("the model finder failed: %s", err.text);
	for (size_t i = 0; i < TW_FINDER_SOURCES_MAX; i++)
		if (f->sent[i].served != NULL)
			tw_models_release(f->models, f->sent[i].served);
	tw_models_close(f->models);
	return opened ? TW_EXIT_OK : TW_EXIT_FAILED;
}

/* ---- the child: restarts ---- */

/* Wait for the features. False: the collector has exited. */
static bool read_metrics(struct finder *f)
{
	char text[METRICS_MAX];
	struct tw_err err = { 0 };
	ssize_t n;

	do
		n = recv(f->fd, text, sizeof(text) - 1, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return tw_strs_split(&f->metrics, text, &err) == 0;
}

/* Sleep. False: the collector has exited. */
static bool rest(const struct finder *f, int ms)
{
	struct pollfd p = { .fd = f->fd };

	return poll(&p, 1, ms) <= 0;
}

/* Run a finder. True: it ended because the collector did. how: else, its end. */
static bool run_one(struct finder *f, char *how, size_t size)
{
	const pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		exit(find_models(f));
	if (pid < 0) {
		snprintf(how, size, "cannot start: %s", strerror(errno));
		return false;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		snprintf(how, size, "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(how, size, "exited with status %d", WEXITSTATUS(status));
	return status == 0;
}

/* Run finders, one after another, until the collector exits. */
static void keep_finding(struct finder *f)
{
	char how[128];

	for (int wait_ms = WAIT_MIN_MS;;) {
		const uint64_t started_ms = tw_now_ms();

		if (run_one(f, how, sizeof(how)))
			return;
		if (tw_now_ms() - started_ms > WAIT_MAX_MS)
			wait_ms = WAIT_MIN_MS;
		tw_log_warn("the model finder %s: the models in use stay, another finder "
			    "starts in %d s",
			    how, wait_ms / 1000);
		if (!rest(f, wait_ms))
			return;
		wait_ms = 2 * wait_ms < WAIT_MAX_MS ? 2 * wait_ms : WAIT_MAX_MS;
	}
}

static int run(struct finder *f, struct tw_err *err)
{
	const struct tw_privilege p = { .user = f->c->user,
					.filter = f->c->filter_calls,
					.may_write = true,
					.may_start = true };
	int rc = -1;

	/* tw-ask is opened with all rights. Finders inherit what remains of them. */
	if ((f->c->server_url != NULL || f->c->urls != NULL) &&
	    tw_fetch_open(NULL, &f->fetch, err) < 0)
		goto out;
	if (tw_give_directory(f->c->keep_dir, f->c->user, err) < 0 ||
	    tw_privilege_drop(&p, err) < 0)
		goto out;
	if (read_metrics(f))
		keep_finding(f);
	rc = 0;
out:
	tw_fetch_close(f->fetch);
	tw_strs_clear(&f->metrics);
	return rc;
}

static void become_finder(int fd, const void *config)
{
	struct finder f = { .c = config, .fd = fd };
	struct tw_err err = { 0 };

	block_signals();
	if (run(&f, &err) < 0)
		tw_log_error("the model finder failed: %s", err.text);
}

int tw_model_finder_start(const struct tw_model_finder_config *c, int *fd, pid_t *pid,
			  struct tw_err *err)
{
	struct tw_aside finder;

	if (c->sources->count > TW_FINDER_SOURCES_MAX)
		return tw_fail(err, TW_INVALID, "more than %d sources of models",
			       TW_FINDER_SOURCES_MAX);
	if (tw_aside_open(become_finder, c, &finder, err) < 0)
		return tw_err_wrap(err, "the model finder");
	*fd = finder.fd;
	*pid = finder.pid;
	return 0;
}

int tw_model_finder_send_metrics(int fd, const struct tw_strs *metrics,
				 struct tw_err *err)
{
	struct tw_buf b = { .limit = METRICS_MAX };
	int rc = -1;

	for (size_t i = 0; i < metrics->count; i++)
		tw_buf_addf(&b, "%s%s", i > 0 ? "," : "", metrics->at[i]);
	if (tw_buf_failed(&b)) {
		tw_fail(err, TW_NOMEM, "names of %zu features", metrics->count);
		goto out;
	}
	/* tw_model_finder_next() reports a finder that has exited. */
	if (send(fd, b.data, b.len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)b.len &&
	    errno != EPIPE && errno != ECONNRESET) {
		tw_fail_errno(err, errno, "the model finder does not accept messages");
		goto out;
	}
	rc = 0;
out:
	tw_buf_clear(&b);
	return rc;
}

void tw_model_finder_reload(int fd)
{
	/*
	 * A failed send does not matter: the queue is full of such requests, or the
	 * finder has exited.
	 */
	(void)!send(fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int read_all(int fd, char **data, size_t *len, struct tw_err *err)
{
	struct stat st;
	size_t got = 0;
	char *to;

	if (fstat(fd, &st) < 0)
		return tw_fail_errno(err, errno, "model");
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || (size_t)st.st_size > ZIP_MAX)
		return tw_fail(err, TW_INVALID, "model: want a file of 1 to %zu bytes",
			       ZIP_MAX);
	to = malloc((size_t)st.st_size);
	if (to == NULL)
		return tw_fail(err, TW_NOMEM, "model");
	while (got < (size_t)st.st_size) {
		const ssize_t n =
			pread(fd, to + got, (size_t)st.st_size - got, (off_t)got);

		if (n <= 0) {
			free(to);
			return tw_fail(err, TW_IO, "model: cannot read all of it");
		}
		got += (size_t)n;
	}
	*data = to;
	*len = got;
	return 0;
}

static int load(int fd, struct tw_power_model **out, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };
	char *data = NULL;
	size_t len = 0;
	int rc = -1;

	if (read_all(fd, &data, &len, err) == 0 &&
	    tw_zip_read(data, len, &tw_zip_model_limits, &files, err) == 0 &&
	    tw_model_from_files(&files, &m, err) == 0 &&
	    tw_power_model_new(&m, out, err) == 0)
		rc = 0;
	tw_fileset_clear(&files);
	free(data);
	return rc;
}

enum tw_model_finder_event tw_model_finder_next(int fd, struct tw_model_news *news,
						struct tw_power_model **model)
{
	int files[TW_ASIDE_FILES];
	const enum tw_aside_event event = tw_aside_next(fd, news, sizeof(*news), files);
	struct tw_err err = { 0 };

	*model = NULL;
	if (event != TW_ASIDE_MESSAGE)
		return event == TW_ASIDE_GONE ? TW_FINDER_GONE : TW_FINDER_NOTHING;
	news->origin[sizeof(news->origin) - 1] = '\0';
	news->from[sizeof(news->from) - 1] = '\0';
	news->why[sizeof(news->why) - 1] = '\0';
	if (files[0] >= 0 && news->source < TW_FINDER_SOURCES_MAX &&
	    load(files[0], model, &err) < 0)
		snprintf(news->why, sizeof(news->why), "%s", err.text);
	for (size_t i = 0; i < TW_ASIDE_FILES && files[i] >= 0; i++)
		close(files[i]);
	return news->source < TW_FINDER_SOURCES_MAX ? TW_FINDER_NEWS : TW_FINDER_NOTHING;
}
