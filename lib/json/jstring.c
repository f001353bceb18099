/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/jstring.h"

#include "lib/core/err.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ONES UINT64_C(0x0101010101010101)
#define HIGH UINT64_C(0x8080808080808080)

/* Whether a byte needs no decoding and no check of UTF-8. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/*
 * Set the high bit of the lowest zero byte of w. Bits of higher bytes may be wrong, bits
 * of lower ones are not. (https://graphics.stanford.edu/~seander/bithacks.html)
 */
static uint64_t zero_bytes(uint64_t w)
{
	return (w - ONES) & ~w;
}

/* Tests eight bytes at a time. */
size_t tw_jstring_plain(const char *data, size_t len)
{
	size_t i = 0;

	for (; len - i >= 8; i += 8) {
		uint64_t w, odd;

		memcpy(&w, data + i, sizeof(w));
		w = le64toh(w);
		odd = (w | (w - ONES * 0x20) | zero_bytes(w ^ ONES * '"') |
		       zero_bytes(w ^ ONES * '\\')) &
		      HIGH;
		if (odd != 0)
			return i + (size_t)__builtin_ctzll(odd) / 8;
	}
	while (i < len && is_plain((unsigned char)data[i]))
		i++;
	return i;
}

void tw_jstring_begin(struct tw_jstring *s)
{
	s->len = 0;
	s->escape = 0;
	s->code = 0;
	s->high = 0;
	s->utf8_left = 0;
}

static int fail_long(const struct tw_jstring *s, uint64_t offset, struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": text of more than %zu bytes",
		       offset, s->limit);
}

/* The caller has checked the limit. */
static int append(struct tw_jstring *s, const char *data, size_t len, struct tw_err *err)
{
	if (len == 0)
		return 0;
	if (len > s->size - s->len) {
		size_t size = s->size != 0 ? s->size : 64;
		char *buf;

		while (size < s->len + len)
			size *= 2;
		buf = realloc(s->buf, size);
		if (buf == NULL)
			return tw_fail(err, TW_NOMEM, "text of %zu bytes", size);
		s->buf = buf;
		s->size = size;
	}
	memcpy(s->buf + s->len, data, len);
	s->len += len;
	return 0;
}

static int append_code(struct tw_jstring *s, uint32_t code, uint64_t offset,
		       struct tw_err *err)
{
	char out[4];
	size_t n;

	if (code < 0x80) {
		out[0] = (char)code;
		n = 1;
	} else if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		n = 2;
	} else if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		n = 3;
	} else {
		out[0] = (char)(0xf0 | code >> 18);
		out[1] = (char)(0x80 | (code >> 12 & 0x3f));
		out[2] = (char)(0x80 | (code >> 6 & 0x3f));
		out[3] = (char)(0x80 | (code & 0x3f));
		n = 4;
	}
	if (n > s->limit - s->len)
		return fail_long(s, offset, err);
	return append(s, out, n, err);
}

static int fail_surrogate(uint64_t offset, struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": half a surrogate pair", offset);
}

/* A \u escape is complete: combine surrogates, append the code point. */
static int end_code(struct tw_jstring *s, uint64_t offset, struct tw_err *err)
{
	uint32_t code = s->code, high = s->high;

	s->escape = 0;
	s->code = 0;
	s->high = 0;
	if (high != 0) {
		if (code < 0xdc00 || code > 0xdfff)
			return fail_surrogate(offset, err);
		code = 0x10000 + ((high - 0xd800) << 10) + (code - 0xdc00);
	} else if (code >= 0xd800 && code <= 0xdbff) {
		s->high = code;
		return 0;
	} else if (code >= 0xdc00 && code <= 0xdfff) {
		return fail_surrogate(offset, err);
	}
	return append_code(s, code, offset, err);
}

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int step_escape(struct tw_jstring *s, char c, uint64_t offset, struct tw_err *err)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	int digit;

	if (s->escape > 1) {
		digit = hex_digit((unsigned char)c);
		if (digit < 0)
			return tw_fail(err, TW_PARSE,
				       "byte %" PRIu64 ": expected a hex digit", offset);
		s->code = s->code << 4 | (uint32_t)digit;
		return ++s->escape <= 5 ? 0 : end_code(s, offset, err);
	}
	if (c == 'u') {
		s->escape = 2;
		return 0;
	}
	if (s->high != 0)
		return fail_surrogate(offset, err);
	at = c != '\0' ? strchr(from, c) : NULL;
	if (at == NULL)
		return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": unknown escape", offset);
	s->escape = 0;
	return append_code(s, (uint32_t)to[at - from], offset, err);
}

/* The first byte gives the length and the range of the second byte (RFC 3629). */
static bool begin_utf8(struct tw_jstring *s, unsigned char c)
{
	s->utf8_min = 0x80;
	s->utf8_max = 0xbf;
	if (c >= 0xc2 && c <= 0xdf) {
		s->utf8_left = 1;
	} else if (c >= 0xe0 && c <= 0xef) {
		s->utf8_left = 2;
		s->utf8_min = c == 0xe0 ? 0xa0 : 0x80;
		s->utf8_max = c == 0xed ? 0x9f : 0xbf;
	} else if (c >= 0xf0 && c <= 0xf4) {
		s->utf8_left = 3;
		s->utf8_min = c == 0xf0 ? 0x90 : 0x80;
		s->utf8_max = c == 0xf4 ? 0x8f : 0xbf;
	} else {
		return false;
	}
	return true;
}

static bool continue_utf8(struct tw_jstring *s, unsigned char c)
{
	if (c < s->utf8_min || c > s->utf8_max)
		return false;
	s->utf8_left--;
	s->utf8_min = 0x80;
	s->utf8_max = 0xbf;
	return true;
}

/* Check a byte that is not plain, not part of an escape and not the closing quote. */
static int check_byte(struct tw_jstring *s, unsigned char c, uint64_t offset,
		      struct tw_err *err)
{
	if (s->utf8_left > 0 ? !continue_utf8(s, c) : c >= 0x80 && !begin_utf8(s, c))
		return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": not UTF-8", offset);
	if (c < 0x20)
		return tw_fail(err, TW_PARSE,
			       "byte %" PRIu64 ": control character in a text", offset);
	return 0;
}

static int end_string(struct tw_jstring *s, const char *run, size_t len,
		      struct tw_err *err)
{
	if (s->len == 0) {
		s->text = run;
		s->text_len = len;
		return 0;
	}
	if (append(s, run, len, err) < 0)
		return -1;
	s->text = s->buf;
	s->text_len = s->len;
	return 0;
}

int tw_jstring_feed(struct tw_jstring *s, const char *data, size_t len, uint64_t offset,
		    size_t *used, bool *ended, struct tw_err *err)
{
	size_t i = 0, run = 0; /* data[run..i) is checked, but not copied to buf */

	*ended = false;
	while (i < len) {
		size_t room = s->limit - s->len;
		bool full;

		if (s->escape != 0) {
			if (step_escape(s, data[i], offset + i, err) < 0)
				return -1;
			run = ++i;
			continue;
		}
		if (s->high != 0 && data[i] != '\\')
			return fail_surrogate(offset + i, err);
		if (s->utf8_left == 0)
			i += tw_jstring_plain(data + i,
					      (len - run > room ? run + room : len) - i);
		if (i == len)
			break;
		full = i - run == room;
		if (data[i] == '"' && s->utf8_left == 0) {
			*ended = true;
			*used = i + 1;
			return end_string(s, data + run, i - run, err);
		}
		if (full)
			return fail_long(s, offset + i, err);
		if (data[i] == '\\' && s->utf8_left == 0) {
			if (append(s, data + run, i - run, err) < 0)
				return -1;
			s->escape = 1;
			run = ++i;
			continue;
		}
		if (check_byte(s, (unsigned char)data[i], offset + i, err) < 0)
			return -1;
		i++;
	}
	*used = len;
	return append(s, data + run, len - run, err);
}

void tw_jstring_release(struct tw_jstring *s)
{
	free(s->buf);
	s->buf = NULL;
	s->len = 0;
	s->size = 0;
}
