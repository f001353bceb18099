/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_RANDOM_H
#define TW_TRAINER_RANDOM_H

/*
 * Random numbers from a seed, the same on every machine: SplitMix64 (G. L. Steele, D.
 * Lea, C. H. Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
 */

#include <stdint.h>

struct tw_random {
	uint64_t state;
};

/* Each seed and stream give a different sequence. */
static inline struct tw_random tw_random_init(uint64_t seed, uint64_t stream)
{
	return (struct tw_random){ seed * 0xd1342543de82ef95u + stream };
}

static inline uint64_t tw_random_next(struct tw_random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* 0 <= x < 1, in steps of 2^-53. */
static inline double tw_random_share(struct tw_random *r)
{
	return (double)(tw_random_next(r) >> 11) * 0x1p-53;
}

#endif /* TW_TRAINER_RANDOM_H */
