/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ASK_HELPER_H
#define TW_ASK_HELPER_H

/*
 * The process of the program tw-ask, which does slow and risky work for the daemons
 * (lib/ask/ask.h, lib/ask/fetch.h): to find, to start and to end it.
 */

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct tw_err;

#define TW_ASK_PROGRAM "tw-ask"

/* The settings: paths, and the URLs of agents. */
#define TW_ASK_SETTINGS_MAX ((size_t)160 * 1024)

/* The helper's descriptor of the file that tw_helper_start() passes on. */
#define TW_ASK_FILE 3

struct tw_helper {
	int fd; /* SOCK_SEQPACKET, the helper's standard input; -1: closed */
	pid_t pid;
};

/*
 * Find the program: in the directory of this program (a build runs in place), else in the
 * directory of `make install`. The latter path is returned even if there is no such file.
 * *out is yours.
 */
int tw_helper_find(char **out, struct tw_err *err);

/*
 * Start the program and send it the settings. Its command line is empty, because settings
 * may have a password and every user can read command lines. file: a descriptor that the
 * helper has as TW_ASK_FILE; -1: none. Signals are unblocked, and SIGPIPE has its default
 * action. End *out with tw_helper_end(), even after a failure.
 */
int tw_helper_start(const char *program, const json_t *settings, int file,
		    struct tw_helper *out, struct tw_err *err);

/* Close the socket and wait for the helper; kill_it: do not let it finish. */
void tw_helper_end(struct tw_helper *h, bool kill_it);

#endif /* TW_ASK_HELPER_H */
