/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_RUNS_H
#define TW_ONLINE_RUNS_H

/*
 * The responses of a window: one for each run of segments without a gap, as if the
 * client had sent it. No rate is computed across two responses.
 */

#include "trainer/online/window.h"
#include "trainer/train_job.h"

#include <stddef.h>

struct tw_err;
struct tw_prom;
struct tw_store;

/* All zero bytes: none. */
struct tw_runs {
	struct tw_prom **prom;
	struct tw_train_response *response; /* the same, for a training */
	size_t count;
};

/*
 * Read the chosen segments of a window. machine is borrowed; dir gets temporary files.
 * *out must be empty; release it after a failure, too.
 */
int tw_runs_read(struct tw_store *s, const struct tw_segments *w,
		 struct tw_window_choice choice, const char *machine, const char *dir,
		 struct tw_runs *out, struct tw_err *err);
void tw_runs_release(struct tw_runs *r);

#endif /* TW_ONLINE_RUNS_H */
