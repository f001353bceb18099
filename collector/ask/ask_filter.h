/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ASK_FILTER_H
#define TW_COLLECTOR_ASK_FILTER_H

/*
 * What tw-ask asks of the kernel once its devices are open: to speak with whom it asks,
 * and no more. It reads what a server sends it, so what no asking needs (a program, a
 * process, a file to write, another's memory, the kernel's own interfaces) kills it; what
 * a library may try and do without is refused.
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
