/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "trainer/fit/curvefit.h"
#include "trainer/fit/registry.h"

#include <math.h>

/*
 * watts = a exp(b x) + c, as Kepler computes it (docs/wire.md, "Weights"). The curve
 * rises, so a and b have the same sign: positive if power grows faster than load,
 * negative if it levels off. The shape is (exp(b x) - 1) / b, which approaches x for
 * small b. The parameter is ln |b|. trainer/fit/curvefit.c fits it.
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
	return tw_curvefit(s, shapes, TW_COUNT(shapes), text, err);
}

const struct tw_trainer tw_trainer_exponential = {
	.name = "ExponentialRegressionTrainer",
	.summary = "a exp(b x) + c of the main feature",
	.predictor = "curvefit",
	.min_rows = TW_CURVEFIT_ROWS_MIN,
	.cost_ns = 6200,
	.fit = fit_exponential,
};
