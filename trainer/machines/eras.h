/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_ERAS_H
#define TW_TRAINER_ERAS_H

/*
 * Eras of the table: each generation and each memory type. The table of the time before
 * an era is what today's table is to a newer machine: the era's machines count as their
 * nearest ancestors in it, and their numbers are clipped to its range.
 */

#include "model-db/prior/prior.h"
#include "trainer/machines/process.h"

#include <stddef.h>

struct tw_err;

/* A generation with fewer machines in the table is not known by them. */
#define TW_ERA_MIN 4

struct tw_era_table {
	const struct tw_prior *prior;
	const struct tw_prior_view *view;    /* its weights say which rows are used */
	const struct tw_prior_member *frame; /* means and ranges of the numbers */
	const struct tw_prior_row *row;      /* the machines that are used */
	const size_t *from;                  /* their rows in the prior */
	size_t rows;
};

/*
 * The machines as they are known before their eras, an era after the other. A machine is
 * in two eras, or in fewer: an era has TW_ERA_MIN machines, and others before it. The
 * rows must be in order of time. *out is yours: free().
 */
int tw_eras_find(const struct tw_era_table *t, struct tw_process_stranger **out,
		 size_t *count, struct tw_err *err);

#endif /* TW_TRAINER_ERAS_H */
