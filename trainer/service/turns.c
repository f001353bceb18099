/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/turns.h"

#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct tw_turns {
	struct tw_turns_config config;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t changed;
	struct tw_turn *first; /* in the order of the queue */
	unsigned count, running;
	bool stopping;
};

int tw_turns_new(const struct tw_turns_config *c, struct tw_turns **out,
		 struct tw_err *err)
{
	struct tw_turns *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return tw_fail(err, TW_NOMEM, "queue of trainings");
	t->config = *c;
	if (t->config.parallel == 0)
		t->config.parallel = 1;
	pthread_mutex_init(&t->lock, NULL);
	tw_cond_init(&t->changed);
	*out = t;
	return 0;
}

void tw_turns_free(struct tw_turns *t)
{
	if (t == NULL)
		return;
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* ---- the queue; the caller has the lock ---- */

static void append(struct tw_turns *t, struct tw_turn *turn)
{
	struct tw_turn **end = &t->first;

	while (*end != NULL)
		end = &(*end)->next;
	turn->next = NULL;
	*end = turn;
}

static void unlink_turn(struct tw_turns *t, struct tw_turn *turn)
{
	struct tw_turn **at = &t->first;

	while (*at != turn)
		at = &(*at)->next;
	*at = turn->next;
}

static bool same_name(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Whether the training must wait for the end of one that has begun. */
static bool conflicts(const struct tw_turns *t, const struct tw_turn *turn)
{
	for (const struct tw_turn *o = t->first; o != NULL; o = o->next)
		if (o != turn && o->started &&
		    (same_name(o->pipeline, turn->pipeline) ||
		     same_name(o->pipeline, turn->reads) ||
		     same_name(o->reads, turn->pipeline)))
			return true;
	return false;
}

static bool may_run(const struct tw_turns *t, const struct tw_turn *turn)
{
	return !turn->running && !turn->cancelled &&
	       (turn->started || !conflicts(t, turn));
}

static void dispatch(struct tw_turns *t)
{
	for (struct tw_turn *turn = t->first; turn != NULL; turn = turn->next) {
		if (t->running == t->config.parallel)
			break;
		if (!may_run(t, turn))
			continue;
		turn->running = turn->started = true;
		turn->since_ns = tw_now_ns();
		t->running++;
	}
	pthread_cond_broadcast(&t->changed);
}

static void end_turn(struct tw_turns *t, struct tw_turn *turn)
{
	if (!turn->running)
		return;
	turn->running = false;
	turn->before_ns += tw_now_ns() - turn->since_ns;
	t->running--;
}

static bool is_over(const struct tw_turns *t, const struct tw_turn *turn)
{
	if (!turn->running ||
	    tw_now_ns() - turn->since_ns < t->config.slice_ms * UINT64_C(1000000))
		return false;
	for (const struct tw_turn *o = t->first; o != NULL; o = o->next)
		if (may_run(t, o))
			return true;
	return false;
}

/* ---- one training ---- */

bool tw_turns_add(struct tw_turns *t, struct tw_turn *turn)
{
	bool added;

	pthread_mutex_lock(&t->lock);
	added = !t->stopping && t->count < t->config.parallel + t->config.queue;
	if (added) {
		append(t, turn);
		t->count++;
		dispatch(t);
	}
	pthread_mutex_unlock(&t->lock);
	return added;
}

bool tw_turns_go_on(struct tw_turns *t, struct tw_turn *turn)
{
	bool on;

	pthread_mutex_lock(&t->lock);
	if (is_over(t, turn)) {
		end_turn(t, turn);
		unlink_turn(t, turn);
		append(t, turn);
		dispatch(t);
	}
	while (!turn->running && !turn->cancelled)
		pthread_cond_wait(&t->changed, &t->lock);
	on = !turn->cancelled;
	pthread_mutex_unlock(&t->lock);
	return on;
}

void tw_turns_cancel(struct tw_turns *t, struct tw_turn *turn)
{
	pthread_mutex_lock(&t->lock);
	turn->cancelled = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

bool tw_turns_cancelled(struct tw_turns *t, const struct tw_turn *turn)
{
	bool cancelled;

	pthread_mutex_lock(&t->lock);
	cancelled = turn->cancelled;
	pthread_mutex_unlock(&t->lock);
	return cancelled;
}

uint64_t tw_turns_ran_ns(struct tw_turns *t, const struct tw_turn *turn)
{
	uint64_t ns;

	pthread_mutex_lock(&t->lock);
	ns = turn->before_ns + (turn->running ? tw_now_ns() - turn->since_ns : 0);
	pthread_mutex_unlock(&t->lock);
	return ns;
}

void tw_turns_remove(struct tw_turns *t, struct tw_turn *turn)
{
	pthread_mutex_lock(&t->lock);
	end_turn(t, turn);
	unlink_turn(t, turn);
	t->count--;
	dispatch(t);
	pthread_mutex_unlock(&t->lock);
}

/* ---- the end ---- */

static void cancel_all(struct tw_turns *t, bool begun)
{
	for (struct tw_turn *turn = t->first; turn != NULL; turn = turn->next)
		turn->cancelled |= begun || !turn->started;
	pthread_cond_broadcast(&t->changed);
}

void tw_turns_stop(struct tw_turns *t, uint64_t grace_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(grace_ms / 1000);
	until.tv_nsec += (long)(grace_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	cancel_all(t, false);
	while (t->count > 0 && pthread_cond_timedwait(&t->changed, &t->lock, &until) == 0)
		;
	cancel_all(t, true);
	while (t->count > 0)
		pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
}
