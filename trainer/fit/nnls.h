/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_NNLS_H
#define TW_TRAINER_NNLS_H

/*
 * Non-negative least squares:
 *
 *	minimise  || c - R w ||^2	with w >= 0
 *
 * Source: C. L. Lawson, R. J. Hanson, Solving Least Squares Problems, 1974, chapter 23.
 */

#include <stddef.h>

struct tw_err;

/* r: n x n, row major, upper triangular. c: n. w: n, the result. */
int tw_nnls(size_t n, const double *r, const double *c, double *w, struct tw_err *err);

#endif /* TW_TRAINER_NNLS_H */
