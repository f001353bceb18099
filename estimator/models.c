/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models.h"

#include "estimator/models_entry.h"
#include "estimator/predict/power_model.h"
#include "estimator/request.h"
#include "lib/core/clock.h"
#include "lib/core/hash.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void tw_models_wake(int fd)
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
	free(s->from);
	free(s->zip);
	free(s);
}

/* Lock held. */
void tw_models_unref_entry(struct tw_models_entry *e)
{
	if (--e->refs > 0)
		return;
	for (int o = 0; o < TW_ORIGIN_COUNT; o++)
		unref_served(e->from[o].served);
	tw_models_key_release(&e->key);
	free(e);
}

/* Of each name, added up: the order of metrics does not matter. */
static uint64_t hash_metrics(const struct tw_strs *metrics)
{
	uint64_t sum = metrics->count;

	for (size_t i = 0; i < metrics->count; i++)
		sum += tw_hash(metrics->at[i], strlen(metrics->at[i]));
	return sum;
}

static bool same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether a metric that `is` accepts is above 0 in any row. */
static bool is_used(const struct tw_request *r, bool (*is)(const char *name))
{
	const size_t width = r->metrics.count - r->systems;

	for (size_t i = 0; i < width; i++)
		for (size_t row = 0; is(r->metrics.at[i]) && row < r->rows; row++)
			if (r->x[row * width + i] > 0)
				return true;
	return false;
}

/*
 * Whether the counters that a request lists count nothing. Rows at rest do not tell, and
 * must be answered by the model of the rows before them: so what the last rows under load
 * have shown holds. Lock held.
 */
static bool lacks_counters(struct tw_models *m, const struct tw_request *r)
{
	if (!tw_feature_list_unproven(&r->metrics))
		return false;
	if (is_used(r, tw_feature_is_counter))
		m->counters_seen = true;
	else if (is_used(r, tw_feature_is_work))
		m->counters_seen = false;
	return !m->counters_seen;
}

static bool key_fits(const struct tw_models_key *k, const struct tw_request *r,
		     bool unproven, uint64_t hash)
{
	if (k->hash != hash || k->counters_unproven != unproven ||
	    k->output != r->output || k->source != r->source ||
	    !same_text(k->trainer, r->trainer) || !same_text(k->filter, r->filter) ||
	    k->metrics.count != r->metrics.count)
		return false;
	/* Most clients send them sorted, too. */
	for (size_t i = 0; i < r->metrics.count; i++)
		if (strcmp(k->metrics.at[i], r->metrics.at[i]) != 0 &&
		    !tw_strs_has(&k->metrics, r->metrics.at[i]))
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
		      bool unproven, uint64_t hash, struct tw_models_entry **out,
		      struct tw_err *err)
{
	struct tw_models_entry *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return tw_fail(err, TW_NOMEM, "key of a model");
	e->refs = 1;
	e->key.output = r->output;
	e->key.source = r->source;
	e->key.hash = hash;
	e->key.counters_unproven = unproven;
	if (copy_text(&e->key.trainer, r->trainer, err) < 0 ||
	    copy_text(&e->key.filter, r->filter, err) < 0 ||
	    tw_strs_copy(&e->key.metrics, &r->metrics, err) < 0) {
		tw_models_unref_entry(e);
		return -1;
	}
	tw_strs_sort(&e->key.metrics);
	for (int o = 0; o < TW_ORIGIN_COUNT; o++) {
		const bool has = tw_models_has(m, (enum tw_origin)o, &e->key);

		e->from[o].tried = !has;
		e->from[o].due_ms = has ? 0 : UINT64_MAX;
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
		tw_models_unref_entry(m->entry[oldest]);
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
	bool unproven;

	pthread_mutex_lock(&m->lock);
	unproven = lacks_counters(m, r);
	for (size_t i = 0; i < m->count && e == NULL; i++)
		if (key_fits(&m->entry[i]->key, r, unproven, hash))
			e = m->entry[i];
	if (e == NULL) {
		if (make_entry(m, r, unproven, hash, &e, why) < 0)
			goto out;
		add_entry(m, e);
		for (size_t i = 0; i < m->dbs; i++)
			tw_models_wake(m->db[i].work_fd);
		pthread_cond_signal(&m->net_work);
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
			m->counts.of[o].asked++;
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

int tw_models_serve(const struct tw_models *m, struct tw_power_model *p, enum tw_origin o,
		    const char *from, uint64_t generation, struct tw_served **out,
		    struct tw_err *err)
{
	struct tw_served *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		tw_power_model_free(p);
		return tw_fail(err, TW_NOMEM, "model");
	}
	*s = (struct tw_served){ .model = p,
				 .origin = o,
				 .confirmed_s = (int_least64_t)time(NULL),
				 .refs = 1,
				 .generation = generation };
	s->core_ratio[tw_format_double(s->core_ratio, core_ratio(m, p))] = '\0';
	if (copy_text(&s->from, from, err) < 0) {
		unref_served(s);
		return -1;
	}
	*out = s;
	return 0;
}

struct tw_served *tw_models_share(struct tw_models *m, enum tw_origin o, const char *from,
				  uint64_t generation)
{
	struct tw_served *found = NULL;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->count && found == NULL; i++) {
		struct tw_served *s = m->entry[i]->from[o].served;

		if (s != NULL && s->generation == generation &&
		    strcmp(s->from, from) == 0)
			found = s;
	}
	if (found != NULL)
		found->refs++;
	pthread_mutex_unlock(&m->lock);
	return found;
}

/* It may have been made due in the meantime. Lock held. */
static void make_due(struct tw_models_entry *e, enum tw_origin o, uint64_t retry_ms)
{
	if (e->from[o].due_ms == UINT64_MAX && retry_ms != UINT64_MAX)
		e->from[o].due_ms = tw_now_ms() + retry_ms;
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
		m->counts.of[o].loaded++;
		e->from[o].why = (struct tw_err){ 0 };
	} else {
		e->from[o].failures++;
		m->counts.of[o].failed++;
		e->from[o].why = *why;
	}
	make_due(e, o, retry_ms);
	tw_models_unref_entry(e);
	pthread_mutex_unlock(&m->lock);
	tw_models_wake(m->changed_fd);
}

void tw_models_confirm(struct tw_models *m, struct tw_models_entry *e, enum tw_origin o,
		       uint64_t retry_ms)
{
	pthread_mutex_lock(&m->lock);
	e->from[o].failures = 0;
	e->from[o].why = (struct tw_err){ 0 };
	if (e->from[o].served != NULL)
		atomic_store(&e->from[o].served->confirmed_s, (int_least64_t)time(NULL));
	make_due(e, o, retry_ms);
	tw_models_unref_entry(e);
	pthread_mutex_unlock(&m->lock);
}

void tw_models_all_due(struct tw_models *m, enum tw_origin o)
{
	for (size_t i = 0; i < m->count; i++)
		if (tw_models_has(m, o, &m->entry[i]->key))
			m->entry[i]->from[o].due_ms = 0;
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
