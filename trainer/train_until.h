/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_UNTIL_H
#define TW_TRAINER_TRAIN_UNTIL_H

/*
 * Training on growing beginnings of the data, in order of time, until the models are
 * accurate enough or the data runs out: how much of a recording is needed.
 */

#include "trainer/train.h"

struct tw_buf;

/* In that many parts. */
#define TW_UNTIL_SHARES 10

/* An accuracy that is wanted; NaN: of this figure none. */
struct tw_until {
	double mae_w, mape_percent;
};

/* "mae:10,mape:20", in any order, at least one. TW_INVALID names what is wrong. */
int tw_until_parse(const char *text, struct tw_until *out, struct tw_err *err);

struct tw_until_outcome {
	bool reached;
	unsigned shares; /* of TW_UNTIL_SHARES, that were trained on at the end */
	/* Not reached: of whom no model is accurate enough. Static and the job's texts.
	 */
	const struct tw_train_row *missing;
};

/* Told of each step; r is NULL where no model could be made of so little, and why. */
typedef void tw_until_fn(void *arg, const struct tw_until_outcome *at,
			 const struct tw_train_result *r, const struct tw_err *why);

/*
 * tw_train() with the first of TW_UNTIL_SHARES parts of each machine's rows, then the
 * first two, and so on. Accurate enough is a model within both; it is reached where each
 * machine, source and output has one. *out is of the last training.
 */
int tw_train_until(const struct tw_train_job *job, const struct tw_until *until,
		   tw_until_fn *step, void *arg, struct tw_train_result *out,
		   struct tw_until_outcome *outcome, struct tw_err *err);

/* Append one line: whether the accuracy was reached, or the data ran out. */
void tw_until_report(const struct tw_until *until, const struct tw_until_outcome *o,
		     struct tw_buf *out);

#endif /* TW_TRAINER_TRAIN_UNTIL_H */
