/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_CHANCE_H
#define TW_TEST_CHANCE_H

#include <stdint.h>

/* A number below n, the same at each run of the test. */
static inline uint64_t chance(uint64_t *seed, uint64_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (*seed >> 33) % n;
}

#endif /* TW_TEST_CHANCE_H */
