/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PACKED_H
#define TW_TRAINER_PACKED_H

/*
 * Lossless compression of a sequence of numbers, for counters and time stamps: multiples
 * of a power of ten that grow in small steps.
 *
 * Multiples of 10^-digits are stored as integers: the first number, then the differences
 * between neighbours, minus the smallest difference. All differences have the width of
 * the largest; 0 bytes if all are equal, as for regular time stamps. Other sequences are
 * stored as doubles. Each number is restored bit for bit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_arena;
struct tw_err;

#define TW_PACKED_COUNT_MAX UINT32_MAX

/* All zero bytes is an empty sequence. */
struct tw_packed {
	const unsigned char *data; /* in the arena */
	int64_t first;             /* first number, times 10^digits */
	int64_t least;             /* smallest difference */
	uint32_t count;
	uint8_t width;  /* bytes of a difference */
	uint8_t digits; /* decimals */
	bool as_is;     /* data has doubles */
};

/* Pack count finite numbers, at most TW_PACKED_COUNT_MAX. The result lives as long as the
 * arena. */
int tw_pack(const double *v, size_t count, struct tw_arena *arena, struct tw_packed *out,
	    struct tw_err *err);

/* Whether no number is smaller than its predecessor. Constant time unless as_is. */
bool tw_packed_rises(const struct tw_packed *p);

/* The first and the last number; the sequence is not empty. */
double tw_packed_first(const struct tw_packed *p);
double tw_packed_last(const struct tw_packed *p); /* linear time */

/* Reads a sequence from its start. */
struct tw_unpack {
	const struct tw_packed *packed;
	size_t at; /* number of values read */
	int64_t whole;
	uint64_t mask;
	double scale;
};

struct tw_unpack tw_unpack_begin(const struct tw_packed *p);

/* The next number. Call it at most count times. */
double tw_unpack_next(struct tw_unpack *u);

#endif /* TW_TRAINER_PACKED_H */
