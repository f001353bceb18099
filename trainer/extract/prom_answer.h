/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROM_ANSWER_H
#define TW_TRAINER_PROM_ANSWER_H

/*
 * An answer of Prometheus' HTTP API as it comes: {"status":"success","data":LIST}, or,
 * nested, {"status":"success","data":{"result":LIST}}. The events of the list go to fn.
 */

#include "lib/json/jsax.h"

#include <stdbool.h>

struct tw_err;
struct tw_http_answer;

struct tw_prom_answer {
	/* Set by who makes it; the rest is 0. */
	bool nested;
	tw_jsax_fn *fn;
	void *arg;

	struct tw_jsax *parser;
	bool in_data, in_list, found;
	bool refused;   /* it is no such answer, or fn failed */
	bool cut_short; /* known at its end */
};

int tw_prom_answer_open(struct tw_prom_answer *a, struct tw_err *err);

/* arg is the answer: for struct tw_http_call. */
int tw_prom_answer_feed(void *arg, const char *data, size_t len, struct tw_err *err);

int tw_prom_answer_end(struct tw_prom_answer *a, struct tw_err *err);

void tw_prom_answer_release(struct tw_prom_answer *a);

/*
 * Always fails, with what an answer other than 200 says: TW_DENIED for 401 and 403,
 * TW_UNSUPPORTED where it was asked for too much at once.
 */
int tw_prom_answer_fail(const struct tw_http_answer *http, struct tw_err *err);

#endif /* TW_TRAINER_PROM_ANSWER_H */
