/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models.h"

#include "estimator/models_entry.h"
#include "estimator/predict/power_model.h"
#include "estimator/request.h"
#include "lib/core/clock.h"
#include "lib/core/hash.h"
#include "model-db/index/choose.h"
#include "model-db/model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- keys ---- */

static int copy_text(char **to, const char *from, struct tw_err *err)
{
	if (from == NULL)
		return 0;
	*to = strdup(from);
	return *to != NULL ? 0 : tw_fail(err, TW_NOMEM, "key of a model");
}

/* The sum of the names' hashes, so that the order of the metrics does not matter. */
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

/* True if any row has a value above 0 of a metric that `is` accepts. */
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
 * True if the request lists hardware counters that this machine does not count. Idle rows
 * do not prove that, and they must be answered by the model of the rows before them. The
 * result therefore follows from the last rows under load. Call with the lock held.
 */
static bool lacks_counters(struct tw_models *m, const struct tw_request *r)
{
	if (!r->counters_unproven)
		return false;
	if (is_used(r, tw_feature_is_counter))
		m->counters_seen = true;
	else if (is_used(r, tw_feature_is_work))
		m->counters_seen = false;
	return !m->counters_seen;
}

/* Version 2 is ours: its clients name the trainer that their user chose. */
static bool names_default(const struct tw_request *r)
{
	return r->version < 2 && tw_trainer_is_default(r->trainer);
}

static bool key_fits(const struct tw_models_entry *e, const struct tw_request *r,
		     bool unproven, uint64_t hash)
{
	const struct tw_wanted *k = &e->wanted;

	if (e->hash != hash || k->counters_unproven != unproven ||
	    k->default_trainer != names_default(r) || k->output != r->output ||
	    k->source != r->source || !same_text(k->trainer, r->trainer) ||
	    !same_text(k->filter, r->filter) || k->metrics.count != r->metrics.count)
		return false;
	/* Most clients send the metrics sorted, as the key has them. */
	for (size_t i = 0; i < r->metrics.count; i++)
		if (strcmp(k->metrics.at[i], r->metrics.at[i]) != 0 &&
		    !tw_strs_has(&k->metrics, r->metrics.at[i]))
			return false;
	return true;
}

static bool has_origin(const struct tw_models *m, enum tw_origin o,
		       const struct tw_wanted *k)
{
	if (o == TW_ORIGIN_SERVER)
		return m->config.server_url != NULL;
	/* A URL has one model, so it cannot choose by a filter. */
	if (o == TW_ORIGIN_URL)
		return m->config.init_urls != NULL && k->filter == NULL &&
		       tw_init_urls_find(m->config.init_urls, k->output, k->source) !=
			       NULL;
	for (size_t i = 0; i < m->dbs; i++)
		if (m->db[i].origin == o)
			return true;
	return false;
}

int tw_models_check(const struct tw_wanted *k, const struct tw_power_model *p,
		    struct tw_err *err)
{
	const struct tw_model_info *info = tw_power_model_info(p);
	uint32_t place[TW_MODEL_FEATURES_MAX];

	if (info->output != k->output)
		return tw_fail(err, TW_INVALID, "model '%s' is for %s, not %s",
			       info->name, tw_output_name(info->output),
			       tw_output_name(k->output));
	if (info->source != k->source &&
	    info->source != tw_energy_source_substitute(k->source))
		return tw_fail(err, TW_INVALID, "model '%s' is for %s, not %s",
			       info->name, info->source->name, k->source->name);
	for (size_t i = 0; i < tw_power_model_parts(p); i++)
		if (tw_power_model_bind(p, i, &k->metrics, place, err) < 0)
			return -1;
	return 0;
}

/* ---- entries ---- */

/* Drop a reference; the last one frees the model. NULL is fine. */
static void served_unref(struct tw_served *s)
{
	if (s == NULL || --s->refs > 0)
		return;
	tw_power_model_free(s->model);
	free(s->from);
	free(s->zip);
	free(s);
}

void tw_models_unref(struct tw_models_entry *e)
{
	if (--e->refs > 0)
		return;
	for (int o = 0; o < TW_ORIGIN_COUNT; o++)
		served_unref(e->from[o].served);
	tw_wanted_release(&e->wanted);
	free(e);
}

static int make_entry(const struct tw_models *m, const struct tw_request *r,
		      bool unproven, uint64_t hash, struct tw_models_entry **out,
		      struct tw_err *err)
{
	struct tw_models_entry *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return tw_fail(err, TW_NOMEM, "key of a model");
	e->refs = 1;
	e->hash = hash;
	e->wanted = (struct tw_wanted){ .classes = true,
					.ensembles = true,
					.trees = true,
					.source = r->source,
					.output = r->output,
					.counters_unproven = unproven,
					.default_trainer = names_default(r),
					.node_type = -1,
					.loose_node_type = true,
					.spec = m->machine,
					.client = TW_CLIENT_CURRENT };
	e->wanted.spec.cores = m->cores;
	if (copy_text(&e->wanted.trainer, r->trainer, err) < 0 ||
	    copy_text(&e->wanted.filter, r->filter, err) < 0 ||
	    tw_strs_copy(&e->wanted.metrics, &r->metrics, err) < 0) {
		tw_models_unref(e);
		return -1;
	}
	tw_strs_sort(&e->wanted.metrics);
	for (int o = 0; o < TW_ORIGIN_COUNT; o++) {
		const bool has = has_origin(m, (enum tw_origin)o, &e->wanted);

		e->from[o].tried = !has;
		e->from[o].due_ms = has ? 0 : UINT64_MAX;
	}
	*out = e;
	return 0;
}

/* Call with the lock held. */
static void add_entry(struct tw_models *m, struct tw_models_entry *e)
{
	size_t place = m->count, oldest = 0;

	if (m->count == TW_MODELS_KEYS_MAX) {
		for (size_t i = 1; i < m->count; i++)
			if (m->entry[i]->used < m->entry[oldest]->used)
				oldest = i;
		tw_models_unref(m->entry[oldest]);
		place = oldest;
	} else {
		m->count++;
	}
	m->entry[place] = e;
}

/* The model that answers the requests of an entry, or NULL. Call with the lock held. */
static struct tw_served *serving(const struct tw_models_entry *e)
{
	for (int o = 0; o < TW_ORIGIN_COUNT; o++)
		if (e->from[o].served != NULL)
			return e->from[o].served;
	return NULL;
}

/* Call with the lock held. */
static enum tw_models_state entry_state(const struct tw_models_entry *e,
					struct tw_served **out, struct tw_err *why)
{
	struct tw_served *served = serving(e);

	if (served != NULL) {
		served->refs++;
		*out = served;
		return TW_MODELS_READY;
	}
	for (int o = 0; o < TW_ORIGIN_COUNT; o++)
		if (!e->from[o].tried)
			return TW_MODELS_PENDING;
	for (int o = 0; o < TW_ORIGIN_COUNT; o++)
		if (e->from[o].why.code != TW_OK)
			tw_fail(why, e->from[o].why.code, "%s", e->from[o].why.text);
	if (why->code == TW_OK)
		tw_fail(why, TW_NOTFOUND,
			"no model database and no model server are configured");
	return TW_MODELS_NONE;
}

/* Find or make the entry of a request. Call with the lock held. */
static enum tw_models_state find_entry(struct tw_models *m, const struct tw_request *r,
				       bool unproven, struct tw_served **out,
				       struct tw_err *why)
{
	const uint64_t hash = hash_metrics(&r->metrics);
	struct tw_models_entry *e = NULL;

	for (size_t i = 0; i < m->count && e == NULL; i++)
		if (key_fits(m->entry[i], r, unproven, hash))
			e = m->entry[i];
	if (e == NULL) {
		if (make_entry(m, r, unproven, hash, &e, why) < 0)
			return TW_MODELS_NONE;
		add_entry(m, e);
		for (size_t i = 0; i < m->dbs; i++)
			tw_models_wake(m->db[i].work_fd);
		pthread_cond_signal(&m->net_work);
	}
	e->used = ++m->uses;
	return entry_state(e, out, why);
}

/*
 * Kepler's first request has idle rows, and Kepler crashes later if it is refused. For
 * idle rows a model with counters is as good as another, and better than none.
 */
enum tw_models_state tw_models_find(struct tw_models *m, const struct tw_request *r,
				    struct tw_served **out, struct tw_err *why)
{
	enum tw_models_state state;
	bool unproven;

	pthread_mutex_lock(&m->lock);
	unproven = lacks_counters(m, r);
	state = find_entry(m, r, unproven, out, why);
	if (state == TW_MODELS_NONE && unproven && !is_used(r, tw_feature_is_work)) {
		*why = (struct tw_err){ 0 };
		state = find_entry(m, r, false, out, why);
	}
	pthread_mutex_unlock(&m->lock);
	return state;
}

void tw_models_release(struct tw_models *m, struct tw_served *s)
{
	pthread_mutex_lock(&m->lock);
	served_unref(s);
	pthread_mutex_unlock(&m->lock);
}

/* ---- for the threads ---- */

void tw_models_wake(int fd)
{
	static const uint64_t one = 1;

	/* A write that fails is an overflow: the eventfd is readable already. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
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
			m->counts[o].lookups++;
			return e;
		}
		if (e->from[o].due_ms < *next_ms)
			*next_ms = e->from[o].due_ms;
	}
	return NULL;
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

int tw_models_serve(const struct tw_models *m, struct tw_power_model *p, enum tw_origin o,
		    const char *from, uint64_t generation, struct tw_served **out,
		    struct tw_err *err)
{
	struct tw_served *s = calloc(1, sizeof(*s));
	size_t len;

	if (s == NULL) {
		tw_power_model_free(p);
		return tw_fail(err, TW_NOMEM, "model");
	}
	*s = (struct tw_served){ .model = p,
				 .origin = o,
				 .confirmed_s = (int_least64_t)time(NULL),
				 .refs = 1,
				 .generation = generation };
	len = tw_format_double(s->core_ratio, tw_power_model_core_ratio(p, m->cores));
	s->core_ratio[len] = '\0';
	s->from = strdup(from);
	if (s->from == NULL) {
		served_unref(s);
		return tw_fail(err, TW_NOMEM, "model");
	}
	*out = s;
	return 0;
}

/* Plan a lookup unless one was planned in the meantime. Call with the lock held. */
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
		served_unref(e->from[o].served);
		e->from[o].served = served;
		e->from[o].failures = 0;
		m->counts[o].loaded++;
		e->from[o].why = (struct tw_err){ 0 };
	} else {
		e->from[o].failures++;
		m->counts[o].failed++;
		e->from[o].why = *why;
	}
	make_due(e, o, retry_ms);
	tw_models_unref(e);
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
	tw_models_unref(e);
	pthread_mutex_unlock(&m->lock);
}

void tw_models_all_due(struct tw_models *m, enum tw_origin o)
{
	for (size_t i = 0; i < m->count; i++)
		if (has_origin(m, o, &m->entry[i]->wanted))
			m->entry[i]->from[o].due_ms = 0;
}

/* ---- counts ---- */

void tw_models_count(struct tw_models *m, struct tw_models_counts *out)
{
	pthread_mutex_lock(&m->lock);
	*out = (struct tw_models_counts){ .keep_failures = m->keep_failures };
	for (int o = 0; o < TW_ORIGIN_COUNT; o++) {
		out->of[o].lookups = m->counts[o].lookups;
		out->of[o].failed = m->counts[o].failed;
		out->of[o].loaded = m->counts[o].loaded;
	}
	for (size_t i = 0; i < m->count; i++)
		for (int o = 0; o < TW_ORIGIN_COUNT; o++) {
			out->of[o].serving += m->entry[i]->from[o].served != NULL;
			out->of[o].failing += m->entry[i]->from[o].failures > 0;
		}
	pthread_mutex_unlock(&m->lock);
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
