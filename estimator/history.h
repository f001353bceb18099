/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_HISTORY_H
#define TW_ESTIMATOR_HISTORY_H

/*
 * The series that clients have named, within a bound of memory: the one not asked for
 * longest is forgotten first.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_history;
struct tw_recent_rows;

/* What a series is known by. The same name of another user or with other columns is
 * another. */
struct tw_history_key {
	const char *name;
	uint64_t user;    /* who asks */
	uint64_t columns; /* a sum of their names */
	size_t cols;
};

int tw_history_new(size_t bytes, struct tw_history **out, struct tw_err *err);

/*
 * The series of that key, new or known, with room for `back` rows and one more. It lives
 * until the next call. TW_INVALID: it alone is larger than what there may be.
 */
int tw_history_find(struct tw_history *h, const struct tw_history_key *k, size_t back,
		    struct tw_recent_rows **out, struct tw_err *err);

/* How many there are, and how many have been forgotten. */
size_t tw_history_count(const struct tw_history *h);
uint64_t tw_history_forgotten(const struct tw_history *h);

void tw_history_free(struct tw_history *h); /* NULL is fine */

#endif /* TW_ESTIMATOR_HISTORY_H */
