/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SCALED_ROWS_H
#define TW_TRAINER_SCALED_ROWS_H

/*
 * Training rows as points in the space of the scaled features, and how models that are
 * made of them are written (docs/model-format.md).
 */

#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_samples;

struct tw_scaled_rows {
	size_t rows, cols;
	double *scale; /* cols: largest magnitude; 1 where all are 0 */
	double *z;     /* rows * cols: x / scale */
	double *y;     /* rows */
};

/*
 * Of more than rows_max rows, so many that lie evenly among them. s has been checked.
 * *out must be all zero; it is yours, on failure too: tw_scaled_rows_release().
 */
int tw_scaled_rows_init(struct tw_scaled_rows *out, const struct tw_samples *s,
			size_t rows_max, struct tw_err *err);

void tw_scaled_rows_release(struct tw_scaled_rows *d);

/*
 * Append "scale":[..],"points":[..],"values":[..] of the rows whose value is not left
 * out: value[row], or NaN to leave it out.
 */
void tw_scaled_rows_text(const struct tw_scaled_rows *d, const double *value,
			 struct tw_buf *text);

#endif /* TW_TRAINER_SCALED_ROWS_H */
