/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ASK_HELPER_H
#define TW_ASK_HELPER_H

/*
 * The process of the program tw-ask, which does slow and risky work for the daemons
 * (lib/ask/ask.h, lib/ask/fetch.h): to open, to start and to end it.
 */

#include <jansson.h>
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
 * The opened program. A process that opens it as root can start it after it became
 * another user, also if that user may not search the program's directory or execute the
 * file.
 */
struct tw_helper_program {
	char *path;
	int fd;
};

/*
 * Open the program. path NULL: in the directory of this program (a build runs in place),
 * else in the directory of `make install`. Close *out with tw_helper_program_close().
 */
int tw_helper_program_open(const char *path, struct tw_helper_program *out,
			   struct tw_err *err);
void tw_helper_program_close(struct tw_helper_program *p);

/*
 * Start the program and send it the settings. Its command line is empty, because settings
 * may have a password and every user can read command lines. file: a descriptor that the
 * helper has as TW_ASK_FILE; -1: none. Signals are unblocked, and SIGPIPE has its default
 * action. End *out with tw_helper_end(), even after a failure.
 */
int tw_helper_start(const struct tw_helper_program *program, const json_t *settings,
		    int file, struct tw_helper *out, struct tw_err *err);

/* Close the socket, and kill the helper if it still runs. */
void tw_helper_end(struct tw_helper *h);

#endif /* TW_ASK_HELPER_H */
