/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index_pack.h"

#include "lib/core/err.h"
#include "model-db/index/index_draft.h"
#include "model-db/index/index_impl.h"
#include "model-db/model_check.h"

#include <stdlib.h>
#include <string.h>

/* No metadata of ours has half as many; more are not kept, and the model is refused. */
#define FIGURES_MAX 512

struct figure {
	const char *name;
	double value;
};

static int by_name(const void *a, const void *b)
{
	const struct figure *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static const char *keep_text(struct tw_index *x, const char *text, struct tw_err *err)
{
	return tw_intern(&x->texts, text, strlen(text), err);
}

/* A list of kept texts is kept once itself. */
static int keep_features(struct tw_index *x, const struct tw_strs *features,
			 struct tw_index_entry *e, struct tw_err *err)
{
	const char *list[TW_MODEL_FEATURES_MAX];

	for (size_t i = 0; i < features->count; i++) {
		list[i] = keep_text(x, features->at[i], err);
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

/* The names are the same for all models of a trainer: kept once. */
static int keep_figures(struct tw_index *x, const json_t *metadata,
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
		names[i] = keep_text(x, figures[i].name, err);
		if (names[i] == NULL)
			return -1;
		values[i] = figures[i].value;
	}
	e->figure_names = tw_intern(&x->texts, names, count * sizeof(names[0]), err);
	e->figures = values;
	e->figure_count = count;
	return e->figure_names != NULL ? 0 : -1;
}

static int keep_path(struct tw_index *x, const char *path, struct tw_index_entry *e,
		     struct tw_err *err)
{
	const size_t size = strlen(path) + 1;
	char *copy = tw_arena_get(&x->arena, size);

	if (copy == NULL)
		return tw_fail(err, TW_NOMEM, "path of a model");
	e->zip_path = memcpy(copy, path, size);
	return 0;
}

static int keep_names(struct tw_index *x, const char *pipeline,
		      const struct tw_index_draft *d, struct tw_index_entry *e,
		      struct tw_err *err)
{
	const struct tw_model_info *i = &d->model.info;

	e->pipeline = keep_text(x, pipeline, err);
	e->name = keep_text(x, i->name, err);
	e->trainer = keep_text(x, i->trainer, err);
	e->predictor = keep_text(x, i->predictor, err);
	e->spec = tw_intern(&x->texts, &i->spec, sizeof(i->spec), err);
	if (d->first_metric != NULL)
		e->first_metric = keep_text(x, d->first_metric, err);
	if (e->pipeline == NULL || e->name == NULL || e->trainer == NULL ||
	    e->predictor == NULL || e->spec == NULL ||
	    (d->first_metric != NULL && e->first_metric == NULL))
		return -1;
	return 0;
}

int tw_index_pack(struct tw_index *x, const char *pipeline, const char *path,
		  const struct tw_index_draft *d, struct tw_index_entry *out,
		  struct tw_err *err)
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
		.floor = d->shape.floor,
		.fitness = d->fitness,
		.unfit_why = d->unfit_why,
		.serves_shares = d->serves_shares,
	};

	if (keep_names(x, pipeline, d, &e, err) < 0 ||
	    keep_features(x, &i->features, &e, err) < 0 ||
	    keep_figures(x, i->metadata, &e, err) < 0 || keep_path(x, path, &e, err) < 0)
		return -1;
	*out = e;
	return 0;
}
