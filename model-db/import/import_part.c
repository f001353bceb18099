/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/import/import_part.h"

#include "lib/core/base64.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "model-db/curve.h"
#include "model-db/model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tw_import_feature(const char *name)
{
	const struct tw_feature_old *old = tw_feature_old_find(name);

	if (old != NULL)
		return old->feature;
	return tw_feature_find(name) != NULL ? name : NULL;
}

/* A feature's entry in Numerical_Variables, in our units. */
struct variable {
	double scale, mean, weight;
	bool is_max; /* the scale is the highest value in training */
};

static int read_variable(const json_t *numeric, const char *feature, struct variable *out,
			 struct tw_err *err)
{
	struct variable v = { 0 };
	double variance = NAN;
	const char *name;
	json_t *entry = NULL, *found;

	json_object_foreach((json_t *)(uintptr_t)numeric, name, found) {
		const char *ours = tw_import_feature(name);

		if (ours != NULL && strcmp(ours, feature) == 0) {
			entry = found;
			break;
		}
	}
	if (entry == NULL)
		return tw_fail(err, TW_UNSUPPORTED, "no scale of '%s'", feature);
	v.scale = NAN;
	if (tw_json_number(entry, name, "scale", true, &v.scale, err) < 0 ||
	    tw_json_number(entry, name, "mean", true, &v.mean, err) < 0 ||
	    tw_json_number(entry, name, "variance", true, &variance, err) < 0 ||
	    tw_json_number(entry, name, "weight", true, &v.weight, err) < 0)
		return -1;
	/* Releases before 0.7 scale by (x - mean) / sqrt(variance). */
	v.is_max = !isnan(v.scale);
	if (v.is_max)
		v.mean = 0.0;
	else
		v.scale = sqrt(variance);
	if (!isfinite(v.scale) || v.scale < 0.0)
		return tw_fail(err, TW_INVALID, "%s: no scale, or a negative one", name);
	*out = v;
	return 0;
}

int tw_import_scales(const json_t *component, const struct tw_model *m, double *scale,
		     struct tw_err *err)
{
	const json_t *all, *numeric;

	if (tw_json_object(component, "weights", "All_Weights", false, &all, err) < 0 ||
	    tw_json_object(all, "weights", "Numerical_Variables", false, &numeric, err) <
		    0)
		return -1;
	for (size_t i = 0; i < m->info.features.count; i++) {
		struct variable v;

		if (read_variable(numeric, m->info.features.at[i], &v, err) < 0)
			return -1;
		scale[i] = v.scale;
	}
	return 0;
}

/* ---- weights ---- */

/* Add a component; takes text over, even on failure. Call in order of components. */
static int take_part(struct tw_model *m, const char *name, char *text, size_t len,
		     struct tw_err *err)
{
	struct tw_model_part *p = &m->part[m->parts];

	if (!tw_component_find(name, &p->component)) {
		free(text);
		return tw_fail(err, TW_UNSUPPORTED, "'%s' is not a component", name);
	}
	p->text = text;
	p->len = len;
	m->parts++;
	return tw_strs_copy(&p->features, &m->info.features, err);
}

/*
 * The training range of the component that was added last. Releases from 0.7 on scale
 * each feature by its highest value, and by 1 if that is 0; no feature is below 0.
 */
static int add_range(struct tw_model *m, const double *max, struct tw_err *err)
{
	struct tw_model_part *p = &m->part[m->parts - 1];

	p->feature_min = calloc(p->features.count, sizeof(*p->feature_min));
	p->feature_max = calloc(p->features.count, sizeof(*p->feature_max));
	if (p->feature_min == NULL || p->feature_max == NULL)
		return tw_fail(err, TW_NOMEM, "training ranges");
	memcpy(p->feature_max, max, p->features.count * sizeof(*max));
	return 0;
}

/* Add a component with the document as its text; takes doc over. NULL: no memory. */
static int take_document(struct tw_model *m, const char *name, json_t *doc,
			 struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char *text;
	size_t len;

	if (doc == NULL)
		return tw_fail(err, TW_NOMEM, "component");
	tw_buf_add_json(&b, doc);
	json_decref(doc);
	text = tw_buf_detach(&b, &len);
	if (text == NULL)
		return tw_fail(err, TW_NOMEM, "component");
	return take_part(m, name, text, len, err);
}

/* categorical may be NULL; its contents are checked when the model is loaded. */
static int import_linear(const json_t *all, const json_t *numeric, json_t *categorical,
			 const char *name, struct tw_model *m, struct tw_err *err)
{
	json_t *variables = json_object();
	double bias = 0.0, max[TW_MODEL_FEATURES_MAX];
	bool known = true;

	if (tw_json_number(all, "All_Weights", "Bias_Weight", true, &bias, err) < 0)
		goto fail;
	for (size_t i = 0; i < m->info.features.count; i++) {
		const char *feature = m->info.features.at[i];
		struct variable v;

		if (read_variable(numeric, feature, &v, err) < 0)
			goto fail;
		max[i] = v.scale;
		known &= v.is_max;
		if (v.scale > 0.0)
			bias -= v.weight * v.mean / v.scale;
		if (json_object_set_new(variables, feature,
					json_pack("{s:f,s:f,s:f,s:f}", "scale", v.scale,
						  "mean", 0.0, "variance",
						  v.scale * v.scale, "weight",
						  v.weight)) < 0) {
			tw_fail(err, TW_NOMEM, "weights");
			goto fail;
		}
	}
	if (take_document(m, name,
			  json_pack("{s:{s:f,s:o,s:o}}", "All_Weights", "Bias_Weight",
				    bias, "Categorical_Variables",
				    categorical != NULL ? json_incref(categorical)
							: json_object(),
				    "Numerical_Variables", variables),
			  err) < 0)
		return -1;
	return known ? add_range(m, max, err) : 0;
fail:
	json_decref(variables);
	return -1;
}

/* The component that was added last computes with one feature of the model. */
static int use_only(struct tw_model *m, const char *feature, struct tw_err *err)
{
	struct tw_strs *features = &m->part[m->parts - 1].features;

	tw_strs_clear(features);
	return tw_strs_adds(features, feature, err);
}

static const struct tw_curve_kind *curve_of(const char *trainer)
{
	for (size_t i = 0; i < tw_curve_kind_count(); i++)
		if (strcmp(tw_curve_kind_at(i)->trainer, trainer) == 0)
			return tw_curve_kind_at(i);
	return NULL;
}

static int import_curve(json_t *list, const json_t *numeric, const char *name,
			struct tw_model *m, struct tw_err *err)
{
	const struct tw_curve_kind *kind = curve_of(m->info.trainer);
	const struct tw_strs *f = &m->info.features;
	enum tw_component c = TW_PACKAGE;
	const char *feature;
	struct variable v;

	if (kind == NULL)
		return tw_fail(err, TW_UNSUPPORTED, "%s has no known curve",
			       m->info.trainer);
	(void)tw_component_find(name, &c);
	feature = f->at[tw_main_feature((const char *const *)f->at, f->count, c)];
	if (read_variable(numeric, feature, &v, err) < 0)
		return -1;
	if (take_document(m, name,
			  json_pack("{s:s,s:{s:{},s:{s:{s:f}},s:O}}", "curve", kind->name,
				    "All_Weights", "Categorical_Variables",
				    "Numerical_Variables", feature, "scale", v.scale,
				    "CurveFit_Weights", list),
			  err) < 0 ||
	    use_only(m, feature, err) < 0)
		return -1;
	return v.is_max ? add_range(m, &v.scale, err) : 0;
}

static int import_base64(const json_t *component, const json_t *trees, const char *name,
			 struct tw_model *m, struct tw_err *err)
{
	double scale[TW_MODEL_FEATURES_MAX];
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (tw_import_scales(component, m, scale, err) == 0 &&
	    tw_base64_read(json_string_value(trees), json_string_length(trees), &text,
			   &len, err) == 0 &&
	    tw_import_trees_part(text, len, scale, name, m, err) == 0)
		rc = 0;
	free(text);
	return rc;
}

int tw_import_weights_part(const json_t *component, const char *name, struct tw_model *m,
			   const char **predictor, struct tw_err *err)
{
	const json_t *all, *numeric, *categorical = NULL;
	json_t *curve, *trees;
	bool categories;

	if (tw_json_object(component, name, "All_Weights", false, &all, err) < 0 ||
	    tw_json_object(all, name, "Numerical_Variables", false, &numeric, err) < 0 ||
	    tw_json_object(all, name, "Categorical_Variables", true, &categorical, err) <
		    0)
		return -1;
	categories = categorical != NULL && json_object_size(categorical) > 0;
	curve = json_object_get(all, "CurveFit_Weights");
	trees = json_object_get(all, "XGboost_Weights");
	if (categories && (json_is_array(curve) || json_is_string(trees)))
		return tw_fail(err, TW_UNSUPPORTED, "%s: it has categories", name);
	if (json_is_array(curve)) {
		*predictor = "curvefit";
		return import_curve(curve, numeric, name, m, err);
	}
	if (json_is_string(trees)) {
		*predictor = "xgboost";
		return import_base64(component, trees, name, m, err);
	}
	*predictor = "linear";
	return import_linear(all, numeric,
			     categories ? json_object_get(all, "Categorical_Variables")
					: NULL,
			     name, m, err);
}

/* ---- trees ---- */

/* Scale the thresholds of inner nodes. A leaf's "threshold" is its value. */
static int scale_tree(json_t *tree, const double *scale, size_t features,
		      struct tw_err *err)
{
	json_t *conditions = json_object_get(tree, "split_conditions");
	const json_t *left = json_object_get(tree, "left_children");
	const json_t *indices = json_object_get(tree, "split_indices");
	const size_t n = json_array_size(conditions);

	if (json_array_size(left) != n || json_array_size(indices) != n || n == 0)
		return tw_fail(err, TW_PARSE, "a tree's lists differ in length");
	for (size_t i = 0; i < n; i++) {
		const json_int_t f = json_integer_value(json_array_get(indices, i));
		const double t = json_number_value(json_array_get(conditions, i));

		if (json_integer_value(json_array_get(left, i)) < 0)
			continue;
		if (f < 0 || (size_t)f >= features)
			return tw_fail(err, TW_PARSE, "a tree has no feature %lld",
				       (long long)f);
		if (!(fabs(t * scale[f]) <= FLT_MAX))
			return tw_fail(err, TW_INVALID, "a threshold of %g is too large",
				       t * scale[f]);
		/* XGBoost compares floats. */
		if (json_array_set_new(conditions, i,
				       json_real((double)(float)(t * scale[f]))) < 0)
			return tw_fail(err, TW_NOMEM, "trees");
	}
	return 0;
}

int tw_import_trees_part(const char *text, size_t len, const double *scale,
			 const char *name, struct tw_model *m, struct tw_err *err)
{
	json_t *doc = NULL, *trees = NULL, *tree;
	char *written;
	size_t i;

	if (tw_json_parse(text, len, name, &doc, err) < 0)
		return -1;
	if (json_unpack(doc, "{s:{s:{s:{s:o}}}}", "learner", "gradient_booster", "model",
			"trees", &trees) < 0 ||
	    !json_is_array(trees)) {
		tw_fail(err, TW_PARSE, "%s: expected XGBoost's trees", name);
		goto fail;
	}
	json_array_foreach(trees, i, tree)
		if (scale_tree(tree, scale, m->info.features.count, err) < 0)
			goto fail;
	/*
	 * XGBoost reads no integers among its floats: "0" must stay "0.0". Nine digits
	 * hold a float.
	 */
	written = json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(FLT_DECIMAL_DIG));
	json_decref(doc);
	if (written == NULL)
		return tw_fail(err, TW_NOMEM, "trees");
	return take_part(m, name, written, strlen(written), err) < 0
		       ? -1
		       : add_range(m, scale, err);
fail:
	json_decref(doc);
	return -1;
}
