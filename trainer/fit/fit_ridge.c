/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/linear.h"
#include "trainer/fit/registry.h"
#include "trainer/fit/ridge.h"
#include "trainer/fit/samples.h"

/*
 * A constant and a weight for each feature by ridge regression. None is negative: Kepler
 * converts the sum to unsigned milliwatts, so a negative power would become 1.8e16 W.
 */
static int fit_ridge(const struct tw_samples *s, uint64_t seed, struct tw_buf *text,
		     struct tw_err *err)
{
	(void)seed;
	if (tw_samples_check(s, tw_trainer_ridge.min_rows, err) < 0)
		return -1;
	if (s->unconstrained)
		return tw_linear_fit(s, tw_ridge_solve, false, text, err);
	return tw_linear_fit(s, tw_ridge_solve_non_negative, true, text, err);
}

const struct tw_trainer tw_trainer_ridge = {
	.name = "SGDRegressorTrainer",
	.summary = "linear, no negative weight or constant (ridge, cross validation)",
	.predictor = "linear",
	.min_rows = 2,
	.cost_ns = 500,
	.fit = fit_ridge,
};
