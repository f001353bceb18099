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
struct tw_recent_rows;

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

#endif /* TW_ESTIMATOR_HISTORY_H */
