/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_NODE_H
#define TW_ONLINE_NODE_H

/*
 * Online training of one node type: its window, its serving models and their live error,
 * and the decisions to train, to publish and to roll back. A node type is a machine, and
 * has a pipeline of its own.
 */

#include "lib/core/strs.h"
#include "trainer/online/store.h"
#include "trainer/online/window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_isolator;
struct tw_online_node;
struct tw_prom;
struct tw_signer;
struct tw_trainings;

/* All is borrowed. */
struct tw_online_rules {
	const char *model_db;
	const char *name;               /* pipelines are <name>-<machine> */
	const char *dir;                /* for temporary files */
	const struct tw_signer *signer; /* or NULL */
	const struct tw_isolator *isolator;
	struct tw_strs abs_trainers, dyn_trainers;
	struct tw_window_limits limits;
	size_t rows_min;      /* new rows before a training; a quarter of it in a drift */
	double margin;        /* 0.05: errors must be smaller by 5 % */
	uint64_t rollback_ms; /* roll back after so long with a larger live error */
	struct tw_trainings *trainings;
	struct tw_store *store;
};

/* Reads the standing and the published models. *out is yours. */
int tw_online_node_new(const struct tw_online_rules *rules, const char *machine,
		       struct tw_online_node **out, struct tw_err *err);
void tw_online_node_free(struct tw_online_node *n); /* NULL is fine */

/*
 * Take the samples of (from_ms, to_ms]: measure the live errors and change the window,
 * within the store's transaction. Samples without measured power are skipped.
 */
int tw_online_node_take(struct tw_online_node *n, const struct tw_prom *samples,
			int64_t from_ms, int64_t to_ms, struct tw_err *err);

/*
 * Roll back or train, if there is reason to, and publish what is better. Outside a
 * transaction. A training that fails is a verdict, no failure.
 */
int tw_online_node_decide(struct tw_online_node *n, struct tw_err *err);

/* What /metrics shows. NaN: unknown. */
struct tw_online_figures {
	char machine[TW_WINDOW_NAME];
	size_t segments, rows, held_rows, bytes;
	bool serving; /* there are models of the pipeline */
	double expected_w, live_w, bias_w, previous_w, drift;
	bool drifting;
	int64_t published_ms, trained_to_ms;
	uint64_t verdicts[TW_VERDICTS];
};

int tw_online_node_figures(struct tw_online_node *n, struct tw_online_figures *out,
			   struct tw_err *err);

#endif /* TW_ONLINE_NODE_H */
