/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/hash.h"

#define PRIME UINT64_C(1099511628211)

uint64_t tw_hash_add(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * PRIME;
	return hash;
}

uint64_t tw_hash(const void *data, size_t len)
{
	return tw_hash_add(TW_HASH_START, data, len);
}
