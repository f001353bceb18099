/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_STOP_H
#define TW_TRAINER_STOP_H

/*
 * Whether a command that runs for long has been told to stop, by SIGINT, SIGTERM or
 * SIGHUP. For one thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_err;

struct tw_stop {
	int fd; /* a signalfd */
	bool asked;
};

/* From here on these signals do not end the process. tw_stop_close() when done. */
int tw_stop_open(struct tw_stop *s, struct tw_err *err);
void tw_stop_close(struct tw_stop *s);

/* arg is a struct tw_stop: for struct tw_http_call. */
bool tw_stop_asked(void *arg);

/* Wait, but not once it is asked; whether it is. */
bool tw_stop_wait(struct tw_stop *s, uint64_t ms);

#endif /* TW_TRAINER_STOP_H */
