/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/zip/zip_store.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/zip/fileset.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

/* Records: PKWARE, .ZIP File Format Specification (APPNOTE.TXT) 6.3.10, section 4.3. */
#define FILES_MAX 1000
#define BYTES_MAX ((size_t)64 << 20)
#define VERSION 20
#define DATE_1980 (1 << 5 | 1)

static void add16(struct tw_buf *b, unsigned v)
{
	const unsigned char bytes[] = { (unsigned char)v, (unsigned char)(v >> 8) };

	tw_buf_add(b, bytes, sizeof(bytes));
}

static void add32(struct tw_buf *b, uint32_t v)
{
	add16(b, v & 0xffff);
	add16(b, v >> 16);
}

/* Append the common part of a file's headers: from the version to the lengths. */
static void add_facts(struct tw_buf *b, const char *name, const char *data, size_t len)
{
	add16(b, VERSION);
	add16(b, 0); /* flags */
	add16(b, 0); /* stored */
	add16(b, 0); /* time */
	add16(b, DATE_1980);
	add32(b, (uint32_t)crc32(crc32(0, Z_NULL, 0), (const Bytef *)data, (uInt)len));
	add32(b, (uint32_t)len);
	add32(b, (uint32_t)len);
	add16(b, (unsigned)strlen(name));
	add16(b, 0); /* extra field */
}

static void add_entry(struct tw_buf *b, const char *name, const char *data, size_t len,
		      uint32_t offset)
{
	add32(b, 0x02014b50);
	add16(b, VERSION);
	add_facts(b, name, data, len);
	add16(b, 0); /* comment */
	add16(b, 0); /* disk */
	add16(b, 0); /* internal attributes */
	add32(b, 0); /* external attributes */
	add32(b, offset);
	tw_buf_adds(b, name);
}

int tw_zip_store(const struct tw_fileset *s, struct tw_buf *out, struct tw_err *err)
{
	struct tw_buf list = { 0 };
	const size_t start = out->len;
	size_t bytes = 0, at;
	int rc = -1;

	for (size_t i = 0; i < s->count; i++)
		bytes += s->at[i].len + 2 * strlen(s->at[i].name) + 128;
	if (s->count > FILES_MAX || bytes > BYTES_MAX)
		return tw_fail(err, TW_INVALID, "%zu files are too much for a stored zip",
			       s->count);
	for (size_t i = 0; i < s->count; i++) {
		add_entry(&list, s->at[i].name, s->at[i].data, s->at[i].len,
			  (uint32_t)(out->len - start));
		add32(out, 0x04034b50);
		add_facts(out, s->at[i].name, s->at[i].data, s->at[i].len);
		tw_buf_adds(out, s->at[i].name);
		tw_buf_add(out, s->at[i].data, s->at[i].len);
	}
	at = out->len - start;
	tw_buf_add(out, list.data, list.len);
	add32(out, 0x06054b50);
	add16(out, 0); /* disk */
	add16(out, 0);
	add16(out, (unsigned)s->count);
	add16(out, (unsigned)s->count);
	add32(out, (uint32_t)list.len);
	add32(out, (uint32_t)at);
	add16(out, 0); /* comment */
	if (tw_buf_failed(&list) || tw_buf_failed(out)) {
		tw_fail(err, TW_NOMEM, "zip");
		goto out;
	}
	rc = 0;
out:
	tw_buf_clear(&list);
	return rc;
}
