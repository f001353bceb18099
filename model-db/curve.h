/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_CURVE_H
#define TW_MODEL_DB_CURVE_H

/*
 * Curves of one feature, as Kepler computes them (docs/wire.md, "Weights"), and the file
 * of a component that is a curve:
 *
 *	{"curve": "exponential",
 *	 "All_Weights": {"Categorical_Variables": {}, "CurveFit_Weights": [a, b, c],
 *	                 "Numerical_Variables": {"<feature>": {"scale": s}}}}
 *
 * Clients choose the formula by the trainer's name, so each kind has one trainer.
 */

#include <stddef.h>

struct tw_err;

#define TW_CURVE_WEIGHTS_MAX 4
#define TW_CURVE_FEATURE_MAX 128

struct tw_curve_kind {
	const char *name;
	const char *trainer;
	size_t weights;
	/* x is raw value / scale, finite and >= 0. The result may be infinite, not NaN.
	 */
	double (*value)(const double *weight, double x);
};

struct tw_curve {
	const struct tw_curve_kind *kind;
	char feature[TW_CURVE_FEATURE_MAX];
	double scale; /* above 0 */
	double weight[TW_CURVE_WEIGHTS_MAX];
};

size_t tw_curve_kind_count(void);
const struct tw_curve_kind *tw_curve_kind_at(size_t i);
/* NULL if there is no kind of that name. */
const struct tw_curve_kind *tw_curve_kind_find(const char *name);

/* Read a component's untrusted file. `where` is for errors. */
int tw_curve_read(const char *text, size_t len, const char *where, struct tw_curve *out,
		  struct tw_err *err);

/* Power in watts for a raw value of the feature; NaN and negative values count as 0. */
double tw_curve_watts(const struct tw_curve *c, double raw);

#endif /* TW_MODEL_DB_CURVE_H */
