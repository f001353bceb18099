/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_JOB_H
#define TW_COLLECTOR_ASK_JOB_H

/*
 * Jobs of tw-ask: whom it asks, and how. One file each, collector/ask_<name>.c, with a
 * const entry in the registry.
 */

#include "collector/ask/ask_message.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

struct tw_ask_job {
	const char *name;
	bool net; /* it asks by sockets; else by what open() has opened */
	/*
	 * With the rights that tw-ask was started with, before anything foreign is
	 * heard: open devices, read secrets. settings lives as long as the state, which
	 * is yours: close(). What may come later is no failure.
	 */
	int (*open)(const json_t *settings, void **state, struct tw_err *err);
	/* Without them: ask and tell by tw_ask_send*() until tw_ask_pause() is false. */
	void (*run)(void *state, int fd);
	void (*close)(void *state); /* NULL is fine */
};

/* NULL if there is none. */
const struct tw_ask_job *tw_ask_job_find(const char *name);

/* ---- for jobs ---- */

/* Zeroed, with its kind and the time. */
struct tw_ask_message tw_ask_message(enum tw_ask_kind kind);

/* Waits for room. False: there is nobody any more to tell. */
bool tw_ask_send(int fd, const struct tw_ask_message *m);

/*
 * Nothing is known, for a reason. lasting: whatever its code, it is so until somebody
 * changes something.
 */
bool tw_ask_send_failure(int fd, const struct tw_err *why, bool lasting);

/*
 * Wait for ms; no longer than until the other end asks again, but at least for least_ms.
 * False: the other end is closed, go home.
 */
bool tw_ask_pause(int fd, uint64_t ms, uint64_t least_ms);

/* Whether the other end is closed: struct tw_http_call's stopped. arg: int *. */
bool tw_ask_is_closed(void *arg);

/* Up to 64 times min_ms, at most max_ms, by the number of failures in a row (0: none). */
uint64_t tw_ask_backoff_ms(unsigned failures, uint64_t min_ms, uint64_t max_ms);

extern const struct tw_ask_job tw_ask_ipmi;
extern const struct tw_ask_job tw_ask_pods;
extern const struct tw_ask_job tw_ask_redfish;

#endif /* TW_COLLECTOR_ASK_JOB_H */
