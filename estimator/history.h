/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_HISTORY_H
#define TW_ESTIMATOR_HISTORY_H

/*
 * The last rows of the series that clients have named, for models that look back. Memory
 * is limited: the series not used for longest is dropped first.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_history;
struct tw_node_series;
struct tw_recent_rows;
struct tw_rows;

/*
 * The identity of a series. The same name sent by another user, or with other columns, is
 * another series.
 */
struct tw_history_key {
	const char *name;
	uint64_t user;    /* of the client */
	uint64_t columns; /* hash of the column names */
	size_t cols;      /* number of columns */
};

/* bytes: the memory for all series. */
int tw_history_new(size_t bytes, struct tw_history **out, struct tw_err *err);

/*
 * Find or create a series with room for `back` rows and the newest. *out is borrowed and
 * valid until the next call. TW_INVALID: the series alone exceeds the memory.
 */
int tw_history_find(struct tw_history *h, const struct tw_history_key *k, size_t back,
		    struct tw_recent_rows **out, struct tw_err *err);

/* The number of series, and the total of dropped series. */
size_t tw_history_count(const struct tw_history *h);
uint64_t tw_history_dropped(const struct tw_history *h);

void tw_history_free(struct tw_history *h); /* NULL is fine */

/* ---- series without a name ---- */

/*
 * The last rows of clients that ask for the power of their node again and again, without
 * a time and without the name of a series, such as Kepler of any release.
 *
 * Rows are taken for a series only if that is certain:
 * - the requests come from one process (or one connection, if the process is unknown),
 *   with the same metrics, source, trainer and filter;
 * - each is a single row of AbsPower with a value above 0: a request of several rows is
 *   of several workloads, and rows of zeros ask for idle power;
 * - the last two rows came at the pace of the model's training. A row that comes sooner
 *   shows that the process asks for several things. Its rows are then independent until
 *   it has been silent.
 *
 * A series without a row for two steps of the model is dropped. Memory is limited to
 * TW_NODE_SERIES_MAX series of TW_NODE_SERIES_BYTES_MAX; the series not used for longest
 * is replaced first.
 */

#define TW_NODE_SERIES_MAX 64
#define TW_NODE_SERIES_BYTES_MAX ((size_t)64 * 1024)

/* A process that asks; a connection if the process is unknown (0). */
struct tw_node_client {
	uint32_t user, process;
	uint64_t connection;
};

/* A row of a client. */
struct tw_node_row {
	struct tw_node_client client;
	uint64_t question; /* hash of all of the request but its row */
	const double *x;
	size_t cols;
	uint64_t now_ms; /* when it came */
	size_t back;     /* earlier rows that the model uses, at least 1 */
	double step_ms;  /* of the model */
};

int tw_node_series_new(struct tw_node_series **out, struct tw_err *err);

/*
 * Add a row to its series. If earlier rows are certainly of the same series, set all of
 * *out but place and categories: the row and those before it, valid until the next call.
 * Else, and if memory is short, leave *out unchanged.
 */
void tw_node_series_add(struct tw_node_series *t, const struct tw_node_row *row,
			struct tw_rows *out);

/* The number of series now. */
size_t tw_node_series_count(const struct tw_node_series *t);

void tw_node_series_free(struct tw_node_series *t); /* NULL is fine */

#endif /* TW_ESTIMATOR_HISTORY_H */
