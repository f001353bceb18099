/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SHARE_H
#define TW_COLLECTOR_SHARE_H

/*
 * Whole microjoules divided by weight, by the largest remainder: the shares add up to the
 * total exactly.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for tw_share_out(). */
struct tw_remainder {
	uint64_t rest;
	size_t at;
};

/*
 * Divide total_uj in proportion to weight[0..count); ties go to the lower index. room has
 * count entries. Returns false and writes nothing if all weights are 0 or their sum
 * overflows.
 */
bool tw_share_out(uint64_t total_uj, const uint64_t *weight, size_t count,
		  uint64_t *out_uj, struct tw_remainder *room);

#endif /* TW_COLLECTOR_SHARE_H */
