/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_JNUMBER_H
#define TW_JNUMBER_H

/*
 * Decoder of JSON numbers that come in pieces; a part of lib/jsax.
 *
 * A number that lies whole in one piece, with a byte behind it, is not copied. All zero
 * bytes is ready for the first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Bytes of the longest number: exact decimal doubles have up to 767 digits. */
#define TW_JNUMBER_MAX 1024

struct tw_jnumber {
	double value; /* once it has ended */
	size_t len;   /* of what came in earlier pieces */
	char text[TW_JNUMBER_MAX];
};

/* Forget what came. */
void tw_jnumber_begin(struct tw_jnumber *n);

/*
 * Take the bytes that belong to the number: *used of them. *ended once a byte behind it
 * is there. offset is where the number begins in the document, for the errors.
 */
int tw_jnumber_feed(struct tw_jnumber *n, const char *data, size_t len, uint64_t offset,
		    size_t *used, bool *ended, struct tw_err *err);

/* There are no more bytes. */
int tw_jnumber_end(struct tw_jnumber *n, uint64_t offset, struct tw_err *err);

#endif /* TW_JNUMBER_H */
