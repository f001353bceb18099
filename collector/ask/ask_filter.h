/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_FILTER_H
#define TW_COLLECTOR_ASK_FILTER_H

/*
 * The system calls that tw-ask may make once its devices are open: those of a client. It
 * parses bytes of servers, so a call that no client needs (to start a program or a
 * process, to write a file, to read other memory, to configure the kernel) kills it. A
 * call that a library tries and can do without fails.
 */

#include <stdbool.h>

struct tw_err;

enum tw_ask_stage {
	TW_ASK_KEEPS, /* the part that starts the other again: may fork, too */
	TW_ASK_ASKS,
};

/*
 * Filter system calls, irrevocably; a second call can only allow less. net: the job uses
 * sockets; else a device that is open. As tw_seccomp_install().
 */
int tw_ask_filter_install(enum tw_ask_stage stage, bool net, struct tw_err *err);

#endif /* TW_COLLECTOR_ASK_FILTER_H */
