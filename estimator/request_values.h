/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REQUEST_VALUES_H
#define TW_ESTIMATOR_REQUEST_VALUES_H

/*
 * The table of a request's values as it grows, value by value. All rows are as long as
 * the first. All zero bytes is an empty table.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

struct tw_values {
	double *x; /* row major; NaN: missing */
	size_t count, size;
	size_t rows, cols;
	size_t in_row; /* values of the row being read */
};

/* Errors name the value: "values[3][2]: ..". */
int tw_values_add(struct tw_values *v, double value, struct tw_err *err);
int tw_values_add_missing(struct tw_values *v, struct tw_err *err);
/* The number that the text is, else missing. */
int tw_values_add_text(struct tw_values *v, const char *text, size_t len,
		       struct tw_err *err);
int tw_values_end_row(struct tw_values *v, struct tw_err *err);

bool tw_values_is_missing(double value);
/* Empty, with the memory that a usual table takes. */
void tw_values_reset(struct tw_values *v);
void tw_values_release(struct tw_values *v);

#endif /* TW_ESTIMATOR_REQUEST_VALUES_H */
