/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_CHOLESKY_H
#define TW_MODEL_DB_CHOLESKY_H

/*
 * The Cholesky factor of a symmetric matrix of some hundred rows: n x n, row major. Only
 * the upper triangle is read and written.
 */

#include <stdbool.h>
#include <stddef.h>

/* A = U' U in the upper triangle. False if A is not positive definite. */
bool tw_cholesky(double *a, size_t n);

/* x = U'^-1 y; x may be y. */
void tw_cholesky_half(const double *u, size_t n, const double *y, double *x);

/* x = (U' U)^-1 y; x may be y. */
void tw_cholesky_solve(const double *u, size_t n, const double *y, double *x);

#endif /* TW_MODEL_DB_CHOLESKY_H */
