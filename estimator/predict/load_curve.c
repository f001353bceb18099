/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/load_curve.h"

#include "estimator/predict/power_model.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"

#include <math.h>
#include <stdlib.h>

double tw_load_curve_share(size_t point)
{
	return (double)point / (TW_LOAD_CURVE_POINTS - 1);
}

/* Rows of the part's own features, in its order. */
static int fill_rows(const struct tw_power_model *p, size_t part, double *x,
		     size_t *columns, struct tw_err *err)
{
	double min, max;
	const char *name;
	size_t count = 0;

	while (tw_power_model_range(p, part, count, &min, &max) != NULL)
		count++;
	for (size_t i = 0; (name = tw_power_model_range(p, part, i, &min, &max)) != NULL;
	     i++) {
		if (isnan(max))
			return tw_fail(err, TW_NOTFOUND,
				       "the model has no training range of '%s'", name);
		for (size_t r = 0; r < TW_LOAD_CURVE_POINTS; r++)
			x[r * count + i] = tw_feature_is_work(name)
						   ? max * tw_load_curve_share(r)
						   : max;
	}
	*columns = count;
	return 0;
}

int tw_load_curve(const struct tw_power_model *p, size_t part, struct tw_load_curve *out,
		  struct tw_err *err)
{
	struct tw_load_curve c = { .component = tw_power_model_component(p, part) };
	double expected_w[TW_LOAD_CURVE_POINTS];
	struct tw_rows in = { .rows = TW_LOAD_CURVE_POINTS };
	double *x = calloc(TW_LOAD_CURVE_POINTS * TW_MODEL_FEATURES_MAX, sizeof(*x));
	int rc = -1;

	if (x == NULL) {
		tw_fail(err, TW_NOMEM, "load curve");
		goto out;
	}
	if (fill_rows(p, part, x, &in.stride, err) < 0)
		goto out;
	in.x = x;
	tw_power_model_predict(p, part, &in, c.watts);
	tw_power_model_errors(p, part, &in, c.watts, expected_w, c.half_w);
	*out = c;

	rc = 0;
out:
	free(x);
	return rc;
}
