/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_JNUMBER_H
#define TW_JNUMBER_H

/*
 * Decodes a JSON number whose text may arrive in several pieces. For lib/json/jsax.c.
 *
 * A number that lies within one piece, with a byte after it, is not copied. All zero
 * bytes is ready for the first number.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Bytes of the longest number: exact decimal doubles have up to 767 digits. */
#define TW_JNUMBER_MAX 1024

struct tw_jnumber {
	double value; /* valid once the number has ended */
	size_t len;   /* bytes of earlier pieces, in text */
	char text[TW_JNUMBER_MAX];
};

/* Drop a partial number. */
void tw_jnumber_begin(struct tw_jnumber *n);

/*
 * Take the bytes of data[0..len) that belong to the number. *used is their count. *ended
 * becomes true at a byte that does not belong to it. offset is the number's place in the
 * document, for errors.
 */
int tw_jnumber_feed(struct tw_jnumber *n, const char *data, size_t len, uint64_t offset,
		    size_t *used, bool *ended, struct tw_err *err);

/* End the number at the end of the input. */
int tw_jnumber_end(struct tw_jnumber *n, uint64_t offset, struct tw_err *err);

#endif /* TW_JNUMBER_H */
