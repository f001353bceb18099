/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_RUNNER_H
#define TW_COLLECTOR_RUNNER_H

/*
 * A process that starts a user's command, on request and again after its end.
 *
 * The process that reads the command's output is filtered: it may not start programs. The
 * runner may, but reads nothing of a foreign program. It has given up root, unless the
 * command is to have it, and all capabilities, and can gain none.
 *
 * The command runs in a process group of its own, without standard input. At its end, and
 * at the runner's, all processes that it has left are killed.
 */

#include <stdbool.h>

struct tw_aside;
struct tw_err;
struct tw_strs;

enum tw_runner_kind {
	TW_RUNNER_STARTED, /* the command runs: out and err are open */
	TW_RUNNER_FAILED,  /* it cannot be started: status is an errno value */
	TW_RUNNER_ENDED,   /* status as of waitpid() */
	TW_RUNNER_GONE,    /* the runner itself has ended */
};

struct tw_runner_event {
	enum tw_runner_kind kind;
	int status;
	int out, err; /* the command's output; the receiver's to close, not blocking */
};

/*
 * Start a runner for a command. user: the user that the command gets, if this process is
 * root; NULL: no switch. words live as long as this process. tw_aside_close() ends the
 * command and the runner.
 */
int tw_runner_open(const struct tw_strs *words, const char *user, struct tw_aside *out,
		   struct tw_err *err);

/* Request a start, which ends a running command first; or an end. */
void tw_runner_run(const struct tw_aside *r);
void tw_runner_stop(const struct tw_aside *r);

/* Take the next event. False: none now. r->fd is readable when there is one. */
bool tw_runner_next(const struct tw_aside *r, struct tw_runner_event *out);

#endif /* TW_COLLECTOR_RUNNER_H */
