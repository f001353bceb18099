/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_QUESTION_H
#define TW_ESTIMATOR_QUESTION_H

/*
 * The client's side of the estimator's socket: writing a request and reading its answer
 * (docs/wire.md, "Estimator socket").
 */

#include "lib/field/energy.h"

#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_strs;

struct tw_question {
	const struct tw_strs *metrics;
	const double *x; /* rows * metrics->count, row major; NaN: missing */
	size_t rows;
	const char *output;  /* "AbsPower" */
	const char *source;  /* NULL: the estimator's default */
	const char *trainer; /* NULL: any */
	const char *filter;  /* NULL: none */
};

/* Watts of each row, by component. NULL: the component is 0 in all rows, or unknown. */
struct tw_watts {
	double *of[TW_COMPONENT_COUNT];
	size_t rows;
};

/* Append the request to out; check tw_buf_failed() afterwards. */
void tw_question_write(const struct tw_question *q, struct tw_buf *out);

/*
 * Read an untrusted answer to a request of `rows` rows. *out must be all zero; release it
 * with tw_watts_release().
 */
int tw_answer_read(const char *data, size_t len, size_t rows, struct tw_watts *out,
		   struct tw_err *err);

void tw_watts_release(struct tw_watts *w);

#endif /* TW_ESTIMATOR_QUESTION_H */
