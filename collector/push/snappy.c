/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/snappy.h"

#include "collector/push/protobuf.h"
#include "lib/core/buf.h"

#include <stdint.h>
#include <string.h>

/* Offsets of copies have two bytes, so matches are looked for in parts of that size. */
#define PART ((size_t)1 << 16)
#define HASH_BITS 12
#define COPY_MAX 64
#define MATCH_MIN 4

/* Elements: the two low bits of the first byte. */
enum { LITERAL = 0, COPY_2 = 2 };

static void add_literal(struct tw_buf *out, const char *from, size_t n)
{
	const size_t m = n - 1;
	const unsigned char one[] = { (unsigned char)(m << 2 | LITERAL) };
	const unsigned char more[] = { 61 << 2 | LITERAL, (unsigned char)m,
				       (unsigned char)(m >> 8) };

	if (n == 0)
		return;
	if (m < 60)
		tw_buf_add(out, one, sizeof(one));
	else
		tw_buf_add(out, more, sizeof(more));
	tw_buf_add(out, from, n);
}

static void add_copy(struct tw_buf *out, size_t offset, size_t n)
{
	while (n > 0) {
		const size_t part = n < COPY_MAX ? n : COPY_MAX;
		const unsigned char bytes[] = { (unsigned char)((part - 1) << 2 | COPY_2),
						(unsigned char)offset,
						(unsigned char)(offset >> 8) };

		tw_buf_add(out, bytes, sizeof(bytes));
		n -= part;
	}
}

static uint32_t load(const char *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static void add_part(struct tw_buf *out, const char *p, size_t n)
{
	uint16_t seen[1 << HASH_BITS] = { 0 }; /* the last place of a hash */
	size_t at = 0, done = 0;

	while (at + MATCH_MIN <= n) {
		const uint32_t word = load(p + at);
		uint16_t *slot = &seen[word * 0x1e35a7bdu >> (32 - HASH_BITS)];
		const size_t before = *slot;
		size_t len = MATCH_MIN;

		*slot = (uint16_t)at;
		if (before >= at || load(p + before) != word) {
			at++;
			continue;
		}
		while (at + len < n && p[before + len] == p[at + len])
			len++;
		add_literal(out, p + done, at - done);
		add_copy(out, at - before, len);
		done = at += len;
	}
	add_literal(out, p + done, n - done);
}

void tw_snappy_add(struct tw_buf *out, const char *data, size_t len)
{
	tw_pb_add_varint(out, len);
	for (size_t at = 0; at < len; at += PART)
		add_part(out, data + at, len - at < PART ? len - at : PART);
}
