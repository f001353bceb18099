/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROM_ANSWER_H
#define TW_TRAINER_PROM_ANSWER_H

/*
 * Stream parser of an answer of Prometheus' HTTP API: {"status":"success","data":LIST}
 * or, if nested, {"status":"success","data":{"result":LIST}}. The list's JSON events go
 * to fn.
 */

#include "lib/json/jsax.h"

#include <stdbool.h>

struct tw_err;
struct tw_http_answer;

struct tw_prom_answer {
	/* Set by the caller; the other members start as 0. */
	bool nested;
	tw_jsax_fn *fn;
	void *arg;

	struct tw_jsax *parser;
	bool in_data, in_list, found;
	bool refused;   /* malformed, or fn failed */
	bool cut_short; /* incomplete; set by tw_prom_answer_end() */
};

int tw_prom_answer_open(struct tw_prom_answer *a, struct tw_err *err);

/* Feed a piece of the answer's body. arg is the answer; a sink of struct tw_http_call. */
int tw_prom_answer_feed(void *arg, const char *data, size_t len, struct tw_err *err);

int tw_prom_answer_end(struct tw_prom_answer *a, struct tw_err *err);

void tw_prom_answer_release(struct tw_prom_answer *a);

/*
 * Always fails, with the error text of an answer other than 200. TW_DENIED for 401 and
 * 403, TW_NOTFOUND for 404, TW_UNSUPPORTED if the request exceeds a limit of the server.
 */
int tw_prom_answer_fail(const struct tw_http_answer *http, struct tw_err *err);

#endif /* TW_TRAINER_PROM_ANSWER_H */
