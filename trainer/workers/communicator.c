/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/workers/communicator.h"

#include "lib/core/array.h"
#include "trainer/workers/tracker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xgboost/c_api.h>

/*
 * Codes of XGBoost 1.7 and 2.0, which its C header does not name. A wrong code would give
 * wrong sums: check_sums() finds out.
 */
enum { TYPE_INT64 = 4, TYPE_DOUBLE = 7 };
enum { OP_MAX = 0, OP_SUM = 2 };

#define LEAVE_MS 10000

static int fail_link(const char *what, struct tw_err *err)
{
	return tw_fail(err, TW_IO, "%s: a worker has left or cannot be reached", what);
}

static int reduce(void *v, size_t count, int type, enum tw_reduce op, struct tw_err *err)
{
	if (XGCommunicatorAllreduce(v, count, type,
				    op == TW_REDUCE_SUM ? OP_SUM : OP_MAX) == 0)
		return 0;
	return fail_link("sum over the workers", err);
}

static int doubles(void *arg, double *v, size_t count, enum tw_reduce op,
		   struct tw_err *err)
{
	(void)arg;
	return reduce(v, count, TYPE_DOUBLE, op, err);
}

static int integers(void *arg, int64_t *v, size_t count, enum tw_reduce op,
		    struct tw_err *err)
{
	(void)arg;
	return reduce(v, count, TYPE_INT64, op, err);
}

static int broadcast(void *arg, void *v, size_t bytes, unsigned root, struct tw_err *err)
{
	(void)arg;
	if (XGCommunicatorBroadcast(v, bytes, (int)root) == 0)
		return 0;
	return fail_link("copy to the workers", err);
}

static const struct tw_workers_link communicator = {
	.doubles = doubles,
	.integers = integers,
	.broadcast = broadcast,
};

/* ---- start ---- */

/* XGBoost reports each link on stdout. */
static void drop_log(const char *text)
{
	(void)text;
}

/* ---- the connection to the tracker ---- */

/*
 * Ends the process if a worker leaves. The library cannot: while it links workers it
 * waits without end for a missing one, and its ring (AllreduceBase::TryAllgatherRing() of
 * 1.7) reads a closed connection again and again.
 */
struct tw_communicator_watch {
	void (*lost)(const struct tw_err *why);
	struct tw_tracker *tracker; /* or NULL */
	int fd;                     /* of tw_tracker_join() */
	pthread_t thread;
	atomic_bool linked, over;
};

static void explain(struct tw_tracker *t, struct tw_err *err)
{
	char why[TW_ERR_TEXT];

	if (t != NULL && tw_tracker_failed(t, why))
		tw_fail(err, TW_IO, "%s", why);
	else
		tw_fail(err, TW_IO, "a worker has left or did not come");
}

/* Until the owner shuts the connection down, or the tracker closes it. */
static void *watch(void *arg)
{
	struct tw_communicator_watch *w = arg;
	struct tw_err why = { 0 };
	char byte;

	if (recv(w->fd, &byte, 1, 0) > 0 || atomic_load(&w->over))
		return NULL;
	if (atomic_load(&w->linked))
		tw_fail(&why, TW_IO, "a worker has left");
	else
		explain(w->tracker, &why);
	w->lost(&why);
	return NULL;
}

static int begin_watch(const struct tw_communicator_config *c,
		       struct tw_communicator *out, struct tw_err *err)
{
	struct tw_communicator_watch *w = calloc(1, sizeof(*w));
	int status;

	if (w == NULL)
		return tw_fail(err, TW_NOMEM, "link of the workers");
	w->lost = c->lost;
	w->tracker = out->tracker;
	if (tw_tracker_join(c->host, c->port, c->rank, c->wait_s, &w->fd, err) < 0) {
		free(w);
		return -1;
	}
	status = pthread_create(&w->thread, NULL, watch, w);
	if (status != 0) {
		close(w->fd);
		free(w);
		return tw_fail_errno(err, status, "thread of the workers' link");
	}
	out->watch = w;
	return 0;
}

/* Each byte is a stage: linked, complete. */
static void tell_tracker(const struct tw_communicator_watch *w)
{
	send(w->fd, "", 1, MSG_NOSIGNAL);
}

static void end_watch(struct tw_communicator *c, bool complete)
{
	struct tw_communicator_watch *w = c->watch;

	if (w == NULL)
		return;
	/* The tracker may close the connection as soon as it is told. */
	atomic_store(&w->over, true);
	if (complete)
		tell_tracker(w);
	shutdown(w->fd, SHUT_RDWR);
	pthread_join(w->thread, NULL);
	close(w->fd);
	free(w);
	c->watch = NULL;
}

void tw_communicator_unwatch(struct tw_communicator *c)
{
	end_watch(c, true);
}

/* Sums, extremes and a copy of known values. */
static int check_sums(const struct tw_communicator_config *c, struct tw_err *err)
{
	const double n = c->size, sum = n * (n + 1) / 2;
	double added[2] = { c->rank + 1.0, 0.5 }, most[2] = { c->rank + 1.0, -0.25 };
	int64_t count[2] = { (int64_t)c->rank + 1, -7 }, largest = c->rank;
	char copied[] = "rank 0";

	if (c->rank > 0)
		memset(copied, '?', sizeof(copied));
	if (doubles(NULL, added, 2, TW_REDUCE_SUM, err) < 0 ||
	    doubles(NULL, most, 2, TW_REDUCE_MAX, err) < 0 ||
	    integers(NULL, count, 2, TW_REDUCE_SUM, err) < 0 ||
	    integers(NULL, &largest, 1, TW_REDUCE_MAX, err) < 0 ||
	    broadcast(NULL, copied, sizeof(copied), 0, err) < 0)
		return -1;
	if (added[0] == sum && added[1] == n / 2 && most[0] == n && most[1] == -0.25 &&
	    count[0] == (int64_t)sum && count[1] == -7 * (int64_t)c->size &&
	    largest == (int64_t)c->size - 1 && strcmp(copied, "rank 0") == 0)
		return 0;
	return tw_fail(err, TW_UNSUPPORTED,
		       "the communicator of this XGBoost library gives wrong sums");
}

static int join(const struct tw_communicator_config *c, struct tw_tracker *t,
		struct tw_err *err)
{
	char config[512];

	snprintf(config, sizeof(config),
		 "{\"xgboost_communicator\":\"rabit\",\"rabit_tracker_uri\":\"%s\","
		 "\"rabit_tracker_port\":\"%u\",\"rabit_task_id\":\"%u\","
		 "\"rabit_enable_tcp_no_delay\":\"true\"}",
		 c->host, c->port, c->rank);
	XGBRegisterLogCallback(drop_log);
	if (XGCommunicatorInit(config) != 0) {
		explain(t, err);
		return -1;
	}
	if (XGCommunicatorGetRank() != (int)c->rank ||
	    XGCommunicatorGetWorldSize() != (int)c->size)
		return tw_fail(err, TW_INVALID,
			       "worker %u of %u is %d of %d for the tracker", c->rank,
			       c->size, XGCommunicatorGetRank(),
			       XGCommunicatorGetWorldSize());
	return check_sums(c, err);
}

int tw_communicator_open(const struct tw_communicator_config *config,
			 struct tw_communicator *out, struct tw_err *err)
{
	out->workers = (struct tw_workers){ .rank = config->rank,
					    .size = config->size,
					    .link = &communicator };
	if (config->rank == 0 &&
	    tw_tracker_start(config->host, config->port, config->size, config->wait_s,
			     &out->tracker, err) < 0)
		return -1;
	if (begin_watch(config, out, err) < 0)
		return -1;
	if (join(config, out->tracker, err) < 0) {
		end_watch(out, false);
		tw_workers_break(&out->workers, err);
		return -1;
	}
	atomic_store(&out->watch->linked, true);
	tell_tracker(out->watch);
	out->open = true;
	return 0;
}

void tw_communicator_close(struct tw_communicator *c)
{
	/* After a failure, the exit of the process closes the links. */
	const bool good = c->open && c->workers.broken.code == TW_OK;

	end_watch(c, good);
	if (good)
		XGCommunicatorFinalize();
	tw_tracker_stop(c->tracker, good ? LEAVE_MS : 0);
	*c = (struct tw_communicator){ 0 };
}
