/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SAMPLES_H
#define TW_TRAINER_SAMPLES_H

/*
 * Samples: features and power of one energy component, the input of every trainer.
 */

#include "lib/field/energy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_rest;

/* Power and features, row by row. All pointers are borrowed. */
struct tw_samples {
	size_t rows;
	size_t cols;
	const double *x;             /* rows * cols, row major, raw units */
	const double *y;             /* rows: power, W */
	const char *const *features; /* cols: names */
	enum tw_component component; /* component of the power */
	/* Power is 0 W at zero features: a linear model has no constant. */
	bool from_zero;
	/*
	 * This many rows before and after a row share measurements with it. They must
	 * not train a model that the row validates.
	 */
	size_t overlap;
	const int64_t *time_ms; /* of each row, ascending; NULL: unknown */
	/* Fit as kepler-model-server does, with no regard to certificates. */
	bool unconstrained;
	/* Of these rows or, to be validated, of the training rows; NULL: not known yet.
	 */
	const struct tw_rest *rest;
	/*
	 * cols: whether the column grows with the load on a ray (docs/accuracy.md,
	 * "Certificate"). NULL: names decide, tw_feature_is_work().
	 */
	const bool *work;
};

/*
 * Limit of the magnitude of a feature or a power, far above any measurement. Its square
 * is finite as a double, and the value itself as a float.
 */
#define TW_SAMPLE_MAX 1e30

/* Copy a feature of the rows to out[s->rows]. */
void tw_samples_column(const struct tw_samples *s, size_t c, double *out);

/*
 * TW_INVALID for fewer than min_rows rows, for no features, and for values that are not
 * finite or larger than TW_SAMPLE_MAX; the text names the row and the feature.
 */
int tw_samples_check(const struct tw_samples *s, size_t min_rows, struct tw_err *err);

#endif /* TW_TRAINER_SAMPLES_H */
