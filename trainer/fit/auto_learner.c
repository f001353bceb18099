/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/auto_learner.h"

#include "trainer/fit/extra_trees.h"

#include <assert.h>

#define TREES 32

#define LEARNER(id, text, ...)                                                     \
	static int fit_##id(const struct tw_samples *s, uint64_t seed,             \
			    struct tw_buf *out, struct tw_err *err)                \
	{                                                                          \
		static const struct tw_extra_trees how = { .trees = TREES,         \
							   __VA_ARGS__ };          \
                                                                                   \
		return tw_extra_trees(s, &how, seed, out, err);                    \
	}                                                                          \
	static const struct tw_trainer id = {                                      \
		.name = text, .predictor = "trees", .min_rows = 1, .fit = fit_##id \
	}

LEARNER(median_5, "trees, medians of 5 rows", .leaf = 5, .median = true);
LEARNER(median_3, "trees, medians of 3 rows", .leaf = 3, .median = true);
LEARNER(median_9, "trees, medians of 9 rows", .leaf = 9, .median = true);
LEARNER(mean_5, "trees, means of 5 rows", .leaf = 5);
LEARNER(log_5, "trees by logarithm, medians of 5 rows", .leaf = 5, .median = true,
	.by_size = true);

static const struct tw_trainer *const trees[] = { &median_5, &median_3, &median_9,
						  &mean_5, &log_5 };

static const char *const others[] = {
	"LinearRegressionTrainer",
	"SGDRegressorTrainer",
	"PolynomialRegressionTrainer",
	"KNeighborsRegressorTrainer",
	"LogarithmicRegressionTrainer",
	"SVRRegressorTrainer",
	"XgboostFitTrainer",
};

size_t tw_auto_trees_count(void)
{
	return sizeof(trees) / sizeof(trees[0]);
}

const struct tw_trainer *tw_auto_trees_at(size_t i)
{
	assert(i < tw_auto_trees_count());
	return trees[i];
}

size_t tw_auto_others_count(void)
{
	return sizeof(others) / sizeof(others[0]);
}

const struct tw_trainer *tw_auto_other_at(size_t i)
{
	assert(i < tw_auto_others_count());
	return tw_trainer_find(others[i]);
}
