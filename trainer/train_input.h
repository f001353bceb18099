/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_INPUT_H
#define TW_TRAINER_TRAIN_INPUT_H

/*
 * What `tallywatt train` reads: one Prometheus response, or tables that were extracted
 * before.
 */

#include "lib/dataset.h"
#include "trainer/train.h"

struct tw_buf;
struct tw_err;
struct tw_prom;

struct tw_train_input {
	struct tw_prom *response; /* or NULL */
	struct tw_dataset *data;  /* of the tables */
	struct tw_train_table *table;
	size_t tables;
};

/*
 * Each of files is PATH or GROUP=PATH; where it names no group, `group` (may be NULL)
 * holds. Features of a group that a table lacks are told in warnings, a line each.
 * *in must be all zero; it is yours, on failure too.
 */
int tw_train_input_csv(struct tw_train_input *in, const struct tw_strs *files,
		       const struct tw_energy_source *source,
		       const struct tw_feature_group *group, struct tw_buf *warnings,
		       struct tw_err *err);

void tw_train_input_release(struct tw_train_input *in);

#endif /* TW_TRAINER_TRAIN_INPUT_H */
