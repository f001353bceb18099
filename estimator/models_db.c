/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models_entry.h"
#include "estimator/predict/certificate.h"
#include "estimator/predict/power_model.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/program/daemon.h"
#include "lib/program/log.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip_store.h"
#include "model-db/index/choose.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"
#include "model-db/index/index_use.h"
#include "model-db/index/watch.h"
#include "model-db/model.h"
#include "model-db/model_files.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The thread of a model database (estimator/models_entry.h). */

/* Reload once the directory is quiet for QUIET_MS, but wait at most QUIET_MAX_MS. */
#define QUIET_MS 200
#define QUIET_MAX_MS 2000
/* Poll at this interval while there is no directory to watch. */
#define RETRY_MS 10000

/* State of the thread. */
struct watcher {
	struct tw_models *m;
	struct tw_models_db *db;
	struct tw_index *index;
	uint64_t generation; /* of the index */
	struct tw_log_limit log;
	struct tw_watch watch;
};

/* Models that failed to load with the index. */
struct refused {
	size_t count;
	char first[512];
};

static void count_refused(void *arg, const char *path, const struct tw_err *why)
{
	struct refused *r = arg;

	if (r->count++ == 0)
		snprintf(r->first, sizeof(r->first), "%s: %s", path, why->text);
	tw_log_debug("model left out: %s: %s", path, why->text);
}

static void load_index(struct watcher *w)
{
	struct tw_index *fresh = NULL;
	struct refused refused = { 0 };
	struct tw_err err = { 0 };

	/* Watch before reading, so that no change in between is missed. */
	tw_watch_directory(&w->watch, w->db->dir);
	if (tw_index_load(w->db->dir, count_refused, &refused, &fresh, &err) < 0) {
		tw_log_warn_limited(&w->log,
				    "cannot read the model database, continuing without "
				    "the change: %s",
				    err.text);
		return;
	}
	if (w->index != NULL && tw_index_count(w->index) + tw_index_count(fresh) == 0 &&
	    refused.count == 0) {
		tw_index_unref(fresh); /* the database is still empty */
		return;
	}
	if (refused.count > 0)
		tw_log_warn_limited(
			&w->log,
			"%zu models of the database were left out, the first: %s",
			refused.count, refused.first);
	if (w->index == NULL || tw_index_count(w->index) != tw_index_count(fresh))
		tw_log_info("model database '%s' read, %zu models", w->db->dir,
			    tw_index_count(fresh));
	tw_index_unref(w->index);
	w->index = fresh;
	w->generation++;
	tw_daemon_trim();
	pthread_mutex_lock(&w->m->lock);
	tw_models_all_due(w->m, w->db->origin);
	pthread_mutex_unlock(&w->m->lock);
}

static int load_model(const struct watcher *w, const char *path,
		      const struct tw_wanted *k, struct tw_served **out,
		      struct tw_err *err)
{
	struct tw_power_model *p = NULL;

	if (tw_power_model_load(path, &p, err) < 0)
		return -1;
	tw_daemon_trim();
	if (tw_models_check(k, p, err) < 0) {
		tw_power_model_free(p);
		return -1;
	}
	tw_log_info("model loaded name=%s output=%s source=%s from='%s'",
		    tw_power_model_info(p)->name, tw_output_name(k->output),
		    k->source->name, path);
	return tw_models_serve(w->m, p, w->db->origin, path, w->generation, out, err);
}

/* The zip of a model, as a model server would send it. */
static int zip_of(const struct tw_model *m, char **zip, size_t *len, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	struct tw_buf b = { 0 };
	int rc = -1;

	if (tw_model_to_files(m, &files, err) < 0 || tw_zip_store(&files, &b, err) < 0)
		goto out;
	*zip = tw_buf_detach(&b, len);
	rc = 0;
out:
	tw_buf_clear(&b);
	tw_fileset_clear(&files);
	return rc;
}

/*
 * Serve the prior's model of this machine, if it is better than the chosen model (NULL:
 * no model was chosen). TW_NOTFOUND: it is not.
 */
static int serve_prior(const struct watcher *w, const struct tw_wanted *wanted,
		       const struct tw_choice *chosen, struct tw_served **out,
		       struct tw_err *err)
{
	struct tw_model m = { 0 };
	struct tw_power_model *p = NULL;
	char from[512], *zip = NULL;
	size_t len = 0;
	int rc = -1;

	if (tw_choose_prior(w->index, wanted, chosen, &m, err) < 0)
		return -1;
	snprintf(from, sizeof(from), "prior of %s for %s (%s/machines/prior.json)",
		 w->m->machine.processor, wanted->source->name, w->db->dir);
	*out = tw_models_share(w->m, w->db->origin, from, w->generation);
	if (*out != NULL) {
		tw_model_release(&m);
		return 0;
	}
	if ((w->m->config.keep_zips && zip_of(&m, &zip, &len, err) < 0) ||
	    tw_power_model_new(&m, &p, err) < 0)
		goto out;
	if (tw_models_serve(w->m, p, w->db->origin, from, w->generation, out, err) < 0)
		goto out;
	tw_log_info("model of the prior output=%s source=%s processor=%s",
		    tw_output_name(wanted->output), wanted->source->name,
		    w->m->machine.processor);
	(*out)->zip = zip;
	(*out)->zip_len = len;
	zip = NULL;
	rc = 0;
out:
	tw_model_release(&m);
	free(zip);
	return rc;
}

/*
 * Load the best model for an entry; if that fails, try the next best. If the model in use
 * fails to load again, fail, so that it stays in use.
 */
static int find_usable(const struct watcher *w, const struct tw_models_entry *e,
		       struct tw_served **out, struct tw_err *err)
{
	const struct tw_wanted *wanted = &e->wanted;
	const struct tw_served *used = e->from[w->db->origin].served;

	if (w->index == NULL)
		return tw_fail(err, TW_NOTFOUND, "the model database could not be read");
	for (;;) {
		struct tw_choice choice;
		struct tw_err why = { 0 }, no_prior = { 0 };
		const bool chosen = tw_choose(w->index, wanted, &choice, &why) == 0;
		const char *path;

		if (serve_prior(w, wanted, chosen ? &choice : NULL, out, &no_prior) == 0)
			return 0;
		if (!chosen)
			return tw_fail(err, why.code, "%s", why.text);
		if (wanted->trainer == NULL &&
		    tw_index_prove(w->index, choice.entry, tw_certify_model, &why) < 0) {
			if (why.code == TW_NOMEM)
				return tw_fail(err, why.code, "%s", why.text);
			tw_log_warn("model left out, because it is not fit to be a "
				    "default: %s",
				    why.text);
			continue;
		}
		path = choice.entry->zip_path;
		*out = tw_models_share(w->m, w->db->origin, path, w->generation);
		if (*out != NULL || load_model(w, path, wanted, out, &why) == 0)
			return 0;
		if (why.code == TW_NOMEM ||
		    (used != NULL && strcmp(used->from, path) == 0))
			return tw_fail(err, why.code, "%s", why.text);
		tw_log_warn("cannot load a model, trying the next best: %s", why.text);
		tw_index_give_up(w->index, choice.entry);
	}
}

static void serve(struct watcher *w, struct tw_models_entry *e)
{
	struct tw_served *served = NULL;
	struct tw_err err = { 0 };

	if (find_usable(w, e, &served, &err) < 0)
		tw_log_warn_limited(
			&w->log, "no model from the %s output=%s source=%s: %s",
			tw_origin_name(w->db->origin), tw_output_name(e->wanted.output),
			e->wanted.source->name, err.text);
	tw_models_put(w->m, e, w->db->origin, served, &err, UINT64_MAX);
}

/* Wait until the directory has been quiet for a while. */
static void settle(struct watcher *w)
{
	const uint64_t until = tw_now_ms() + QUIET_MAX_MS;
	struct pollfd p[] = { { .fd = w->watch.fd, .events = POLLIN } };

	while (poll(p, 1, QUIET_MS) > 0 && tw_now_ms() < until)
		tw_watch_changed(&w->watch);
}

/* Wait for a new entry or a change of the directory. False: stop. */
static bool wait_for_work(struct watcher *w)
{
	struct pollfd p[] = { { .fd = w->db->work_fd, .events = POLLIN },
			      { .fd = w->watch.fd, .events = POLLIN } };
	const int ready = poll(p, 2, w->watch.wd >= 0 ? -1 : RETRY_MS);
	bool changed = ready > 0 && p[1].revents != 0 && tw_watch_changed(&w->watch);
	uint64_t wakes;
	bool stop;

	/* The number of wake-ups does not matter. */
	if (ready > 0 && p[0].revents != 0)
		(void)!read(p[0].fd, &wakes, sizeof(wakes));
	if (changed)
		settle(w);
	pthread_mutex_lock(&w->m->lock);
	stop = w->m->stop;
	changed = changed || w->db->reload || ready == 0;
	w->db->reload = false;
	pthread_mutex_unlock(&w->m->lock);
	if (changed && !stop)
		load_index(w);
	return !stop;
}

void *tw_models_run_db(void *arg)
{
	struct tw_models_db *db = arg;
	struct watcher w = { .m = db->m, .db = db, .watch = TW_WATCH_NONE };
	struct tw_err err = { 0 };

	if (tw_watch_open(&w.watch, &err) < 0)
		tw_log_warn("%s: polling the model database every %d s", err.text,
			    RETRY_MS / 1000);
	load_index(&w);
	do {
		struct tw_models_entry *e;
		uint64_t next_ms;

		for (;;) {
			pthread_mutex_lock(&w.m->lock);
			e = w.m->stop ? NULL : tw_models_due(w.m, w.db->origin, &next_ms);
			pthread_mutex_unlock(&w.m->lock);
			if (e == NULL)
				break;
			serve(&w, e);
		}
	} while (wait_for_work(&w));
	tw_index_unref(w.index);
	tw_watch_close(&w.watch);
	return NULL;
}
