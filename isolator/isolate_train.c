/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TrainIsolator: subtract background and idle power as an AbsPower model predicts it from
 * the background's features alone:
 *
 *	P'[i] = max(0, P[i] - model(background's features at i))
 *
 * The model comes from an earlier pipeline. Candidates are the models whose features the
 * data has. For each, find the correlation of the remaining power with the targets'
 * features: Pearson's, the largest over components and features. Choose the model with
 * the least error (the metadata's mae) among those with a correlation of at least
 * CORRELATION_GOOD; if there are none, the model with the largest correlation.
 *
 * Validation rows take no part in the choice. The model has not seen them unless its
 * pipeline was trained on the same recording.
 */
#include "estimator/predict/power_model.h"
#include "isolator/isolator.h"
#include "isolator/workload_name.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"

#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* kepler-model-server's value. */
#define CORRELATION_GOOD 0.7

struct chosen {
	const struct tw_energy_source *source;
	const struct tw_power_model *model;
	double correlation;
};

static bool is_no_target(const struct tw_isolator_args *args, const char *id)
{
	const bool by_target = args->target_hints.count > 0;
	const struct tw_strs *hints = by_target ? &args->target_hints : &args->bg_hints;
	bool any = false;

	for (size_t i = 0; i < hints->count; i++)
		any |= tw_workload_matches(id, hints->at[i]);
	return any != by_target;
}

/* ---- background power ---- */

/* Names of the background's features, and their values row by row. */
struct background {
	struct tw_strs names;
	double *x; /* rows * names.count */
};

static void release_background(struct background *b)
{
	tw_strs_clear(&b->names);
	free(b->x);
}

static int read_background(const struct tw_dataset *d, struct background *b,
			   struct tw_err *err)
{
	const size_t prefix = sizeof(TW_BACKGROUND_PREFIX) - 1;
	size_t count = 0, c = 0;

	for (size_t i = 0; i < d->cols; i++)
		count += strncmp(d->col[i].name, TW_BACKGROUND_PREFIX, prefix) == 0;
	b->x = calloc(d->rows * count + 1, sizeof(*b->x));
	if (b->x == NULL)
		return tw_fail(err, TW_NOMEM, "background of %zu rows", d->rows);
	for (size_t i = 0; i < d->cols; i++) {
		const struct tw_column *col = &d->col[i];

		if (strncmp(col->name, TW_BACKGROUND_PREFIX, prefix) != 0)
			continue;
		if (tw_strs_adds(&b->names, col->name + prefix, err) < 0)
			return -1;
		for (size_t r = 0; r < d->rows; r++)
			b->x[r * count + c] = col->v[r];
		c++;
	}
	return 0;
}

/* Subtract the model's prediction from one component's watts. TW_NOTFOUND if the model
 * does not have the component or needs other features. */
static int subtract_component(const struct tw_power_model *model, enum tw_component c,
			      const struct background *b, double *watts, size_t rows,
			      struct tw_err *err)
{
	const size_t features = tw_power_model_info(model)->features.count;
	uint32_t *place = calloc(features + 1, sizeof(*place));
	double *predicted = calloc(rows + 1, sizeof(*predicted));
	const struct tw_rows in = {
		.x = b->x, .rows = rows, .stride = b->names.count, .place = place
	};
	size_t part = 0;
	int rc = -1;

	if (place == NULL || predicted == NULL) {
		tw_fail(err, TW_NOMEM, "background power of %zu rows", rows);
		goto out;
	}
	while (part < tw_power_model_parts(model) &&
	       tw_power_model_component(model, part) != c)
		part++;
	if (part == tw_power_model_parts(model)) {
		tw_fail(err, TW_NOTFOUND, "the model has no %s", tw_component_name(c));
		goto out;
	}
	if (tw_power_model_bind(model, part, &b->names, place, err) < 0)
		goto out;
	tw_power_model_predict(model, part, &in, predicted);
	for (size_t r = 0; r < rows; r++)
		watts[r] = fmax(watts[r] - predicted[r], 0.0);

	rc = 0;
out:
	free(place);
	free(predicted);
	return rc;
}

static int subtract_background(const struct tw_power_model *model,
			       const struct tw_energy_source *source,
			       struct tw_dataset *d, struct tw_err *err)
{
	double *watts[TW_COMPONENT_COUNT];
	struct background b = { 0 };
	int rc = -1;

	if (tw_isolate_power(d, source, watts, err) < 0 ||
	    read_background(d, &b, err) < 0)
		goto out;
	for (size_t k = 0; k < source->count; k++)
		if (watts[k] != NULL &&
		    subtract_component(model, source->components[k], &b, watts[k],
				       d->rows, err) < 0)
			goto out;
	rc = 0;
out:
	release_background(&b);
	return rc;
}

/* ---- choice of the model ---- */

/* Pearson's correlation; 0 if a or b is constant. */
static double correlate(const double *a, const double *b, size_t rows)
{
	const double r = rows > 0 ? gsl_stats_correlation(a, 1, b, 1, rows) : 0.0;

	return isfinite(r) ? r : 0.0;
}

/* The largest correlation over components and the targets' features. */
static double find_correlation(const struct tw_dataset *d,
			       const struct tw_energy_source *source)
{
	double best = 0.0;

	for (size_t k = 0; k < source->count; k++) {
		const double *watts =
			tw_dataset_find(d, tw_power_column(source->components[k]));

		for (size_t i = 0; watts != NULL && i < d->cols; i++)
			if (tw_feature_find(d->col[i].name) != NULL)
				best = fmax(best, correlate(watts, d->col[i].v, d->rows));
	}
	return best;
}

static bool is_better(const struct chosen *a, const struct chosen *b)
{
	const bool good = a->correlation >= CORRELATION_GOOD;
	double mae_a, mae_b;

	if (b->model == NULL)
		return true;
	if (!good || b->correlation < CORRELATION_GOOD)
		return a->correlation > b->correlation;
	mae_a = tw_power_model_info(a->model)->mae_w;
	mae_b = tw_power_model_info(b->model)->mae_w;
	/* A model without a known error comes last. */
	if (isnan(mae_a) || isnan(mae_b) || mae_a == mae_b)
		return isnan(mae_a) == isnan(mae_b) ? a->correlation > b->correlation
						    : isnan(mae_b);
	return mae_a < mae_b;
}

/* Try one model. *why gets the reason of the first model that cannot be used. */
static int try_model(const struct tw_power_model *model, const struct tw_dataset *d,
		     struct chosen *best, struct tw_err *why, struct tw_err *err)
{
	struct chosen candidate = { best->source, model, 0.0 };
	struct tw_dataset left = { 0 };
	struct tw_err failure = { 0 };
	int rc = -1;

	if (tw_dataset_copy(d, NULL, &left, err) < 0)
		goto out;
	if (subtract_background(model, best->source, &left, &failure) < 0) {
		if (failure.code == TW_NOMEM) {
			*err = failure;
			goto out;
		}
		if (why->code == TW_OK)
			*why = failure;
	} else {
		candidate.correlation = find_correlation(&left, best->source);
		if (is_better(&candidate, best))
			*best = candidate;
	}
	rc = 0;
out:
	tw_dataset_release(&left);
	return rc;
}

static int fit_train(const struct tw_isolator_args *args, const struct tw_dataset *d,
		     const struct tw_energy_source *source, void **state,
		     struct tw_err *err)
{
	struct chosen best = { .source = source }, *chosen;
	double *watts[TW_COMPONENT_COUNT];
	struct tw_err why = { 0 };

	if (tw_isolate_power(d, source, watts, err) < 0)
		return -1;
	for (size_t i = 0; i < args->models; i++) {
		if (tw_power_model_info(args->model[i])->source != source)
			continue;
		if (try_model(args->model[i], d, &best, &why, err) < 0)
			return -1;
	}
	if (best.model == NULL && why.code != TW_OK)
		return tw_fail(err, TW_NOTFOUND,
			       "no AbsPower model of %s fits the data: %s", source->name,
			       why.text);
	if (best.model == NULL)
		return tw_fail(err, TW_NOTFOUND, "no AbsPower model of %s", source->name);
	chosen = malloc(sizeof(*chosen));
	if (chosen == NULL)
		return tw_fail(err, TW_NOMEM, "model of the background");
	*chosen = best;
	*state = chosen;
	return 0;
}

static int apply_train(const void *state, struct tw_dataset *d, struct tw_err *err)
{
	const struct chosen *chosen = state;

	return subtract_background(chosen->model, chosen->source, d, err);
}

static int describe_train(const void *state, json_t *obj, struct tw_err *err)
{
	const struct chosen *chosen = state;
	const struct tw_model_info *info = tw_power_model_info(chosen->model);

	if (json_object_set_new(obj, "background_model", json_string(info->name)) < 0 ||
	    json_object_set_new(obj, "background_group", json_string(info->group->name)) <
		    0 ||
	    json_object_set_new(obj, "background_correlation",
				json_real(round(chosen->correlation * 1e4) / 1e4)) < 0)
		return tw_fail(err, TW_NOMEM, "metadata of the background");
	return 0;
}

const struct tw_isolator tw_isolator_train = {
	.name = "TrainIsolator",
	.summary =
		"subtracts the background power that another pipeline's model predicts",
	.from_zero = true,
	.needs_models = true,
	.keeps_background = true,
	.is_background = is_no_target,
	.fit = fit_train,
	.apply = apply_train,
	.describe = describe_train,
};
