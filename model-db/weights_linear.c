/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/weights_linear.h"

#include "lib/core/err.h"
#include "lib/json/json.h"
#include "model-db/model.h"

#include <math.h>
#include <stdio.h>

static int out_of_memory(struct tw_err *err)
{
	return tw_fail(err, TW_NOMEM, "weights");
}

/* {"scale":S,"mean":0,"variance":S*S,"weight":w} */
static json_t *feature_json(double scale, double weight)
{
	return json_pack("{s:f,s:i,s:f,s:f}", "scale", scale, "mean", 0, "variance",
			 scale * scale, "weight", weight);
}

static int read_feature(const json_t *v, const char *where, json_t **out,
			struct tw_err *err)
{
	double scale, weight;

	if (!json_is_object(v))
		return tw_fail(err, TW_PARSE, "%s: expected an object, got %s", where,
			       tw_json_type_name(v));
	if (tw_json_number(v, where, "scale", false, &scale, err) < 0 ||
	    tw_json_number(v, where, "weight", false, &weight, err) < 0)
		return -1;
	/* Counts nothing; but old clients divide by the variance. */
	if (scale == 0) {
		scale = 1;
		weight = 0;
	}
	if (!(scale > 0) || !isnormal(scale * scale))
		return tw_fail(err, TW_INVALID, "%s.scale: %g is out of range", where,
			       scale);
	*out = feature_json(scale, weight);
	return *out != NULL ? 0 : out_of_memory(err);
}

static int read_features(json_t *numerical, const struct tw_model_part *p,
			 const char *where, json_t *out, struct tw_err *err)
{
	const char *name;
	json_t *v;

	json_object_foreach(numerical, name, v) {
		char path[TW_ERR_TEXT];
		json_t *feature;

		snprintf(path, sizeof(path), "%s.%s", where, name);
		if (!tw_strs_has(&p->features, name))
			return tw_fail(err, TW_INVALID, "%s: not a feature of the model",
				       path);
		if (read_feature(v, path, &feature, err) < 0)
			return -1;
		if (json_object_set_new(out, name, feature) < 0)
			return out_of_memory(err);
	}
	return 0;
}

/* name -> value -> {"weight": w}: taken as it is. */
static int check_categories(json_t *categorical, const char *where, struct tw_err *err)
{
	const char *name, *value;
	json_t *values, *v;

	json_object_foreach(categorical, name, values) {
		if (!json_is_object(values))
			return tw_fail(err, TW_PARSE, "%s.%s: expected an object, got %s",
				       where, name, tw_json_type_name(values));
		json_object_foreach(values, value, v)
			if (!json_is_number(json_object_get(v, "weight")))
				return tw_fail(err, TW_PARSE,
					       "%s.%s.%s.weight: expected a number",
					       where, name, value);
	}
	return 0;
}

/* An object member that may be null or absent; borrowed. */
static int get_object(const json_t *all, const char *where, const char *key, json_t **out,
		      struct tw_err *err)
{
	json_t *v = json_object_get(all, key);

	if (v != NULL && !json_is_object(v) && !json_is_null(v))
		return tw_fail(err, TW_PARSE, "%s.%s: expected an object, got %s", where,
			       key, tw_json_type_name(v));
	*out = json_is_object(v) ? v : NULL;
	return 0;
}

static int read_weights(const json_t *all, const struct tw_model_part *p,
			const char *file, json_t *out, struct tw_err *err)
{
	json_t *numerical, *categorical, *features = NULL;
	char where[128];
	double bias = 0;

	snprintf(where, sizeof(where), "%s.All_Weights", file);
	if (tw_json_number(all, where, "Bias_Weight", true, &bias, err) < 0 ||
	    get_object(all, where, "Categorical_Variables", &categorical, err) < 0 ||
	    get_object(all, where, "Numerical_Variables", &numerical, err) < 0)
		return -1;
	features = json_object();
	if (json_object_set_new(out, "Bias_Weight", json_real(bias)) < 0 ||
	    json_object_set_new(out, "Categorical_Variables", json_object()) < 0 ||
	    json_object_set_new(out, "Numerical_Variables", features) < 0)
		return out_of_memory(err);
	snprintf(where, sizeof(where), "%s.All_Weights.Numerical_Variables", file);
	if (read_features(numerical, p, where, features, err) < 0)
		return -1;
	if (categorical == NULL)
		return 0;
	snprintf(where, sizeof(where), "%s.All_Weights.Categorical_Variables", file);
	if (check_categories(categorical, where, err) < 0)
		return -1;
	return json_object_set(out, "Categorical_Variables", categorical) == 0
		       ? 0
		       : out_of_memory(err);
}

int tw_linear_read(const struct tw_model_part *p, json_t **out, struct tw_err *err)
{
	json_t *doc = NULL, *result = NULL, *weights;
	const json_t *all;
	char file[32];
	int rc = -1;

	snprintf(file, sizeof(file), "%s.json", tw_component_name(p->component));
	if (tw_json_parse(p->text, p->len, file, &doc, err) < 0 ||
	    tw_json_object(doc, file, "All_Weights", false, &all, err) < 0)
		goto out;
	weights = json_object();
	result = json_object();
	if (json_object_set_new(result, "All_Weights", weights) < 0) {
		out_of_memory(err);
		goto out;
	}
	if (read_weights(all, p, file, weights, err) < 0)
		goto out;

	*out = result;
	result = NULL;
	rc = 0;
out:
	json_decref(result);
	json_decref(doc);
	return rc;
}

/* w_1/s_1 + w_2/s_2 = (w_1 + w_2 s_1/s_2) / s_1 */
static double sum_weights(const json_t *a, const json_t *b)
{
	double scale = json_number_value(json_object_get(a, "scale"));
	double other = json_number_value(json_object_get(b, "scale"));

	return json_number_value(json_object_get(a, "weight")) +
	       json_number_value(json_object_get(b, "weight")) * (scale / other);
}

static int add_feature(json_t *features, const char *name, json_t *more,
		       struct tw_err *err)
{
	json_t *old = json_object_get(features, name);
	double weight;

	if (old == NULL)
		return json_object_set(features, name, more) == 0 ? 0
								  : out_of_memory(err);
	weight = sum_weights(old, more);
	if (!isfinite(weight))
		return tw_fail(err, TW_INVALID,
			       "%s: the sum of the weights is out of range", name);
	return json_object_set_new(old, "weight", json_real(weight)) == 0
		       ? 0
		       : out_of_memory(err);
}

static int add_weights(json_t *sum, json_t *more, struct tw_err *err)
{
	json_t *features = json_object_get(sum, "Numerical_Variables"), *v;
	double bias = json_number_value(json_object_get(sum, "Bias_Weight")) +
		      json_number_value(json_object_get(more, "Bias_Weight"));
	const char *name;

	if (json_object_size(json_object_get(sum, "Categorical_Variables")) > 0 ||
	    json_object_size(json_object_get(more, "Categorical_Variables")) > 0)
		return tw_fail(err, TW_UNSUPPORTED,
			       "weights of categories have no total");
	if (!isfinite(bias))
		return tw_fail(err, TW_INVALID, "the sum of the biases is out of range");
	if (json_object_set_new(sum, "Bias_Weight", json_real(bias)) < 0)
		return out_of_memory(err);
	json_object_foreach(json_object_get(more, "Numerical_Variables"), name, v)
		if (add_feature(features, name, v, err) < 0)
			return -1;
	return 0;
}

int tw_linear_add(json_t **sum, const struct tw_model_part *p, struct tw_err *err)
{
	json_t *more = NULL;
	int rc = -1;

	if (tw_linear_read(p, &more, err) < 0)
		goto out;
	if (*sum == NULL) {
		*sum = more;
		more = NULL;
	} else if (add_weights(json_object_get(*sum, "All_Weights"),
			       json_object_get(more, "All_Weights"), err) < 0) {
		goto out;
	}
	rc = 0;
out:
	json_decref(more);
	return rc;
}
