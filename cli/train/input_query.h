/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_INPUT_QUERY_H
#define TW_CLI_INPUT_QUERY_H

/*
 * Inputs that are queries of a Prometheus server:
 *
 *	prometheus+http://host:9090/?match=instance="a"&start=T&end=T&step=3s&chunk=6h
 *
 * match may be repeated. Values may have %XX. With chunk, the range becomes an input for
 * each chunk; adjacent chunks share a sample, so that no rate is lost.
 */

#include <stdbool.h>

struct tw_err;
struct tw_http_access;
struct tw_strs;

bool tw_input_query_is(const char *file);

/* Replace each query with a chunk by the queries of its chunks. */
int tw_input_query_chunk(struct tw_strs *inputs, struct tw_err *err);

/* Write the response of the query to path, in bounded memory. */
int tw_input_query_run(const char *file, const struct tw_http_access *access,
		       const char *path, struct tw_err *err);

#endif /* TW_CLI_INPUT_QUERY_H */
