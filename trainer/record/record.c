/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/record.h"

#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/field/exposition.h"
#include "trainer/record/series_reader.h"
#include "trainer/record/spool.h"
#include "trainer/record/stop.h"
#include "trainer/response/schema.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The formats that Prometheus accepts. */
#define ACCEPT                                              \
	"application/openmetrics-text;version=1.0.0;q=0.8," \
	"text/plain;version=0.0.4;q=0.5,*/*;q=0.1"

/* Add the default scheme and path. */
static char *complete_url(const char *url)
{
	const char *scheme = strstr(url, "://");
	const char *host = scheme != NULL ? scheme + 3 : url;
	const char *path = host + strcspn(host, "/?");
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, scheme == NULL ? "http://" : "");
	tw_buf_adds(&b, url);
	if (*path == '\0')
		tw_buf_adds(&b, "/metrics");
	else if (strcmp(path, "/") == 0)
		tw_buf_adds(&b, "metrics");
	return tw_buf_detach(&b, NULL);
}

/* Host and port of the URL, without user and password. */
static char *host_of(const char *url)
{
	const char *scheme = strstr(url, "://");
	const char *host = scheme != NULL ? scheme + 3 : url;
	size_t len = strcspn(host, "/?#");
	const char *at = memrchr(host, '@', len);

	if (at != NULL) {
		len -= (size_t)(at + 1 - host);
		host = at + 1;
	}
	return strndup(host, len);
}

int tw_target_parse(const char *text, struct tw_target *out, struct tw_err *err)
{
	const char *url = text;
	size_t name = strcspn(text, "=/");
	struct tw_target t = { 0 };
	int rc = -1;

	if (text[name] == '=')
		url = text + name + 1;
	if (strpbrk(url, " \t\r\n") != NULL || url[0] == '\0' ||
	    (url != text && name == 0)) {
		tw_fail(err, TW_INVALID, "'%.128s' is not [NAME=]URL", text);
		goto out;
	}
	t.name = url != text ? strndup(text, name) : host_of(url);
	t.url = complete_url(url);
	if (t.name == NULL || t.url == NULL) {
		tw_fail(err, TW_NOMEM, "target '%.128s'", text);
		goto out;
	}

	*out = t;
	t = (struct tw_target){ 0 };
	rc = 0;
out:
	tw_target_release(&t);
	return rc;
}

void tw_target_release(struct tw_target *t)
{
	free(t->name);
	free(t->url);
	*t = (struct tw_target){ 0 };
}

/* Report a wall clock that differs by more from monotonic time. */
#define CLOCK_BEND_MS 2000

struct run {
	const struct tw_record *r;
	struct tw_spool *spool;
	pthread_mutex_t lock; /* of spool, result, fatal, and calls of say() */
	struct tw_record_result result;
	struct tw_err fatal; /* the first error that ended a thread */
	struct tw_stop stop; /* of the threads */
	uint64_t began_ms;
	int64_t began_real_ms;
};

/* The thread of a target. */
struct worker {
	struct run *run;
	const struct tw_target *target;
	struct tw_http *session;
	pthread_t thread;
	bool started;
	bool failing; /* the last scrape failed */
	bool any;     /* at least one scrape succeeded */
	uint64_t failing_since_ms;
};

/* Context of take_sample(). */
struct taking {
	const struct worker *worker;
	int64_t time_ms;
	uint64_t samples;
	uint64_t not_finite, repeated; /* samples left out */
};

/* Change the labels as Prometheus does: drop empty ones, rename `instance` to
 * `exported_instance`, and set `instance` to the target's name. */
static void set_labels(const struct tw_target *target, struct tw_exposition_sample *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->labels; i++) {
		if (s->label[i].value[0] == '\0')
			continue;
		s->label[kept] = s->label[i];
		if (strcmp(s->label[kept].name, "instance") == 0)
			s->label[kept].name = "exported_instance";
		kept++;
	}
	s->label[kept++] = (struct tw_exposition_label){ "__name__", s->name };
	s->label[kept++] = (struct tw_exposition_label){ "instance", target->name };
	s->labels = kept;
}

static int take_sample(void *arg, struct tw_exposition_sample *s, struct tw_err *err)
{
	struct taking *t = arg;
	struct tw_spool *spool = t->worker->run->spool;
	int64_t last_ms;
	size_t series;

	if (!tw_metric_choice_has(t->worker->run->r->choice, s->name, strlen(s->name)))
		return 0;
	if (!isfinite(s->value)) {
		t->not_finite++;
		return 0;
	}
	set_labels(t->worker->target, s);
	if (tw_spool_series(spool, s->name, s->label, s->labels, &series, err) < 0)
		return tw_err_wrap(err, "%.64s", s->name);
	if (tw_spool_last(spool, series, &last_ms) && last_ms == t->time_ms) {
		t->repeated++;
		return 0;
	}
	t->samples++;
	return tw_spool_add(spool, series, t->time_ms, s->value, err);
}

static int take_answer(const struct tw_http_answer *a, struct taking *t,
		       struct tw_err *err)
{
	pthread_mutex_t *lock = &t->worker->run->lock;
	bool openmetrics = strcmp(a->content_type, "application/openmetrics-text") == 0;
	int rc = -1;

	if (a->status != 200)
		return tw_fail(err, TW_IO, "the exporter answers %u", a->status);
	if (tw_exposition_parse(a->body, a->len, openmetrics, NULL, NULL, err) < 0)
		return -1;
	pthread_mutex_lock(lock);
	if (tw_exposition_parse(a->body, a->len, openmetrics, take_sample, t, err) == 0)
		rc = 0;
	pthread_mutex_unlock(lock);
	return rc;
}

/* Scrape the target into the spool. */
static int scrape(struct taking *t, struct tw_err *err)
{
	struct run *run = t->worker->run;
	const struct tw_http_call call = { .url = t->worker->target->url,
					   .accept = ACCEPT,
					   .timeout_ms = run->r->timeout_ms,
					   .answer_max = run->r->answer_max,
					   .access = run->r->access,
					   .session = t->worker->session,
					   .stopped = tw_stop_requested,
					   .stopped_arg = &run->stop };
	struct tw_http_answer answer = { 0 };
	int rc = -1;

	if (tw_http_call(&call, &answer, err) == 0 && take_answer(&answer, t, err) == 0)
		rc = 0;
	tw_http_answer_release(&answer);
	return rc;
}

static void say(struct run *run, const struct tw_target *t, const char *text)
{
	char line[2 * TW_ERR_TEXT + 192];

	if (run->r->say == NULL)
		return;
	snprintf(line, sizeof(line), "%.128s: %s", t->name, text);
	pthread_mutex_lock(&run->lock);
	run->r->say(line);
	pthread_mutex_unlock(&run->lock);
}

/* Report the first of consecutive failures; note_success() reports their end. */
static void note_failure(struct worker *w, const struct tw_err *why, uint64_t now_ms)
{
	char text[TW_ERR_TEXT + 64];

	if (!w->failing) {
		w->failing = true;
		w->failing_since_ms = now_ms;
		snprintf(text, sizeof(text), "%s; there will be a gap", why->text);
		say(w->run, w->target, text);
	}
}

static void note_success(struct worker *w, const struct taking *t, uint64_t now_ms)
{
	char text[96];

	if (w->failing) {
		snprintf(text, sizeof(text), "answers again, after %" PRIu64 " s",
			 (now_ms - w->failing_since_ms + 500) / 1000);
		say(w->run, w->target, text);
	}
	if (!w->any && t->samples == 0 && !w->failing)
		say(w->run, w->target, "has none of the wanted metrics");
	w->failing = false;
	w->any = true;
}

/* Whether the failure is this program's, not the target's. */
static bool is_fatal(const struct tw_err *why)
{
	return why->code == TW_NOMEM;
}

static void scrape_once(struct worker *w, uint64_t now_ms)
{
	struct taking t = { .worker = w,
			    .time_ms = w->run->began_real_ms +
				       (int64_t)(now_ms - w->run->began_ms) };
	struct tw_err why = { 0 };
	const bool good = scrape(&t, &why) == 0;

	if (!good && tw_stop_requested(&w->run->stop))
		return;
	pthread_mutex_lock(&w->run->lock);
	w->run->result.scrapes++;
	w->run->result.failed += !good;
	w->run->result.not_finite += t.not_finite;
	w->run->result.repeated += t.repeated;
	if (!good && is_fatal(&why) && w->run->fatal.code == TW_OK)
		w->run->fatal = why;
	pthread_mutex_unlock(&w->run->lock);
	if (good)
		note_success(w, &t, now_ms);
	else if (is_fatal(&why))
		tw_stop_request(&w->run->stop);
	else
		note_failure(w, &why, now_ms);
}

/* Wait until then_ms or until the recording stops. Returns whether it stops. */
static bool wait_until(struct run *run, uint64_t then_ms)
{
	uint64_t now_ms;

	while ((now_ms = tw_now_ms()) < then_ms)
		if (tw_stop_wait(&run->stop, then_ms - now_ms))
			return true;
	return tw_stop_requested(&run->stop);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t interval_ms = w->run->r->interval_ms, next_ms = w->run->began_ms;

	while (!wait_until(w->run, next_ms)) {
		const uint64_t start_ms = tw_now_ms();
		uint64_t now_ms, late;

		scrape_once(w, start_ms);
		now_ms = tw_now_ms();
		next_ms += interval_ms;
		/* A series has one sample a millisecond. */
		if (now_ms > next_ms || next_ms <= start_ms) {
			late = (now_ms - next_ms) / interval_ms + (next_ms <= start_ms);
			next_ms += late * interval_ms;
			pthread_mutex_lock(&w->run->lock);
			w->run->result.late += late;
			pthread_mutex_unlock(&w->run->lock);
		}
	}
	return NULL;
}

static int save(struct run *run, struct tw_err *err)
{
	int rc = -1;

	pthread_mutex_lock(&run->lock);
	if (tw_spool_size(run->spool).samples == 0 ||
	    tw_spool_write(run->spool, run->r->output, err) == 0)
		rc = 0;
	pthread_mutex_unlock(&run->lock);
	return rc;
}

static int settle(struct run *run, struct tw_err *err)
{
	int rc;

	pthread_mutex_lock(&run->lock);
	rc = tw_spool_settle(run->spool, err);
	pthread_mutex_unlock(&run->lock);
	return rc;
}

static void check_clock(struct run *run, bool *said)
{
	int64_t even_ms = run->began_real_ms + (int64_t)(tw_now_ms() - run->began_ms);
	int64_t bend_ms = tw_wall_ms() - even_ms;
	char text[128];

	if (*said || llabs(bend_ms) < CLOCK_BEND_MS || run->r->say == NULL)
		return;
	*said = true;
	snprintf(text, sizeof(text),
		 "the clock was set by %" PRId64 " s; times go on evenly from the start",
		 bend_ms / 1000);
	pthread_mutex_lock(&run->lock);
	run->r->say(text);
	pthread_mutex_unlock(&run->lock);
}

static bool is_over(struct run *run)
{
	uint64_t ran_ms = tw_now_ms() - run->began_ms;

	return tw_stop_requested(&run->stop) || tw_stop_requested(run->r->stop) ||
	       (run->r->for_ms != 0 && ran_ms >= run->r->for_ms);
}

/*
 * The main thread's loop: save the file at intervals. A failure to write is reported and
 * not fatal, because the last write may succeed.
 */
static int watch(struct run *run, struct tw_err *err)
{
	uint64_t saved_ms = run->began_ms, settled_ms = run->began_ms;
	bool clock_said = false;

	while (!is_over(run)) {
		uint64_t now_ms = tw_now_ms();
		struct tw_err why = { 0 };

		/* A growing series has a sample in three intervals, even with a delay. */
		if (now_ms - settled_ms >= 3 * run->r->interval_ms) {
			settled_ms = now_ms;
			if (settle(run, err) < 0)
				return -1;
			check_clock(run, &clock_said);
		}
		if (run->r->save_ms != 0 && now_ms - saved_ms >= run->r->save_ms) {
			saved_ms = now_ms;
			if (save(run, &why) < 0 && run->r->say != NULL)
				run->r->say(why.text);
		}
		tw_stop_wait(run->r->stop, 100);
	}
	return 0;
}

static int start_workers(struct run *run, struct worker *worker, struct tw_err *err)
{
	for (size_t i = 0; i < run->r->targets; i++) {
		struct worker *w = &worker[i];
		int e;

		w->run = run;
		w->target = &run->r->target[i];
		if (tw_http_open(&w->session, err) < 0)
			return -1;
		e = pthread_create(&w->thread, NULL, work, w);
		if (e != 0)
			return tw_fail_errno(err, e, "cannot start a thread");
		w->started = true;
	}
	return 0;
}

static void end_workers(struct run *run, struct worker *worker)
{
	tw_stop_request(&run->stop);
	for (size_t i = 0; i < run->r->targets; i++) {
		if (worker[i].started)
			pthread_join(worker[i].thread, NULL);
		tw_http_close(worker[i].session);
	}
}

static int record_all(struct run *run, struct tw_err *err)
{
	struct worker *worker = calloc(run->r->targets, sizeof(*worker));
	int rc = -1;

	if (worker == NULL)
		return tw_fail(err, TW_NOMEM, "%zu targets", run->r->targets);
	run->began_ms = tw_now_ms();
	run->began_real_ms = tw_wall_ms();
	if (start_workers(run, worker, err) == 0 && watch(run, err) == 0)
		rc = 0;
	end_workers(run, worker);
	free(worker);
	return rc;
}

/* Write the file, also after a failure. */
static int finish(struct run *run, struct tw_err *err)
{
	struct tw_spool_size size = tw_spool_size(run->spool);

	if (size.samples == 0)
		return tw_fail(err, TW_NOTFOUND, "no sample in %" PRIu64 " scrapes",
			       run->result.scrapes);
	if (save(run, err) < 0)
		return -1;
	if (run->fatal.code != TW_OK)
		return tw_fail(err, run->fatal.code, "%s", run->fatal.text);
	run->result.series = size.series;
	run->result.samples = size.samples;
	return 0;
}

int tw_record_run(const struct tw_record *r, struct tw_record_result *out,
		  struct tw_err *err)
{
	struct run run = { .r = r, .stop.fd = -1 };
	struct tw_err later = { 0 };
	int rc = -1;

	pthread_mutex_init(&run.lock, NULL);
	if (tw_stop_open_by_call(&run.stop, err) < 0 ||
	    tw_spool_new(r->output, &run.spool, err) < 0)
		goto out;
	if (r->append && access(r->output, F_OK) == 0 &&
	    tw_series_read_file(run.spool, r->output, err) < 0)
		goto out;
	if (record_all(&run, err) < 0) {
		finish(&run, &later);
		goto out;
	}
	if (finish(&run, err) < 0)
		goto out;
	*out = run.result;
	rc = 0;
out:
	tw_spool_free(run.spool);
	if (run.stop.fd >= 0)
		tw_stop_close(&run.stop);
	pthread_mutex_destroy(&run.lock);
	return rc;
}
