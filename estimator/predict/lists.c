/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/lists.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>

int tw_numbers_read(const json_t *list, const char *where, size_t count, double *out,
		    struct tw_err *err)
{
	if (!json_is_array(list))
		return tw_fail(err, TW_PARSE, "%s: expected a list, got %s", where,
			       tw_json_type_name(list));
	if (json_array_size(list) != count)
		return tw_fail(err, TW_INVALID, "%s: %zu elements, expected %zu", where,
			       json_array_size(list), count);
	for (size_t i = 0; i < count; i++) {
		const json_t *v = json_array_get(list, i);

		if (!json_is_number(v) || !isfinite(json_number_value(v)))
			return tw_fail(err, TW_PARSE,
				       "%s[%zu]: expected a finite number, got %s", where,
				       i, tw_json_type_name(v));
		out[i] = json_number_value(v);
	}
	return 0;
}

int tw_list_read(const json_t *obj, const char *where, const char *key, size_t count,
		 double *out, struct tw_err *err)
{
	const json_t *list;
	char place[160];

	if (tw_json_array(obj, where, key, false, &list, err) < 0)
		return -1;
	snprintf(place, sizeof(place), "%s.%s", where, key);
	return tw_numbers_read(list, place, count, out, err);
}

int tw_list_read_inverse_scales(const json_t *obj, const char *where, const char *key,
				size_t count, double *out, struct tw_err *err)
{
	if (tw_list_read(obj, where, key, count, out, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const double inverse = out[i] != 0.0 ? 1.0 / out[i] : 0.0;

		if (out[i] < 0.0 || !isfinite(inverse))
			return tw_fail(err, TW_INVALID, "%s.%s[%zu]: %g is out of range",
				       where, key, i, out[i]);
		out[i] = inverse;
	}
	return 0;
}

void tw_rows_scale(const struct tw_rows *in, size_t r, const double *inverse,
		   size_t count, double *z)
{
	for (size_t c = 0; c < count; c++) {
		const double v = tw_rows_value(in, r, c);

		z[c] = isnan(v) ? 0.0 : v * inverse[c];
	}
}
