/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_NODE_H
#define TW_ONLINE_NODE_H

/*
 * Online training of one node type: its window, its serving models and their live error,
 * and the decisions to train, to publish and to roll back. A node type is a machine, and
 * has a pipeline of its own.
 */

#include "trainer/online/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_online_node;
struct tw_online_rules;
struct tw_prom;

/* Reads the standing and the published models. *out is yours. */
int tw_online_node_new(const struct tw_online_rules *rules, const char *machine,
		       struct tw_online_node **out, struct tw_err *err);
void tw_online_node_free(struct tw_online_node *n); /* NULL is fine */

/*
 * Take the samples of (from_ms, to_ms]: measure the live errors and change the window,
 * within the store's transaction. Samples before the first measured power are skipped.
 */
int tw_online_node_take(struct tw_online_node *n, const struct tw_prom *samples,
			int64_t from_ms, int64_t to_ms, struct tw_err *err);

/*
 * Forget times after to_ms, which a wrong clock left: segments, and what is known of
 * trainings then. Whether there were any: *found.
 */
int tw_online_node_leave_future(struct tw_online_node *n, int64_t to_ms, bool *found,
				struct tw_err *err);

/* The end of the last samples that were taken; 0: none. */
int64_t tw_online_node_taken_to(const struct tw_online_node *n);

/*
 * Roll back or begin a training, if there is reason to; publish the better models of a
 * training that has ended. Outside a transaction. A training that fails is a verdict, no
 * failure. may_train: there is room for a training; without it the machine stays due.
 */
int tw_online_node_decide(struct tw_online_node *n, bool may_train, struct tw_err *err);

/* Whether a training is in progress; *done: it has ended, and waits for a decision. */
bool tw_online_node_trains(const struct tw_online_node *n, bool *done);

/* The figures that /metrics shows. NaN: unknown. */
struct tw_online_figures {
	char machine[TW_WINDOW_NAME];
	size_t segments, rows, held_rows, bytes;
	size_t glitches; /* segments that are left out (glitches.h) */
	bool serving;    /* there are models of the pipeline */
	double expected_w, live_w, bias_w, previous_w, drift;
	bool drifting;
	int64_t published_ms, trained_to_ms;
	uint64_t verdicts[TW_VERDICTS];
};

int tw_online_node_figures(struct tw_online_node *n, struct tw_online_figures *out,
			   struct tw_err *err);

#endif /* TW_ONLINE_NODE_H */
