/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ASK_H
#define TW_ASK_H

/*
 * Helpers for slow services: a management controller over HTTP or IPMI, the kubelet.
 *
 * An answer takes from some ms to many seconds, and an HTTP client pulls in some forty
 * libraries. So a separate program, tw-ask, polls the service: one process for each job,
 * started while the collector still has its rights. It lives as long as the socket to it.
 * It drops root before it reads from the network, keeps connections open, and restarts
 * its polling child if that crashes. The collector takes the messages that have arrived
 * and never waits.
 */

#include "lib/ask/ask_message.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_ask; /* opaque */
struct tw_err;

/* How to start helpers. */
struct tw_ask_config {
	const char *program; /* path of tw-ask; NULL: beside this program, or installed */
	const char *user;    /* user to switch to, if started as root; NULL: no switch */
	bool filter; /* install a system call filter: collector/ask/ask_filter.h */
	unsigned log_format; /* enum tw_log_format of what it logs */
};

/*
 * Start a helper for the job of that name. settings is taken, even on failure; NULL
 * counts as out of memory. *out is yours: tw_ask_close().
 */
int tw_ask_open(const struct tw_ask_config *c, const char *job, json_t *settings,
		struct tw_ask **out, struct tw_err *err);

/*
 * Read the next message; false: none now. Invalid messages are skipped. After the helper
 * has exited, each call returns TW_ASK_FAILED.
 */
bool tw_ask_next(struct tw_ask *a, struct tw_ask_message *out);

/* Wait for a message, at most ms. */
void tw_ask_wait(const struct tw_ask *a, unsigned ms);

/* Ask the helper to poll again soon. */
void tw_ask_again(struct tw_ask *a);

/* Readable when there is a message; -1: the helper has exited. */
int tw_ask_fd(const struct tw_ask *a);

/* Stop the helper. Waits a moment, so that it can log out of its service. */
void tw_ask_close(struct tw_ask *a); /* NULL is fine */

#endif /* TW_ASK_H */
