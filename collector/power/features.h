/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_FEATURES_H
#define TW_COLLECTOR_FEATURES_H

/*
 * The inputs of models: the features of docs/wire.md that this machine provides, per
 * second of the last tick.
 */

#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_node;
struct tw_workloads;

#define TW_FEATURES_MAX 32

/* All zero bytes: none. */
struct tw_features {
	struct tw_strs names; /* names of the columns, sorted */
	unsigned char
		source[TW_FEATURES_MAX]; /* index of each in the table of features.c */
	const struct tw_workloads *workloads;
};

/*
 * Find the features that this machine provides. workloads outlives *f; NULL: no counters.
 * *f must be all zero; release it by tw_features_release().
 */
int tw_features_open(struct tw_features *f, const struct tw_node *node,
		     const struct tw_workloads *workloads, struct tw_err *err);
void tw_features_release(struct tw_features *f);

/*
 * Fill two rows of f->names.count columns: the last tick, and an idle machine at the same
 * frequency. False: a feature is unknown now.
 */
bool tw_features_read(const struct tw_features *f, const struct tw_node *node,
		      double *rows);

#endif /* TW_COLLECTOR_FEATURES_H */
