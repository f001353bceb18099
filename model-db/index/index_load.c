/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index_load.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/pool.h"
#include "lib/json/json.h"
#include "lib/zip/zip.h"
#include "model-db/index/index_rank.h"
#include "model-db/manifest.h"
#include "model-db/model.h"
#include "model-db/model_files.h"
#include "model-db/prior/prior_file.h"

#include <stdlib.h>
#include <string.h>

/*
 * Models are read in batches by all processors, and added to the index one after the
 * other. Reading a few takes less time than starting threads.
 */
#define BATCH 256
#define THREADS_FROM 16

/* Our trainers write less than half as many; a model with more is refused. */
#define FIGURES_MAX 512

#define METADATA_BYTES_MAX ((size_t)256 << 10)
#define TYPES_BYTES_MAX ((size_t)16 << 20)

static const char metadata_name[] = "metadata.json";
static const char types_name[] = "node_type_index.json";

/* ---- one model's zip ---- */

/* The facts that the index takes from a model's zip. */
struct draft {
	struct tw_model model; /* components only if tw_weights_small() */
	uint64_t zip_bytes, zip_sum;
	unsigned weights_for;
	char *first_metric;
	struct tw_weights_shape shape;
	enum tw_fitness fitness;
	const char *unfit_why;
	bool serves_shares;
};

static int read_member(void *zip, const char *name, size_t max, char **data, size_t *len,
		       struct tw_err *err)
{
	const struct tw_zip_member *m = tw_zip_list_find(zip, name);

	if (m == NULL)
		return tw_fail(err, TW_NOTFOUND, "there is no file '%s'", name);
	if (m->len > max)
		return tw_fail(err, TW_INVALID, "%s: %zu bytes, limit is %zu", name,
			       m->len, max);
	*len = m->len;
	return tw_zip_unpack(m, data, err);
}

/* The metadata must agree with the directories that the zip is in. */
static int check_place(const struct tw_model_info *i, const struct tw_index_place *at,
		       struct tw_err *err)
{
	if (i->source != at->source || i->output != at->output || i->group != at->group)
		return tw_fail(
			err, TW_INVALID, "metadata.json places the model in %s/%s/%s",
			i->source->name, tw_output_name(i->output), i->group->name);
	if (strcmp(i->name, at->name) != 0)
		return tw_fail(err, TW_INVALID, "metadata.json has the model name '%s'",
			       i->name);
	return 0;
}

/* Linear weights add up over shares; other models have a certificate. */
static bool serves_shares(const struct tw_model *m)
{
	const json_t *v =
		json_object_get(m->info.metadata, TW_CERTIFICATE_SHARE_DEVIATION);

	if (strcmp(m->info.predictor, "linear") == 0)
		return true;
	return json_is_number(v) && json_number_value(v) <= TW_SHARE_DEVIATION_MAX;
}

/* Weights that no client can use do not fail the model: weights_for stays 0. */
static int read_weights(struct draft *d, struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (tw_weights_first_metric(&d->model, &d->first_metric, &why) < 0 &&
	    why.code != TW_UNSUPPORTED)
		return tw_fail(err, why.code, "%s", why.text);
	if (tw_weights_shape(&d->model, &d->shape, err) < 0)
		return -1;
	d->fitness = tw_model_fitness(&d->model.info, &d->shape, &d->unfit_why);
	d->serves_shares = serves_shares(&d->model);
	if (why.code == TW_OK && d->fitness == TW_FIT &&
	    (!d->shape.known || d->shape.non_negative))
		d->weights_for = tw_weights_clients(&d->model);
	return 0;
}

/* *out must be all zero; release it also after a failure. */
static int read_draft(const struct tw_index_place *at, struct draft *out,
		      struct tw_err *err)
{
	struct tw_zip_list zip = { 0 };
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(at->path, TW_INDEX_ZIP_BYTES_MAX, &data, &len, err) < 0 ||
	    tw_zip_list_read(data, len, &tw_zip_model_limits, &zip, err) < 0)
		goto out;
	if (tw_model_glance(read_member, &zip, tw_weights_small, &out->model, err) < 0 ||
	    check_place(&out->model.info, at, err) < 0 || read_weights(out, err) < 0)
		goto out;
	out->zip_bytes = len;
	out->zip_sum = tw_zip_list_sum(&zip);
	rc = 0;
out:
	tw_zip_list_release(&zip);
	free(data);
	return rc;
}

static void release_draft(struct draft *d)
{
	tw_model_release(&d->model);
	free(d->first_metric);
	*d = (struct draft){ 0 };
}

/* ---- an entry from a draft ---- */

struct figure {
	const char *name;
	double value;
};

static int by_name(const void *a, const void *b)
{
	const struct figure *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static const char *intern_text(struct tw_index *x, const char *text, struct tw_err *err)
{
	return tw_intern(&x->texts, text, strlen(text), err);
}

/* The list is interned, too. */
static int pack_features(struct tw_index *x, const struct tw_strs *features,
			 struct tw_index_entry *e, struct tw_err *err)
{
	const char *list[TW_MODEL_FEATURES_MAX];

	for (size_t i = 0; i < features->count; i++) {
		list[i] = intern_text(x, features->at[i], err);
		if (list[i] == NULL)
			return -1;
	}
	e->features = tw_intern(&x->texts, list, features->count * sizeof(list[0]), err);
	e->feature_count = features->count;
	return e->features != NULL ? 0 : -1;
}

static int list_figures(const json_t *metadata, struct figure *out, size_t *count,
			struct tw_err *err)
{
	const char *key;
	const json_t *v;
	json_t *obj = (json_t *)(uintptr_t)metadata; /* only read */

	json_object_foreach(obj, key, v) {
		if (!json_is_number(v))
			continue;
		if (*count == FIGURES_MAX)
			return tw_fail(err, TW_INVALID,
				       "metadata.json: more than %d numbers",
				       FIGURES_MAX);
		out[(*count)++] = (struct figure){ key, json_number_value(v) };
	}
	qsort(out, *count, sizeof(*out), by_name);
	return 0;
}

/* The names are interned as one list: models of a trainer share it. */
static int pack_figures(struct tw_index *x, const json_t *metadata,
			struct tw_index_entry *e, struct tw_err *err)
{
	struct figure figures[FIGURES_MAX];
	const char *names[FIGURES_MAX];
	double *values;
	size_t count = 0;

	if (list_figures(metadata, figures, &count, err) < 0)
		return -1;
	values = tw_arena_get(&x->arena, count * sizeof(*values));
	if (values == NULL)
		return tw_fail(err, TW_NOMEM, "%zu figures", count);
	for (size_t i = 0; i < count; i++) {
		names[i] = intern_text(x, figures[i].name, err);
		if (names[i] == NULL)
			return -1;
		values[i] = figures[i].value;
	}
	e->figure_names = tw_intern(&x->texts, names, count * sizeof(names[0]), err);
	e->figures = values;
	e->figure_count = count;
	return e->figure_names != NULL ? 0 : -1;
}

static int pack_path(struct tw_index *x, const char *path, struct tw_index_entry *e,
		     struct tw_err *err)
{
	const size_t size = strlen(path) + 1;
	char *copy = tw_arena_get(&x->arena, size);

	if (copy == NULL)
		return tw_fail(err, TW_NOMEM, "path of a model");
	e->zip_path = memcpy(copy, path, size);
	return 0;
}

static int pack_names(struct tw_index *x, const char *pipeline, const struct draft *d,
		      struct tw_index_entry *e, struct tw_err *err)
{
	const struct tw_model_info *i = &d->model.info;

	e->pipeline = intern_text(x, pipeline, err);
	e->name = intern_text(x, i->name, err);
	e->trainer = intern_text(x, i->trainer, err);
	e->predictor = intern_text(x, i->predictor, err);
	e->spec = tw_intern(&x->texts, &i->spec, sizeof(i->spec), err);
	if (d->first_metric != NULL)
		e->first_metric = intern_text(x, d->first_metric, err);
	if (e->pipeline == NULL || e->name == NULL || e->trainer == NULL ||
	    e->predictor == NULL || e->spec == NULL ||
	    (d->first_metric != NULL && e->first_metric == NULL))
		return -1;
	return 0;
}

/* Make an entry, all but machine, error and rank; texts go to the index. */
static int pack(struct tw_index *x, const char *pipeline, const char *path,
		const struct draft *d, struct tw_index_entry *out, struct tw_err *err)
{
	const struct tw_model_info *i = &d->model.info;
	struct tw_index_entry e = {
		.source = i->source,
		.output = i->output,
		.group = i->group,
		.node_type = i->node_type,
		.mae_w = i->mae_w,
		.mape_percent = i->mape_percent,
		.zip_bytes = d->zip_bytes,
		.zip_sum = d->zip_sum,
		.weights_for = d->weights_for,
		.idle_power = d->shape.idle_power,
		.fitness = d->fitness,
		.unfit_why = d->unfit_why,
		.biased = tw_model_is_biased(i),
		.serves_shares = d->serves_shares,
		.has_details = tw_model_has_details(i),
	};

	if (pack_names(x, pipeline, d, &e, err) < 0 ||
	    pack_features(x, &i->features, &e, err) < 0 ||
	    pack_figures(x, i->metadata, &e, err) < 0 || pack_path(x, path, &e, err) < 0)
		return -1;
	*out = e;
	return 0;
}

/* ---- all models ---- */

/* A model of the current batch. */
struct found {
	char *path;
	struct tw_index_place at;
	struct draft draft;
	struct tw_err why;
	bool failed;
};

struct loading {
	struct tw_index *index;
	const struct tw_index_preference *prefer;
	struct tw_listing listing; /* of the current pipeline */
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
	release_draft(&f->draft);
	free(f->path);
	*f = (struct found){ 0 };
}

static void read_one(void *arg, size_t i)
{
	struct loading *l = arg;
	struct found *f = &l->found[i];

	f->failed = read_draft(&f->at, &f->draft, &f->why) < 0;
}

/* Refuse a model that does not load; only TW_NOMEM ends the loading. */
static int add(struct loading *l, struct found *f, struct tw_err *err)
{
	struct tw_index *x = l->index;

	if (!tw_grow(&x->entry, &x->size, x->count, sizeof(*x->entry)))
		return tw_fail(err, TW_NOMEM, "index of %zu models", x->count);
	if (!f->failed)
		f->failed = pack(x, f->at.pipeline, f->path, &f->draft,
				 &x->entry[x->count], &f->why) < 0;
	if (f->failed && f->why.code == TW_NOMEM)
		return tw_fail(err, TW_NOMEM, "'%s': %s", f->path, f->why.text);
	if (f->failed)
		refuse(l, f->path, &f->why);
	else
		x->count++;
	return 0;
}

static int add_batch(struct loading *l, struct tw_err *err)
{
	int rc = -1;

	tw_pool_run(l->count, l->count < THREADS_FROM ? 1 : 0, read_one, l);
	for (size_t i = 0; i < l->count; i++)
		if (add(l, &l->found[i], err) < 0)
			goto out;
	rc = 0;
out:
	for (size_t i = 0; i < l->count; i++)
		release_found(&l->found[i]);
	l->count = 0;
	return rc;
}

static int enter_pipeline(void *arg, const char *path, const char *name,
			  struct tw_err *why)
{
	struct loading *l = arg;
	const struct tw_index_preference *p = l->prefer;

	if (p != NULL && p->admit != NULL && p->admit(p->admit_arg, path, name, why) < 0)
		return -1;
	return tw_listing_read(&l->listing, path, name, why);
}

static int take_place(void *arg, const struct tw_index_place *at, struct tw_err *err)
{
	struct loading *l = arg;
	struct found *f = &l->found[l->count];
	struct tw_err why = { 0 };

	if (tw_listing_check(&l->listing, at->path, &why) < 0) {
		refuse(l, at->path, &why);
		return 0;
	}
	*f = (struct found){ .at = *at, .path = strdup(at->path) };
	if (f->path == NULL)
		return tw_fail(err, TW_NOMEM, "path of a model");
	f->at.path = f->path;
	l->count++;
	f->at.pipeline =
		tw_intern(&l->index->texts, at->pipeline, strlen(at->pipeline), err);
	if (f->at.pipeline == NULL)
		return -1;
	return l->count < BATCH ? 0 : add_batch(l, err);
}

static int read_models(struct tw_index *x, const char *db,
		       const struct tw_index_preference *prefer,
		       tw_index_refused_fn *refused, void *arg, struct tw_err *err)
{
	struct loading *l = calloc(1, sizeof(*l));
	int rc = -1;

	if (l == NULL)
		return tw_fail(err, TW_NOMEM, "index of '%s'", db);
	l->index = x;
	l->prefer = prefer;
	l->refused = refused;
	l->arg = arg;
	if (tw_index_walk(db, enter_pipeline, take_place, refuse, l, err) == 0 &&
	    add_batch(l, err) == 0)
		rc = 0;
	tw_listing_release(&l->listing);
	for (size_t i = 0; i < l->count; i++)
		release_found(&l->found[i]);
	free(l);
	return rc;
}

/* ---- pipelines ---- */

static int read_json(const char *path, const char *name, size_t max, char **text,
		     size_t *len, json_t **out, struct tw_err *err)
{
	if (tw_file_read(path, max, text, len, err) < 0)
		return -1;
	if (tw_json_parse(*text, *len, name, out, err) < 0)
		return -1;
	if (!json_is_object(*out))
		return tw_fail(err, TW_PARSE, "%s: expected an object, got %s", name,
			       tw_json_type_name(*out));
	return 0;
}

static int read_metadata(struct tw_index_pipeline *p, const char *path,
			 struct tw_err *err)
{
	json_t *doc = NULL;
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (read_json(path, metadata_name, METADATA_BYTES_MAX, &text, &len, &doc, err) <
	    0)
		goto out;

	p->metadata = text;
	text = NULL;
	p->metadata_len = len;
	rc = 0;
out:
	json_decref(doc);
	free(text);
	return rc;
}

static int read_types(struct tw_index_pipeline *p, const char *path, struct tw_err *err)
{
	json_t *doc = NULL;
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (read_json(path, types_name, TYPES_BYTES_MAX, &text, &len, &doc, err) == 0 &&
	    tw_node_types_from_json(doc, types_name, &p->types, err) == 0)
		rc = 0;
	json_decref(doc);
	free(text);
	return rc;
}

typedef int read_fn(struct tw_index_pipeline *p, const char *path, struct tw_err *err);

/* An absent file is fine; a broken one is refused and left out. */
static int read_file(struct tw_index_pipeline *p, const char *db, const char *name,
		     read_fn *read, tw_index_refused_fn *refused, void *arg,
		     struct tw_err *err)
{
	struct tw_err why = { 0 };
	char *path = NULL;
	int rc = -1;

	if (tw_path_join(&path, err, db, p->name, name, NULL) < 0)
		goto out;
	if (read(p, path, &why) < 0) {
		if (why.code == TW_NOMEM) {
			tw_fail(err, TW_NOMEM, "'%s'", path);
			goto out;
		}
		if (why.code != TW_NOTFOUND && refused != NULL)
			refused(arg, path, &why);
	}
	rc = 0;
out:
	free(path);
	return rc;
}

static int add_pipelines(struct tw_index *x, struct tw_err *err)
{
	struct tw_index_pipeline *p = NULL;
	size_t count = 0;

	for (size_t i = 0; i < x->count; i++)
		count += i == 0 || x->entry[i - 1].pipeline != x->entry[i].pipeline;
	x->pipeline = calloc(count + 1, sizeof(*x->pipeline));
	if (x->pipeline == NULL)
		return tw_fail(err, TW_NOMEM, "%zu pipelines", count);
	for (size_t i = 0; i < x->count; i++) {
		if (p == NULL || p->name != x->entry[i].pipeline) {
			p = &x->pipeline[x->pipeline_count++];
			p->name = x->entry[i].pipeline;
			p->first = i;
		}
		p->count++;
	}
	return 0;
}

static int read_pipelines(struct tw_index *x, const char *db,
			  tw_index_refused_fn *refused, void *arg, struct tw_err *err)
{
	if (add_pipelines(x, err) < 0)
		return -1;
	for (size_t i = 0; i < x->pipeline_count; i++) {
		struct tw_index_pipeline *p = &x->pipeline[i];

		if (read_file(p, db, metadata_name, read_metadata, refused, arg, err) <
			    0 ||
		    read_file(p, db, types_name, read_types, refused, arg, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- the index ---- */

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

/* The prior of the database, or of the other one. A broken prior is left out. */
static int read_prior(struct tw_index *x, const char *db, const char *other,
		      tw_index_refused_fn *refused, void *arg, struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (tw_prior_load(db, &x->prior, &why) == 0)
		return 0;
	if (why.code == TW_NOTFOUND)
		return other != NULL ? read_prior(x, other, NULL, refused, arg, err) : 0;
	if (why.code == TW_NOMEM)
		return tw_fail(err, TW_NOMEM, "%s", why.text);
	if (refused != NULL)
		refused(arg, TW_PRIOR_DIRECTORY "/" TW_PRIOR_FILE, &why);
	return 0;
}

static int take_error_key(struct tw_index *x, const struct tw_index_preference *p,
			  struct tw_err *err)
{
	const char *key = p != NULL && p->error != NULL ? p->error : TW_INDEX_ERROR;

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
	atomic_init(&x->cached_bytes, 0);
	atomic_init(&x->any_given_up, false);
	if (read_models(x, db, prefer, refused, arg, err) < 0)
		goto out;
	tw_index_sort(x);
	if (take_error_key(x, prefer, err) < 0 || make_states(x, err) < 0 ||
	    read_pipelines(x, db, refused, arg, err) < 0 ||
	    read_prior(x, db, prefer != NULL ? prefer->prior : NULL, refused, arg, err) <
		    0 ||
	    tw_index_find_machines(x, err) < 0 ||
	    tw_index_rank(x, prefer != NULL ? prefer->pipelines : NULL, err) < 0)
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
