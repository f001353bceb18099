/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_ASKER_H
#define TW_ESTIMATOR_ASKER_H

/*
 * A client of the estimator's socket that keeps its connection between requests and has a
 * deadline for each. A late answer cannot be mistaken for the answer to a later request,
 * because the connection is closed at the deadline. For one thread.
 */

#include "estimator/question.h"

struct tw_asker; /* opaque */
struct tw_err;

/* Make a client; the first request connects. Close *out with tw_asker_close(). */
int tw_asker_open(const char *socket, struct tw_asker **out, struct tw_err *err);
void tw_asker_close(struct tw_asker *a); /* NULL is fine */

/*
 * Send a request of version 2 and read its answer within wait_ms. *out must be all zero;
 * release it with tw_watts_release(). TW_NOTFOUND: the estimator has no model, or no
 * program listens. TW_IO: the deadline passed, or the connection ended.
 */
int tw_asker_ask(struct tw_asker *a, const struct tw_question *q, unsigned wait_ms,
		 struct tw_watts *out, struct tw_worth *worth, struct tw_err *err);

#endif /* TW_ESTIMATOR_ASKER_H */
