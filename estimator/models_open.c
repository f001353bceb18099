/* SPDX-License-Identifier: Apache-2.0 */
/* The table of models with its threads: one for each database, one for servers. */
#include "estimator/models.h"
#include "estimator/models_entry.h"
#include "profiler/discover.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int tw_models_fd(const struct tw_models *m)
{
	return m->changed_fd;
}

void tw_models_reload(struct tw_models *m)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->dbs; i++) {
		m->db[i].reload = true;
		tw_models_wake(m->db[i].work_fd);
	}
	tw_models_all_due(m, TW_ORIGIN_SERVER);
	tw_models_all_due(m, TW_ORIGIN_URL);
	pthread_cond_signal(&m->net_work);
	pthread_mutex_unlock(&m->lock);
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
	if (m->config.server_url == NULL && m->config.init_urls == NULL)
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
	m->config = *c;
	if (m->config.server_path == NULL)
		m->config.server_path = "/model";
	/* If the number is unknown, core_ratio is 1, as docs/wire.md requires. */
	if (tw_cores_discover(c->sys, &m->cores, &unknown) < 0)
		m->cores = 0;
	unknown = (struct tw_err){ 0 };
	if (tw_machine_spec_discover(c->proc != NULL ? c->proc : "/proc", c->sys,
				     &m->machine, &unknown) < 0)
		m->machine = (struct tw_machine_spec){ 0 };
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
	if (m->config.http.stop != NULL)
		m->config.http.stop(m->config.http.arg);
	for (unsigned i = 0; i < m->threads; i++)
		pthread_join(m->thread[i], NULL);
	for (size_t i = 0; i < m->count; i++)
		tw_models_unref(m->entry[i]);
	if (m->changed_fd >= 0)
		close(m->changed_fd);
	for (size_t i = 0; i < m->dbs; i++)
		close(m->db[i].work_fd);
	pthread_cond_destroy(&m->net_work);
	pthread_mutex_destroy(&m->lock);
	free(m);
}
