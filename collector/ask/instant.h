/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_INSTANT_H
#define TW_COLLECTOR_INSTANT_H

/* The answer of a Prometheus server to an instant query. */

#include <stddef.h>

struct tw_err;

/* Longest text of a sample's value that is accepted. */
#define TW_INSTANT_VALUE 64

/*
 * Find the value of the only sample of an answer: a scalar, or a vector with one series.
 * *out is its text, NUL-terminated. TW_NOTFOUND without a sample, TW_INVALID with
 * several, TW_IO with the server's own error.
 */
int tw_instant_parse(const char *body, size_t len, char out[TW_INSTANT_VALUE],
		     struct tw_err *err);

#endif /* TW_COLLECTOR_INSTANT_H */
