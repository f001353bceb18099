/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/base64.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void tw_buf_add_base64(struct tw_buf *b, const void *data, size_t len)
{
	const unsigned char *s = data;

	for (; len > 0; s += 3) {
		const unsigned n = len < 3 ? (unsigned)len : 3;
		const unsigned v = (unsigned)s[0] << 16 |
				   (n > 1 ? (unsigned)s[1] << 8 : 0) | (n > 2 ? s[2] : 0);
		const char four[] = { digits[v >> 18], digits[v >> 12 & 63],
				      n > 1 ? digits[v >> 6 & 63] : '=',
				      n > 2 ? digits[v & 63] : '=' };

		tw_buf_add(b, four, sizeof(four));
		len -= n;
	}
}

/* The value of a digit, 0 to 63, or -1. */
static int digit(char c)
{
	const char *p = c != '\0' ? strchr(digits, c) : NULL;

	return p != NULL ? (int)(p - digits) : -1;
}

/* Decode four characters into up to three bytes. Return the count, or -1. */
static int read_four(const char *s, bool last, unsigned char out[3])
{
	const int pad = last && s[3] == '=' ? 1 + (s[2] == '=') : 0;
	unsigned v = 0;

	for (int i = 0; i < 4; i++) {
		const int d = i < 4 - pad ? digit(s[i]) : 0;

		if (d < 0)
			return -1;
		v = v << 6 | (unsigned)d;
	}
	/* Reject non-zero spare bits, so that an encoding is unique. */
	if ((v & ((1u << 8 * pad) - 1)) != 0)
		return -1;
	for (int i = 0; i < 3; i++)
		out[i] = (unsigned char)(v >> (16 - 8 * i));
	return 3 - pad;
}

int tw_base64_read(const char *text, size_t len, char **out, size_t *out_len,
		   struct tw_err *err)
{
	unsigned char three[3];
	char *data;
	size_t n = 0;

	if (len % 4 != 0)
		return tw_fail(err, TW_PARSE,
			       "base64 of %zu characters: expected a multiple of 4", len);
	data = malloc(len / 4 * 3 + 1);
	if (data == NULL)
		return tw_fail(err, TW_NOMEM, "%zu characters of base64", len);
	for (size_t at = 0; at < len; at += 4) {
		const int got = read_four(text + at, at + 4 == len, three);

		if (got < 0) {
			free(data);
			return tw_fail(err, TW_PARSE, "byte %zu: not a base64 character",
				       at);
		}
		memcpy(data + n, three, (size_t)got);
		n += (size_t)got;
	}
	data[n] = '\0';
	*out = data;
	*out_len = n;
	return 0;
}
