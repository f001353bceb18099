/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_FORK_AS_H
#define TW_TEST_FORK_AS_H

#include <sys/types.h>

/* fork() of a child with that id. -1: EEXIST, or with other errno ids cannot be chosen.
 */
pid_t fork_as(pid_t id);

#endif /* TW_TEST_FORK_AS_H */
