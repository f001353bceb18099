/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index.h"

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/fileset.h"
#include "lib/zip.h"
#include "model-db/index_walk.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one model's zip. */
#define ZIP_BYTES_MAX ((size_t)64 << 20)

struct tw_index {
	atomic_uint refs;
	struct tw_strs pipelines;
	struct tw_index_entry *entry;
	size_t count;
	size_t size; /* allocated places */
};

static void release_entry(struct tw_index_entry *e)
{
	for (int c = 0; c < TW_CLIENT_COUNT; c++)
		free(e->weights[c]);
	free(e->zip_path);
	free(e->first_metric);
	tw_model_info_release(&e->info);
}

/* Weights that no client can use are no failure: the entry has none. */
static int offer_weights(const struct tw_model *m, struct tw_index_entry *e,
			 struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (!tw_weights_exist(m))
		return 0;
	if (tw_weights_first_metric(m, &e->first_metric, &why) == 0)
		e->weights_on_demand = true;
	else if (why.code != TW_UNSUPPORTED)
		return tw_fail(err, why.code, "%s", why.text);
	return 0;
}

/* Weights that a client cannot use are no failure: the entry has none for it. */
static int render_weights(const struct tw_model *m, struct tw_index_entry *e,
			  struct tw_err *err)
{
	if (!tw_weights_plain(m))
		return offer_weights(m, e, err);
	for (int c = 0; c < TW_CLIENT_COUNT; c++) {
		struct tw_err why = { 0 };
		struct tw_buf b = { 0 };

		if (tw_weights_write(m, (enum tw_client)c, &b, &why) < 0) {
			tw_buf_clear(&b);
			if (why.code == TW_UNSUPPORTED)
				continue;
			return tw_fail(err, why.code, "%s", why.text);
		}
		e->weights[c] = tw_buf_detach(&b, &e->weights_len[c]);
		if (e->weights[c] == NULL)
			return tw_fail(err, TW_NOMEM, "weights");
	}
	return 0;
}

/* A model must be what its place says. */
static int check_place(const struct tw_model_info *i, const struct tw_index_place *at,
		       struct tw_err *err)
{
	if (i->source != at->source || i->output != at->output || i->group != at->group)
		return tw_fail(
			err, TW_INVALID, "the model says that it belongs to %s/%s/%s",
			i->source->name, tw_output_name(i->output), i->group->name);
	if (strcmp(i->name, at->name) != 0)
		return tw_fail(err, TW_INVALID, "the model says that its name is '%s'",
			       i->name);
	return 0;
}

static int read_model(const char *path, struct tw_model *out, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, ZIP_BYTES_MAX, &data, &len, err) < 0 ||
	    tw_zip_read(data, len, &tw_zip_model_limits, &files, err) < 0 ||
	    tw_model_from_files(&files, out, err) < 0)
		goto out;
	rc = 0;
out:
	tw_fileset_clear(&files);
	free(data);
	return rc;
}

int tw_index_read_model(const struct tw_index_entry *e, struct tw_model *out,
			struct tw_err *err)
{
	return read_model(e->zip_path, out, err);
}

bool tw_index_has_weights(const struct tw_index_entry *e, enum tw_client client)
{
	return e->weights[client] != NULL ||
	       (e->weights_on_demand && client == TW_CLIENT_CURRENT);
}

static int read_entry(const struct tw_index_place *at, struct tw_index_entry *e,
		      struct tw_err *err)
{
	struct tw_model m = { 0 };
	int rc = -1;

	if (read_model(at->path, &m, err) < 0)
		goto out;
	if (check_place(&m.info, at, err) < 0 || render_weights(&m, e, err) < 0 ||
	    tw_weights_floor(&m, &e->floor, err) < 0)
		goto out;
	e->zip_path = strdup(at->path);
	if (e->zip_path == NULL) {
		tw_fail(err, TW_NOMEM, "path of a model");
		goto out;
	}
	e->info = m.info;
	m.info = (struct tw_model_info){ 0 };

	rc = 0;
out:
	tw_model_release(&m);
	return rc;
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

struct loading {
	struct tw_index *index;
	tw_index_refused_fn *refused;
	void *arg;
};

static void refuse(void *arg, const char *path, const struct tw_err *why)
{
	const struct loading *l = arg;

	if (l->refused != NULL)
		l->refused(l->arg, path, why);
}

/* Only want of memory ends the loading. */
static int add_entry(void *arg, const struct tw_index_place *at, struct tw_err *err)
{
	struct loading *l = arg;
	struct tw_index *x = l->index;
	struct tw_index_entry e = { 0 };
	struct tw_err why = { 0 };

	if (grow(x, err) < 0)
		return -1;
	if (read_entry(at, &e, &why) < 0) {
		release_entry(&e);
		if (why.code == TW_NOMEM)
			return tw_fail(err, TW_NOMEM, "'%s': %s", at->path, why.text);
		refuse(l, at->path, &why);
		return 0;
	}
	if (!tw_strs_has(&x->pipelines, at->pipeline) &&
	    tw_strs_adds(&x->pipelines, at->pipeline, err) < 0) {
		release_entry(&e);
		return -1;
	}
	/* The texts of the list stay where they are while the list grows. */
	e.pipeline = x->pipelines.at[tw_strs_find(&x->pipelines, at->pipeline)];
	x->entry[x->count++] = e;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct tw_index_entry *x = a, *y = b;
	int d = strcmp(x->pipeline, y->pipeline);

	if (d == 0)
		d = strcmp(x->info.source->name, y->info.source->name);
	if (d == 0)
		d = (int)x->info.output - (int)y->info.output;
	if (d == 0)
		d = strcmp(x->info.group->name, y->info.group->name);
	return d != 0 ? d : strcmp(x->info.name, y->info.name);
}

int tw_index_load(const char *db, tw_index_refused_fn *refused, void *arg,
		  struct tw_index **out, struct tw_err *err)
{
	struct tw_index *x = calloc(1, sizeof(*x));
	struct loading l = { .index = x, .refused = refused, .arg = arg };
	int rc = -1;

	if (x == NULL) {
		tw_fail(err, TW_NOMEM, "index of '%s'", db);
		goto out;
	}
	atomic_init(&x->refs, 1);
	if (tw_index_walk(db, add_entry, refuse, &l, err) < 0)
		goto out;
	if (x->count > 0)
		qsort(x->entry, x->count, sizeof(x->entry[0]), by_place);

	*out = x;
	x = NULL;
	rc = 0;
out:
	tw_index_unref(x);
	return rc;
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

struct tw_index *tw_index_ref(struct tw_index *x)
{
	atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
	return x;
}

void tw_index_unref(struct tw_index *x)
{
	if (x == NULL ||
	    atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < x->count; i++)
		release_entry(&x->entry[i]);
	free(x->entry);
	tw_strs_clear(&x->pipelines);
	free(x);
}
