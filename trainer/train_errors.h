/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_ERRORS_H
#define TW_TRAINER_TRAIN_ERRORS_H

/*
 * The intervals and expected errors of a component in its model's files: keys of the
 * metadata and the file of expected errors (docs/model-format.md).
 */

#include "trainer/fit/calibrate.h"

#include <jansson.h>

struct tw_model_part;

struct tw_train_errors {
	struct tw_calibrated alone, series; /* a series without rows has no keys */
	double step_ms;
};

/* What the predictions of held-out rows are; series is NULL for a model without it. */
struct tw_train_held_out {
	const struct tw_samples *samples;
	const double *measured, *alone, *series;
	size_t folds;
};

/* *out must be all zero; it is yours: tw_train_errors_release(). */
int tw_train_errors_fit(const struct tw_train_held_out *h, uint64_t seed,
			struct tw_train_errors *out, struct tw_err *err);

/* Add the keys of a component to the metadata. -1 without memory. */
int tw_train_errors_describe(const struct tw_train_errors *e, enum tw_component c,
			     json_t *metadata);

/* Set the part's file of expected errors, if there is one. */
int tw_train_errors_set(const struct tw_train_errors *e, struct tw_model_part *part,
			struct tw_err *err);

void tw_train_errors_release(struct tw_train_errors *e);

#endif /* TW_TRAINER_TRAIN_ERRORS_H */
