/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HELPER_H
#define TW_HELPER_H

/*
 * Helper programs (tw-fetch, tw-ask): separate processes for work with risks that a
 * daemon should not take in its own process.
 */

#include <stddef.h>
#include <sys/types.h>

struct tw_err;

/*
 * Find the path of a helper: in the directory of this program (a build runs in place),
 * else in the directory of `make install`. The latter path is returned even if there is
 * no such file. *out is yours.
 */
int tw_helper_find(const char *name, char **out, struct tw_err *err);

/*
 * Start program with argv { name }. Its descriptors 0, 1, ... are file[0..files). Each
 * file[i] must be i itself or at least `files`. Signals are unblocked, and SIGPIPE has
 * its default action. Return 0 or an errno value.
 */
int tw_helper_start(const char *program, const char *name, const int *file, size_t files,
		    pid_t *pid);

#endif /* TW_HELPER_H */
