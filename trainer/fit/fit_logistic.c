/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/curvefit.h"
#include "trainer/fit/registry.h"

#include <math.h>

/*
 * watts = A / (1 + exp(-k (x - x0))) + off, as Kepler computes it (docs/wire.md,
 * "Weights"), A not negative: power between two levels. The parameters of the shape are
 * x0 and ln k. trainer/fit/curvefit.c fits it.
 */
static double value(const double *param, double x)
{
	return 1.0 / (1.0 + exp(-exp(param[1]) * (x - param[0])));
}

static void to_weights(const double *param, double height, double base, double *weight)
{
	weight[0] = height;
	weight[1] = param[0];
	weight[2] = exp(param[1]);
	weight[3] = base;
}

/* x0 from -1 to 1.5, relative to the largest x; k from 0.6 to 150. */
static const struct tw_shape shape = {
	.curve = "logistic",
	.param = { { .low = -1, .high = 1.5, .start = { 0, 0.25, 0.6 }, .starts = 3 },
		   { .low = -0.5, .high = 5, .start = { 1, 2.5 }, .starts = 2 } },
	.params = 2,
	.value = value,
	.weights = to_weights,
};

static int fit_logistic(const struct tw_samples *s, uint64_t seed, struct tw_buf *text,
			struct tw_err *err)
{
	(void)seed;
	return tw_curvefit(s, &shape, 1, text, err);
}

const struct tw_trainer tw_trainer_logistic = {
	.name = "LogisticRegressionTrainer",
	.summary = "A / (1 + exp(-k (x - x0))) + off of the main feature",
	.predictor = "curvefit",
	.min_rows = TW_CURVEFIT_ROWS_MIN,
	.cost_ns = 11000,
	.fit = fit_logistic,
};
