/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_LISTS_H
#define TW_ESTIMATOR_LISTS_H

/*
 * Helpers of several predictors: strict readers of lists of numbers in a component's
 * file, and scaling of rows.
 */

#include <jansson.h>
#include <stddef.h>

struct tw_err;
struct tw_rows;

/* Read a list of exactly count finite numbers, which is at `where`. */
int tw_numbers_read(const json_t *list, const char *where, size_t count, double *out,
		    struct tw_err *err);

/* Read obj[key], a list of exactly count finite numbers. Errors name where.key[i]. */
int tw_list_read(const json_t *obj, const char *where, const char *key, size_t count,
		 double *out, struct tw_err *err);

/* Read a list of scales, 0 or more each, as inverses. The inverse of 0 is 0. */
int tw_list_read_inverse_scales(const json_t *obj, const char *where, const char *key,
				size_t count, double *out, struct tw_err *err);

/* Scale row r into z[count]. An absent or NaN feature is 0. */
void tw_rows_scale(const struct tw_rows *in, size_t r, const double *inverse,
		   size_t count, double *z);

#endif /* TW_ESTIMATOR_LISTS_H */
