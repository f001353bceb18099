/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_ROWS_H
#define TW_TRAINER_TRAIN_ROWS_H

/*
 * The rows of a tw_train_data, the first step of a training: extracted from its machine's
 * recordings or copied from its table, prepared for the isolator, and smoothed. A failure
 * is kept in ->err.
 */

#include <stdbool.h>

struct tw_train_data;

/* Fill d, later, input, the quality and cpu_time_incomplete. */
void tw_train_rows_extract(struct tw_train_data *t);

/* Whether extraction gives both the same rows; they differ in the output type only. */
bool tw_train_rows_same(const struct tw_train_data *a, const struct tw_train_data *b);

/* The same as extraction, by copying the rows of `from`, if tw_train_rows_same(). */
void tw_train_rows_copy(struct tw_train_data *t, const struct tw_train_data *from);

#endif /* TW_TRAINER_TRAIN_ROWS_H */
