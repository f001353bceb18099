/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models.h"

#include "estimator/clock.h"
#include "estimator/models_entry.h"
#include "estimator/power_model.h"
#include "estimator/request.h"
#include "profiler/cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void wake(int fd)
{
	static const uint64_t one = 1;

	/* It cannot fail but by overflow, and then it is readable. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

/* Lock held. */
static void unref_served(struct tw_served *s)
{
	if (s == NULL || --s->refs > 0)
		return;
	tw_power_model_free(s->model);
	free(s->path);
	free(s);
}

/* Lock held. */
static void unref_entry(struct tw_models_entry *e)
{
	if (--e->refs > 0)
		return;
	for (int o = 0; o < TW_ORIGIN_COUNT; o++)
		unref_served(e->from[o].served);
	tw_models_key_release(&e->key);
	free(e);
}

/* FNV-1a of each name, added up: the order of metrics does not matter. */
static uint64_t hash_metrics(const struct tw_strs *metrics)
{
	uint64_t sum = metrics->count;

	for (size_t i = 0; i < metrics->count; i++) {
		uint64_t h = UINT64_C(14695981039346656037);

		for (const char *s = metrics->at[i]; *s != '\0'; s++)
			h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
		sum += h;
	}
	return sum;
}

static bool same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool key_fits(const struct tw_models_key *k, const struct tw_request *r,
		     uint64_t hash)
{
	if (k->hash != hash || k->output != r->output || k->source != r->source ||
	    !same_text(k->trainer, r->trainer) || !same_text(k->filter, r->filter) ||
	    k->metrics.count != r->metrics.count)
		return false;
	for (size_t i = 0; i < r->metrics.count; i++)
		if (!tw_strs_has(&k->metrics, r->metrics.at[i]))
			return false;
	return true;
}

static int copy_text(char **to, const char *from, struct tw_err *err)
{
	if (from == NULL)
		return 0;
	*to = strdup(from);
	return *to != NULL ? 0 : tw_fail(err, TW_NOMEM, "key of a model");
}

static int make_entry(const struct tw_models *m, const struct tw_request *r,
		      uint64_t hash, struct tw_models_entry **out, struct tw_err *err)
{
	struct tw_models_entry *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return tw_fail(err, TW_NOMEM, "key of a model");
	e->refs = 1;
	e->key.output = r->output;
	e->key.source = r->source;
	e->key.hash = hash;
	if (copy_text(&e->key.trainer, r->trainer, err) < 0 ||
	    copy_text(&e->key.filter, r->filter, err) < 0 ||
	    tw_strs_copy(&e->key.metrics, &r->metrics, err) < 0) {
		unref_entry(e);
		return -1;
	}
	tw_strs_sort(&e->key.metrics);
	for (int o = 0; o < TW_ORIGIN_COUNT; o++) {
		e->from[o].tried = !m->has[o];
		e->from[o].due_ms = m->has[o] ? 0 : UINT64_MAX;
	}
	*out = e;
	return 0;
}

/* Lock held. */
static void add_entry(struct tw_models *m, struct tw_models_entry *e)
{
	size_t place = m->count, oldest = 0;

	if (m->count == TW_MODELS_KEYS_MAX) {
		for (size_t i = 1; i < m->count; i++)
			if (m->entry[i]->used < m->entry[oldest]->used)
				oldest = i;
		unref_entry(m->entry[oldest]);
		place = oldest;
	} else {
		m->count++;
	}
	m->entry[place] = e;
}

/* Lock held. */
static enum tw_models_state entry_state(const struct tw_models_entry *e,
					struct tw_served **out, struct tw_err *why)
{
	bool tried = true;

	for (int o = 0; o < TW_ORIGIN_COUNT; o++) {
		if (e->from[o].served != NULL) {
			*out = e->from[o].served;
			(*out)->refs++;
			return TW_MODELS_READY;
		}
		tried = tried && e->from[o].tried;
	}
	if (!tried)
		return TW_MODELS_PENDING;
	for (int o = 0; o < TW_ORIGIN_COUNT; o++)
		if (e->from[o].why.code != TW_OK)
			tw_fail(why, e->from[o].why.code, "%s", e->from[o].why.text);
	if (why->code == TW_OK)
		tw_fail(why, TW_NOTFOUND, "neither a model database nor a model server");
	return TW_MODELS_NONE;
}

enum tw_models_state tw_models_find(struct tw_models *m, const struct tw_request *r,
				    struct tw_served **out, struct tw_err *why)
{
	const uint64_t hash = hash_metrics(&r->metrics);
	enum tw_models_state state = TW_MODELS_NONE;
	struct tw_models_entry *e = NULL;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->count && e == NULL; i++)
		if (key_fits(&m->entry[i]->key, r, hash))
			e = m->entry[i];
	if (e == NULL) {
		if (make_entry(m, r, hash, &e, why) < 0)
			goto out;
		add_entry(m, e);
		wake(m->db_work_fd);
		pthread_cond_signal(&m->server_work);
	}
	e->used = ++m->uses;
	state = entry_state(e, out, why);
out:
	pthread_mutex_unlock(&m->lock);
	return state;
}

void tw_models_release(struct tw_models *m, struct tw_served *s)
{
	pthread_mutex_lock(&m->lock);
	unref_served(s);
	pthread_mutex_unlock(&m->lock);
}

struct tw_models_entry *tw_models_due(struct tw_models *m, enum tw_origin o,
				      uint64_t *next_ms)
{
	const uint64_t now = tw_now_ms();

	*next_ms = UINT64_MAX;
	for (size_t i = 0; i < m->count; i++) {
		struct tw_models_entry *e = m->entry[i];

		if (e->from[o].due_ms <= now) {
			e->from[o].due_ms = UINT64_MAX;
			e->refs++;
			return e;
		}
		if (e->from[o].due_ms < *next_ms)
			*next_ms = e->from[o].due_ms;
	}
	return NULL;
}

static double core_ratio(const struct tw_models *m, const struct tw_power_model *p)
{
	const uint32_t cores = tw_power_model_info(p)->spec.cores;

	return m->cores > 0 && cores > 0 ? (double)m->cores / (double)cores : 1.0;
}

int tw_models_serve(const struct tw_models *m, struct tw_power_model *p, const char *path,
		    uint64_t generation, struct tw_served **out, struct tw_err *err)
{
	struct tw_served *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		tw_power_model_free(p);
		return tw_fail(err, TW_NOMEM, "model");
	}
	*s = (struct tw_served){ .model = p, .refs = 1, .generation = generation };
	s->core_ratio[tw_format_double(s->core_ratio, core_ratio(m, p))] = '\0';
	if (copy_text(&s->path, path, err) < 0) {
		unref_served(s);
		return -1;
	}
	*out = s;
	return 0;
}

struct tw_served *tw_models_share(struct tw_models *m, const char *path,
				  uint64_t generation)
{
	struct tw_served *found = NULL;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->count && found == NULL; i++) {
		struct tw_served *s = m->entry[i]->from[TW_ORIGIN_DB].served;

		if (s != NULL && s->generation == generation &&
		    strcmp(s->path, path) == 0)
			found = s;
	}
	if (found != NULL)
		found->refs++;
	pthread_mutex_unlock(&m->lock);
	return found;
}

void tw_models_put(struct tw_models *m, struct tw_models_entry *e, enum tw_origin o,
		   struct tw_served *served, const struct tw_err *why, uint64_t retry_ms)
{
	pthread_mutex_lock(&m->lock);
	e->from[o].tried = true;
	if (served != NULL) {
		unref_served(e->from[o].served);
		e->from[o].served = served;
		e->from[o].failures = 0;
		e->from[o].why = (struct tw_err){ 0 };
	} else {
		e->from[o].failures++;
		e->from[o].why = *why;
	}
	/* It may have been made due in the meantime. */
	if (e->from[o].due_ms == UINT64_MAX && retry_ms != UINT64_MAX)
		e->from[o].due_ms = tw_now_ms() + retry_ms;
	unref_entry(e);
	pthread_mutex_unlock(&m->lock);
	wake(m->changed_fd);
}

void tw_models_all_due(struct tw_models *m, enum tw_origin o)
{
	for (size_t i = 0; i < m->count; i++)
		m->entry[i]->from[o].due_ms = 0;
}

void tw_models_reload(struct tw_models *m)
{
	pthread_mutex_lock(&m->lock);
	m->reload = true;
	if (m->has[TW_ORIGIN_SERVER])
		tw_models_all_due(m, TW_ORIGIN_SERVER);
	wake(m->db_work_fd);
	pthread_cond_signal(&m->server_work);
	pthread_mutex_unlock(&m->lock);
}

int tw_models_fd(const struct tw_models *m)
{
	return m->changed_fd;
}

static int start(struct tw_models *m, void *(*run)(void *), struct tw_err *err)
{
	const int e = pthread_create(&m->thread[m->threads], NULL, run, m);

	if (e != 0)
		return tw_fail_errno(err, e, "cannot start a thread");
	m->threads++;
	return 0;
}

static int init_lock(struct tw_models *m, struct tw_err *err)
{
	pthread_condattr_t attr;

	if (pthread_condattr_init(&attr) != 0)
		return tw_fail(err, TW_NOMEM, "models");
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&m->server_work, &attr);
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
	m->model_db = c->model_db;
	m->server_url = c->server_url;
	m->http = c->http;
	m->has[TW_ORIGIN_DB] = c->model_db != NULL;
	m->has[TW_ORIGIN_SERVER] = c->server_url != NULL;
	/* Without it the ratio of cores is 1, as the wire contract has it. */
	if (tw_cores_discover(c->sys, &m->cores, &unknown) < 0)
		m->cores = 0;
	m->changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	m->db_work_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->changed_fd < 0 || m->db_work_fd < 0) {
		tw_fail_errno(err, errno, "cannot make an eventfd");
		goto out;
	}
	if (m->has[TW_ORIGIN_DB] && start(m, tw_models_run_db, err) < 0)
		goto out;
	if (m->has[TW_ORIGIN_SERVER] && start(m, tw_models_run_server, err) < 0)
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
	pthread_cond_signal(&m->server_work);
	pthread_mutex_unlock(&m->lock);
	if (m->db_work_fd >= 0)
		wake(m->db_work_fd);
	if (m->http.stop != NULL)
		m->http.stop(m->http.arg);
	for (unsigned i = 0; i < m->threads; i++)
		pthread_join(m->thread[i], NULL);
	for (size_t i = 0; i < m->count; i++)
		unref_entry(m->entry[i]);
	if (m->changed_fd >= 0)
		close(m->changed_fd);
	if (m->db_work_fd >= 0)
		close(m->db_work_fd);
	pthread_cond_destroy(&m->server_work);
	pthread_mutex_destroy(&m->lock);
	free(m);
}
