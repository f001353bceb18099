/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/gblinear.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "model-db/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT "All_Weights"
#define NUMERIC "Numerical_Variables"

/* XGBoost takes no integer for a weight: 2 is written as 2.00000000e+00. */
static void add_weight(struct tw_buf *b, double watts)
{
	tw_buf_addf(b, "%.8e", watts);
}

/* As estimator/predict/predict_linear.c: a feature of scale 0 has no effect. */
static int add_slope(const json_t *numeric, const char *feature, struct tw_buf *b,
		     struct tw_err *err)
{
	const json_t *entry;
	double scale, weight;

	if (tw_json_object(numeric, ROOT "." NUMERIC, feature, false, &entry, err) < 0 ||
	    tw_json_number(entry, feature, "scale", false, &scale, err) < 0 ||
	    tw_json_number(entry, feature, "weight", false, &weight, err) < 0)
		return -1;
	add_weight(b, scale != 0.0 ? weight / scale : 0.0);
	tw_buf_adds(b, ",");
	return 0;
}

/* The weight of each feature, then the bias. */
static int add_weights(const json_t *all, const struct tw_strs *features,
		       struct tw_buf *b, struct tw_err *err)
{
	const json_t *numeric;
	double bias = 0.0;

	if (tw_json_object(all, ROOT, NUMERIC, false, &numeric, err) < 0 ||
	    tw_json_number(all, ROOT, "Bias_Weight", true, &bias, err) < 0)
		return -1;
	for (size_t i = 0; i < features->count; i++)
		if (add_slope(numeric, features->at[i], b, err) < 0)
			return -1;
	add_weight(b, bias);
	return 0;
}

static int add_document(const json_t *all, const struct tw_strs *features,
			struct tw_buf *b, struct tw_err *err)
{
	/* The attribute is for XGBRegressor of XGBoost 1: it takes others for trees. */
	tw_buf_adds(b, "{\"version\":[1,6,0],\"learner\":{\"attributes\":{"
		       "\"scikit_learn\":\"{\\\"booster\\\":\\\"gblinear\\\"}\"},"
		       "\"feature_names\":[],\"feature_types\":[],\"gradient_booster\":{"
		       "\"name\":\"gblinear\",\"model\":{\"boosted_rounds\":1,"
		       "\"weights\":[");
	if (add_weights(all, features, b, err) < 0)
		return -1;
	tw_buf_addf(b,
		    "]}},\"learner_model_param\":{\"base_score\":\"0E0\",\"num_class\":"
		    "\"0\",\"num_feature\":\"%zu\",\"num_target\":\"1\"},\"objective\":{"
		    "\"name\":\"reg:squarederror\",\"reg_loss_param\":{"
		    "\"scale_pos_weight\":\"1\"}}}}",
		    features->count);
	return 0;
}

/* *text is the caller's; NULL: there are weights of categories. */
static int write_part(const struct tw_model_part *p, char **text, size_t *len,
		      struct tw_err *err)
{
	const char *where = tw_component_name(p->component);
	const json_t *all, *categories = NULL;
	struct tw_buf b = { 0 };
	json_t *doc = NULL;
	int rc = -1;

	*text = NULL;
	if (tw_json_parse(p->text, p->len, where, &doc, err) < 0 ||
	    tw_json_object(doc, where, ROOT, false, &all, err) < 0 ||
	    tw_json_object(all, ROOT, "Categorical_Variables", true, &categories, err) <
		    0)
		goto out;
	if (json_object_size(categories) == 0) {
		if (add_document(all, &p->features, &b, err) < 0)
			goto out;
		*text = tw_buf_detach(&b, len);
		if (*text == NULL) {
			tw_fail(err, TW_NOMEM, "weights of %s", where);
			goto out;
		}
	}
	rc = 0;
out:
	tw_buf_clear(&b);
	json_decref(doc);
	return rc;
}

int tw_model_to_gblinear(struct tw_model *m, struct tw_err *err)
{
	struct {
		char *text;
		size_t len;
	} fresh[TW_COMPONENT_COUNT] = { 0 };
	int rc = -1;

	if (strcmp(m->info.predictor, "linear") != 0)
		return 0;
	for (size_t i = 0; i < m->parts; i++) {
		if (write_part(&m->part[i], &fresh[i].text, &fresh[i].len, err) < 0) {
			tw_err_wrap(err, "model '%s'", m->info.name);
			goto out;
		}
		if (fresh[i].text == NULL) {
			rc = 0;
			goto out;
		}
	}
	for (size_t i = 0; i < m->parts; i++) {
		free(m->part[i].text);
		m->part[i].text = fresh[i].text;
		m->part[i].len = fresh[i].len;
		fresh[i].text = NULL;
	}
	snprintf(m->info.predictor, sizeof(m->info.predictor), "xgboost");
	rc = 0;
out:
	for (size_t i = 0; i < m->parts; i++)
		free(fresh[i].text);
	return rc;
}
