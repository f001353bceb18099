/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/trainer.h"

#include "lib/core/array.h"
#include "lib/core/err.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool good(double v)
{
	return fabs(v) <= TW_SAMPLE_MAX; /* false for NaN */
}

void tw_samples_column(const struct tw_samples *s, size_t c, double *out)
{
	for (size_t r = 0; r < s->rows; r++)
		out[r] = s->x[r * s->cols + c];
}

double tw_samples_scale(const struct tw_samples *s, size_t c, double least)
{
	double largest = 0.0;

	for (size_t r = 0; r < s->rows; r++)
		largest = fmax(largest, fabs(s->x[r * s->cols + c]));
	return largest > least ? largest : 1.0;
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

/* In alphabetical order, which is that of lists and of the documentation. */
static const struct tw_trainer *const trainers[] = {
	&tw_trainer_auto,
	&tw_trainer_exponential,
#if TW_XGBOOST
	&tw_trainer_gradient_boosting,
#endif
	&tw_trainer_knn,
	&tw_trainer_linear,
	&tw_trainer_logarithmic,
	&tw_trainer_logistic,
	&tw_trainer_polynomial,
	&tw_trainer_ridge,
#if TW_LIBSVM
	&tw_trainer_svr,
#endif
#if TW_XGBOOST
	&tw_trainer_xgboost,
#endif
};

size_t tw_trainer_count(void)
{
	return TW_COUNT(trainers);
}

const struct tw_trainer *tw_trainer_at(size_t i)
{
	assert(i < TW_COUNT(trainers));
	return trainers[i];
}

const struct tw_trainer *tw_trainer_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(trainers); i++)
		if (strcmp(trainers[i]->name, name) == 0)
			return trainers[i];
	return NULL;
}
