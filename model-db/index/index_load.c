/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index_load.h"

#include "lib/core/err.h"
#include "lib/core/pool.h"
#include "model-db/index/index_draft.h"
#include "model-db/index/index_impl.h"
#include "model-db/index/index_pack.h"
#include "model-db/index/index_walk.h"

#include <stdlib.h>
#include <string.h>

/*
 * Models are read several at a time, on all processors, and kept one after the other. Few
 * are read sooner than threads are started.
 */
#define BATCH 256
#define THREADS_FROM 16

/* A model on its way. */
struct found {
	char *path;
	struct tw_index_place at;
	struct tw_index_draft draft;
	struct tw_err why;
	bool failed;
};

struct loading {
	struct tw_index *index;
	tw_index_refused_fn *refused;
	void *arg;
	struct found found[BATCH];
	size_t count;
};

static void refuse(void *arg, const char *path, const struct tw_err *why)
{
	const struct loading *l = arg;

	if (l->refused != NULL)
		l->refused(l->arg, path, why);
}

static void release_found(struct found *f)
{
	tw_index_draft_release(&f->draft);
	free(f->path);
	*f = (struct found){ 0 };
}

static void read_one(void *arg, size_t i)
{
	struct loading *l = arg;
	struct found *f = &l->found[i];

	f->failed = tw_index_draft_read(&f->at, &f->draft, &f->why) < 0;
}

static int grow(struct tw_index *x, struct tw_err *err)
{
	size_t size = x->size != 0 ? x->size * 2 : 64;
	struct tw_index_entry *entry;

	if (x->count < x->size)
		return 0;
	entry = realloc(x->entry, size * sizeof(*entry));
	if (entry == NULL)
		return tw_fail(err, TW_NOMEM, "index of %zu models", size);
	x->entry = entry;
	x->size = size;
	return 0;
}

/* Only want of memory ends the loading. */
static int keep(struct loading *l, struct found *f, struct tw_err *err)
{
	struct tw_index *x = l->index;

	if (grow(x, err) < 0)
		return -1;
	if (!f->failed)
		f->failed = tw_index_pack(x, f->at.pipeline, f->path, &f->draft,
					  &x->entry[x->count], &f->why) < 0;
	if (f->failed && f->why.code == TW_NOMEM)
		return tw_fail(err, TW_NOMEM, "'%s': %s", f->path, f->why.text);
	if (f->failed)
		refuse(l, f->path, &f->why);
	else
		x->count++;
	return 0;
}

static int keep_batch(struct loading *l, struct tw_err *err)
{
	int rc = -1;

	tw_pool_run(l->count, l->count < THREADS_FROM ? 1 : 0, read_one, l);
	for (size_t i = 0; i < l->count; i++)
		if (keep(l, &l->found[i], err) < 0)
			goto out;
	rc = 0;
out:
	for (size_t i = 0; i < l->count; i++)
		release_found(&l->found[i]);
	l->count = 0;
	return rc;
}

static int take_place(void *arg, const struct tw_index_place *at, struct tw_err *err)
{
	struct loading *l = arg;
	struct found *f = &l->found[l->count];

	*f = (struct found){ .at = *at, .path = strdup(at->path) };
	if (f->path == NULL)
		return tw_fail(err, TW_NOMEM, "path of a model");
	f->at.path = f->path;
	l->count++;
	f->at.pipeline =
		tw_intern(&l->index->texts, at->pipeline, strlen(at->pipeline), err);
	if (f->at.pipeline == NULL)
		return -1;
	return l->count < BATCH ? 0 : keep_batch(l, err);
}

int tw_index_read_models(struct tw_index *x, const char *db, tw_index_refused_fn *refused,
			 void *arg, struct tw_err *err)
{
	struct loading *l = calloc(1, sizeof(*l));
	int rc = -1;

	if (l == NULL)
		return tw_fail(err, TW_NOMEM, "index of '%s'", db);
	l->index = x;
	l->refused = refused;
	l->arg = arg;
	if (tw_index_walk(db, take_place, refuse, l, err) < 0 || keep_batch(l, err) < 0)
		goto out;
	rc = 0;
out:
	for (size_t i = 0; i < l->count; i++)
		release_found(&l->found[i]);
	free(l);
	return rc;
}
