/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_UNTIL_H
#define TW_TRAINER_TRAIN_UNTIL_H

/*
 * Training on a growing share of the data, from its start, until the models are accurate
 * enough or the data ends. The result tells how long a recording has to be.
 */

#include "trainer/train.h"

/* The share grows in this many steps. */
#define TW_UNTIL_SHARES 10

/* The wanted accuracy; NaN: no limit. */
struct tw_until {
	double mae_w, mape_percent;
};

/*
 * Parse "mae:10,mape:20", in any order, at least one of both. TW_INVALID quotes the bad
 * part.
 */
int tw_until_parse(const char *text, struct tw_until *out, struct tw_err *err);

struct tw_until_outcome {
	bool reached;
	unsigned shares; /* shares of TW_UNTIL_SHARES in the last training */
	/*
	 * If not reached, a row of the machine, source and output that lack an accurate
	 * model. It belongs to the result.
	 */
	const struct tw_train_row *missing;
};

/*
 * Called after each training. If the share was too small for any model, r is NULL and why
 * is set.
 */
typedef void tw_until_fn(void *arg, const struct tw_until_outcome *at,
			 const struct tw_train_result *r, const struct tw_err *why);

/*
 * Call tw_train() with the first 1 / TW_UNTIL_SHARES of each machine's rows, then with
 * the first two, and so on. The accuracy is that on the rows after the share; with all
 * rows, that of the blocked folds. It is reached once each machine, source and output
 * type has a model within both limits. *out is the result of the last training.
 */
int tw_train_until(const struct tw_train_job *job, const struct tw_until *until,
		   tw_until_fn *step, void *arg, struct tw_train_result *out,
		   struct tw_until_outcome *outcome, struct tw_err *err);

/* Append one line: whether the accuracy was reached, or the data ran out. */
void tw_until_report(const struct tw_until *until, const struct tw_until_outcome *o,
		     struct tw_buf *out);

#endif /* TW_TRAINER_TRAIN_UNTIL_H */
