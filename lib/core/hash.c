/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/hash.h"

#define OFFSET_BASIS UINT64_C(14695981039346656037)
#define PRIME UINT64_C(1099511628211)

uint64_t tw_hash(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = OFFSET_BASIS;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * PRIME;
	return h;
}
