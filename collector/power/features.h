/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_FEATURES_H
#define TW_COLLECTOR_FEATURES_H

/*
 * What models are asked with: the features of docs/wire.md that this machine tells, per
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
	struct tw_strs names;                /* of the columns, sorted */
	unsigned char told[TW_FEATURES_MAX]; /* of features.c: which they are */
	const struct tw_workloads *workloads;
};

/* What is told here; workloads, which must outlive *f: NULL: no counters. *f must be all
 * zero; it is yours: tw_features_release(). */
int tw_features_open(struct tw_features *f, const struct tw_node *node,
		     const struct tw_workloads *workloads, struct tw_err *err);
void tw_features_release(struct tw_features *f);

/*
 * Two rows of f->names.count columns: the last tick, and a machine that does nothing at
 * the same frequency. False: some of it is not known now.
 */
bool tw_features_read(const struct tw_features *f, const struct tw_node *node,
		      double *rows);

#endif /* TW_COLLECTOR_FEATURES_H */
