/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SAMPLES_H
#define TW_TRAINER_SAMPLES_H

/*
 * What holds for all samples before any trainer sees them.
 */

#include "lib/field/energy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Targets and the matrix that explains them, row by row. Borrowed. */
struct tw_samples {
	size_t rows;
	size_t cols;
	const double *x;             /* rows * cols, row major, raw units */
	const double *y;             /* rows, watts */
	const char *const *features; /* cols names */
	enum tw_component component; /* whose watts they are */
	/* Zero features are 0 W by definition: what is linear has no constant. */
	bool from_zero;
	/* So many rows next to one have samples in common with it: they do not train a
	 * model that it judges. */
	size_t overlap;
	const int64_t *time_ms; /* of each row, rising; NULL: not known */
};

/*
 * The largest magnitude of a feature or a power. Far above anything that is
 * measured; squares of it stay finite in double, the value itself in float.
 */
#define TW_SAMPLE_MAX 1e30

/*
 * Refuse fewer rows than min_rows, no features, and values that are not finite or too
 * large, with TW_INVALID: "row 3, feature 'cpu_cycles': nan is no measurement".
 */
int tw_samples_check(const struct tw_samples *s, size_t min_rows, struct tw_err *err);

#endif /* TW_TRAINER_SAMPLES_H */
