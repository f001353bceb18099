/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/weights.h"

#include "lib/core/array.h"
#include "lib/core/base64.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "model-db/curve.h"
#include "model-db/model.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- linear components ---- */

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
	/* Such a feature has no effect, but clients before 0.6 divide by its variance. */
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

/* name -> value -> {"weight": w}: copied unchanged. */
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

/* *out is borrowed; NULL if the member is null or absent. */
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
	json_t *numerical, *categorical, *features;
	char where[128];
	double bias = 0;

	snprintf(where, sizeof(where), "%s.All_Weights", file);
	if (tw_json_number(all, where, "Bias_Weight", true, &bias, err) < 0 ||
	    get_object(all, where, "Categorical_Variables", &categorical, err) < 0 ||
	    get_object(all, where, "Numerical_Variables", &numerical, err) < 0)
		return -1;
	if (json_object_set_new(out, "Bias_Weight", json_real(bias)) < 0 ||
	    json_object_set_new(out, "Categorical_Variables", json_object()) < 0)
		return out_of_memory(err);
	features = json_object();
	if (json_object_set_new(out, "Numerical_Variables", features) < 0)
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

/*
 * Read and check the weights of a linear component: a numeric bias, and a finite scale
 * and weight for each feature. `mean` and `variance` are computed from the scale, because
 * clients before 0.6 compute with them. *out is {"All_Weights":{..}}, the caller's.
 */
static int read_linear(const struct tw_model_part *p, json_t **out, struct tw_err *err)
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
			       "weights of categories cannot be added to a total");
	if (!isfinite(bias))
		return tw_fail(err, TW_INVALID, "the sum of the biases is out of range");
	if (json_object_set_new(sum, "Bias_Weight", json_real(bias)) < 0)
		return out_of_memory(err);
	json_object_foreach(json_object_get(more, "Numerical_Variables"), name, v)
		if (add_feature(features, name, v, err) < 0)
			return -1;
	return 0;
}

/* Add a component's weights to *sum, which starts as NULL. */
static int add_linear(json_t **sum, const struct tw_model_part *p, struct tw_err *err)
{
	json_t *more = NULL;
	int rc = -1;

	if (read_linear(p, &more, err) < 0)
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

/* ---- weights by predictor ---- */

#define CURVEFIT "curvefit"

static int write_linear(const struct tw_model_part *p, struct tw_buf *out,
			struct tw_err *err)
{
	json_t *v;

	if (read_linear(p, &v, err) < 0)
		return -1;
	tw_buf_add_json(out, v);
	json_decref(v);
	return 0;
}

/* The trees' thresholds are in raw units, so each scale is 1. */
static int write_xgboost(const struct tw_model_part *p, struct tw_buf *out,
			 struct tw_err *err)
{
	(void)err;
	tw_buf_adds(out, "{\"All_Weights\":{\"Categorical_Variables\":{},"
			 "\"Numerical_Variables\":{");
	for (size_t i = 0; i < p->features.count; i++) {
		tw_json_add_key(out, p->features.at[i]);
		tw_buf_adds(out, "{\"scale\":1}");
	}
	tw_buf_adds(out, "},\"XGboost_Weights\":\"");
	tw_buf_add_base64(out, p->text, p->len);
	tw_buf_adds(out, "\"}}");
	return 0;
}

static int read_curve(const struct tw_model_part *p, struct tw_curve *out,
		      struct tw_err *err)
{
	char file[32];

	snprintf(file, sizeof(file), "%s.json", tw_component_name(p->component));
	if (tw_curve_read(p->text, p->len, file, out, err) < 0)
		return -1;
	if (!tw_strs_has(&p->features, out->feature))
		return tw_fail(err, TW_INVALID, "%s: '%s' is not a feature of the model",
			       file, out->feature);
	return 0;
}

static int write_curve(const struct tw_model_part *p, struct tw_buf *out,
		       struct tw_err *err)
{
	struct tw_curve c;

	if (read_curve(p, &c, err) < 0)
		return -1;
	tw_buf_adds(out, "{\"All_Weights\":{\"Categorical_Variables\":{},"
			 "\"Numerical_Variables\":{");
	tw_json_add_object(out, c.feature);
	tw_json_add_number(out, "scale", c.scale);
	tw_buf_adds(out, "}}");
	tw_json_add_numbers(out, "CurveFit_Weights", c.weight, c.kind->weights);
	tw_buf_adds(out, "}}");
	return 0;
}

/* The lowest sum of weights that any values of the variables can give. */
static double least_of_categories(const json_t *categorical)
{
	json_t *variables = (json_t *)(uintptr_t)categorical; /* only read */
	const char *name, *value;
	json_t *values, *v;
	double sum = 0.0;

	json_object_foreach(variables, name, values) {
		double least = 0.0; /* the weight of a value that is not listed */

		json_object_foreach(values, value, v)
			least = fmin(least,
				     json_number_value(json_object_get(v, "weight")));
		sum += least;
	}
	return sum;
}

static int linear_shape(const struct tw_model_part *p, struct tw_weights_shape *out,
			struct tw_err *err)
{
	const json_t *all, *categories;
	bool falls = false, rises = false;
	const char *name;
	json_t *v, *feature;
	double bias;

	if (read_linear(p, &v, err) < 0)
		return -1;
	all = json_object_get(v, "All_Weights");
	categories = json_object_get(all, "Categorical_Variables");
	bias = json_number_value(json_object_get(all, "Bias_Weight"));
	json_object_foreach(json_object_get(all, "Numerical_Variables"), name, feature) {
		const double w = json_number_value(json_object_get(feature, "weight"));

		rises |= w > 0.0;
		falls |= w < 0.0;
	}
	*out = (struct tw_weights_shape){
		.idle_power = bias > 0.0,
		.non_negative = !falls && bias + least_of_categories(categories) >= 0.0,
		.rises = rises && !falls,
		.additive = !falls && bias == 0.0 && json_object_size(categories) == 0,
	};
	json_decref(v);
	return 0;
}

/* Curves are monotone, and x is 1 at the highest value of the training. */
static int curve_shape(const struct tw_model_part *p, struct tw_weights_shape *out,
		       struct tw_err *err)
{
	struct tw_curve c;
	double rest, end;

	if (read_curve(p, &c, err) < 0)
		return -1;
	rest = tw_curve_watts(&c, 0.0);
	end = tw_curve_watts(&c, 2 * c.scale);
	*out = (struct tw_weights_shape){ .idle_power = rest > 0.0,
					  .non_negative = rest >= 0.0 && end >= rest,
					  .rises = end > rest };
	return 0;
}

/* Predictors whose models have weights. */
static const struct writer {
	const char *predictor;
	bool plain;
	int (*write)(const struct tw_model_part *p, struct tw_buf *out,
		     struct tw_err *err);
	/* The shape of one component; NULL: it is larger than a few hundred bytes. */
	int (*shape)(const struct tw_model_part *p, struct tw_weights_shape *out,
		     struct tw_err *err);
} writers[] = {
	{ CURVEFIT, false, write_curve, curve_shape },
	{ "linear", true, write_linear, linear_shape },
	{ "xgboost", false, write_xgboost, NULL },
};

static const struct writer *find_writer_of(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(writers); i++)
		if (strcmp(writers[i].predictor, name) == 0)
			return &writers[i];
	return NULL;
}

static const struct writer *find_writer(const struct tw_model *m)
{
	return find_writer_of(m->info.predictor);
}

bool tw_weights_exist(const struct tw_model *m)
{
	return find_writer(m) != NULL;
}

bool tw_weights_plain(const struct tw_model *m)
{
	const struct writer *w = find_writer(m);

	return w != NULL && w->plain;
}

bool tw_weights_small(const struct tw_model_info *i)
{
	const struct writer *w = find_writer_of(i->predictor);

	return w != NULL && w->shape != NULL;
}

/*
 * A client computes all components from the first metric of its request, with the formula
 * that belongs to the trainer's name.
 */
int tw_weights_first_metric(const struct tw_model *m, char **out, struct tw_err *err)
{
	char feature[TW_CURVE_FEATURE_MAX] = "";

	if (strcmp(m->info.predictor, CURVEFIT) != 0) {
		*out = NULL;
		return 0;
	}
	for (size_t i = 0; i < m->parts; i++) {
		struct tw_curve c;

		if (read_curve(&m->part[i], &c, err) < 0)
			return tw_err_wrap(err, "weights of model '%s'", m->info.name);
		if (strcmp(c.kind->trainer, m->info.trainer) != 0)
			return tw_fail(err, TW_UNSUPPORTED,
				       "model '%s': clients compute no %s curve for this "
				       "trainer",
				       m->info.name, c.kind->name);
		if (i > 0 && strcmp(feature, c.feature) != 0)
			return tw_fail(err, TW_UNSUPPORTED,
				       "model '%s': its components need both '%s' and "
				       "'%s', clients use one metric",
				       m->info.name, feature, c.feature);
		snprintf(feature, sizeof(feature), "%s", c.feature);
	}
	*out = strdup(feature);
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "name of a metric");
}

int tw_weights_shape(const struct tw_model *m, struct tw_weights_shape *out,
		     struct tw_err *err)
{
	const struct writer *w = find_writer(m);
	struct tw_weights_shape all = { .known = true,
					.non_negative = true,
					.additive = true };

	if (w == NULL || w->shape == NULL || m->parts == 0) {
		*out = (struct tw_weights_shape){ 0 };
		return 0;
	}
	for (size_t i = 0; i < m->parts; i++) {
		const enum tw_component c = m->part[i].component;
		struct tw_weights_shape s;

		if (w->shape(&m->part[i], &s, err) < 0)
			return -1;
		all.non_negative &= s.non_negative;
		all.additive &= s.additive;
		if (c != TW_PACKAGE && c != TW_PLATFORM)
			continue;
		all.idle_power = s.idle_power;
		all.rises = s.rises;
	}
	all.rises &= all.non_negative;
	*out = all;
	return 0;
}

/* Kepler up to 0.5.3 calls the package "pkg" and has no platform. */
static const char *component_key(enum tw_component c, enum tw_client client)
{
	if (client != TW_CLIENT_0_5)
		return tw_component_name(c);
	if (c == TW_PLATFORM)
		return NULL;
	return c == TW_PACKAGE ? "pkg" : tw_component_name(c);
}

static bool has_total(const struct tw_model *m)
{
	for (size_t i = 0; i < m->parts; i++)
		if (m->part[i].component == TW_PLATFORM ||
		    m->part[i].component == TW_PACKAGE || m->part[i].component == TW_DRAM)
			return true;
	return false;
}

static bool knows_components(const struct tw_model *m, enum tw_client client)
{
	for (size_t i = 0; i < m->parts; i++)
		if (component_key(m->part[i].component, client) == NULL)
			return false;
	return true;
}

unsigned tw_weights_clients(const struct tw_model *m)
{
	const struct writer *w = find_writer(m);
	unsigned clients = 0;

	if (w == NULL)
		return 0;
	if (!w->plain)
		return 1u << TW_CLIENT_CURRENT;
	for (int c = 0; c < TW_CLIENT_COUNT; c++)
		if (c == TW_CLIENT_0_5_TOTAL ? has_total(m)
					     : knows_components(m, (enum tw_client)c))
			clients |= 1u << c;
	return clients;
}

/* Keys beside the components, which only current clients accept. */
static void write_about(const struct tw_model_info *i, struct tw_buf *out)
{
	tw_json_add_text(out, "model_name", i->name);
	if (tw_machine_spec_known(&i->spec))
		tw_json_add_value_take(out, "machine_spec",
				       tw_machine_spec_to_json(&i->spec));
	if (isfinite(i->mae_w))
		tw_json_add_number(out, "mae", i->mae_w);
}

static int write_components(const struct tw_model *m, const struct writer *w,
			    enum tw_client client, struct tw_buf *out, struct tw_err *err)
{
	/* No comma, whatever is in the text before this document. */
	tw_buf_adds(out, "{");
	if (client == TW_CLIENT_CURRENT)
		write_about(&m->info, out);
	for (size_t i = 0; i < m->parts; i++) {
		const char *key = component_key(m->part[i].component, client);

		if (key == NULL)
			return tw_fail(err, TW_UNSUPPORTED,
				       "model '%s': this client knows no component '%s'",
				       m->info.name,
				       tw_component_name(m->part[i].component));
		tw_json_add_key(out, key);
		if (w->write(&m->part[i], out, err) < 0)
			return tw_err_wrap(err, "weights of model '%s'", m->info.name);
	}
	tw_json_end_object(out);
	return 0;
}

/* The node's total: platform, or package and dram. The package includes core and uncore.
 */
static int write_total(const struct tw_model *m, struct tw_buf *out, struct tw_err *err)
{
	json_t *total = NULL;
	int rc = -1;

	for (size_t i = 0; i < m->parts; i++) {
		enum tw_component c = m->part[i].component;

		if (c != TW_PLATFORM && c != TW_PACKAGE && c != TW_DRAM)
			continue;
		if (add_linear(&total, &m->part[i], err) < 0) {
			tw_err_wrap(err, "weights of model '%s'", m->info.name);
			goto out;
		}
	}
	if (total == NULL) {
		tw_fail(err, TW_UNSUPPORTED, "model '%s' has no component for a total",
			m->info.name);
		goto out;
	}
	tw_buf_add_json(out, total);

	rc = 0;
out:
	json_decref(total);
	return rc;
}

int tw_weights_write(const struct tw_model *m, enum tw_client client, struct tw_buf *out,
		     struct tw_err *err)
{
	const struct writer *w = find_writer(m);
	struct tw_weights_shape shape;
	char *metric;

	if (w == NULL)
		return tw_fail(err, TW_UNSUPPORTED,
			       "model '%s': %s models have no weights", m->info.name,
			       m->info.predictor);
	if (!w->plain && client != TW_CLIENT_CURRENT)
		return tw_fail(err, TW_UNSUPPORTED,
			       "model '%s': this client cannot use weights of %s models",
			       m->info.name, m->info.predictor);
	if (tw_weights_first_metric(m, &metric, err) < 0)
		return -1;
	free(metric);
	if (tw_weights_shape(m, &shape, err) < 0)
		return -1;
	if (shape.known && !shape.non_negative)
		return tw_fail(err, TW_UNSUPPORTED,
			       "model '%s': its weights give negative power",
			       m->info.name);
	if (client == TW_CLIENT_0_5_TOTAL)
		return write_total(m, out, err);
	return write_components(m, w, client, out, err);
}
