/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SCALED_ROWS_H
#define TW_TRAINER_SCALED_ROWS_H

/*
 * Training rows with scaled features, and the text of models that consist of such rows
 * (docs/model-format.md): nearest neighbours and support vectors.
 */

#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_samples;

struct tw_scaled_rows {
	size_t rows, cols;
	double *scale; /* cols: largest magnitude; 1 if all are 0 */
	double *z;     /* rows * cols: x / scale */
	double *y;     /* rows: power, W */
};

/*
 * Scale the rows of s; of more than rows_max rows, an even selection. s has passed
 * tw_samples_check(). *out must be all zero; it is yours, on failure too:
 * tw_scaled_rows_release().
 */
int tw_scaled_rows_init(struct tw_scaled_rows *out, const struct tw_samples *s,
			size_t rows_max, struct tw_err *err);

void tw_scaled_rows_release(struct tw_scaled_rows *d);

/*
 * Append the members "scale", "points" and "values". value has a number for each row;
 * rows with NaN are left out.
 */
void tw_scaled_rows_text(const struct tw_scaled_rows *d, const double *value,
			 struct tw_buf *text);

#endif /* TW_TRAINER_SCALED_ROWS_H */
