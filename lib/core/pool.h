/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_POOL_H
#define TW_POOL_H

/*
 * Independent tasks on several threads. Results go where the task's number says, so
 * that the outcome does not depend on the number of threads.
 */

#include <stddef.h>

struct tw_err;

/* Task i; thread-safe against the others. */
typedef void tw_pool_fn(void *arg, size_t i);

/*
 * Run fn(arg, 0) to fn(arg, count - 1) on up to `threads` threads, the caller's among
 * them; 0 means one for each CPU that this process may use. Returns when all are done.
 * Where threads cannot be started, the caller's does all.
 */
void tw_pool_run(size_t count, unsigned threads, tw_pool_fn *fn, void *arg);

#endif /* TW_POOL_H */
