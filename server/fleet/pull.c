/* SPDX-License-Identifier: Apache-2.0 */
#include "server/fleet/pull.h"

#include "lib/ask/fetch.h"
#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/program/daemon.h"
#include "lib/program/log.h"
#include "server/fleet/pull_record.h"
#include "server/fleet/pull_source.h"
#include "server/fleet/pull_take.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Pause after a failure: 1 s, doubled each time, up to ten minutes. */
#define RETRY_MIN_MS UINT64_C(1000)
#define RETRY_DOUBLINGS 9
#define RETRY_AFTER_MAX_S UINT64_C(3600)

/* A source and its thread. The lock guards all but the first three members. */
struct pull {
	struct tw_pulls *all;
	const struct tw_pull_source *source;
	pthread_t thread;
	struct tw_pull_status status;
	bool exists;       /* the database has a pipeline of this name */
	unsigned failures; /* consecutive */
	char refused[TW_HTTP_ETAG_MAX];
	char logged[TW_ERR_TEXT]; /* the last logged reason; each is logged once */
};

struct tw_pulls {
	struct tw_pull_sources sources;
	struct tw_pull_means means;
	char *model_db;
	uint64_t refresh_ms;
	int reload_fd;
	struct pull *pull;
	size_t started;
	pthread_mutex_t turn; /* held while unpacking */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* signals stop and again */
	bool stop;
	unsigned asked; /* number of calls of tw_pulls_again() */
	uint64_t seed;  /* seed of the random part of pauses */
};

static const char *const states[TW_PULL_STATES] = {
	[TW_PULL_WAITING] = "waiting", [TW_PULL_CURRENT] = "current",
	[TW_PULL_KEPT] = "kept",       [TW_PULL_KEPT_LOCAL] = "local",
	[TW_PULL_MISSING] = "missing", [TW_PULL_BROKEN] = "refused",
};

const char *tw_pull_state_name(enum tw_pull_state s)
{
	return states[s];
}

/* ---- what came of it ---- */

static void tell_models(const struct tw_pulls *p)
{
	const uint64_t one = 1;

	if (p->reload_fd >= 0)
		(void)!write(p->reload_fd, &one, sizeof(one));
}

static void tell_taken(const struct pull *u, const struct tw_pull_result *r)
{
	tw_log_info("pipeline pulled name=%s models=%zu kept=%zu bytes=%llu%s from='%s'",
		    u->source->pipeline, r->models, r->kept, (unsigned long long)r->bytes,
		    r->from > 0 ? " resumed=yes" : "", u->source->shown);
	tell_models(u->all);
}

/* Log a lasting state once, not at each attempt. why: the text of an error, or "". */
static void tell_trouble(struct pull *u, const char *what, const char *why)
{
	const char *news = *why != '\0' ? why : what;

	if (strcmp(u->logged, news) == 0)
		return;
	snprintf(u->logged, sizeof(u->logged), "%s", news);
	tw_log_warn("%s name=%s from='%s'%s%s", what, u->source->pipeline,
		    u->source->shown, *why != '\0' ? ": " : "", why);
}

static void tell_failure(struct pull *u, const struct tw_err *why)
{
	if (!u->all->stop)
		tell_trouble(
			u,
			u->exists ? "cannot pull a pipeline, serving the last good copy"
				  : "cannot pull a pipeline, trying again",
			why->text);
}

static void note_good(struct pull *u, const struct tw_pull_result *r)
{
	u->status.state = TW_PULL_CURRENT;
	u->status.confirmed_s = (int64_t)time(NULL);
	u->status.next = r->next;
	u->refused[0] = '\0';
	u->logged[0] = '\0';
	if (r->outcome == TW_PULL_TAKEN) {
		u->status.taken++;
		tell_taken(u, r);
	}
}

static void note_refused(struct pull *u, const struct tw_pull_result *r,
			 const struct tw_err *why)
{
	u->status.refusals++;
	u->status.state = TW_PULL_BROKEN;
	memcpy(u->refused, r->etag, sizeof(u->refused));
	if (why->code != TW_OK)
		tell_trouble(u,
			     u->exists ? "refused a pipeline, serving the last good copy"
				       : "refused a pipeline",
			     why->text);
}

static void note(struct pull *u, const struct tw_pull_result *r, const struct tw_err *why)
{
	const bool removed = u->exists && !r->exists;

	u->status.bytes += r->bytes;
	u->failures = r->outcome == TW_PULL_FAILED || r->outcome == TW_PULL_REFUSED
			      ? u->failures + 1
			      : 0;
	u->exists = r->exists;
	switch (r->outcome) {
	case TW_PULL_TAKEN:
	case TW_PULL_UNCHANGED:
		note_good(u, r);
		break;
	case TW_PULL_LOCAL:
		u->status.state = TW_PULL_KEPT_LOCAL;
		tell_trouble(u,
			     "there is a pipeline of this name that was not pulled, "
			     "it is left alone",
			     "");
		break;
	case TW_PULL_FAILED:
		u->status.failures++;
		u->status.state = u->exists ? TW_PULL_KEPT : TW_PULL_MISSING;
		tell_failure(u, why);
		break;
	case TW_PULL_REFUSED:
		note_refused(u, r, why);
		break;
	}
	/* An older version than the published one may be taken now. */
	if (removed)
		u->refused[0] = '\0';
}

/* ---- when ---- */

/* Vary by a tenth, so that many servers do not ask at the same time. */
static uint64_t spread(struct tw_pulls *p, uint64_t ms)
{
	p->seed = p->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return ms - ms / 10 + (p->seed >> 33) % (ms / 5 + 1);
}

/* A conditional request is cheap, so keep asking for the rejected version. */
static bool asks_soon(const struct tw_pull_result *r)
{
	return r->outcome == TW_PULL_FAILED ||
	       (r->outcome == TW_PULL_REFUSED && r->etag[0] != '\0');
}

/* UINT64_MAX: only on request. */
static uint64_t pause_ms(struct pull *u, const struct tw_pull_result *r)
{
	const uint64_t refresh_ms = u->all->refresh_ms;
	const unsigned times = u->failures > 0 ? u->failures - 1 : 0;

	if (!asks_soon(r) || (r->outcome == TW_PULL_REFUSED && refresh_ms != 0 &&
			      refresh_ms < RETRY_MIN_MS << RETRY_DOUBLINGS))
		return refresh_ms != 0 ? spread(u->all, refresh_ms) : UINT64_MAX;
	if (r->retry_after_s > 0)
		return spread(u->all, 1000 * (r->retry_after_s < RETRY_AFTER_MAX_S
						      ? r->retry_after_s
						      : RETRY_AFTER_MAX_S));
	return spread(u->all,
		      RETRY_MIN_MS
			      << (times < RETRY_DOUBLINGS ? times : RETRY_DOUBLINGS));
}

/* Wait, with the lock held, for the time, a request or the stop. */
static void wait_for(struct tw_pulls *p, uint64_t ms, unsigned asked)
{
	const uint64_t due = ms != UINT64_MAX ? tw_now_ms() + ms : UINT64_MAX;
	const struct timespec t = { .tv_sec = (time_t)(due / 1000),
				    .tv_nsec = (long)(due % 1000 * 1000000) };

	while (!p->stop && p->asked == asked && tw_now_ms() < due) {
		if (due == UINT64_MAX)
			pthread_cond_wait(&p->changed, &p->lock);
		else
			pthread_cond_timedwait(&p->changed, &p->lock, &t);
	}
}

static void *run(void *arg)
{
	struct pull *u = arg;
	struct tw_pulls *p = u->all;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		const unsigned asked = p->asked;
		struct tw_pull_result result;
		struct tw_err why = { 0 };
		char refused[TW_HTTP_ETAG_MAX];

		u->status.attempts++;
		memcpy(refused, u->refused, sizeof(refused));
		pthread_mutex_unlock(&p->lock);
		tw_pull_take(&p->means, u->source, refused, &result, &why);
		tw_daemon_trim();
		pthread_mutex_lock(&p->lock);
		note(u, &result, &why);
		wait_for(p, pause_ms(u, &result), asked);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- open and closed ---- */

static bool all_local(const struct tw_pull_sources *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (!s->at[i].local || s->at[i].rollout)
			return false;
	return true;
}

static int start(struct tw_pulls *p, struct tw_err *err)
{
	for (; p->started < p->sources.count; p->started++) {
		struct pull *u = &p->pull[p->started];
		int e;

		u->all = p;
		u->source = &p->sources.at[p->started];
		u->status = (struct tw_pull_status){ .pipeline = u->source->pipeline,
						     .from = u->source->shown,
						     .rollout = u->source->rollout };
		e = pthread_create(&u->thread, NULL, run, u);
		if (e != 0)
			return tw_fail_errno(err, e, "cannot start a thread");
	}
	return 0;
}

int tw_pulls_open(const struct tw_pulls_config *c, struct tw_pulls **out,
		  struct tw_err *err)
{
	struct tw_pulls *p = calloc(1, sizeof(*p));
	int rc = -1;

	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "pulls");
	pthread_mutex_init(&p->turn, NULL);
	pthread_mutex_init(&p->lock, NULL);
	tw_cond_init(&p->changed);
	p->refresh_ms = c->refresh_ms;
	p->reload_fd = c->reload_fd;
	p->seed = (uint64_t)time(NULL) ^ (uint64_t)getpid();
	if (tw_text_copy(c->model_db, strlen(c->model_db), &p->model_db, err) < 0 ||
	    tw_pull_sources_read(c->from, c->top, &p->sources, err) < 0)
		goto out;
	p->means = (struct tw_pull_means){ .model_db = p->model_db,
					   .uploads = c->uploads,
					   .replica = c->replica,
					   .timeout_ms = c->timeout_ms,
					   .turn = &p->turn };
	if (!all_local(&p->sources) && tw_fetch_open(NULL, &p->means.fetch, err) < 0)
		goto out;
	if (TW_NEW(p->pull, p->sources.count + 1, err) < 0)
		goto out;
	tw_pull_parts_tidy(p->model_db, &p->sources);
	if (start(p, err) < 0)
		goto out;

	*out = p;
	p = NULL;
	rc = 0;
out:
	tw_pulls_close(p);
	return rc;
}

void tw_pulls_again(struct tw_pulls *p)
{
	pthread_mutex_lock(&p->lock);
	p->asked++;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

size_t tw_pulls_count(const struct tw_pulls *p)
{
	return p->sources.count;
}

void tw_pulls_at(struct tw_pulls *p, size_t i, struct tw_pull_status *out)
{
	pthread_mutex_lock(&p->lock);
	*out = p->pull[i].status;
	pthread_mutex_unlock(&p->lock);
}

void tw_pulls_close(struct tw_pulls *p)
{
	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (p->means.fetch != NULL)
		tw_fetch_stop(p->means.fetch);
	for (size_t i = 0; i < p->started; i++)
		pthread_join(p->pull[i].thread, NULL);
	tw_fetch_close(p->means.fetch);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	pthread_mutex_destroy(&p->turn);
	tw_pull_sources_release(&p->sources);
	free(p->pull);
	free(p->model_db);
	free(p);
}
