/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index.h"

#include "lib/core/err.h"
#include "model-db/index/index_impl.h"
#include "model-db/index/index_load.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int by_place(const void *a, const void *b)
{
	const struct tw_index_entry *x = a, *y = b;
	int d = strcmp(x->pipeline, y->pipeline);

	if (d == 0)
		d = strcmp(x->source->name, y->source->name);
	if (d == 0)
		d = (int)x->output - (int)y->output;
	if (d == 0)
		d = strcmp(x->group->name, y->group->name);
	return d != 0 ? d : strcmp(x->name, y->name);
}

static int make_states(struct tw_index *x, struct tw_err *err)
{
	x->state = calloc(x->count + 1, sizeof(*x->state));
	if (x->state == NULL)
		return tw_fail(err, TW_NOMEM, "index of %zu models", x->count);
	for (size_t i = 0; i < x->count; i++) {
		for (int c = 0; c < TW_CLIENT_COUNT; c++)
			atomic_init(&x->state[i].weights[c], NULL);
		atomic_init(&x->state[i].zip, NULL);
		atomic_init(&x->state[i].checked, false);
		atomic_init(&x->state[i].proved, false);
		atomic_init(&x->state[i].given_up, 0);
	}
	return 0;
}

static int take_preference(struct tw_index *x, const struct tw_index_preference *p,
			   struct tw_err *err)
{
	const char *key = p != NULL && p->error != NULL ? p->error : "mae";

	x->error_key = tw_intern(&x->texts, key, strlen(key), err);
	return x->error_key != NULL ? 0 : -1;
}

int tw_index_load_preferring(const char *db, const struct tw_index_preference *prefer,
			     tw_index_refused_fn *refused, void *arg,
			     struct tw_index **out, struct tw_err *err)
{
	struct tw_index *x = calloc(1, sizeof(*x));
	int rc = -1;

	if (x == NULL) {
		tw_fail(err, TW_NOMEM, "index of '%s'", db);
		goto out;
	}
	atomic_init(&x->refs, 1);
	atomic_init(&x->kept_bytes, 0);
	atomic_init(&x->any_given_up, false);
	if (tw_index_read_models(x, db, refused, arg, err) < 0)
		goto out;
	if (x->count > 0)
		qsort(x->entry, x->count, sizeof(x->entry[0]), by_place);
	if (take_preference(x, prefer, err) < 0 || make_states(x, err) < 0 ||
	    tw_index_read_pipelines(x, db, refused, arg, err) < 0 ||
	    tw_index_machines_make(x, err) < 0 ||
	    tw_index_orders_make(x, prefer != NULL ? prefer->pipelines : NULL, err) < 0)
		goto out;

	*out = x;
	x = NULL;
	rc = 0;
out:
	tw_index_unref(x);
	return rc;
}

int tw_index_load(const char *db, tw_index_refused_fn *refused, void *arg,
		  struct tw_index **out, struct tw_err *err)
{
	return tw_index_load_preferring(db, NULL, refused, arg, out, err);
}

const char *tw_index_error_key(const struct tw_index *x)
{
	return x->error_key;
}

size_t tw_index_count(const struct tw_index *x)
{
	return x->count;
}

const struct tw_index_entry *tw_index_at(const struct tw_index *x, size_t i)
{
	assert(i < x->count);
	return &x->entry[i];
}

const struct tw_index_entry *tw_index_find(const struct tw_index *x, const char *pipeline,
					   const struct tw_energy_source *source,
					   enum tw_output output,
					   const struct tw_feature_group *group,
					   const char *name)
{
	const struct tw_index_entry want = { .pipeline = pipeline,
					     .source = source,
					     .output = output,
					     .group = group,
					     .name = name };

	if (x->count == 0)
		return NULL;
	return bsearch(&want, x->entry, x->count, sizeof(want), by_place);
}

size_t tw_index_pipeline_count(const struct tw_index *x)
{
	return x->pipeline_count;
}

const struct tw_index_pipeline *tw_index_pipeline_at(const struct tw_index *x, size_t i)
{
	assert(i < x->pipeline_count);
	return &x->pipeline[i];
}

static int by_pipeline(const void *a, const void *b)
{
	const struct tw_index_pipeline *x = a, *y = b;

	return strcmp(x->name, y->name);
}

const struct tw_index_pipeline *tw_index_pipeline_find(const struct tw_index *x,
						       const char *name)
{
	const struct tw_index_pipeline want = { .name = name };

	if (x->pipeline_count == 0)
		return NULL;
	return bsearch(&want, x->pipeline, x->pipeline_count, sizeof(want), by_pipeline);
}

struct tw_index *tw_index_ref(struct tw_index *x)
{
	atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
	return x;
}

static void release_state(struct tw_index_state *s)
{
	for (int c = 0; c < TW_CLIENT_COUNT; c++)
		free(atomic_load_explicit(&s->weights[c], memory_order_relaxed));
	free(atomic_load_explicit(&s->zip, memory_order_relaxed));
}

void tw_index_unref(struct tw_index *x)
{
	if (x == NULL ||
	    atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; x->state != NULL && i < x->count; i++)
		release_state(&x->state[i]);
	for (size_t i = 0; i < x->pipeline_count; i++) {
		free(x->pipeline[i].metadata);
		tw_node_types_release(&x->pipeline[i].types);
	}
	tw_index_orders_release(&x->orders);
	tw_index_machines_release(&x->machines);
	free(x->pipeline);
	free(x->state);
	free(x->entry);
	tw_intern_release(&x->texts);
	tw_arena_release(&x->arena);
	free(x);
}
