/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_CLIENT_H
#define TW_ESTIMATOR_CLIENT_H

/*
 * The other end of the estimator's socket: one question, one answer, waiting.
 */

#include "estimator/question.h"

struct tw_err;

/*
 * Ask the estimator at a socket. *out must be all zero; it is yours:
 * tw_watts_release(). TW_NOTFOUND: it has no answer (its log says why).
 */
int tw_estimator_ask(const char *socket, const struct tw_question *q,
		     struct tw_watts *out, struct tw_err *err);

#endif /* TW_ESTIMATOR_CLIENT_H */
