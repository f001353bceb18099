/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/online.h"

#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/json/writer.h"
#include "lib/program/log.h"
#include "trainer/online/node.h"
#include "trainer/online/online_metrics.h"
#include "trainer/online/store.h"
#include "trainer/record/spool.h"
#include "trainer/record/stop.h"
#include "trainer/response/machines.h"
#include "trainer/response/prom.h"
#include "trainer/response/schema.h"
#include "trainer/service/trainings.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Limit of machines; others are not trained on. */
#define MACHINES_MAX 256

/* Right clocks differ by less. If the server's clock is further ahead, it is wrong. */
#define AHEAD_MAX_MS 300000

/* Trainings that ended are looked for so often. */
#define TRAININGS_MS 200

struct tw_online {
	struct tw_online_config config;
	struct tw_stop stop;
	struct tw_prom_client *prometheus;
	char *path; /* the response of the last interval */
	struct tw_online_node *node[MACHINES_MAX];
	char *machine[MACHINES_MAX];
	size_t nodes;
	int64_t read_to_ms;
	int64_t ahead_ms; /* lead of the server's clock if it is wrong; 0: it is right */
	struct tw_log_limit too_many;
	struct tw_online_metrics metrics;
	pthread_t thread;
	bool running;
};

/* ---- machines ---- */

static struct tw_online_node *find_node(struct tw_online *o, const char *machine,
					struct tw_err *err)
{
	for (size_t i = 0; i < o->nodes; i++)
		if (strcmp(o->machine[i], machine) == 0)
			return o->node[i];
	if (o->nodes == MACHINES_MAX || strlen(machine) >= TW_WINDOW_NAME) {
		tw_log_warn_limited(&o->too_many, "machine '%.60s' is not trained on: %s",
				    machine,
				    o->nodes == MACHINES_MAX ? "there are too many"
							     : "its name is too long");
		return NULL;
	}
	if (tw_text_copy(machine, strlen(machine), &o->machine[o->nodes], err) < 0)
		return NULL;
	if (tw_online_node_new(&o->config.rules, machine, &o->node[o->nodes], err) < 0) {
		free(o->machine[o->nodes]);
		return NULL;
	}
	return o->node[o->nodes++];
}

static int open_nodes(struct tw_online *o, struct tw_err *err)
{
	struct tw_strs names = { 0 };
	int rc = tw_store_windows(o->config.rules.store, &names, err);

	for (size_t i = 0; rc == 0 && i < names.count; i++)
		if (find_node(o, names.at[i], err) == NULL && err->code != TW_OK)
			rc = -1;
	tw_strs_clear(&names);
	return rc;
}

/* ---- reading ---- */

/* The samples of an interval, by machine. All zero bytes is empty. */
struct polled {
	struct tw_prom *response;
	struct tw_machines machines; /* with the samples of each */
	uint64_t samples;
};

static void release_polled(struct polled *p)
{
	tw_machines_release(&p->machines);
	tw_prom_free(p->response);
	*p = (struct polled){ 0 };
}

static int read_samples(struct tw_online *o, int64_t from_ms, int64_t to_ms,
			struct tw_spool *spool, struct tw_err *err)
{
	const struct tw_prom_range samples = { from_ms, to_ms, 0 };
	const struct tw_metric_choice choice = { 0 };
	const struct tw_strs *match = o->config.match;
	struct tw_strs names = { 0 };
	struct tw_prom_count count = { 0 };
	int rc = -1;

	if (tw_prom_client_names(o->prometheus, match, &samples, &choice, &names, err) <
	    0)
		goto out;
	for (size_t i = 0; i < names.count; i++)
		if (tw_prom_client_range(o->prometheus, names.at[i], match, &samples,
					 spool, &count, err) < 0 ||
		    tw_spool_settle(spool, err) < 0) {
			tw_err_wrap(err, "%s", names.at[i]);
			goto out;
		}
	rc = 0;
out:
	tw_strs_clear(&names);
	return rc;
}

/* Read the samples of (from_ms, to_ms]. There may be none. *out must be empty. */
static int read_polled(struct tw_online *o, int64_t from_ms, int64_t to_ms,
		       struct polled *out, struct tw_err *err)
{
	struct tw_spool *spool = NULL;
	int rc = -1;

	if (tw_spool_new(o->path, &spool, err) < 0 ||
	    read_samples(o, from_ms, to_ms, spool, err) < 0)
		goto out;
	out->samples = tw_spool_size(spool).samples;
	if (out->samples > 0 && (tw_spool_write(spool, o->path, err) < 0 ||
				 tw_prom_read(o->path, &out->response, err) < 0 ||
				 tw_machines_find(out->response, NULL, TW_PARTS_OF_EACH,
						  &out->machines, err) < 0))
		goto out;
	rc = 0;
out:
	unlink(o->path);
	tw_spool_free(spool);
	if (rc < 0)
		release_polled(out);
	return rc;
}

static int take_machines(struct tw_online *o, const struct polled *polled,
			 int64_t from_ms, int64_t to_ms, struct tw_err *err)
{
	for (size_t i = 0; i < polled->machines.count; i++) {
		struct tw_online_node *n = find_node(o, polled->machines.name[i], err);

		if (n == NULL && err->code != TW_OK)
			return -1;
		if (n != NULL && tw_online_node_take(n, polled->machines.part[i], from_ms,
						     to_ms, err) < 0)
			return tw_err_wrap(err, "machine '%.60s'",
					   polled->machines.name[i]);
	}
	return 0;
}

/* Store the samples of an interval, and that they were read, in one transaction. */
static int take(struct tw_online *o, const struct polled *polled, int64_t from_ms,
		int64_t to_ms, struct tw_err *err)
{
	struct tw_store *s = o->config.rules.store;

	if (tw_store_begin(s, err) < 0)
		return -1;
	if (take_machines(o, polled, from_ms, to_ms, err) < 0 ||
	    tw_store_set_read_to(s, to_ms, err) < 0 || tw_store_commit(s, err) < 0) {
		tw_store_abort(s);
		return -1;
	}
	o->read_to_ms = to_ms;
	return 0;
}

static int read_interval(struct tw_online *o, struct tw_err *err)
{
	const int64_t from_ms = o->read_to_ms;
	const int64_t to_ms = from_ms + (int64_t)o->config.interval_ms;
	struct polled polled = { 0 };
	int rc;

	if (read_polled(o, from_ms, to_ms, &polled, err) < 0)
		return -1;
	rc = take(o, &polled, from_ms, to_ms, err);
	if (rc == 0)
		tw_online_metrics_add_samples(&o->metrics, polled.samples);
	release_polled(&polled);
	return rc;
}

/*
 * The time up to which samples are read. It is the server's time, so that a jump of this
 * machine's clock skips no samples. While the server's clock is wrong, it is AHEAD_MAX_MS
 * before this machine's time: the server has all samples up to then.
 */
static int64_t bound_time(struct tw_online *o, int64_t server_ms)
{
	const int64_t own_ms = tw_wall_ms();
	const bool was_ahead = o->ahead_ms > 0;

	o->ahead_ms = server_ms > own_ms + AHEAD_MAX_MS ? server_ms - own_ms : 0;
	if (o->ahead_ms > 0 && !was_ahead)
		tw_log_warn("the server's clock is %" PRId64
			    " s ahead of this machine's: reading up to this machine's "
			    "time; set the wrong one of the two clocks",
			    o->ahead_ms / 1000);
	else if (o->ahead_ms == 0 && was_ahead)
		tw_log_info("the server's clock agrees with this machine's again");
	return o->ahead_ms > 0 ? own_ms - AHEAD_MAX_MS : server_ms;
}

/* Both clocks say that stored times are in the future: forget these. */
static int forget_future(struct tw_online *o, struct tw_err *err)
{
	bool found = false;

	for (size_t i = 0; o->ahead_ms == 0 && i < o->nodes; i++)
		if (tw_online_node_leave_future(o->node[i], tw_wall_ms() + AHEAD_MAX_MS,
						&found, err) < 0)
			return -1;
	if (found)
		tw_log_warn("samples and trainings of a time in the future are "
			    "forgotten: a clock was wrong");
	return 0;
}

/*
 * A wrong clock, the server's or this machine's, has moved read_to_ms into the future: go
 * back to the last sample.
 */
static void leave_future(struct tw_online *o, int64_t end_ms)
{
	const int64_t own_ms = tw_wall_ms();
	const int64_t now_ms = end_ms < own_ms ? end_ms : own_ms;
	int64_t last_ms = 0;

	if (o->read_to_ms <= now_ms + AHEAD_MAX_MS)
		return;
	for (size_t i = 0; i < o->nodes; i++) {
		const int64_t ms = tw_online_node_taken_to(o->node[i]);

		last_ms = ms > last_ms ? ms : last_ms;
	}
	if (last_ms >= o->read_to_ms)
		return;
	tw_log_warn("samples were read up to a time %" PRId64
		    " s in the future: reading again after the last stored one",
		    (o->read_to_ms - now_ms) / 1000);
	o->read_to_ms = last_ms;
}

/* The first interval after a pause: samples older than the look-back are given up. */
static void find_start(struct tw_online *o, int64_t end_ms)
{
	const int64_t oldest_ms = end_ms - (int64_t)o->config.lookback_ms;

	if (o->read_to_ms >= oldest_ms)
		return;
	if (o->read_to_ms != 0)
		tw_log_warn("samples of %" PRId64 " s are older than --lookback, going "
			    "on without them",
			    (oldest_ms - o->read_to_ms) / 1000);
	o->read_to_ms = oldest_ms;
}

/* Set how far the reading is behind the server's clock. */
static void note_behind(struct tw_online *o, int64_t server_ms)
{
	const int64_t ms = server_ms - (int64_t)o->config.delay_ms - o->read_to_ms;

	tw_online_metrics_set_behind(&o->metrics, ms > 0 ? ms : 0);
}

static int read_all(struct tw_online *o, struct tw_err *err)
{
	const int64_t interval_ms = (int64_t)o->config.interval_ms;
	int64_t now_ms, end_ms;

	if (tw_prom_client_time(o->prometheus, &now_ms, err) < 0)
		return -1;
	end_ms = bound_time(o, now_ms) - (int64_t)o->config.delay_ms;
	if (forget_future(o, err) < 0)
		return -1;
	leave_future(o, end_ms);
	find_start(o, end_ms);
	note_behind(o, now_ms);
	if (o->ahead_ms == 0 && end_ms < o->read_to_ms - interval_ms)
		return tw_fail(err, TW_INVALID,
			       "the server's clock was set back by %" PRId64
			       " s; waiting until it reaches the last sample",
			       (o->read_to_ms - end_ms) / 1000);
	while (o->read_to_ms + interval_ms <= end_ms) {
		if (tw_stop_requested(&o->stop))
			return 0;
		if (read_interval(o, err) < 0)
			return -1;
		note_behind(o, now_ms);
	}
	return 0;
}

/* ---- the loop ---- */

static void update_figures(struct tw_online *o)
{
	struct tw_online_figures f;
	struct tw_err why = { 0 };

	for (size_t i = 0; i < o->nodes; i++)
		if (tw_online_node_figures(o->node[i], &f, &why) == 0)
			tw_online_metrics_set(&o->metrics, i, &f);
}

static size_t count_trainings(const struct tw_online *o)
{
	size_t n = 0;
	bool done;

	for (size_t i = 0; i < o->nodes; i++)
		n += tw_online_node_trains(o->node[i], &done);
	return n;
}

/* Whether one more machine may train: the queue has a place left for a request. */
static bool has_room(const struct tw_online *o)
{
	const size_t max = tw_trainings_max(o->config.rules.trainings);

	return count_trainings(o) < (max > 1 ? max - 1 : 1);
}

static void decide(struct tw_online *o)
{
	for (size_t i = 0; i < o->nodes; i++) {
		struct tw_err why = { 0 };

		if (!tw_stop_requested(&o->stop) &&
		    tw_online_node_decide(o->node[i], has_room(o), &why) < 0)
			tw_log_error("%s: %s", o->machine[i], why.text);
	}
}

static void run_once(struct tw_online *o)
{
	struct tw_err why = { 0 };
	const bool failed = read_all(o, &why) < 0;

	if (tw_stop_requested(&o->stop))
		return;
	if (!failed && o->ahead_ms > 0)
		tw_fail(&why, TW_INVALID,
			"the server's clock is %" PRId64 " s ahead of this machine's",
			o->ahead_ms / 1000);
	if (tw_online_metrics_polled(&o->metrics, failed, why.text)) {
		if (failed)
			tw_log_warn("no samples are taken, trying again at each "
				    "interval: %s",
				    why.text);
		else
			tw_log_info("samples are taken again");
	}
	if (!failed) {
		update_figures(o);
		decide(o);
	}
	update_figures(o);
}

/* Decide about trainings that ended. Returns whether others may go on. */
static bool end_trainings(struct tw_online *o)
{
	bool ended = false, left = false;

	for (size_t i = 0; i < o->nodes; i++) {
		bool done;

		if (!tw_online_node_trains(o->node[i], &done))
			continue;
		ended |= done;
		left |= !done;
	}
	if (ended) {
		decide(o);
		update_figures(o);
	}
	return left || ended;
}

/* Wait until a time. True for a stop request. */
static bool wait_until(struct tw_online *o, uint64_t end_ms)
{
	while (true) {
		const uint64_t now_ms = tw_now_ms();
		const uint64_t left_ms = now_ms < end_ms ? end_ms - now_ms : 0;
		const bool trains = end_trainings(o);

		if (tw_stop_wait(&o->stop, trains && left_ms > TRAININGS_MS ? TRAININGS_MS
									    : left_ms))
			return true;
		if (!trains || left_ms <= TRAININGS_MS)
			return false;
	}
}

static void *run(void *arg)
{
	struct tw_online *o = arg;
	uint64_t start_ms;

	do {
		start_ms = tw_now_ms();
		run_once(o);
	} while (!wait_until(o, start_ms + o->config.interval_ms));
	return NULL;
}

static int open_store(struct tw_online *o, struct tw_err *err)
{
	char *path;
	int rc;

	if (tw_dir_make(o->config.rules.dir, err) < 0 ||
	    tw_path_join(&path, err, o->config.rules.dir, "online.sqlite", NULL) < 0)
		return -1;
	rc = tw_store_open(path, &o->config.rules.store, err);
	free(path);
	return rc;
}

int tw_online_open(const struct tw_online_config *c, struct tw_online **out,
		   struct tw_err *err)
{
	struct tw_online *o = calloc(1, sizeof(*o));
	int e, rc = -1;

	if (o == NULL)
		return tw_fail(err, TW_NOMEM, "online training");
	o->config = *c;
	o->stop.fd = -1;
	tw_online_metrics_init(&o->metrics);
	if (open_store(o, err) < 0 || tw_stop_open_by_call(&o->stop, err) < 0)
		goto out;
	o->config.client.stop = &o->stop;
	if (tw_path_join(&o->path, err, c->rules.dir, "response.json", NULL) < 0 ||
	    tw_prom_client_new(&o->config.client, &o->prometheus, err) < 0 ||
	    tw_store_read_to(o->config.rules.store, &o->read_to_ms, err) < 0 ||
	    open_nodes(o, err) < 0)
		goto out;
	update_figures(o);
	e = pthread_create(&o->thread, NULL, run, o);
	if (e != 0) {
		tw_fail_errno(err, e, "cannot start a thread");
		goto out;
	}
	o->running = true;
	*out = o;
	o = NULL;
	rc = 0;
out:
	tw_online_close(o);
	return rc;
}

void tw_online_stop(struct tw_online *o)
{
	tw_stop_request(&o->stop);
}

void tw_online_close(struct tw_online *o)
{
	if (o == NULL)
		return;
	if (o->running)
		pthread_join(o->thread, NULL);
	for (size_t i = 0; i < o->nodes; i++) {
		tw_online_node_free(o->node[i]);
		free(o->machine[i]);
	}
	tw_prom_client_free(o->prometheus);
	free(o->path);
	if (o->stop.fd >= 0)
		tw_stop_close(&o->stop);
	tw_store_close(o->config.rules.store);
	tw_online_metrics_release(&o->metrics);
	free(o);
}

void tw_online_write_damage(void *why, struct tw_buf *out)
{
	tw_json_add_object(out, "online");
	tw_json_add_text(out, "problem", why);
	tw_json_end_object(out);
}

void tw_online_write_health(void *online, struct tw_buf *out)
{
	tw_online_metrics_health(&((struct tw_online *)online)->metrics, out);
}

void tw_online_write_metrics(void *online, struct tw_expo *e)
{
	tw_online_metrics_write(&((struct tw_online *)online)->metrics, e);
}
