/* SPDX-License-Identifier: Apache-2.0 */
#include "server/old_names.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/field/feature.h"
#include "lib/json/json.h"

#include <stdlib.h>
#include <string.h>

int tw_old_names_replace(struct tw_strs *metrics, unsigned *replaced, struct tw_err *err)
{
	for (size_t i = 0; i < metrics->count; i++) {
		const struct tw_feature_old *old = tw_feature_old_alias(metrics, i);
		char *name;

		if (old == NULL)
			continue;
		if (tw_text_copy(old->feature, strlen(old->feature), &name, err) < 0)
			return -1;
		free(metrics->at[i]);
		metrics->at[i] = name;
		*replaced |= 1u << (old - tw_feature_old_at(0));
	}
	return 0;
}

static int rename_key(json_t *obj, const char *from, const char *to)
{
	json_t *v = json_object_get(obj, from);

	if (v == NULL)
		return 0;
	if (json_object_set(obj, to, v) < 0)
		return -1;
	return json_object_del(obj, from);
}

/* A component's weights, or the bare object of totals. */
static int rename_variables(json_t *component, unsigned replaced)
{
	json_t *numeric = json_object_get(json_object_get(component, "All_Weights"),
					  "Numerical_Variables");

	for (size_t i = 0; i < tw_feature_old_count(); i++) {
		const struct tw_feature_old *old = tw_feature_old_at(i);

		if ((replaced >> i & 1) != 0 &&
		    rename_key(numeric, old->feature, old->name) < 0)
			return -1;
	}
	return 0;
}

int tw_old_names_restore(const char *weights, size_t len, unsigned replaced,
			 struct tw_buf *out, struct tw_err *err)
{
	json_t *all, *component;
	const char *key;
	int rc = -1;

	if (tw_json_parse(weights, len, "weights", &all, err) < 0)
		return -1;
	if (rename_variables(all, replaced) < 0)
		goto nomem;
	json_object_foreach(all, key, component) {
		if (rename_variables(component, replaced) < 0)
			goto nomem;
	}
	tw_buf_add_json(out, all);
	if (tw_buf_failed(out))
		goto nomem;
	rc = 0;
	goto out;
nomem:
	tw_fail(err, TW_NOMEM, "weights");
out:
	json_decref(all);
	return rc;
}
