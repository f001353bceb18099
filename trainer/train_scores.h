/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_SCORES_H
#define TW_TRAINER_TRAIN_SCORES_H

/*
 * What a unit's validation came to, as keys of a model's metadata (docs/accuracy.md).
 * They are flat: kepler-model-server's estimator takes every object for a model.
 */

#include "lib/field/energy.h"

#include <jansson.h>
#include <stddef.h>

struct tw_score;
struct tw_train_unit;

/* "package_mae", "package_r2", ..; infix: "workload_" and so on. -1 without memory. */
int tw_train_scores_add(json_t *metadata, const char *infix, enum tw_component c,
			const struct tw_score *score);

/*
 * The same of one of the data's extra folds, with "workload_folds", "workload_rows",
 * "workload_mae", "workload_mape" and the names of the workloads. Where they could not be
 * judged, only "workload_mae": null.
 */
int tw_train_scores_add_extra(json_t *metadata, const struct tw_train_unit *u,
			      size_t extra);

#endif /* TW_TRAINER_TRAIN_SCORES_H */
