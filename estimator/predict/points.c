/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/points.h"

#include "estimator/predict/lists.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int read_point(const json_t *v, const char *where, size_t cols, double *z,
		      struct tw_err *err)
{
	if (!json_is_array(v))
		return tw_fail(err, TW_PARSE, "%s: expected a list, got %s", where,
			       tw_json_type_name(v));
	if (json_array_size(v) != cols)
		return tw_fail(err, TW_INVALID, "%s: %zu elements, expected %zu", where,
			       json_array_size(v), cols);
	for (size_t c = 0; c < cols; c++) {
		const json_t *n = json_array_get(v, c);

		if (!json_is_number(n) || !isfinite(json_number_value(n)))
			return tw_fail(err, TW_PARSE,
				       "%s[%zu]: expected a finite number, got %s", where,
				       c, tw_json_type_name(n));
		z[c] = json_number_value(n);
	}
	return 0;
}

int tw_points_read(const json_t *obj, const char *where, size_t cols,
		   struct tw_points *out, struct tw_err *err)
{
	const json_t *list;

	if (cols == 0 || cols > TW_POINTS_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%zu features, expected 1 to %d", cols,
			       TW_POINTS_FEATURES_MAX);
	if (tw_json_array(obj, where, "points", false, &list, err) < 0)
		return -1;
	out->cols = cols;
	out->count = json_array_size(list);
	if (out->count > TW_POINTS_MAX)
		return tw_fail(err, TW_INVALID, "%s.points: %zu, limit is %d", where,
			       out->count, TW_POINTS_MAX);
	out->inverse = calloc(cols, sizeof(*out->inverse));
	out->z = calloc(out->count + 1, cols * sizeof(*out->z));
	out->value = calloc(out->count + 1, sizeof(*out->value));
	if (out->inverse == NULL || out->z == NULL || out->value == NULL)
		return tw_fail(err, TW_NOMEM, "%s: %zu points", where, out->count);
	for (size_t i = 0; i < out->count; i++) {
		char place[64];

		snprintf(place, sizeof(place), "%.20s.points[%zu]", where, i);
		if (read_point(json_array_get(list, i), place, cols, out->z + i * cols,
			       err) < 0)
			return -1;
	}
	if (tw_list_read_inverse_scales(obj, where, "scale", cols, out->inverse, err) < 0)
		return -1;
	return tw_list_read(obj, where, "values", out->count, out->value, err);
}

double tw_points_distance(const struct tw_points *p, size_t point, const double *z)
{
	const double *at = p->z + point * p->cols;
	double sum = 0.0;

	for (size_t c = 0; c < p->cols; c++) {
		const double d = z[c] - at[c];

		sum += d * d;
	}
	return sum;
}

void tw_points_release(struct tw_points *p)
{
	free(p->inverse);
	free(p->z);
	free(p->value);
	*p = (struct tw_points){ 0 };
}
