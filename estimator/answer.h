/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_ANSWER_H
#define TW_ESTIMATOR_ANSWER_H

/*
 * Answers of the estimator (docs/wire.md, "Estimator socket"):
 *
 *	{"powers":{"package":[41.2,3.1]},"msg":"","core_ratio":1}
 *
 * Kepler reads 4096 bytes once: numbers have at most 3 decimals, and the caller leaves
 * out components that are 0 in every row, except the main one (estimator/reply.c). A
 * component may be written some rows at a time.
 */

#include "lib/field/energy.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;

/* Power beyond this is no answer. */
#define TW_ANSWER_WATTS_MAX 1e9

struct tw_answer {
	struct tw_buf *out;
	bool some; /* a component has been begun */
	bool rows; /* the last one has a row */
};

/*
 * Whether the answer may have these values, of rows first, first + 1 .. of a component;
 * TW_INVALID if not. Sets *nonzero if one of them is written as other than 0; never
 * clears it.
 */
int tw_answer_check(enum tw_component c, const double *watts, size_t first, size_t rows,
		    bool *nonzero, struct tw_err *err);

/* Begin an answer at the end of out. */
void tw_answer_begin(struct tw_answer *a, struct tw_buf *out);

/* The next component, and its rows: values that were checked. */
void tw_answer_component(struct tw_answer *a, enum tw_component c);
void tw_answer_rows(struct tw_answer *a, const double *watts, size_t rows);

/* No more components. core_ratio: a number, as text. Further keys may go behind it. */
void tw_answer_ratio(struct tw_answer *a, const char *core_ratio);

void tw_answer_end(struct tw_answer *a);

#endif /* TW_ESTIMATOR_ANSWER_H */
