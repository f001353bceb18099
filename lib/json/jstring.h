/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_JSTRING_H
#define TW_JSTRING_H

/*
 * Decodes a JSON string whose text may arrive in several pieces. For lib/json/jsax.c.
 *
 * A string without escapes that lies within one piece is not copied. All zero bytes, with
 * limit set, is ready for tw_jstring_begin().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

struct tw_jstring {
	size_t limit; /* most bytes of a decoded string */

	/* The decoded string once it has ended. It lies in the last piece or in buf. */
	const char *text;
	size_t text_len;

	char *buf;
	size_t len, size;
	unsigned escape; /* 0: none; 1: after '\'; 2 to 5: at hex digit 1 to 4 of \u */
	uint32_t code;   /* of the \u escape so far */
	uint32_t high;   /* high surrogate whose low half is due */
	/* Bytes left of a UTF-8 sequence, and the range of the next one. */
	unsigned char utf8_left, utf8_min, utf8_max;
};

/*
 * Count the plain bytes at the start of data: printable ASCII except '"' and '\\'. If the
 * closing quote follows them, they are the whole string.
 */
size_t tw_jstring_plain(const char *data, size_t len);

/* Start a string, after its opening quote. */
void tw_jstring_begin(struct tw_jstring *s);

/*
 * Take bytes up to and including the closing quote. *used is their count, *ended whether
 * the quote was there. offset is the place of data in the document, for errors.
 */
int tw_jstring_feed(struct tw_jstring *s, const char *data, size_t len, uint64_t offset,
		    size_t *used, bool *ended, struct tw_err *err);

/* Free buf. */
void tw_jstring_release(struct tw_jstring *s);

#endif /* TW_JSTRING_H */
