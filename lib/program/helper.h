/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HELPER_H
#define TW_HELPER_H

/*
 * Helpers: programs that only ours start, for what shall not be in a daemon itself.
 */

#include <stddef.h>
#include <sys/types.h>

struct tw_err;

/*
 * The path of a helper: in the directory of this very program, so that a build can be run
 * where it lies, else where make install puts it. Whether it is there is not asked. *out
 * is yours.
 */
int tw_helper_find(const char *name, char **out, struct tw_err *err);

/*
 * Start a program that is called name, without arguments; its descriptors from 0 on are
 * to be file[0..files), each its own number or one above all of them. It has the signals
 * of a program that was just started, whatever its parent blocks or ignores. 0 or an
 * errno value.
 */
int tw_helper_start(const char *program, const char *name, const int *file, size_t files,
		    pid_t *pid);

#endif /* TW_HELPER_H */
