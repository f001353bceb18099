/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_LOAD_CURVE_H
#define TW_ESTIMATOR_LOAD_CURVE_H

/*
 * The power that a model predicts from rest to its largest training load: its features of
 * work are multiplied by factors from 0 to 1, together; others, such as a clock
 * frequency, keep their largest value.
 */

#include "lib/field/energy.h"

#include <stddef.h>

struct tw_err;
struct tw_power_model;

#define TW_LOAD_CURVE_POINTS 33

struct tw_load_curve {
	enum tw_component component;
	double watts[TW_LOAD_CURVE_POINTS];
	/* Half-width of the 95 % interval of each point; NaN: unknown. */
	double half_w[TW_LOAD_CURVE_POINTS];
};

/* The share of the largest load at a point: 0 to 1. */
double tw_load_curve_share(size_t point);

/*
 * The curve of a part. TW_NOTFOUND: the model has no training ranges, so its largest load
 * is unknown.
 */
int tw_load_curve(const struct tw_power_model *p, size_t part, struct tw_load_curve *out,
		  struct tw_err *err);

#endif /* TW_ESTIMATOR_LOAD_CURVE_H */
