/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TOP_PROCESS_H
#define TW_CLI_TOP_PROCESS_H

/*
 * Users and command lines of processes of this machine. A collector exports neither,
 * because a command line may have passwords: `tallywatt top` reads what its own user may.
 */

#include <stdbool.h>

#define TW_TOP_USER 9
#define TW_TOP_COMMAND_LINE 512

struct tw_top_process {
	char user[TW_TOP_USER];         /* name or number, cut */
	char line[TW_TOP_COMMAND_LINE]; /* program without its folder, arguments, cut; "":
					 * a thread of the kernel
					 */
};

/* Whether the collector at url, whose node has this name, can run on this machine. */
bool tw_top_is_here(const char *url, const char *node);

/*
 * Read process pid below proc. name begins with the command and two blanks. False: the
 * process has exited, or another command has its pid.
 */
bool tw_top_process_read(const char *proc, const char *pid, const char *name,
			 struct tw_top_process *out);

#endif /* TW_CLI_TOP_PROCESS_H */
