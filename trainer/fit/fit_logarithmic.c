/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/curvefit.h"
#include "trainer/fit/registry.h"

#include <math.h>

/*
 * watts = a ln(b x + 1) + c, as Kepler computes it (docs/wire.md, "Weights"), a and b
 * not negative: power that rises ever more slowly. The parameter of the shape is ln b.
 * trainer/fit/curvefit.c fits it.
 */
static double value(const double *param, double x)
{
	return log1p(exp(param[0]) * x);
}

static void to_weights(const double *param, double height, double base, double *weight)
{
	weight[0] = height;
	weight[1] = exp(param[0]);
	weight[2] = base;
}

/* b from 0.001 to 1e6. */
static const struct tw_shape shape = {
	.curve = "logarithmic",
	.param = { { .low = -6.9, .high = 13.8, .start = { -2, 1, 4, 8 }, .starts = 4 } },
	.params = 1,
	.value = value,
	.weights = to_weights,
};

static int fit_logarithmic(const struct tw_samples *s, uint64_t seed, struct tw_buf *text,
			   struct tw_err *err)
{
	(void)seed;
	return tw_curvefit(s, &shape, 1, text, err);
}

const struct tw_trainer tw_trainer_logarithmic = {
	.name = "LogarithmicRegressionTrainer",
	.summary = "a ln(b x + 1) + c of the main feature",
	.predictor = "curvefit",
	.min_rows = TW_CURVEFIT_ROWS_MIN,
	.cost_ns = 3800,
	.fit = fit_logarithmic,
};
