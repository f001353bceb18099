/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_TEAM_H
#define TW_TEST_TEAM_H

/* Workers that are threads of the test. */

#include "lib/workers/workers.h"

#define TEAM_MAX 8

/* What a worker does. Returns when it leaves. */
typedef void team_fn(struct tw_workers *w, void *arg);

/* Run so many workers to their end. */
void team_run(unsigned size, team_fn *fn, void *arg);

#endif /* TW_TEST_TEAM_H */
