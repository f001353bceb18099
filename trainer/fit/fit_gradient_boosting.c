/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/boost.h"
#include "trainer/fit/registry.h"

/*
 * Boosted trees as scikit-learn's GradientBoostingRegressor grows them by default (J. H.
 * Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of
 * Statistics 29(5), 2001): depth 3 at most, starting from the mean power, and leaves that
 * are the mean residual, without a penalty. trainer/fit/boost.h grows them.
 */
static const struct tw_boost how = {
	.max_depth = "3",
	.lambda = "0",
	.from_mean = true,
	.monotone = true,
};

static int fit_gradient_boosting(const struct tw_samples *s, uint64_t seed,
				 struct tw_buf *text, struct tw_err *err)
{
	return tw_boost(s, &how, seed, text, err);
}

const struct tw_trainer tw_trainer_gradient_boosting = {
	.name = "GradientBoostingRegressorTrainer",
	.summary = "boosted trees, 100 of depth 3 (XGBoost)",
	.predictor = "xgboost",
	.min_rows = TW_BOOST_ROWS_MIN,
	.cost_ns = 22000,
	.fit = fit_gradient_boosting,
};
