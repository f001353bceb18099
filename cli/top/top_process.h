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

/* Whether a collector at url, of a node of that name, can be of this machine. */
bool tw_top_is_here(const char *url, const char *node);

/*
 * Read process pid below proc. False: there is none whose command is that at the
 * beginning of name, before two blanks.
 */
bool tw_top_process_read(const char *proc, const char *pid, const char *name,
			 struct tw_top_process *out);

#endif /* TW_CLI_TOP_PROCESS_H */
