/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_QUOTA_H
#define TW_COLLECTOR_QUOTA_H

/*
 * Shares of the tables that all agents fill, so that one agent's names leave room for
 * those of the others. An agent may use its share of the half of a table, whatever others
 * do, and more while the other half has room.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sums of all levels together. */
#define TW_SUMS_MAX 500000
/* Names of sources that are no meter's. */
#define TW_SUM_SOURCES_MAX 64

/* The quotas of an agent, then other reasons to leave out its data. */
enum tw_quota_of {
	TW_QUOTA_ROWS,    /* its workloads and zones */
	TW_QUOTA_SUMS,    /* sums that it was the first to use */
	TW_QUOTA_PARTS,   /* kinds and sources of sums */
	TW_QUOTA_SOURCES, /* names of energy sources that this collector does not know */
	TW_QUOTAS,
	TW_LEFT_ENERGY = TW_QUOTAS, /* answers, for impossible power */
	TW_LEFT_NODE,               /* answers with the node name of another agent */
	TW_LEFTS
};
extern const char *const tw_left_names[TW_LEFTS];

struct tw_quota {
	size_t users;
	size_t used[TW_QUOTAS]; /* of all */
};

/* An agent's use. It lives until it has left and nothing of it is in use. */
struct tw_quota_user {
	size_t used[TW_QUOTAS];
	uint64_t left_out[TW_LEFTS];
	bool gone;
};

/* NULL: no memory. */
struct tw_quota_user *tw_quota_join(struct tw_quota *q);
void tw_quota_leave(struct tw_quota *q, struct tw_quota_user *u); /* NULL is fine */

/*
 * Take a place. Returns false if the user has no place left, and counts that in its
 * left_out. u NULL: a user without a share.
 */
bool tw_quota_take(struct tw_quota *q, struct tw_quota_user *u, enum tw_quota_of of);
void tw_quota_give(struct tw_quota *q, struct tw_quota_user *u, enum tw_quota_of of);

#endif /* TW_COLLECTOR_QUOTA_H */
