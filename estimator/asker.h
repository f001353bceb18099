/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_ASKER_H
#define TW_ESTIMATOR_ASKER_H

/*
 * A client of the estimator's socket that keeps its connection and waits for no longer
 * than it is told to. An answer that comes late is never taken for that of a later
 * question: the connection is given up. For one thread.
 */

#include "estimator/question.h"

struct tw_asker; /* opaque */
struct tw_err;

/* Does not connect yet. *out is yours: tw_asker_close(). */
int tw_asker_open(const char *socket, struct tw_asker **out, struct tw_err *err);
void tw_asker_close(struct tw_asker *a); /* NULL is fine */

/*
 * One question of version 2, answered within wait_ms. *out must be all zero; it is yours:
 * tw_watts_release(). TW_NOTFOUND: it has no model, or nobody listens; TW_IO: too late,
 * or the connection ended.
 */
int tw_asker_ask(struct tw_asker *a, const struct tw_question *q, unsigned wait_ms,
		 struct tw_watts *out, struct tw_worth *worth, struct tw_err *err);

#endif /* TW_ESTIMATOR_ASKER_H */
