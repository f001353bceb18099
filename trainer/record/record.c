/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/record.h"

#include "lib/core/err.h"
#include "trainer/record/series_reader.h"
#include "trainer/record/spool.h"
#include "trainer/record/stop.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Report a wall clock that differs by more from monotonic time. */
#define CLOCK_BEND_MS 2000

struct run {
	const struct tw_record *r;
	struct tw_spool *spool;
	pthread_mutex_t lock; /* of spool, result, fatal, and calls of say() */
	struct tw_record_result result;
	struct tw_err fatal; /* the first error that ended a thread */
	atomic_bool stopping;
	int stop_fd; /* readable when stopping */
	uint64_t began_ms;
	int64_t began_real_ms;
};

/* One target's thread. */
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

static uint64_t read_clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool is_stopping(void *arg)
{
	struct run *run = arg;

	return atomic_load(&run->stopping);
}

static void stop_all(struct run *run)
{
	const uint64_t one = 1;

	atomic_store(&run->stopping, true);
	while (write(run->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
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

static void note_success(struct worker *w, const struct tw_scrape_count *count,
			 uint64_t now_ms)
{
	char text[96];

	if (w->failing) {
		snprintf(text, sizeof(text), "answers again, after %" PRIu64 " s",
			 (now_ms - w->failing_since_ms + 500) / 1000);
		say(w->run, w->target, text);
	}
	if (!w->any && count->samples == 0 && !w->failing)
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
	const struct tw_record *r = w->run->r;
	const struct tw_scrape scrape = { .target = w->target,
					  .choice = r->choice,
					  .access = r->access,
					  .session = w->session,
					  .timeout_ms = r->timeout_ms,
					  .answer_max = r->answer_max,
					  .stopped = is_stopping,
					  .stopped_arg = w->run };
	int64_t time_ms = w->run->began_real_ms + (int64_t)(now_ms - w->run->began_ms);
	struct tw_scrape_count count = { 0 };
	struct tw_err why = { 0 };
	bool good;

	good = tw_scrape_run(&scrape, time_ms, w->run->spool, &w->run->lock, &count,
			     &why) == 0;
	if (!good && is_stopping(w->run))
		return;
	pthread_mutex_lock(&w->run->lock);
	w->run->result.scrapes++;
	w->run->result.failed += !good;
	w->run->result.not_finite += count.not_finite;
	w->run->result.repeated += count.repeated;
	if (!good && is_fatal(&why) && w->run->fatal.code == TW_OK)
		w->run->fatal = why;
	pthread_mutex_unlock(&w->run->lock);
	if (good)
		note_success(w, &count, now_ms);
	else if (is_fatal(&why))
		stop_all(w->run);
	else
		note_failure(w, &why, now_ms);
}

/* Wait until then_ms or until the recording stops. Returns whether it stops. */
static bool wait_until(struct run *run, uint64_t then_ms)
{
	struct pollfd p = { .fd = run->stop_fd, .events = POLLIN };

	while (!is_stopping(run)) {
		uint64_t now_ms = read_clock_ms(CLOCK_MONOTONIC);

		if (now_ms >= then_ms)
			return false;
		poll(&p, 1,
		     then_ms - now_ms < INT_MAX ? (int)(then_ms - now_ms) : INT_MAX);
	}
	return true;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t interval_ms = w->run->r->interval_ms, next_ms = w->run->began_ms;

	while (!wait_until(w->run, next_ms)) {
		const uint64_t start_ms = read_clock_ms(CLOCK_MONOTONIC);
		uint64_t now_ms, late;

		scrape_once(w, start_ms);
		now_ms = read_clock_ms(CLOCK_MONOTONIC);
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
	int64_t even_ms = run->began_real_ms +
			  (int64_t)(read_clock_ms(CLOCK_MONOTONIC) - run->began_ms);
	int64_t bend_ms = (int64_t)read_clock_ms(CLOCK_REALTIME) - even_ms;
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
	uint64_t ran_ms = read_clock_ms(CLOCK_MONOTONIC) - run->began_ms;

	return atomic_load(&run->stopping) || tw_stop_requested(run->r->stop) ||
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
		uint64_t now_ms = read_clock_ms(CLOCK_MONOTONIC);
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
	stop_all(run);
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
	run->began_ms = read_clock_ms(CLOCK_MONOTONIC);
	run->began_real_ms = (int64_t)read_clock_ms(CLOCK_REALTIME);
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
	struct run run = { .r = r, .stop_fd = -1 };
	struct tw_err later = { 0 };
	int rc = -1;

	pthread_mutex_init(&run.lock, NULL);
	run.stop_fd = eventfd(0, EFD_CLOEXEC);
	if (run.stop_fd < 0) {
		tw_fail_errno(err, errno, "cannot open an eventfd");
		goto out;
	}
	if (tw_spool_new(r->output, &run.spool, err) < 0)
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
	if (run.stop_fd >= 0)
		close(run.stop_fd);
	pthread_mutex_destroy(&run.lock);
	return rc;
}
