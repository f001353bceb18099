/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_ATTEMPT_H
#define TW_ONLINE_ATTEMPT_H

/*
 * An attempt to train better models, on a thread of its own: samples are read and live
 * errors are measured meanwhile. It trains a candidate on all segments of a window, and
 * in a drift another one on the segments since the drift began. Both are in a contest
 * with the serving models.
 */

#include "lib/core/err.h"
#include "trainer/online/contest.h"
#include "trainer/online/runs.h"
#include "trainer/train_result.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_attempt;
struct tw_online_rules;

struct tw_attempt_inputs {
	/* Borrowed until the attempt is freed. */
	const struct tw_online_rules *rules;
	const char *pipeline; /* name */
	const struct tw_online_models *serving;

	struct tw_runs whole;
	struct tw_runs alone; /* since the drift began; none: no second candidate */
	struct tw_runs held;
	size_t rows_min; /* held-out rows that a verdict needs */
};

/* A trained pipeline and its contest. All zero bytes: none. */
struct tw_candidate {
	struct tw_train_result result;
	struct tw_online_models models;
	struct tw_contest contest;
	bool alone; /* of the segments since the drift began */
};

/* Takes the runs, also after a failure. *out is yours: tw_attempt_free(). */
int tw_attempt_start(struct tw_attempt_inputs *in, struct tw_attempt **out,
		     struct tw_err *err);

bool tw_attempt_done(const struct tw_attempt *a);

/*
 * The better candidate of an attempt that is done; it lives as long as the attempt. NULL,
 * with the reason, if none could be trained.
 */
struct tw_candidate *tw_attempt_best(struct tw_attempt *a, struct tw_err *why);

/* Whether there was a candidate of the segments since the drift began. */
bool tw_attempt_had_alone(const struct tw_attempt *a);

/* Waits until it is done. A training ends early by tw_trainings_stop(). NULL is fine. */
void tw_attempt_free(struct tw_attempt *a);

#endif /* TW_ONLINE_ATTEMPT_H */
