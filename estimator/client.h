/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_CLIENT_H
#define TW_ESTIMATOR_CLIENT_H

/*
 * The client's side of the estimator's socket (docs/wire.md, "Estimator socket"): writing
 * a request, reading its answer, and both over a connection, which blocks.
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

/* Watts of each row, by component. NULL: the component is 0 in all rows, or unknown.
 * NaN: no prediction. */
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

/*
 * Connect, send a request of version 1 and read the answer. Each socket operation may
 * take 10 s. *out must be all zero; release it with tw_watts_release(). TW_NOTFOUND: the
 * estimator closed the connection without an answer; its log has the reason.
 */
int tw_estimator_ask(const char *socket, const struct tw_question *q,
		     struct tw_watts *out, struct tw_err *err);

#endif /* TW_ESTIMATOR_CLIENT_H */
