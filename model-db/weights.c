/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/weights.h"

#include "lib/core/array.h"
#include "lib/core/base64.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "model-db/curve.h"
#include "model-db/model.h"
#include "model-db/weights_linear.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURVEFIT "curvefit"

static int write_linear(const struct tw_model_part *p, struct tw_buf *out,
			struct tw_err *err)
{
	json_t *v;

	if (tw_linear_read(p, &v, err) < 0)
		return -1;
	tw_buf_add_json(out, v);
	json_decref(v);
	return 0;
}

/* Thresholds are in raw units: each feature's scale is 1. */
static int write_xgboost(const struct tw_model_part *p, struct tw_buf *out,
			 struct tw_err *err)
{
	(void)err;
	tw_buf_adds(out, "{\"All_Weights\":{\"Categorical_Variables\":{},"
			 "\"Numerical_Variables\":{");
	for (size_t i = 0; i < p->features.count; i++) {
		tw_buf_adds(out, i > 0 ? "," : "");
		tw_buf_add_json_text(out, p->features.at[i], strlen(p->features.at[i]));
		tw_buf_adds(out, ":{\"scale\":1}");
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
	tw_buf_add_json_text(out, c.feature, strlen(c.feature));
	tw_buf_adds(out, ":{\"scale\":");
	tw_buf_add_double(out, c.scale);
	tw_buf_adds(out, "}},\"CurveFit_Weights\":[");
	for (size_t i = 0; i < c.kind->weights; i++) {
		tw_buf_adds(out, i > 0 ? "," : "");
		tw_buf_add_double(out, c.weight[i]);
	}
	tw_buf_adds(out, "]}}");
	return 0;
}

/* The sum that is least where each variable takes its least weight. */
static double least_of_categories(const json_t *categorical)
{
	json_t *variables = (json_t *)(uintptr_t)categorical; /* only read */
	const char *name, *value;
	json_t *values, *v;
	double sum = 0.0;

	json_object_foreach(variables, name, values) {
		double least = 0.0; /* of a value that is not listed */

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

	if (tw_linear_read(p, &v, err) < 0)
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
		.floor = bias > 0.0,
		.non_negative = !falls && bias + least_of_categories(categories) >= 0.0,
		.rises = rises && !falls,
		.additive = !falls && bias == 0.0 && json_object_size(categories) == 0,
	};
	json_decref(v);
	return 0;
}

/* Curves are monotone, and x is 1 at the most use of the training. */
static int curve_shape(const struct tw_model_part *p, struct tw_weights_shape *out,
		       struct tw_err *err)
{
	struct tw_curve c;
	double rest, end;

	if (read_curve(p, &c, err) < 0)
		return -1;
	rest = tw_curve_watts(&c, 0.0);
	end = tw_curve_watts(&c, 2 * c.scale);
	*out = (struct tw_weights_shape){ .floor = rest > 0.0,
					  .non_negative = rest >= 0.0 && end >= rest,
					  .rises = end > rest };
	return 0;
}

/* How each predictor's models become weights. */
static const struct kind {
	const char *predictor;
	bool plain;
	int (*write)(const struct tw_model_part *p, struct tw_buf *out,
		     struct tw_err *err);
	/* Of one component; NULL: its weights are not small. */
	int (*shape)(const struct tw_model_part *p, struct tw_weights_shape *out,
		     struct tw_err *err);
} kinds[] = {
	{ CURVEFIT, false, write_curve, curve_shape },
	{ "linear", true, write_linear, linear_shape },
	{ "xgboost", false, write_xgboost, NULL },
};

static const struct kind *find_predictor(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(kinds); i++)
		if (strcmp(kinds[i].predictor, name) == 0)
			return &kinds[i];
	return NULL;
}

static const struct kind *find_kind(const struct tw_model *m)
{
	return find_predictor(m->info.predictor);
}

bool tw_weights_exist(const struct tw_model *m)
{
	return find_kind(m) != NULL;
}

bool tw_weights_plain(const struct tw_model *m)
{
	const struct kind *k = find_kind(m);

	return k != NULL && k->plain;
}

bool tw_weights_small(const struct tw_model_info *i)
{
	const struct kind *k = find_predictor(i->predictor);

	return k != NULL && k->shape != NULL;
}

/*
 * A client computes all components from the first metric that it named, by the formula
 * that it knows by the trainer's name.
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
			return tw_fail(
				err, TW_UNSUPPORTED,
				"model '%s': clients know no %s curve by this name",
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
	const struct kind *k = find_kind(m);
	struct tw_weights_shape all = { .known = true,
					.non_negative = true,
					.additive = true };

	if (k == NULL || k->shape == NULL || m->parts == 0) {
		*out = (struct tw_weights_shape){ 0 };
		return 0;
	}
	for (size_t i = 0; i < m->parts; i++) {
		const enum tw_component c = m->part[i].component;
		struct tw_weights_shape s;

		if (k->shape(&m->part[i], &s, err) < 0)
			return -1;
		all.non_negative &= s.non_negative;
		all.additive &= s.additive;
		if (c != TW_PACKAGE && c != TW_PLATFORM)
			continue;
		all.floor = s.floor;
		all.rises = s.rises;
	}
	all.rises &= all.non_negative;
	*out = all;
	return 0;
}

/* Kepler up to 0.5.3 says "pkg", and knows no platform. */
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
	const struct kind *k = find_kind(m);
	unsigned clients = 0;

	if (k == NULL)
		return 0;
	if (!k->plain)
		return 1u << TW_CLIENT_CURRENT;
	for (int c = 0; c < TW_CLIENT_COUNT; c++)
		if (c == TW_CLIENT_0_5_TOTAL ? has_total(m)
					     : knows_components(m, (enum tw_client)c))
			clients |= 1u << c;
	return clients;
}

/* What only current clients bear beside the components. */
static int write_about(const struct tw_model_info *i, struct tw_buf *out,
		       struct tw_err *err)
{
	tw_buf_adds(out, "\"model_name\":");
	tw_buf_add_json_text(out, i->name, strlen(i->name));
	if (tw_machine_spec_known(&i->spec)) {
		json_t *spec = tw_machine_spec_to_json(&i->spec);

		if (spec == NULL)
			return tw_fail(err, TW_NOMEM, "machine spec");
		tw_buf_adds(out, ",\"machine_spec\":");
		tw_buf_add_json(out, spec);
		json_decref(spec);
	}
	if (isfinite(i->mae_w)) {
		tw_buf_adds(out, ",\"mae\":");
		tw_buf_add_double(out, i->mae_w);
	}
	return 0;
}

static int write_components(const struct tw_model *m, const struct kind *k,
			    enum tw_client client, struct tw_buf *out, struct tw_err *err)
{
	const char *separator = "";

	tw_buf_adds(out, "{");
	if (client == TW_CLIENT_CURRENT) {
		if (write_about(&m->info, out, err) < 0)
			return -1;
		separator = ",";
	}
	for (size_t i = 0; i < m->parts; i++) {
		const char *key = component_key(m->part[i].component, client);

		if (key == NULL)
			return tw_fail(err, TW_UNSUPPORTED,
				       "model '%s': this client knows no component '%s'",
				       m->info.name,
				       tw_component_name(m->part[i].component));
		tw_buf_addf(out, "%s\"%s\":", separator, key);
		separator = ",";
		if (k->write(&m->part[i], out, err) < 0)
			return tw_err_wrap(err, "weights of model '%s'", m->info.name);
	}
	tw_buf_adds(out, "}");
	return 0;
}

/* Of a node: the platform's, or package and dram; core and uncore are in the package. */
static int write_total(const struct tw_model *m, struct tw_buf *out, struct tw_err *err)
{
	json_t *total = NULL;
	int rc = -1;

	for (size_t i = 0; i < m->parts; i++) {
		enum tw_component c = m->part[i].component;

		if (c != TW_PLATFORM && c != TW_PACKAGE && c != TW_DRAM)
			continue;
		if (tw_linear_add(&total, &m->part[i], err) < 0) {
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
	const struct kind *k = find_kind(m);
	struct tw_weights_shape shape;
	char *metric;

	if (k == NULL)
		return tw_fail(err, TW_UNSUPPORTED,
			       "model '%s': %s models have no weights", m->info.name,
			       m->info.predictor);
	if (!k->plain && client != TW_CLIENT_CURRENT)
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
	return write_components(m, k, client, out, err);
}
