/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_PACK_H
#define TW_TRAINER_TRAIN_PACK_H

/*
 * The last stage of a training: the rows of the result and the files of the pipeline.
 */

#include "trainer/isolation.h"
#include "trainer/train_machines.h"

#include <stddef.h>

struct tw_err;
struct tw_train_data;
struct tw_train_job;
struct tw_train_result;
struct tw_train_unit;

/*
 * The results of the stages; each stage adds its part. It must stay where it is, because
 * units borrow the data, and data borrow the machines and the isolation.
 */
struct tw_train_outcome {
	const struct tw_train_job *job; /* borrowed */
	struct tw_train_machines machines;
	struct tw_isolation isolation;
	struct tw_train_data *data;
	size_t datas;
	struct tw_train_unit *unit; /* packing takes their files */
	size_t units;
};

void tw_train_outcome_release(struct tw_train_outcome *o);

/*
 * Add rows and files to *out, which the caller releases, after a failure too. Every unit
 * is finished. Fails if no unit has a model, or if one failed for lack of memory: a
 * pipeline must not depend on how much memory there was.
 */
int tw_train_pack(const struct tw_train_outcome *o, struct tw_train_result *out,
		  struct tw_err *err);

#endif /* TW_TRAINER_TRAIN_PACK_H */
