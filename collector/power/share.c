/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/share.h"

#include "lib/core/array.h"
#include "lib/core/num.h"

#include <stdlib.h>

static bool goes_before(const struct tw_remainder *a, const struct tw_remainder *b)
{
	return a->rest != b->rest ? a->rest > b->rest : a->at < b->at;
}

/* Move the k largest remainders to the front (quickselect). */
static void select_first(struct tw_remainder *p, ptrdiff_t count, ptrdiff_t k)
{
	ptrdiff_t low = 0, high = count - 1;

	while (low < high) {
		const struct tw_remainder pivot = p[low + (high - low) / 2];
		ptrdiff_t i = low, j = high;

		while (i <= j) {
			while (goes_before(&p[i], &pivot))
				i++;
			while (goes_before(&pivot, &p[j]))
				j--;
			if (i <= j) {
				const struct tw_remainder part = p[i];

				p[i++] = p[j];
				p[j--] = part;
			}
		}
		if (k <= j)
			high = j;
		else if (k >= i)
			low = i;
		else
			return;
	}
}

bool tw_share_out(uint64_t total_uj, const uint64_t *weight, size_t count,
		  uint64_t *out_uj, struct tw_remainder *room)
{
	tw_u128 sum = 0;
	uint64_t left = total_uj;

	for (size_t i = 0; i < count; i++)
		sum += weight[i];
	if (sum == 0 || sum > UINT64_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		const tw_u128 whole = (tw_u128)total_uj * weight[i];

		out_uj[i] = (uint64_t)(whole / sum);
		room[i] =
			(struct tw_remainder){ .rest = (uint64_t)(whole % sum), .at = i };
		left -= out_uj[i];
	}
	select_first(room, (ptrdiff_t)count, (ptrdiff_t)left);
	for (uint64_t i = 0; i < left; i++)
		out_uj[room[i].at]++;
	return true;
}

void tw_uses_release(struct tw_uses *u)
{
	free(u->at);
	free(u->weight);
	free(u->out_uj);
	free(u->room);
	*u = (struct tw_uses){ .at = NULL };
}

/*
 * Grow all arrays. If one fails, the others may be larger, so size is the size that all
 * have.
 */
static bool make_room(struct tw_uses *u, size_t count)
{
	size_t size = u->size != 0 ? u->size : 64;

	if (count <= u->size)
		return true;
	while (size < count)
		size *= 2;
	if (!tw_resize(&u->at, size, sizeof(*u->at)) ||
	    !tw_resize(&u->weight, size, sizeof(*u->weight)) ||
	    !tw_resize(&u->out_uj, size, sizeof(*u->out_uj)) ||
	    !tw_resize(&u->room, size, sizeof(*u->room)))
		return false;
	u->size = size;
	return true;
}

bool tw_uses_add(struct tw_uses *u, struct tw_unit_power *power,
		 const struct tw_zone_user *user, size_t count,
		 const struct tw_use *energy, uint64_t over_ns)
{
	struct tw_use *to;

	if (count == 0 || !make_room(u, u->count + count))
		return false;
	to = &u->at[u->count];
	tw_unit_power_weigh(power, user, count, energy->dynamic_uj, over_ns, u->weight);
	if (!tw_share_out(energy->dynamic_uj, u->weight, count, u->out_uj, u->room))
		return false;
	for (size_t i = 0; i < count; i++) {
		to[i] = (struct tw_use){ .tgid = user[i].tgid,
					 .dynamic_uj = u->out_uj[i] };
		u->weight[i] = user[i].used_ns;
	}
	tw_share_out(energy->idle_uj, u->weight, count, u->out_uj, u->room);
	for (size_t i = 0; i < count; i++)
		to[i].idle_uj = u->out_uj[i];
	u->count += count;
	return true;
}
