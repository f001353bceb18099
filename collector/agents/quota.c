/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/agents/quota.h"

#include <stdlib.h>

const char *const tw_left_names[TW_LEFTS] = {
	[TW_QUOTA_ROWS] = "rows",    [TW_QUOTA_SUMS] = "sums",
	[TW_QUOTA_PARTS] = "parts",  [TW_QUOTA_SOURCES] = "sources",
	[TW_LEFT_ENERGY] = "energy", [TW_LEFT_NODE] = "node name",
};

/* Places of all users together, and of one. */
static const struct {
	size_t all, each;
} limits[TW_QUOTAS] = {
	[TW_QUOTA_ROWS] = { 500000, 8192 },
	[TW_QUOTA_SUMS] = { TW_SUMS_MAX, 32768 },
	[TW_QUOTA_PARTS] = { 6 * TW_SUMS_MAX, 131072 },
	[TW_QUOTA_SOURCES] = { TW_SUM_SOURCES_MAX, 4 },
};

struct tw_quota_user *tw_quota_join(struct tw_quota *q)
{
	struct tw_quota_user *u = calloc(1, sizeof(*u));

	q->users += u != NULL;
	return u;
}

static void free_unused(struct tw_quota_user *u)
{
	size_t used = 0;

	for (int of = 0; of < TW_QUOTAS; of++)
		used += u->used[of];
	if (u->gone && used == 0)
		free(u);
}

void tw_quota_leave(struct tw_quota *q, struct tw_quota_user *u)
{
	if (u == NULL)
		return;
	q->users--;
	u->gone = true;
	free_unused(u);
}

bool tw_quota_take(struct tw_quota *q, struct tw_quota_user *u, enum tw_quota_of of)
{
	const size_t half = limits[of].all / 2;
	const size_t used = u != NULL ? u->used[of] : 0;
	const size_t share = u != NULL && !u->gone ? half / q->users : 0;

	if (q->used[of] >= limits[of].all ||
	    (used >= share && (q->used[of] >= half || used >= limits[of].each))) {
		if (u != NULL)
			u->left_out[of]++;
		return false;
	}
	q->used[of]++;
	if (u != NULL)
		u->used[of]++;
	return true;
}

void tw_quota_give(struct tw_quota *q, struct tw_quota_user *u, enum tw_quota_of of)
{
	q->used[of]--;
	if (u == NULL)
		return;
	u->used[of]--;
	free_unused(u);
}
