/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/share.h"

__extension__ typedef unsigned __int128 u128;

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
	u128 sum = 0;
	uint64_t left = total_uj;

	for (size_t i = 0; i < count; i++)
		sum += weight[i];
	if (sum == 0 || sum > UINT64_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		const u128 whole = (u128)total_uj * weight[i];

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
