/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/protobuf.h"

#include "lib/core/buf.h"

#include <string.h>

enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

#define VARINT_MAX 10

static size_t format_varint(unsigned char out[VARINT_MAX], uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (unsigned char)(v | 0x80);
	out[n++] = (unsigned char)v;
	return n;
}

void tw_pb_add_varint(struct tw_buf *b, uint64_t v)
{
	unsigned char text[VARINT_MAX];

	tw_buf_add(b, text, format_varint(text, v));
}

static void add_tag(struct tw_buf *b, unsigned field, unsigned type)
{
	tw_pb_add_varint(b, field << 3 | type);
}

void tw_pb_add_uint(struct tw_buf *b, unsigned field, uint64_t v)
{
	add_tag(b, field, VARINT);
	tw_pb_add_varint(b, v);
}

void tw_pb_add_fixed64(struct tw_buf *b, unsigned field, uint64_t v)
{
	unsigned char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(v >> 8 * i);
	add_tag(b, field, FIXED64);
	tw_buf_add(b, bytes, sizeof(bytes));
}

void tw_pb_add_double(struct tw_buf *b, unsigned field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	tw_pb_add_fixed64(b, field, bits);
}

void tw_pb_add_text(struct tw_buf *b, unsigned field, const char *text)
{
	add_tag(b, field, BYTES);
	tw_pb_add_varint(b, strlen(text));
	tw_buf_adds(b, text);
}

size_t tw_pb_begin(struct tw_buf *b, unsigned field)
{
	add_tag(b, field, BYTES);
	return b->len;
}

/* The length comes before the message: make room for it. */
void tw_pb_end(struct tw_buf *b, size_t began)
{
	const size_t len = b->len - began;
	unsigned char text[VARINT_MAX];
	const size_t n = format_varint(text, len);

	tw_buf_add(b, text, n);
	if (tw_buf_failed(b))
		return;
	memmove(b->data + began + n, b->data + began, len);
	memcpy(b->data + began, text, n);
}

static bool read_varint(const char *message, size_t len, size_t *at, uint64_t *out)
{
	*out = 0;
	for (unsigned shift = 0; *at < len && shift < 64; shift += 7) {
		const unsigned char c = (unsigned char)message[(*at)++];

		*out |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return true;
	}
	return false;
}

static uint64_t read_fixed64(const char *at)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | (unsigned char)at[i];
	return v;
}

bool tw_pb_next(const char *message, size_t len, size_t *at, struct tw_pb_field *out)
{
	uint64_t tag, n;

	*out = (struct tw_pb_field){ 0 };
	if (!read_varint(message, len, at, &tag))
		return false;
	out->number = (unsigned)(tag >> 3);
	if ((tag & 7) == VARINT)
		return read_varint(message, len, at, &out->value);
	if ((tag & 7) == FIXED64 && len - *at >= 8) {
		out->value = read_fixed64(message + *at);
		*at += 8;
		return true;
	}
	if ((tag & 7) != BYTES || !read_varint(message, len, at, &n))
		return false;
	out->data = message + *at;
	out->len = n < len - *at ? (size_t)n : len - *at;
	*at += out->len;
	return true;
}
