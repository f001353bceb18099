/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_POOL_H
#define TW_POOL_H

/*
 * Runs independent tasks on several threads. A task writes its result to a place that
 * depends on the task's number only, so results do not depend on the number of threads.
 */

#include <stddef.h>

/* Run task i. Called from several threads at once, once for each i. */
typedef void tw_pool_fn(void *arg, size_t i);

/*
 * Run fn(arg, 0) to fn(arg, count - 1) on up to `threads` threads, including the
 * caller's. threads 0: one for each CPU in the affinity mask of the process. Returns when
 * all tasks are done. If no thread can be started, the caller's thread runs all tasks.
 */
void tw_pool_run(size_t count, unsigned threads, tw_pool_fn *fn, void *arg);

#endif /* TW_POOL_H */
