/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/uses.h"

#include "collector/power/share.h"

#include <stdlib.h>

void tw_uses_release(struct tw_uses *u)
{
	free(u->at);
	free(u->weight);
	free(u->out_uj);
	free(u->room);
	*u = (struct tw_uses){ .at = NULL };
}

static bool grow(void **array, size_t size, size_t each)
{
	void *at = realloc(*array, size * each);

	if (at == NULL)
		return false;
	*array = at;
	return true;
}

/*
 * Grow all arrays. If one fails, the others may be larger, so size is the size that all
 * have.
 */
static bool make_room(struct tw_uses *u, size_t count)
{
	void *at = u->at, *weight = u->weight, *out = u->out_uj, *room = u->room;
	size_t size = u->size != 0 ? u->size : 64;
	bool grown;

	if (count <= u->size)
		return true;
	while (size < count)
		size *= 2;
	grown = grow(&at, size, sizeof(*u->at)) &&
		grow(&weight, size, sizeof(*u->weight)) &&
		grow(&out, size, sizeof(*u->out_uj)) &&
		grow(&room, size, sizeof(*u->room));
	u->at = at;
	u->weight = weight;
	u->out_uj = out;
	u->room = room;
	if (grown)
		u->size = size;
	return grown;
}

bool tw_uses_add(struct tw_uses *u, const struct tw_zone_user *user, size_t count,
		 uint64_t dynamic_uj, uint64_t idle_uj)
{
	struct tw_use *to;

	if (count == 0 || !make_room(u, u->count + count))
		return false;
	to = &u->at[u->count];
	for (size_t i = 0; i < count; i++)
		u->weight[i] = user[i].weight;
	if (!tw_share_out(dynamic_uj, u->weight, count, u->out_uj, u->room))
		return false;
	for (size_t i = 0; i < count; i++)
		to[i] = (struct tw_use){ .tgid = user[i].tgid,
					 .dynamic_uj = u->out_uj[i] };
	tw_share_out(idle_uj, u->weight, count, u->out_uj, u->room);
	for (size_t i = 0; i < count; i++)
		to[i].idle_uj = u->out_uj[i];
	u->count += count;
	return true;
}
