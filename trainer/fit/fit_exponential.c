/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/curvefit.h"
#include "trainer/fit/registry.h"

#include <math.h>

/*
 * watts = a exp(b x) + c, as Kepler computes it (docs/wire.md, "Weights"): rising, so
 * that a and b are both above 0 (power grows faster than load) or both below (it levels
 * off). The shape is (exp(b x) - 1) / b, which is x itself for small b; its parameter is
 * ln |b|. The fit: trainer/fit/curvefit.c.
 */
static double value(double b, double x)
{
	return expm1(b * x) / b;
}

static double steeper(const double *param, double x)
{
	return value(exp(param[0]), x);
}

static double flatter(const double *param, double x)
{
	return value(-exp(param[0]), x);
}

static void to_weights(double b, double height, double base, double *weight)
{
	weight[0] = height / b;
	weight[1] = b;
	weight[2] = base - height / b;
}

static void weights_steeper(const double *param, double height, double base,
			    double *weight)
{
	to_weights(exp(param[0]), height, base, weight);
}

static void weights_flatter(const double *param, double height, double base,
			    double *weight)
{
	to_weights(-exp(param[0]), height, base, weight);
}

/* |b| from 0.001 to 20. */
#define PARAM                                                                \
	{                                                                    \
		{                                                            \
			.low = -6.9, .high = 3.0, .start = { -2.3, 0, 1.6 }, \
			.starts = 3,                                         \
		}                                                            \
	}

static const struct tw_shape shapes[] = {
	{ "exponential", PARAM, 1, steeper, weights_steeper },
	{ "exponential", PARAM, 1, flatter, weights_flatter },
};

static int fit_exponential(const struct tw_samples *s, uint64_t seed, struct tw_buf *text,
			   struct tw_err *err)
{
	(void)seed;
	return tw_curvefit(s, shapes, sizeof(shapes) / sizeof(shapes[0]), text, err);
}

const struct tw_trainer tw_trainer_exponential = {
	.name = "ExponentialRegressionTrainer",
	.summary = "a exp(b x) + c of the main feature",
	.predictor = "curvefit",
	.min_rows = TW_CURVEFIT_ROWS_MIN,
	.fit = fit_exponential,
};
