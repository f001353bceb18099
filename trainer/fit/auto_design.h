/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_AUTO_DESIGN_H
#define TW_TRAINER_AUTO_DESIGN_H

/*
 * Samples over columns that are derived from features (estimator/predict/derived.h),
 * computed by the code that a predictor computes them with.
 */

#include "estimator/predict/derived.h"
#include "trainer/fit/trainer.h"

struct tw_err;

struct tw_auto_columns {
	struct tw_derived at[TW_DERIVED_MAX];
	size_t count;
};

/* Which rows: all, or those of a series that have a row before them. */
struct tw_auto_rows {
	uint32_t *at; /* rows of the samples, rising */
	size_t count;
	double step_ms; /* of a series; 0: none, rows stand alone */
};

/* *out must be all zero; free ->at. At most `most`, evenly chosen. */
int tw_auto_rows_init(struct tw_auto_rows *out, const struct tw_samples *s,
		      double step_ms, size_t most, struct tw_err *err);

/* The median step between rows; 0 where there is none. */
int tw_auto_step(const struct tw_samples *s, double *step_ms, struct tw_err *err);

struct tw_auto_design {
	struct tw_samples samples; /* no time stamps: its rows stand alone */
	double *x, *y;
	char (*names)[TW_DERIVED_NAME];
	const char **name;
};

/* *out must be all zero; it is yours, on failure too: tw_auto_design_release(). */
int tw_auto_design_init(struct tw_auto_design *out, const struct tw_samples *s,
			const struct tw_auto_rows *rows, const struct tw_auto_columns *c,
			struct tw_err *err);

void tw_auto_design_release(struct tw_auto_design *d);

#endif /* TW_TRAINER_AUTO_DESIGN_H */
