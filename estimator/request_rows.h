/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REQUEST_ROWS_H
#define TW_ESTIMATOR_REQUEST_ROWS_H

/*
 * The rows of a request as a predictor takes them, in batches. A batch has the values of
 * the system features appended to each row. If the model looks back and the request has
 * times, a batch is one row together with the earlier rows of its series. A request of
 * version 1 has no times, but may continue the series of its client's node
 * (estimator/history.h).
 */

#include "estimator/history.h"
#include "estimator/predict/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_history;
struct tw_power_model;
struct tw_request;
struct tw_rows;

/* Rows of a batch, at most. */
#define TW_REQUEST_ROWS_BATCH 64

/* The remembered series, and the client whose series a request may read and extend. */
struct tw_series_scope {
	struct tw_history *history;
	uint64_t user;
	struct tw_node_series *nodes; /* NULL: rows without time are independent */
	struct tw_node_client client;
	uint64_t now_ms;
};

/* All zero bytes is valid and empty. */
struct tw_request_rows {
	const struct tw_request *r;
	struct tw_series_scope scope;
	uint64_t columns; /* hash of the column names, in order */
	size_t back;      /* rows that the model looks back; 0: rows are independent */
	bool node;        /* the row continues the series of the client's node */
	double step_ms;   /* of the model */
	double *x;        /* a batch with system features */
	size_t size;
	struct tw_recent_rows unnamed; /* the series of a request that names none */
};

/*
 * Start with the first row of r, which must outlive b. b keeps its memory from an earlier
 * request. model: NULL is a model that does not look back.
 */
int tw_request_rows_begin(struct tw_request_rows *b, const struct tw_request *r,
			  const struct tw_power_model *model,
			  const struct tw_series_scope *scope, struct tw_err *err);

/*
 * Get a batch of 1 to `most` rows, starting with row `first`; most is at most
 * TW_REQUEST_ROWS_BATCH. Sets all of out but place; its columns are r->metrics. The batch
 * is valid until the next call. Get each row once, in order: a row becomes a part of its
 * series, unless it has an absurd value.
 */
int tw_request_rows_get(struct tw_request_rows *b, size_t first, size_t most,
			struct tw_rows *out, struct tw_err *err);

void tw_request_rows_release(struct tw_request_rows *b);

#endif /* TW_ESTIMATOR_REQUEST_ROWS_H */
