/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_LISTS_H
#define TW_ESTIMATOR_LISTS_H

/*
 * Lists of numbers in components' files, read strictly, and rows scaled by them: what
 * several predictors share.
 */

#include <jansson.h>
#include <stddef.h>

struct tw_err;
struct tw_rows;

/* obj[key]: a list of exactly count finite numbers. Errors name where.key[i]. */
int tw_list_read(const json_t *obj, const char *where, const char *key, size_t count,
		 double *out, struct tw_err *err);

/* As above, and none is below 0: an element of 0 becomes an inverse of 0. */
int tw_list_read_inverse_scales(const json_t *obj, const char *where, const char *key,
				size_t count, double *out, struct tw_err *err);

/* z[count]: row r times the inverse scales; 0 where a feature is absent or NaN. */
void tw_rows_scale(const struct tw_rows *in, size_t r, const double *inverse,
		   size_t count, double *z);

#endif /* TW_ESTIMATOR_LISTS_H */
