/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/curve.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* a exp(b x) + c */
static double exponential(const double *w, double x)
{
	return w[0] == 0.0 ? w[2] : w[0] * exp(w[1] * x) + w[2];
}

/* a ln(b x + 1) + c */
static double logarithmic(const double *w, double x)
{
	return w[0] * log(fmin(w[1] * x, DBL_MAX) + 1.0) + w[2];
}

/* A / (1 + exp(-k (x - x0))) + off; fmin() also turns NaN of 0 * infinity to DBL_MAX. */
static double logistic(const double *w, double x)
{
	return w[0] / (1.0 + exp(fmin(-w[2] * (x - w[1]), DBL_MAX))) + w[3];
}

/* Alphabetical. */
static const struct tw_curve_kind kinds[] = {
	{ "exponential", "ExponentialRegressionTrainer", 3, exponential },
	{ "logarithmic", "LogarithmicRegressionTrainer", 3, logarithmic },
	{ "logistic", "LogisticRegressionTrainer", 4, logistic },
};

size_t tw_curve_kind_count(void)
{
	return TW_COUNT(kinds);
}

const struct tw_curve_kind *tw_curve_kind_at(size_t i)
{
	assert(i < TW_COUNT(kinds));
	return &kinds[i];
}

const struct tw_curve_kind *tw_curve_kind_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

#define ROOT "All_Weights"
#define NUMERIC ROOT ".Numerical_Variables"
#define WEIGHTS ROOT ".CurveFit_Weights"

static int read_kind(const json_t *root, const char *where, struct tw_curve *c,
		     struct tw_err *err)
{
	const char *name;

	if (tw_json_text(root, where, "curve", false, &name, err) < 0)
		return -1;
	c->kind = tw_curve_kind_find(name);
	if (c->kind == NULL)
		return tw_fail(err, TW_UNSUPPORTED, "%s.curve: '%.40s' is not supported",
			       where, name);
	return 0;
}

static int read_feature(const json_t *all, struct tw_curve *c, struct tw_err *err)
{
	const json_t *numeric, *entry;
	const char *name;

	if (tw_json_object(all, ROOT, "Numerical_Variables", false, &numeric, err) < 0)
		return -1;
	if (json_object_size(numeric) != 1)
		return tw_fail(err, TW_INVALID, NUMERIC ": %zu features, a curve has 1",
			       json_object_size(numeric));
	name = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)numeric));
	if (strlen(name) >= sizeof(c->feature))
		return tw_fail(err, TW_INVALID, NUMERIC ": a name of %zu bytes",
			       strlen(name));
	snprintf(c->feature, sizeof(c->feature), "%s", name);
	if (tw_json_object(numeric, NUMERIC, name, false, &entry, err) < 0 ||
	    tw_json_number(entry, NUMERIC, "scale", false, &c->scale, err) < 0)
		return -1;
	if (!(c->scale > 0.0) || !isfinite(1.0 / c->scale))
		return tw_fail(err, TW_INVALID, NUMERIC ".%s.scale: %g is out of range",
			       c->feature, c->scale);
	return 0;
}

static int read_weights(const json_t *all, struct tw_curve *c, struct tw_err *err)
{
	const json_t *list, *categorical = NULL;

	if (tw_json_object(all, ROOT, "Categorical_Variables", true, &categorical, err) <
		    0 ||
	    tw_json_array(all, ROOT, "CurveFit_Weights", false, &list, err) < 0)
		return -1;
	if (categorical != NULL && json_object_size(categorical) > 0)
		return tw_fail(err, TW_UNSUPPORTED,
			       ROOT ".Categorical_Variables: not supported");
	if (json_array_size(list) != c->kind->weights)
		return tw_fail(err, TW_INVALID, WEIGHTS ": %zu weights, %s has %zu",
			       json_array_size(list), c->kind->name, c->kind->weights);
	for (size_t i = 0; i < c->kind->weights; i++) {
		const json_t *v = json_array_get(list, i);

		if (!json_is_number(v) || !isfinite(json_number_value(v)))
			return tw_fail(err, TW_PARSE,
				       WEIGHTS "[%zu]: expected a finite number, got %s",
				       i, tw_json_type_name(v));
		c->weight[i] = json_number_value(v);
	}
	if (c->kind->value == logarithmic && c->weight[1] < 0.0)
		return tw_fail(err, TW_INVALID, WEIGHTS "[1]: %g is below 0",
			       c->weight[1]);
	return 0;
}

int tw_curve_read(const char *text, size_t len, const char *where, struct tw_curve *out,
		  struct tw_err *err)
{
	struct tw_curve c = { 0 };
	json_t *root = NULL;
	const json_t *all;
	int rc = -1;

	if (tw_json_parse(text, len, where, &root, err) < 0 ||
	    read_kind(root, where, &c, err) < 0 ||
	    tw_json_object(root, where, ROOT, false, &all, err) < 0 ||
	    read_feature(all, &c, err) < 0 || read_weights(all, &c, err) < 0)
		goto out;

	*out = c;
	rc = 0;
out:
	json_decref(root);
	return rc;
}

double tw_curve_watts(const struct tw_curve *c, double raw)
{
	const double x = raw > 0.0 ? fmin(raw / c->scale, DBL_MAX) : 0.0;

	return c->kind->value(c->weight, x);
}
