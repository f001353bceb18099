/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest name that a figure of a component can have. */
#define NAME_MAX_BYTES 160

const char *tw_index_error_key(const struct tw_index *x, bool series)
{
	if (series && strcmp(x->error_key, TW_INDEX_ERROR) == 0)
		return TW_INDEX_SERIES_ERROR;
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

void tw_index_sort(struct tw_index *x)
{
	if (x->count > 0)
		qsort(x->entry, x->count, sizeof(x->entry[0]), by_place);
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

const struct tw_energy_source *tw_index_source(const struct tw_index *x,
					       const struct tw_energy_source *wanted,
					       enum tw_output output)
{
	const struct tw_energy_source *other =
		wanted != NULL ? tw_energy_source_substitute(wanted) : NULL;
	bool has_other = false;

	for (size_t i = 0; other != NULL && i < x->family_count; i++) {
		const struct tw_index_family *f = &x->family[i];

		if (f->output == output && f->source == wanted)
			return wanted;
		has_other |= f->output == output && f->source == other;
	}
	return has_other ? other : wanted;
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

size_t tw_index_machine_count(const struct tw_index *x)
{
	return x->machine_count;
}

const struct tw_index_machine *tw_index_machine_at(const struct tw_index *x, size_t i)
{
	assert(i < x->machine_count);
	return &x->machine[i];
}

bool tw_index_has_weights(const struct tw_index_entry *e, enum tw_client client)
{
	return (e->weights_for & 1u << client) != 0;
}

bool tw_index_is_ensemble(const struct tw_index_entry *e)
{
	return strcmp(e->predictor, "ensemble") == 0;
}

bool tw_index_is_trees(const struct tw_index_entry *e)
{
	return strcmp(e->predictor, "xgboost") == 0;
}

bool tw_index_is_linear(const struct tw_index_entry *e)
{
	return strcmp(e->predictor, "linear") == 0;
}

/* ---- figures ---- */

static int compare_names(const void *name, const void *place)
{
	const char *const *other = place;

	return strcmp(name, *other);
}

/* NaN if there is no figure of this name. */
static double find_figure(const struct tw_index_entry *e, const char *name)
{
	const char *const *place =
		e->figure_count > 0 ? bsearch(name, e->figure_names, e->figure_count,
					      sizeof(e->figure_names[0]), compare_names)
				    : NULL;

	return place != NULL ? e->figures[place - e->figure_names] : NAN;
}

bool tw_index_figure_more_is_better(const char *name)
{
	return tw_ends_with(name, "abs_max_corr") || tw_ends_with(name, "r2");
}

static double find_part(const struct tw_index_entry *e, enum tw_component c,
			const char *name)
{
	char key[NAME_MAX_BYTES];

	snprintf(key, sizeof(key), "%s_%s", tw_component_name(c), name);
	return find_figure(e, key);
}

/* The worst of "<component>_<name>" over the components that define it. */
static double find_worst(const struct tw_index_entry *e, const char *name)
{
	const bool more = tw_index_figure_more_is_better(name);
	double worst = NAN;

	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		const double d = find_part(e, (enum tw_component)c, name);

		if (isnan(worst) || (more ? d < worst : d > worst))
			worst = d;
	}
	return worst;
}

/* The worst mean absolute error of a component together with its |bias|. */
static double find_error(const struct tw_index_entry *e, const char *mae_name,
			 const char *bias_name)
{
	double worst = NAN;

	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		const double bias = find_part(e, (enum tw_component)c, bias_name);
		double d = find_part(e, (enum tw_component)c, mae_name);

		/* kepler-model-server writes -1 for an error that it could not compute.
		 */
		if (isnan(d) || d < 0)
			continue;
		d += isnan(bias) ? 0 : fabs(bias);
		worst = isnan(worst) ? d : fmax(worst, d);
	}
	return isnan(worst) ? e->mae_w : worst;
}

double tw_index_figure(const struct tw_index_entry *e, const char *name)
{
	double d;

	/* A mean error that is small under load may be large at rest. */
	if (strcmp(name, TW_INDEX_ERROR) == 0)
		return find_error(e, "mae", "idle_bias");
	if (strcmp(name, "mae") == 0)
		d = e->mae_w;
	else if (strcmp(name, "mape") == 0)
		d = e->mape_percent;
	else
		d = find_figure(e, name);
	if (isnan(d))
		d = find_worst(e, name);
	/* kepler-model-server writes -1 for an error that it could not compute. */
	if (d < 0 && (tw_ends_with(name, "mae") || tw_ends_with(name, "mape")))
		return NAN;
	return d;
}

double tw_index_series_figure(const struct tw_index_entry *e, const char *name)
{
	char key[NAME_MAX_BYTES];

	if (isnan(find_worst(e, "series_mae")))
		return NAN;
	snprintf(key, sizeof(key), "series_%s", name);
	return find_worst(e, key);
}

double tw_index_biased_error(const struct tw_index_entry *e, bool series)
{
	return series && !isnan(find_worst(e, "series_mae"))
		       ? find_error(e, "series_mae", "series_bias")
		       : find_error(e, "mae", "bias");
}

/* ---- references ---- */

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
	tw_prior_release(&x->prior);
	for (size_t i = 0; i < x->pipeline_count; i++) {
		free(x->pipeline[i].metadata);
		tw_node_types_release(&x->pipeline[i].types);
	}
	free(x->family);
	free(x->by_rank);
	free(x->by_series);
	free(x->machine);
	free(x->pipeline);
	free(x->state);
	free(x->entry);
	tw_intern_release(&x->texts);
	tw_arena_release(&x->arena);
	free(x);
}
