/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_JSTRING_H
#define TW_JSTRING_H

/*
 * Decoder of JSON strings that come in pieces; a part of lib/jsax.
 *
 * A string that lies whole and without escapes in one piece is not copied. All zero
 * bytes, but for the limit, is ready for tw_jstring_begin().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

struct tw_jstring {
	size_t limit; /* most decoded bytes */

	/* The decoded string once it has ended: in the last piece or in buf. */
	const char *text;
	size_t text_len;

	char *buf;
	size_t len, size;
	unsigned escape; /* 0: none; 1: behind '\'; 2 to 5: hex digit of \u */
	uint32_t code;   /* of the \u so far */
	uint32_t high;   /* surrogate that waits for its other half */
	unsigned char utf8_left, utf8_min, utf8_max; /* of the next byte */
};

/*
 * How many bytes from the start of data stand for themselves in a string: if the next one
 * is the closing quote, they are all of it.
 */
size_t tw_jstring_plain(const char *data, size_t len);

/* Behind the opening quote. */
void tw_jstring_begin(struct tw_jstring *s);

/*
 * Take bytes up to the closing quote, which is *used's last when *ended. offset is
 * where data lies in the document, for the errors.
 */
int tw_jstring_feed(struct tw_jstring *s, const char *data, size_t len, uint64_t offset,
		    size_t *used, bool *ended, struct tw_err *err);

void tw_jstring_release(struct tw_jstring *s);

#endif /* TW_JSTRING_H */
