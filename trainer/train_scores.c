/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_scores.h"

#include "lib/json/json.h"
#include "trainer/train_unit.h"

#include <math.h>
#include <stdio.h>

static json_t *rounded(double v)
{
	return isfinite(v) ? json_real(round(v * 1e4) / 1e4) : json_null();
}

static int set(json_t *obj, const char *infix, const char *name, json_t *v)
{
	char key[96];

	snprintf(key, sizeof(key), "%s_%s", infix, name);
	return json_object_set_new(obj, key, v);
}

int tw_train_scores_add(json_t *metadata, const char *infix, enum tw_component c,
			const struct tw_score *score)
{
	json_t *figures = tw_score_to_json(score), *v;
	int rc = figures != NULL ? 0 : -1;
	const char *name;
	char key[96];

	json_object_foreach(figures, name, v) {
		snprintf(key, sizeof(key), "%s_%s%s", tw_component_name(c), infix, name);
		if (json_object_set(metadata, key, v) < 0)
			rc = -1;
	}
	json_decref(figures);
	return rc;
}

int tw_train_scores_add_extra(json_t *metadata, const struct tw_train_unit *u,
			      size_t extra)
{
	const struct tw_folds *f = &u->data->extra[extra];
	double mae = NAN, mape = NAN;
	char infix[32];

	if (u->extra_err[extra].code != TW_OK)
		return set(metadata, f->scheme, "mae", json_null());
	snprintf(infix, sizeof(infix), "%s_", f->scheme);
	for (size_t c = 0; c < u->data->components; c++) {
		const struct tw_score *s = &u->extra[extra][c];

		if (tw_train_scores_add(metadata, infix, u->data->component[c], s) < 0)
			return -1;
		mae = fmax(mae, s->mae);
		mape = fmax(mape, s->mape);
	}
	if (f->names.count > 0 &&
	    set(metadata, f->scheme, "names", tw_json_texts(&f->names)) < 0)
		return -1;
	if (set(metadata, f->scheme, "folds", json_integer((json_int_t)f->count)) < 0 ||
	    set(metadata, f->scheme, "rows",
		json_integer((json_int_t)u->extra[extra][0].rows)) < 0 ||
	    set(metadata, f->scheme, "mae", rounded(mae)) < 0)
		return -1;
	return set(metadata, f->scheme, "mape", rounded(mape));
}
