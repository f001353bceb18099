/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_CLIENT_H
#define TW_ESTIMATOR_CLIENT_H

/*
 * The other end of the estimator's socket: one question, one answer, waiting.
 */

#include "lib/energy.h"

#include <stddef.h>

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

/* Watts of each row by component; NULL: it is 0 in all of them. */
struct tw_watts {
	double *of[TW_COMPONENT_COUNT];
	size_t rows;
};

/*
 * Ask the estimator at a socket. *out must be all zero; it is yours:
 * tw_watts_release(). TW_NOTFOUND: it has no answer (its log says why).
 */
int tw_estimator_ask(const char *socket, const struct tw_question *q,
		     struct tw_watts *out, struct tw_err *err);

void tw_watts_release(struct tw_watts *w);

#endif /* TW_ESTIMATOR_CLIENT_H */
