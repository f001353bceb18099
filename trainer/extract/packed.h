/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PACKED_H
#define TW_TRAINER_PACKED_H

/*
 * Numbers in a row, packed for what counters and time stamps are: multiples of a power
 * of ten, of which each is a little more than the one before.
 *
 * Multiples of 10^-digits are kept as whole numbers: the first, then the differences,
 * each less the smallest of them, in as many bytes as the largest needs; none where all
 * are equal, as those of regular time stamps are. Other numbers are kept as they are, in
 * eight bytes. Each comes back bit for bit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_arena;
struct tw_err;

#define TW_PACKED_COUNT_MAX UINT32_MAX

/* All zero bytes is none. */
struct tw_packed {
	const unsigned char *data;
	int64_t first, least; /* the smallest difference */
	uint32_t count;
	uint8_t width;  /* bytes of a difference */
	uint8_t digits; /* behind the point */
	bool as_is;     /* doubles */
};

/* Pack count finite numbers into the arena, which the result lives as long as. At most
 * TW_PACKED_COUNT_MAX. */
int tw_pack(const double *v, size_t count, struct tw_arena *arena, struct tw_packed *out,
	    struct tw_err *err);

/* Whether none is smaller than the one before it: known without a look at each. */
bool tw_packed_rises(const struct tw_packed *p);

/* Of one or more. */
double tw_packed_first(const struct tw_packed *p);
double tw_packed_last(const struct tw_packed *p); /* looks at each */

/* Reading them, one after the other. */
struct tw_unpack {
	const struct tw_packed *packed;
	size_t at; /* how many have been read */
	int64_t whole;
	uint64_t mask;
	double scale;
};

struct tw_unpack tw_unpack_begin(const struct tw_packed *p);

/* The next one, of those that there are. */
double tw_unpack_next(struct tw_unpack *u);

#endif /* TW_TRAINER_PACKED_H */
