/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/samples.h"

#include "lib/core/err.h"

#include <math.h>
#include <stdbool.h>

static bool good(double v)
{
	return fabs(v) <= TW_SAMPLE_MAX; /* false for NaN */
}

void tw_samples_column(const struct tw_samples *s, size_t c, double *out)
{
	for (size_t r = 0; r < s->rows; r++)
		out[r] = s->x[r * s->cols + c];
}

static int check_values(const struct tw_samples *s, struct tw_err *err)
{
	for (size_t r = 0; r < s->rows; r++) {
		const double *x = s->x + r * s->cols;

		for (size_t c = 0; c < s->cols; c++)
			if (!good(x[c]))
				return tw_fail(err, TW_INVALID,
					       "row %zu, feature '%s': %g is not finite "
					       "or too large",
					       r, s->features[c], x[c]);
		if (!good(s->y[r]))
			return tw_fail(err, TW_INVALID,
				       "row %zu, power: %g is not finite or too large", r,
				       s->y[r]);
	}
	return 0;
}

int tw_samples_check(const struct tw_samples *s, size_t min_rows, struct tw_err *err)
{
	if (s->rows < min_rows || s->rows == 0)
		return tw_fail(err, TW_INVALID, "%zu rows, need at least %zu", s->rows,
			       min_rows > 0 ? min_rows : 1);
	if (s->cols == 0)
		return tw_fail(err, TW_INVALID, "no features");
	return check_values(s, err);
}
