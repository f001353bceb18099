/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/design.h"
#include "trainer/fit/linear.h"
#include "trainer/fit/nnls.h"
#include "trainer/fit/registry.h"
#include "trainer/fit/samples.h"

static int solve(const struct tw_design *d, double *weight, struct tw_err *err)
{
	return tw_nnls(d->cols, d->r, d->c, weight, err);
}

static int fit_linear(const struct tw_samples *s, uint64_t seed, struct tw_buf *text,
		      struct tw_err *err)
{
	(void)seed;
	if (tw_samples_check(s, tw_trainer_linear.min_rows, err) < 0)
		return -1;
	return tw_linear_fit(s, solve, true, text, err);
}

const struct tw_trainer tw_trainer_linear = {
	.name = "LinearRegressionTrainer",
	.summary = "linear, no negative weight or constant (Lawson-Hanson)",
	.predictor = "linear",
	.min_rows = 2,
	.cost_ns = 300,
	.fit = fit_linear,
};
