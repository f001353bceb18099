/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PUPILS_H
#define TW_TRAINER_PUPILS_H

/*
 * The machines that a view of the prior learns from: those of the table that have all the
 * attributes that the view needs.
 */

#include "model-db/prior/prior.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_machine_table;
struct tw_measured_machine;

/* Machines, and space for their targets. */
struct tw_pupils {
	const struct tw_prior_row **row;
	const struct tw_measured_machine **machine;
	size_t *at;    /* row of the prior */
	size_t *group; /* processor */
	double (*z)[TW_PRIOR_NUMBERS];
	double *y, *result;
	size_t count;
};

bool tw_pupils_has_needs(const struct tw_prior_view *v, const struct tw_prior_row *r);

/*
 * The machines i with use[i]. TW_INVALID if there are too few. *out must be all zero; it
 * is yours, after a failure, too.
 */
int tw_pupils_of(const struct tw_prior *p, const struct tw_machine_table *t,
		 const bool *use, const struct tw_prior_view *v, struct tw_pupils *out,
		 struct tw_err *err);
void tw_pupils_release(struct tw_pupils *s);

/* Set mean, standard deviation and range of a number. */
void tw_pupils_range(const struct tw_prior_row *const *row, size_t count,
		     struct tw_prior_member *m, enum tw_prior_number n);

#endif /* TW_TRAINER_PUPILS_H */
