/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ATTRIBUTE_H
#define TW_COLLECTOR_ATTRIBUTE_H

/*
 * Shares of a zone's energy by usage, in whole microjoules that add up to it.
 */

#include "collector/zone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Divide total_uj among count parts in proportion to weight, by largest remainder (ties:
 * the first). The sum of out is total_uj exactly. False, with nothing written, if all
 * weights are 0. order has room for count places.
 */
bool tw_share_out(uint64_t total_uj, const uint64_t *weight, size_t count,
		  uint64_t *out_uj, size_t *order);

#endif /* TW_COLLECTOR_ATTRIBUTE_H */
