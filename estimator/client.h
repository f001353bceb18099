/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_CLIENT_H
#define TW_ESTIMATOR_CLIENT_H

/*
 * A blocking client of the estimator's socket for one request.
 */

#include "estimator/question.h"

struct tw_err;

/*
 * Connect, send a request of version 1 and read the answer. Each socket operation may
 * take 10 s. *out must be all zero; release it with tw_watts_release(). TW_NOTFOUND: the
 * estimator closed the connection without an answer; its log has the reason.
 */
int tw_estimator_ask(const char *socket, const struct tw_question *q,
		     struct tw_watts *out, struct tw_err *err);

#endif /* TW_ESTIMATOR_CLIENT_H */
