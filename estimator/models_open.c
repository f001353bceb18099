/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/init_urls.h"
#include "estimator/models.h"
#include "estimator/models_entry.h"
#include "profiler/cpus.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* models.h: opening, closing, and what is told of it. */

static const char *const origin_names[TW_ORIGIN_COUNT] = {
	[TW_ORIGIN_SERVER] = "server",
	[TW_ORIGIN_URL] = "url",
	[TW_ORIGIN_DB] = "database",
	[TW_ORIGIN_SHIPPED] = "shipped",
};

const char *tw_origin_name(enum tw_origin o)
{
	assert((unsigned)o < TW_ORIGIN_COUNT);
	return origin_names[o];
}

bool tw_models_has(const struct tw_models *m, enum tw_origin o,
		   const struct tw_models_key *k)
{
	if (o == TW_ORIGIN_SERVER)
		return m->server_url != NULL;
	/* A URL is one model: who wishes by filter asks those who can choose. */
	if (o == TW_ORIGIN_URL)
		return m->init_urls != NULL && k->filter == NULL &&
		       tw_init_urls_find(m->init_urls, k->output, k->source) != NULL;
	for (size_t i = 0; i < m->dbs; i++)
		if (m->db[i].origin == o)
			return true;
	return false;
}

int tw_models_fd(const struct tw_models *m)
{
	return m->changed_fd;
}

static int start(struct tw_models *m, void *(*run)(void *), void *arg, struct tw_err *err)
{
	const int e = pthread_create(&m->thread[m->threads], NULL, run, arg);

	if (e != 0)
		return tw_fail_errno(err, e, "cannot start a thread");
	m->threads++;
	return 0;
}

static int add_db(struct tw_models *m, enum tw_origin o, const char *dir,
		  struct tw_err *err)
{
	struct tw_models_db *db = &m->db[m->dbs];

	if (dir == NULL)
		return 0;
	*db = (struct tw_models_db){ .m = m, .origin = o, .dir = dir };
	db->work_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (db->work_fd < 0)
		return tw_fail_errno(err, errno, "cannot make an eventfd");
	m->dbs++;
	return 0;
}

static int start_threads(struct tw_models *m, struct tw_err *err)
{
	for (size_t i = 0; i < m->dbs; i++)
		if (start(m, tw_models_run_db, &m->db[i], err) < 0)
			return -1;
	if (m->server_url == NULL && m->init_urls == NULL)
		return 0;
	return start(m, tw_models_run_net, m, err);
}

static int init_lock(struct tw_models *m, struct tw_err *err)
{
	pthread_condattr_t attr;

	if (pthread_condattr_init(&attr) != 0)
		return tw_fail(err, TW_NOMEM, "models");
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&m->net_work, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&m->lock, NULL);
	return 0;
}

int tw_models_open(const struct tw_models_config *c, struct tw_models **out,
		   struct tw_err *err)
{
	struct tw_models *m = calloc(1, sizeof(*m));
	struct tw_err unknown = { 0 };
	int rc = -1;

	if (m == NULL)
		return tw_fail(err, TW_NOMEM, "models");
	if (init_lock(m, err) < 0) {
		free(m);
		return -1;
	}
	m->server_url = c->server_url;
	m->server_path = c->server_path != NULL ? c->server_path : "/model";
	m->init_urls = c->init_urls;
	m->keep_dir = c->keep_dir;
	m->refresh_ms = c->refresh_ms;
	m->keep_zips = c->keep_zips;
	m->http = c->http;
	/* Without it the ratio of cores is 1, as the wire contract has it. */
	if (tw_cores_discover(c->sys, &m->cores, &unknown) < 0)
		m->cores = 0;
	m->changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->changed_fd < 0) {
		tw_fail_errno(err, errno, "cannot make an eventfd");
		goto out;
	}
	if (add_db(m, TW_ORIGIN_DB, c->model_db, err) < 0 ||
	    add_db(m, TW_ORIGIN_SHIPPED, c->shipped_db, err) < 0 ||
	    start_threads(m, err) < 0)
		goto out;
	*out = m;
	m = NULL;
	rc = 0;
out:
	tw_models_close(m);
	return rc;
}

void tw_models_close(struct tw_models *m)
{
	if (m == NULL)
		return;
	pthread_mutex_lock(&m->lock);
	m->stop = true;
	pthread_cond_signal(&m->net_work);
	pthread_mutex_unlock(&m->lock);
	for (size_t i = 0; i < m->dbs; i++)
		tw_models_wake(m->db[i].work_fd);
	if (m->http.stop != NULL)
		m->http.stop(m->http.arg);
	for (unsigned i = 0; i < m->threads; i++)
		pthread_join(m->thread[i], NULL);
	for (size_t i = 0; i < m->count; i++)
		tw_models_unref_entry(m->entry[i]);
	if (m->changed_fd >= 0)
		close(m->changed_fd);
	for (size_t i = 0; i < m->dbs; i++)
		close(m->db[i].work_fd);
	pthread_cond_destroy(&m->net_work);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

void tw_models_count(struct tw_models *m, struct tw_models_counts *out)
{
	pthread_mutex_lock(&m->lock);
	*out = m->counts;
	for (size_t i = 0; i < m->count; i++)
		for (int o = 0; o < TW_ORIGIN_COUNT; o++) {
			out->of[o].serving += m->entry[i]->from[o].served != NULL;
			out->of[o].failing += m->entry[i]->from[o].failures > 0;
		}
	pthread_mutex_unlock(&m->lock);
}

/* The model that the entry's requests are answered with, or NULL. Lock held. */
static struct tw_served *serving(const struct tw_models_entry *e)
{
	for (int o = 0; o < TW_ORIGIN_COUNT; o++)
		if (e->from[o].served != NULL)
			return e->from[o].served;
	return NULL;
}

size_t tw_models_in_use(struct tw_models *m, struct tw_served **out)
{
	size_t count = 0;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->count; i++) {
		struct tw_served *s = serving(m->entry[i]);
		size_t k = 0;

		while (k < count && out[k] != s)
			k++;
		if (s == NULL || k < count)
			continue;
		s->refs++;
		out[count++] = s;
	}
	pthread_mutex_unlock(&m->lock);
	return count;
}
