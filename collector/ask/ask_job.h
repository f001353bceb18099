/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_JOB_H
#define TW_COLLECTOR_ASK_JOB_H

/*
 * Jobs of tw-ask: the services that it polls. Each job is one file,
 * collector/ask/ask_NAME.c, with a const entry in the registry (ask_job.c).
 */

#include "lib/ask/ask_message.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

struct tw_ask_job {
	const char *name;
	bool net;  /* it uses sockets; else only what open() has opened */
	bool once; /* run() ends with an answer: it is not run again after a crash */
	/*
	 * Open devices and read secrets. Runs with the rights that tw-ask was started
	 * with, before any network input. settings lives as long as the state, which is
	 * yours: close(). A service that may appear later is no failure.
	 */
	int (*open)(const json_t *settings, void **state, struct tw_err *err);
	/*
	 * Poll and send by tw_ask_send*() until tw_ask_pause() returns false. Runs
	 * without those rights.
	 */
	void (*run)(void *state, int fd);
	void (*close)(void *state); /* NULL is fine */
};

/* NULL if there is none. */
const struct tw_ask_job *tw_ask_job_find(const char *name);

/* ---- for jobs ---- */

/* A zeroed message with its kind and the current time. */
struct tw_ask_message tw_ask_message(enum tw_ask_kind kind);

/* Blocks while the socket is full. False: the collector has closed its end. */
bool tw_ask_send(int fd, const struct tw_ask_message *m);

/*
 * Send TW_ASK_FAILED: nothing is known. lasting: the failure lasts until somebody changes
 * the configuration; set for some codes of why in any case.
 */
bool tw_ask_send_failure(int fd, const struct tw_err *why, bool lasting);

/*
 * Wait for ms. A request to poll soon ends the wait, but not before least_ms. False: the
 * collector has closed its end, so stop.
 */
bool tw_ask_pause(int fd, uint64_t ms, uint64_t least_ms);

/*
 * True if the collector has closed its end. For stopped of struct tw_http_call; arg: int
 * *.
 */
bool tw_ask_is_closed(void *arg);

/*
 * The back-off after a number of failures in a row (0: none): min_ms, doubled up to 6
 * times, at most max_ms.
 */
uint64_t tw_ask_backoff_ms(unsigned failures, uint64_t min_ms, uint64_t max_ms);

extern const struct tw_ask_job tw_ask_agents;
extern const struct tw_ask_job tw_ask_command;
extern const struct tw_ask_job tw_ask_fetch;
extern const struct tw_ask_job tw_ask_file;
extern const struct tw_ask_job tw_ask_ipmi;
extern const struct tw_ask_job tw_ask_pods;
extern const struct tw_ask_job tw_ask_prometheus;
extern const struct tw_ask_job tw_ask_redfish;

#endif /* TW_COLLECTOR_ASK_JOB_H */
