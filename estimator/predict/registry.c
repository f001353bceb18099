/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/predictor.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Alphabetical, as in the documentation. */
static const struct tw_predictor *const predictors[] = {
	&tw_predictor_curvefit, &tw_predictor_ensemble, &tw_predictor_isotonic,
	&tw_predictor_knn,      &tw_predictor_linear,   &tw_predictor_polynomial,
	&tw_predictor_svr,      &tw_predictor_trees,    &tw_predictor_xgboost,
};

size_t tw_predictor_count(void)
{
	return TW_COUNT(predictors);
}

const struct tw_predictor *tw_predictor_at(size_t i)
{
	assert(i < TW_COUNT(predictors));
	return predictors[i];
}

const struct tw_predictor *tw_predictor_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(predictors); i++)
		if (strcmp(predictors[i]->name, name) == 0)
			return predictors[i];
	return NULL;
}

/* The file of the component is a text, or else root. */
static int load(const struct tw_predictor *p, const json_t *root, const char *text,
		size_t len, const struct tw_strs *features, void **out,
		struct tw_err *err)
{
	void *state = calloc(1, p->state_bytes);

	if (state == NULL)
		return tw_fail(err, TW_NOMEM, "model of %s", p->name);
	if ((p->read_text != NULL ? p->read_text(text, len, features, state, err)
				  : p->read(root, features, state, err)) < 0) {
		tw_predictor_free(p, state);
		return -1;
	}
	*out = state;
	return 0;
}

int tw_predictor_load(const struct tw_predictor *p, const char *text, size_t len,
		      const struct tw_strs *features, void **out, struct tw_err *err)
{
	json_t *root = NULL;
	int rc;

	if (p->read_text == NULL && tw_json_parse(text, len, "", &root, err) < 0)
		return -1;
	rc = load(p, root, text, len, features, out, err);
	json_decref(root);
	return rc;
}

int tw_predictor_load_json(const struct tw_predictor *p, const json_t *root,
			   const struct tw_strs *features, void **out, struct tw_err *err)
{
	struct tw_buf text = { 0 };
	int rc;

	if (p->read_text != NULL)
		tw_buf_add_json(&text, root);
	if (tw_buf_failed(&text))
		rc = tw_fail(err, TW_NOMEM, "text of a model");
	else
		rc = load(p, root, text.data, text.len, features, out, err);
	tw_buf_clear(&text);
	return rc;
}

void tw_predictor_free(const struct tw_predictor *p, void *state)
{
	if (state != NULL && p->release != NULL)
		p->release(state);
	free(state);
}
