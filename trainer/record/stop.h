/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_STOP_H
#define TW_TRAINER_STOP_H

/*
 * A request to stop: signals (SIGINT, SIGTERM, SIGHUP) of a long-running command, or a
 * call by another thread. One thread waits for signals, any number for a call.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_err;

struct tw_stop {
	int fd; /* a signalfd, or an eventfd */
	bool by_call;
	bool requested; /* by a signal, which comes once */
};

/* Block these signals and receive them here. tw_stop_close() when done. */
int tw_stop_open(struct tw_stop *s, struct tw_err *err);
void tw_stop_close(struct tw_stop *s);

/* Stop by tw_stop_request(), which any thread may call, instead of by signals. */
int tw_stop_open_by_call(struct tw_stop *s, struct tw_err *err);
void tw_stop_request(struct tw_stop *s);

/* Whether a signal has arrived. arg is a struct tw_stop; a `stopped` of struct
 * tw_http_call. */
bool tw_stop_requested(void *arg);

/* Wait for ms or until a signal arrives. Returns whether one has arrived. */
bool tw_stop_wait(struct tw_stop *s, uint64_t ms);

#endif /* TW_TRAINER_STOP_H */
