/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROCESS_H
#define TW_TRAINER_PROCESS_H

/*
 * A Gaussian process over machines (model-db/prior/prior.h): its variances by maximum of
 * the posterior density, its weights, and its predictions of left-out processors, and by
 * earlier rows, in closed form. Source: C. E. Rasmussen, C. K. I. Williams, Gaussian
 * Processes for Machine Learning, 2006, sections 2.2, 5.4 and 5.4.2.
 */

#include "model-db/prior/prior.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

struct tw_process_data {
	const struct tw_prior_row *const *row;
	const double (*z)[TW_PRIOR_NUMBERS];
	const double *y;     /* without its mean */
	const size_t *group; /* the processor of each row */
	size_t rows;
	unsigned categories;
	bool radial;   /* false: linear parts only */
	double spread; /* typical standard deviation of y, for the density of the
			  variances */
};

/* Choose the variances. Rows of one group beyond the first few are not used. */
int tw_process_learn(const struct tw_process_data *d, struct tw_prior_kernel *out,
		     struct tw_err *err);

/* weight[rows]: (K + noise)^-1 y. *constant: what all predictions have besides. */
int tw_process_solve(const struct tw_process_data *d, const struct tw_prior_kernel *k,
		     double *weight, double *constant, struct tw_err *err);

/* held_out[rows]: the prediction of each row without the rows of its group. */
int tw_process_leave_out(const struct tw_process_data *d, const struct tw_prior_kernel *k,
			 double *held_out, struct tw_err *err);

/* A row as it is known by the rows before `from`. */
struct tw_process_stranger {
	size_t row, from;
	struct tw_prior_row as;
	double z[TW_PRIOR_NUMBERS];
};

/* held_out[count]: the prediction of each stranger by the rows before it. */
int tw_process_predict_forward(const struct tw_process_data *d,
			       const struct tw_prior_kernel *k,
			       const struct tw_process_stranger *s, size_t count,
			       double *held_out, struct tw_err *err);

#endif /* TW_TRAINER_PROCESS_H */
