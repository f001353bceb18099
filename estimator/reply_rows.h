/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REPLY_ROWS_H
#define TW_ESTIMATOR_REPLY_ROWS_H

/*
 * The rows of a request as predictors take them, some at a time: system features that
 * are the same in every row stand behind each row's own values. Where the request says
 * when rows are of and the model looks back, it is one at a time, with those before it.
 */

#include "estimator/predict/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_history;
struct tw_request;
struct tw_rows;

/* Rows that are taken at a time. */
#define TW_REPLY_ROWS 64

/* Where series are remembered, and of whom. */
struct tw_reply_series {
	struct tw_history *history;
	uint64_t user;
};

/* All zero bytes is none. */
struct tw_reply_rows {
	const struct tw_request *r;
	struct tw_reply_series of;
	uint64_t columns; /* a sum of their names */
	size_t back;      /* 0: rows stand alone */
	double *x;        /* where rows are put together, if they must be */
	size_t size;
	struct tw_recent_rows own; /* where the request is a series of its own */
};

/*
 * For the rows of r, in the memory that there is. back: how many rows before a row the
 * model looks at.
 */
int tw_reply_rows_begin(struct tw_reply_rows *b, const struct tw_request *r, size_t back,
			const struct tw_reply_series *of, struct tw_err *err);

/*
 * The next rows from `first` on, in out but for its place[]: `most` of them, or fewer;
 * most is TW_REPLY_ROWS at most. Columns are those of r->metrics. They live until the
 * next call. Each row is got once, in order.
 */
int tw_reply_rows_get(struct tw_reply_rows *b, size_t first, size_t most,
		      struct tw_rows *out, struct tw_err *err);

void tw_reply_rows_release(struct tw_reply_rows *b);

#endif /* TW_ESTIMATOR_REPLY_ROWS_H */
