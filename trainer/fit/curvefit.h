/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_CURVEFIT_H
#define TW_TRAINER_CURVEFIT_H

/*
 * Least squares for rising curves of the component's main feature. A shape has one or two
 * nonlinear parameters. Linear least squares gives height and base for each shape.
 */

#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_samples;

/* GSL needs at least as many rows as parameters. */
#define TW_CURVEFIT_ROWS_MIN 2
#define TW_SHAPE_PARAMS_MAX 2

struct tw_shape_param {
	double low, high;
	double start[4]; /* start values, within the bounds */
	size_t starts;
};

struct tw_shape {
	const char *curve; /* name in model-db/curve.h */
	struct tw_shape_param param[TW_SHAPE_PARAMS_MAX];
	size_t params;
	/* The shape at x, 0 to 1; rises with x. */
	double (*value)(const double *param, double x);
	/* Get the weights of the curve for watts = height * value + base. */
	void (*weights)(const double *param, double height, double base, double *weight);
};

/*
 * Append the text of the shape with the least error. The curve never falls: a negative
 * height becomes 0. Its power at 0 is in the interval of the power at rest
 * (trainer/fit/rest.h), unless the samples are unconstrained.
 */
int tw_curvefit(const struct tw_samples *s, const struct tw_shape *shapes, size_t count,
		struct tw_buf *text, struct tw_err *err);

#endif /* TW_TRAINER_CURVEFIT_H */
