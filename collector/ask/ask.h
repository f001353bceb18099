/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_H
#define TW_COLLECTOR_ASK_H

/*
 * What answers slowly, asked beside the tick: a management controller by HTTP or by IPMI,
 * the kubelet. That takes from some ms to many seconds, and an HTTP client takes some
 * forty libraries. So a program of its own asks, tw-ask: one for each job, started while
 * there are the rights for it and as long-lived as the socket to it. It gives up root
 * before it hears from anybody, keeps connections open, and starts its asking part again
 * where that dies. The collector takes what has come and never waits.
 */

#include "collector/ask/ask_message.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_ask; /* opaque */
struct tw_err;

/* How helpers are started. */
struct tw_ask_config {
	const char *program; /* path of tw-ask; NULL: beside this program or installed */
	const char *user;    /* whom it becomes, if started as root; NULL: it stays */
	bool filter;         /* of system calls: collector/ask/ask_filter.h */
};

/*
 * Start a helper for a job of its registry. settings is taken over, even on failure; NULL
 * counts as out of memory. *out is yours: tw_ask_close().
 */
int tw_ask_open(const struct tw_ask_config *c, const char *job, json_t *settings,
		struct tw_ask **out, struct tw_err *err);

/*
 * The next message that has come; false: none now. One that cannot be is passed over.
 * Once the helper is gone that is told as TW_ASK_FAILED, each time.
 */
bool tw_ask_next(struct tw_ask *a, struct tw_ask_message *out);

/* Wait for a message, at most so long. */
void tw_ask_wait(const struct tw_ask *a, unsigned ms);

/* To be asked again soon. */
void tw_ask_again(struct tw_ask *a);

/* Readable when there is a message; -1: the helper is gone. */
int tw_ask_fd(const struct tw_ask *a);

/* Tell it to end, and give it a moment to say goodbye to whom it asks. */
void tw_ask_close(struct tw_ask *a); /* NULL is fine */

#endif /* TW_COLLECTOR_ASK_H */
