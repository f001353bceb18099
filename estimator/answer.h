/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_ANSWER_H
#define TW_ESTIMATOR_ANSWER_H

/*
 * Answers of the estimator (docs/wire.md, "Estimator socket"):
 *
 *	{"powers":{"package":[41.2,3.1]},"msg":"","core_ratio":1}
 *
 * Kepler reads 4096 bytes once: numbers have at most 3 decimals, and components that
 * are 0 in every row are left out.
 */

#include "lib/energy.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;

/* Power beyond this is no answer. */
#define TW_ANSWER_WATTS_MAX 1e9

struct tw_answer {
	struct tw_buf *out;
	bool some;  /* a component has been written */
	bool zeros; /* components that are 0 in every row are written too */
};

/* Begin an answer at the end of out. */
void tw_answer_begin(struct tw_answer *a, struct tw_buf *out);

/*
 * One component, watts[rows], rows at least 1. TW_INVALID if a value is not one that
 * an answer may have; the answer is then no use any more.
 */
int tw_answer_add(struct tw_answer *a, enum tw_component component, const double *watts,
		  size_t rows, struct tw_err *err);

/* Leave no component out: for who asked for it by name. */
void tw_answer_keep_zeros(struct tw_answer *a);

/* No more components. core_ratio: a number, as text. Further keys may go behind it. */
void tw_answer_ratio(struct tw_answer *a, const char *core_ratio);

void tw_answer_end(struct tw_answer *a);

#endif /* TW_ESTIMATOR_ANSWER_H */
