/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/prior/cholesky.h"

#include <math.h>
#include <string.h>

bool tw_cholesky(double *a, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		double *u = a + k * n;

		if (!(u[k] > 0))
			return false;
		u[k] = sqrt(u[k]);
		for (size_t j = k + 1; j < n; j++)
			u[j] /= u[k];
		for (size_t i = k + 1; i < n; i++) {
			double *row = a + i * n;
			const double f = u[i];

			for (size_t j = i; j < n; j++)
				row[j] -= f * u[j];
		}
	}
	return true;
}

void tw_cholesky_half(const double *u, size_t n, const double *y, double *x)
{
	memmove(x, y, n * sizeof(*x));
	for (size_t k = 0; k < n; k++) {
		x[k] /= u[k * n + k];
		for (size_t j = k + 1; j < n; j++)
			x[j] -= u[k * n + j] * x[k];
	}
}

void tw_cholesky_solve(const double *u, size_t n, const double *y, double *x)
{
	tw_cholesky_half(u, n, y, x);
	for (size_t k = n; k-- > 0;) {
		double sum = x[k];

		for (size_t j = k + 1; j < n; j++)
			sum -= u[k * n + j] * x[j];
		x[k] = sum / u[k * n + k];
	}
}
