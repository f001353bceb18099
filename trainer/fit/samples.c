/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/samples.h"

#include "lib/core/err.h"
#include "lib/workers/workers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static bool good(double v)
{
	return fabs(v) <= TW_SAMPLE_MAX; /* false for NaN */
}

size_t tw_samples_all(const struct tw_samples *s)
{
	return s->workers != NULL ? s->all_rows : s->rows;
}

int tw_samples_column(const struct tw_samples *s, size_t c, double *out,
		      struct tw_err *err)
{
	double *own = malloc((s->rows + 1) * sizeof(*own));
	int status;

	if (own == NULL)
		return tw_fail(err, TW_NOMEM, "a column of %zu rows", s->rows);
	for (size_t r = 0; r < s->rows; r++)
		own[r] = c < s->cols ? s->x[r * s->cols + c] : s->y[r];
	status = tw_workers_gather(s->workers, own, s->rows, out, err);
	free(own);
	return status;
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
	const size_t rows = tw_samples_all(s);

	if (rows < min_rows || rows == 0)
		return tw_fail(err, TW_INVALID, "%zu rows, need at least %zu", rows,
			       min_rows > 0 ? min_rows : 1);
	if (s->cols == 0)
		return tw_fail(err, TW_INVALID, "no features");
	check_values(s, err);
	return tw_workers_agree(s->workers, err);
}
