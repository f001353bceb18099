/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/categories.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tw_category_weight {
	char *name, *value;
	double weight;
};

static int read_weight(const json_t *values, const char *where, const char *name,
		       const char *value, struct tw_category_weights *out,
		       struct tw_err *err)
{
	struct tw_category_weight *w = &out->at[out->count];
	const json_t *entry;
	char place[256];

	if (tw_json_object(values, where, value, false, &entry, err) < 0)
		return -1;
	snprintf(place, sizeof(place), "%s.%.64s", where, value);
	if (tw_json_number(entry, place, "weight", false, &w->weight, err) < 0)
		return -1;
	out->count++;
	w->name = strdup(name);
	w->value = strdup(value);
	if (w->name == NULL || w->value == NULL)
		return tw_fail(err, TW_NOMEM, "%s", place);
	return 0;
}

static int read_variable(const json_t *variables, const char *where, const char *name,
			 struct tw_category_weights *out, struct tw_err *err)
{
	const json_t *values, *entry;
	const char *value;
	char place[160];

	if (tw_json_object(variables, where, name, false, &values, err) < 0)
		return -1;
	snprintf(place, sizeof(place), "%.80s.%.64s", where, name);
	if (json_object_size(values) > TW_CATEGORY_WEIGHTS_MAX - out->count)
		return tw_fail(err, TW_INVALID, "%s: more than %d values", place,
			       TW_CATEGORY_WEIGHTS_MAX);
	if (!tw_resize(&out->at, out->count + json_object_size(values) + 1,
		       sizeof(*out->at)))
		return tw_fail(err, TW_NOMEM, "%s", place);
	json_object_foreach((json_t *)(uintptr_t)values, value, entry)
		if (read_weight(values, place, name, value, out, err) < 0)
			return -1;
	return 0;
}

int tw_category_weights_read(const json_t *obj, const char *where, const char *key,
			     struct tw_category_weights *out, struct tw_err *err)
{
	const json_t *variables = NULL, *values;
	const char *name;
	char place[80];

	if (tw_json_object(obj, where, key, true, &variables, err) < 0)
		return -1;
	if (variables == NULL)
		return 0;
	snprintf(place, sizeof(place), "%.40s.%.32s", where, key);
	json_object_foreach((json_t *)(uintptr_t)variables, name, values)
		if (read_variable(variables, place, name, out, err) < 0)
			return -1;
	return 0;
}

/* The value of a category, or NULL. */
static const char *value_of(const struct tw_categories *given, const char *name)
{
	for (size_t i = 0; i < given->count; i++)
		if (strcmp(given->names[i], name) == 0)
			return given->values[i];
	return NULL;
}

double tw_category_weights_sum(const struct tw_category_weights *w,
			       const struct tw_categories *given)
{
	double sum = 0.0;

	if (given == NULL)
		return 0.0;
	for (size_t i = 0; i < w->count; i++) {
		const char *value = value_of(given, w->at[i].name);

		if (value != NULL && strcmp(value, w->at[i].value) == 0)
			sum += w->at[i].weight;
	}
	return sum;
}

void tw_category_weights_release(struct tw_category_weights *w)
{
	for (size_t i = 0; i < w->count; i++) {
		free(w->at[i].name);
		free(w->at[i].value);
	}
	free(w->at);
	*w = (struct tw_category_weights){ 0 };
}
