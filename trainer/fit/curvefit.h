/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_CURVEFIT_H
#define TW_TRAINER_CURVEFIT_H

/*
 * Least squares for rising curves of a component's main feature. What makes a curve is a
 * shape with one or two parameters that it is not linear in; how high and how steep it
 * is follows from the shape by linear least squares.
 */

#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_samples;

/* The library wants as many rows as parameters. */
#define TW_CURVEFIT_ROWS_MIN 2
#define TW_SHAPE_PARAMS_MAX 2

struct tw_shape_param {
	double low, high;
	double start[4]; /* where to begin; each is within the bounds */
	size_t starts;
};

struct tw_shape {
	const char *curve; /* of model-db/curve.h */
	struct tw_shape_param param[TW_SHAPE_PARAMS_MAX];
	size_t params;
	/* Rises with x, which is 0 to 1. */
	double (*value)(const double *param, double x);
	/* The curve's weights for watts = height * value + base. */
	void (*weights)(const double *param, double height, double base, double *weight);
};

/*
 * Append the file of the best of several shapes. The curve rises or is level: a height
 * below 0 becomes 0.
 */
int tw_curvefit(const struct tw_samples *s, const struct tw_shape *shapes, size_t count,
		struct tw_buf *text, struct tw_err *err);

#endif /* TW_TRAINER_CURVEFIT_H */
