/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/zip/zip.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/hash.h"
#include "lib/core/strs.h"
#include "lib/zip/fileset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
/* Makes zlib's input pointers const. */
#define ZLIB_CONST
#include <zlib.h>

#define MIB ((size_t)1 << 20)

/*
 * Ratios, measured: XGBoost's JSON of real data packs 4:1, 2000 trees of a constant label
 * 93:1. Deflate's maximum, which zip bombs approach, is 1032:1.
 */
const struct tw_fileset_limits tw_zip_model_limits = {
	.files = 64,
	.file_bytes = 64 * MIB,
	.total_bytes = 128 * MIB,
	.ratio = 200,
};

const struct tw_fileset_limits tw_zip_pipeline_limits = {
	.files = 20000,
	.file_bytes = 64 * MIB,
	.total_bytes = 1024 * MIB,
	.ratio = 200,
};

/* Smaller members are exempt from the ratio: a page of zeros is not a zip bomb. */
#define RATIO_FREE_BYTES ((size_t)64 * 1024)

/* The end record (APPNOTE.TXT 4.3.16). All numbers are little endian. */
#define END_MAGIC "PK\5\6"
#define END_BYTES 22
#define END_COUNT_AT 10
#define END_SIZE_AT 12
#define END_OFFSET_AT 16
#define END_COMMENT_AT 20
#define END_COMMENT_MAX 65535

/* zip64's end record (4.3.14) and its locator (4.3.15), before the end record. */
#define END64_MAGIC "PK\6\6"
#define END64_BYTES 56
#define END64_COUNT_AT 32
#define END64_SIZE_AT 40
#define END64_OFFSET_AT 48
#define LOCATOR_MAGIC "PK\6\7"
#define LOCATOR_BYTES 20
#define LOCATOR_OFFSET_AT 8

/* zip64's field in the extra bytes of a member (4.5.3). */
#define EXTRA64 1
#define EXTRA_HEAD_BYTES 4

/* A member's entry in the central directory (4.3.12). */
#define ENTRY_MAGIC "PK\1\2"
#define ENTRY_BYTES 46
#define ENTRY_FLAGS_AT 8
#define ENTRY_METHOD_AT 10
#define ENTRY_CRC_AT 16
#define ENTRY_PACKED_AT 20
#define ENTRY_LEN_AT 24
#define ENTRY_NAME_AT 28
#define ENTRY_EXTRA_AT 30
#define ENTRY_COMMENT_AT 32
#define ENTRY_ATTRIBUTES_AT 38
#define ENTRY_OFFSET_AT 42

#define FLAG_ENCRYPTED 1u
#define FLAG_SIZES_BEHIND 8u /* sizes follow the data; the local header has none */

/* The local header before a member's bytes (4.3.7). It must match the directory. */
#define LOCAL_MAGIC "PK\3\4"
#define LOCAL_BYTES 30
#define LOCAL_FLAGS_AT 6
#define LOCAL_METHOD_AT 8
#define LOCAL_CRC_AT 14
#define LOCAL_NAME_AT 26
#define LOCAL_EXTRA_AT 28

static uint32_t read_u16(const char *p)
{
	return (uint32_t)(unsigned char)p[0] | (uint32_t)(unsigned char)p[1] << 8;
}

static uint32_t read_u32(const char *p)
{
	return read_u16(p) | read_u16(p + 2) << 16;
}

static uint64_t read_u64(const char *p)
{
	return read_u32(p) | (uint64_t)read_u32(p + 4) << 32;
}

/* The central directory, and the sums of the sizes declared so far. */
struct reader {
	const char *data;
	size_t start, end; /* of the directory in data */
	size_t count;      /* of members, from the end record */
	const struct tw_fileset_limits *limits;
	size_t bytes, packed;
};

/*
 * Find the end record. Several end records are rejected: readers disagree which one
 * counts.
 */
static int find_end(const char *data, size_t len, size_t *at, struct tw_err *err)
{
	size_t start = 0, found = 0;

	if (len < END_BYTES)
		return tw_fail(err, TW_PARSE, "archive: %zu bytes are too few for a zip",
			       len);
	if (len > END_BYTES + END_COMMENT_MAX)
		start = len - END_BYTES - END_COMMENT_MAX;
	for (size_t i = start; i <= len - END_BYTES; i++) {
		if (memcmp(data + i, END_MAGIC, 4) != 0 ||
		    read_u16(data + i + END_COMMENT_AT) != len - i - END_BYTES)
			continue;
		*at = i;
		found++;
	}
	if (found == 0)
		return tw_fail(err, TW_PARSE,
			       "archive: no end record: not a zip, or cut short");
	if (found > 1)
		return tw_fail(err, TW_PARSE, "archive: %zu end records, expected one",
			       found);
	return 0;
}

/* Whether a number of the end record is that of zip64's, or refers to it by all ones. */
static bool agrees(uint64_t narrow, uint64_t wide, uint64_t ones)
{
	return narrow == wide || narrow == ones;
}

/* Read zip64's end record, if the end record at `at` has one before it. */
static int read_end64(const char *data, size_t at, struct reader *r, uint64_t *size,
		      struct tw_err *err)
{
	const char *locator = data + at - LOCATOR_BYTES, *end = locator - END64_BYTES;
	uint64_t count, bytes, start;

	if (at < LOCATOR_BYTES || memcmp(locator, LOCATOR_MAGIC, 4) != 0)
		return 0;
	if (at < LOCATOR_BYTES + END64_BYTES || memcmp(end, END64_MAGIC, 4) != 0 ||
	    read_u64(locator + LOCATOR_OFFSET_AT) != (uint64_t)(end - data))
		return tw_fail(err, TW_PARSE,
			       "archive: zip64's end record is not before its locator");
	count = read_u64(end + END64_COUNT_AT);
	bytes = read_u64(end + END64_SIZE_AT);
	start = read_u64(end + END64_OFFSET_AT);
	if (!agrees(r->count, count, UINT16_MAX) || !agrees(*size, bytes, UINT32_MAX) ||
	    !agrees(r->start, start, UINT32_MAX))
		return tw_fail(err, TW_PARSE, "archive: the end records differ");
	r->count = (size_t)count;
	r->start = (size_t)start;
	r->end = (size_t)(end - data);
	*size = bytes;
	return 0;
}

static int read_end(const char *data, size_t len, struct reader *r, struct tw_err *err)
{
	uint64_t size;
	size_t at = 0;

	if (find_end(data, len, &at, err) < 0)
		return -1;
	r->data = data;
	r->count = read_u16(data + at + END_COUNT_AT);
	size = read_u32(data + at + END_SIZE_AT);
	r->start = read_u32(data + at + END_OFFSET_AT);
	r->end = at;
	if (read_end64(data, at, r, &size, err) < 0)
		return -1;
	if (r->limits->files != 0 && r->count > r->limits->files)
		return tw_fail(err, TW_INVALID, "archive: %zu members, limit is %zu",
			       r->count, r->limits->files);
	if (size > r->end || r->start != r->end - size || size / ENTRY_BYTES < r->count)
		return tw_fail(
			err, TW_PARSE,
			"archive: the end record gives a wrong place for the directory");
	return 0;
}

/* The sizes of a header, and where the member begins. */
struct sizes {
	uint64_t packed, len, offset;
};

/* zip64's field of the extra bytes, and its length; NULL if there is none. */
static const char *find_extra64(const char *extra, size_t len, size_t *left)
{
	while (len >= EXTRA_HEAD_BYTES) {
		const size_t field = read_u16(extra + 2);

		*left = field;
		if (field > len - EXTRA_HEAD_BYTES)
			return NULL;
		if (read_u16(extra) == EXTRA64)
			return extra + EXTRA_HEAD_BYTES;
		extra += EXTRA_HEAD_BYTES + field;
		len -= EXTRA_HEAD_BYTES + field;
	}
	return NULL;
}

/* Read sizes at `at`, and the offset, if there is one. Numbers that are all ones are in
 * zip64's field of the extra bytes; false if they are not. */
static bool read_sizes(const char *at, const char *offset, const char *extra,
		       size_t extra_len, struct sizes *out)
{
	uint64_t *const number[] = { &out->len, &out->packed, &out->offset };
	size_t left = 0;
	const char *wide = find_extra64(extra, extra_len, &left);

	*out = (struct sizes){ read_u32(at), read_u32(at + 4),
			       offset != NULL ? read_u32(offset) : 0 };
	for (size_t i = 0; i < TW_COUNT(number); i++) {
		if (*number[i] != UINT32_MAX)
			continue;
		if (wide == NULL || left < 8)
			return false;
		*number[i] = read_u64(wide);
		if (*number[i] > PTRDIFF_MAX)
			return false;
		wide += 8;
		left -= 8;
	}
	return true;
}

/* Check each component of a member's path. A directory ends in '/'. */
static int check_path(const char *name, struct tw_err *err)
{
	const char *part = name;

	if (*part == '\0')
		return tw_fail(err, TW_INVALID, "archive: member without a name");
	do {
		size_t len = strcspn(part, "/");

		if (tw_name_check("archive member", part, len, err) < 0)
			return -1;
		part += len;
		part += *part == '/';
	} while (*part != '\0');
	return 0;
}

/* Read all fields of the entry but its name. */
static int read_fields(const char *entry, struct tw_zip_member *m, struct sizes *s,
		       struct tw_err *err)
{
	const mode_t mode = (mode_t)read_u16(entry + ENTRY_ATTRIBUTES_AT + 2) & S_IFMT;
	const uint32_t method = read_u16(entry + ENTRY_METHOD_AT);

	m->directory = m->name[strlen(m->name) - 1] == '/';
	if (mode != 0 && mode != (m->directory ? S_IFDIR : S_IFREG))
		return tw_fail(err, TW_INVALID,
			       "archive member '%s': a link or special file", m->name);
	if ((read_u16(entry + ENTRY_FLAGS_AT) & FLAG_ENCRYPTED) != 0)
		return tw_fail(err, TW_UNSUPPORTED, "archive member '%s': encrypted",
			       m->name);
	if (method != TW_ZIP_STORED && method != TW_ZIP_DEFLATED)
		return tw_fail(err, TW_UNSUPPORTED,
			       "archive member '%s': packing method %u is not supported",
			       m->name, method);
	if (!read_sizes(entry + ENTRY_PACKED_AT, entry + ENTRY_OFFSET_AT,
			entry + ENTRY_BYTES + read_u16(entry + ENTRY_NAME_AT),
			read_u16(entry + ENTRY_EXTRA_AT), s))
		return tw_fail(err, TW_PARSE,
			       "archive member '%s': zip64's sizes are missing", m->name);
	m->method = (enum tw_zip_method)method;
	m->crc = read_u32(entry + ENTRY_CRC_AT);
	m->packed_len = (size_t)s->packed;
	m->len = (size_t)s->len;
	return 0;
}

static int check_size(struct reader *r, const struct tw_zip_member *m, struct tw_err *err)
{
	const struct tw_fileset_limits *l = r->limits;

	if (l->file_bytes != 0 && m->len > l->file_bytes)
		return tw_fail(err, TW_INVALID,
			       "archive member '%s': %zu bytes, limit is %zu", m->name,
			       m->len, l->file_bytes);
	if (m->packed_len > r->start - r->packed)
		return tw_fail(err, TW_PARSE, "archive member '%s': overlaps another",
			       m->name);
	if (l->ratio != 0 && m->len > RATIO_FREE_BYTES &&
	    m->len / l->ratio > m->packed_len)
		return tw_fail(err, TW_INVALID,
			       "archive member '%s': %zu bytes packed in %zu, limit is "
			       "%zu times",
			       m->name, m->len, m->packed_len, l->ratio);
	if (l->total_bytes != 0 && m->len > l->total_bytes - r->bytes)
		return tw_fail(err, TW_INVALID, "archive: more than %zu bytes unpacked",
			       l->total_bytes);
	r->bytes += m->len;
	r->packed += m->packed_len;
	return 0;
}

/* Whether the header's checksum and sizes are those of the directory, or follow the data.
 */
static bool has_sizes(const char *local, size_t name_len, uint32_t crc,
		      const struct sizes *of)
{
	struct sizes s;

	if ((read_u16(local + LOCAL_FLAGS_AT) & FLAG_SIZES_BEHIND) != 0)
		return true;
	return read_u32(local + LOCAL_CRC_AT) == crc &&
	       read_sizes(local + LOCAL_CRC_AT + 4, NULL, local + LOCAL_BYTES + name_len,
			  read_u16(local + LOCAL_EXTRA_AT), &s) &&
	       s.packed == of->packed && s.len == of->len;
}

/* Check that the local header matches the entry, and find the member's bytes. */
static int read_local(const struct reader *r, const char *entry, const struct sizes *s,
		      struct tw_zip_member *m, struct tw_err *err)
{
	const size_t at = (size_t)s->offset;
	const size_t name_len = read_u16(entry + ENTRY_NAME_AT);
	const char *local = r->data + at;
	size_t head;

	if (at > r->start || r->start - at < LOCAL_BYTES + name_len ||
	    memcmp(local, LOCAL_MAGIC, 4) != 0)
		return tw_fail(err, TW_PARSE,
			       "archive member '%s': no header where the directory says",
			       m->name);
	head = LOCAL_BYTES + read_u16(local + LOCAL_NAME_AT) +
	       read_u16(local + LOCAL_EXTRA_AT);
	if (r->start - at < head || m->packed_len > r->start - at - head)
		return tw_fail(err, TW_PARSE, "archive member '%s': cut short", m->name);
	if (read_u16(local + LOCAL_NAME_AT) != name_len ||
	    memcmp(local + LOCAL_BYTES, entry + ENTRY_BYTES, name_len) != 0 ||
	    read_u16(local + LOCAL_METHOD_AT) != (uint32_t)m->method ||
	    !has_sizes(local, name_len, m->crc, s))
		return tw_fail(err, TW_PARSE,
			       "archive member '%s': header and directory differ",
			       m->name);
	m->packed = local + head;
	return 0;
}

static int copy_name(const char *entry, struct tw_zip_member *m, struct tw_err *err)
{
	const size_t len = read_u16(entry + ENTRY_NAME_AT);

	if (tw_text_copy(entry + ENTRY_BYTES, len, &m->name, err) < 0)
		return tw_err_wrap(err, "archive: name of a member");
	/* Compress-Archive of Windows PowerShell 5 writes them. */
	for (char *c = m->name; *c != '\0'; c++)
		if (*c == '\\')
			*c = '/';
	return tw_fileset_ignores(m->name) ? 0 : check_path(m->name, err);
}

/* Read the entry at *at and advance *at. */
static int read_entry(struct reader *r, size_t *at, struct tw_zip_member *m,
		      struct tw_err *err)
{
	const char *entry = r->data + *at;
	size_t size = ENTRY_BYTES;
	struct sizes s;

	if (r->end - *at < ENTRY_BYTES || memcmp(entry, ENTRY_MAGIC, 4) != 0)
		return tw_fail(err, TW_PARSE, "archive: the directory is broken");
	size += read_u16(entry + ENTRY_NAME_AT) + read_u16(entry + ENTRY_EXTRA_AT) +
		read_u16(entry + ENTRY_COMMENT_AT);
	if (r->end - *at < size)
		return tw_fail(err, TW_PARSE, "archive: the directory is cut short");
	if (copy_name(entry, m, err) < 0 || read_fields(entry, m, &s, err) < 0 ||
	    check_size(r, m, err) < 0 || read_local(r, entry, &s, m, err) < 0)
		return -1;
	*at += size;
	return 0;
}

/* Sort by name, so that repeated names are neighbours. */
static int check_names(struct tw_zip_list *d, struct tw_err *err)
{
	qsort(d->at, d->count, sizeof(d->at[0]), tw_compare_texts);
	for (size_t i = 1; i < d->count; i++)
		if (strcmp(d->at[i - 1].name, d->at[i].name) == 0)
			return tw_fail(err, TW_INVALID,
				       "archive: two members have the same name");
	return 0;
}

int tw_zip_list_read(const char *data, size_t len, const struct tw_fileset_limits *limits,
		     struct tw_zip_list *out, struct tw_err *err)
{
	struct reader r = { .limits = limits };
	size_t at;

	if (read_end(data, len, &r, err) < 0)
		return -1;
	if (TW_NEW(out->at, r.count + 1, err) < 0)
		return -1;
	at = r.start;
	for (size_t i = 0; i < r.count; i++) {
		struct tw_zip_member *m = &out->at[out->count++];

		if (read_entry(&r, &at, m, err) < 0)
			return -1;
		if (!tw_fileset_ignores(m->name))
			continue;
		free(m->name);
		*m = (struct tw_zip_member){ 0 };
		out->count--;
	}
	if (at != r.end)
		return tw_fail(err, TW_PARSE,
			       "archive: more members than the end record says");
	return check_names(out, err);
}

const struct tw_zip_member *tw_zip_list_find(const struct tw_zip_list *l,
					     const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->at[i].name, name) == 0)
			return &l->at[i];
	return NULL;
}

uint64_t tw_zip_list_sum(const struct tw_zip_list *l)
{
	uint64_t sum = TW_HASH_START;

	for (size_t i = 0; i < l->count; i++) {
		const struct tw_zip_member *m = &l->at[i];
		const uint64_t len = m->len;

		sum = tw_hash_add(sum, m->name, strlen(m->name) + 1);
		sum = tw_hash_add(sum, &len, sizeof(len));
		sum = tw_hash_add(sum, &m->crc, sizeof(m->crc));
	}
	return sum;
}

void tw_zip_list_release(struct tw_zip_list *d)
{
	for (size_t i = 0; i < d->count; i++)
		free(d->at[i].name);
	free(d->at);
	*d = (struct tw_zip_list){ 0 };
}

static int fail_length(const struct tw_zip_member *m, const char *how, struct tw_err *err)
{
	return tw_fail(err, TW_PARSE,
		       "archive member '%s': %s than the %zu bytes declared", m->name,
		       how, m->len);
}

static int copy_stored(const struct tw_zip_member *m, char *out, struct tw_err *err)
{
	if (m->packed_len != m->len)
		return fail_length(m, m->packed_len > m->len ? "more" : "less", err);
	memcpy(out, m->packed, m->len);
	return 0;
}

/*
 * Unpack at most one byte more than declared: declared sizes may be wrong. out has
 * m->len + 1 bytes.
 */
static int inflate_all(z_stream *z, const struct tw_zip_member *m, char *out,
		       struct tw_err *err)
{
	int end;

	z->next_in = (const Bytef *)m->packed;
	z->avail_in = (uInt)m->packed_len;
	z->next_out = (Bytef *)out;
	z->avail_out = (uInt)m->len + 1;
	end = inflate(z, Z_FINISH);
	if (end == Z_MEM_ERROR)
		return tw_fail(err, TW_NOMEM, "archive member '%s'", m->name);
	if (z->total_out > m->len)
		return fail_length(m, "more", err);
	if (end != Z_STREAM_END)
		return tw_fail(err, TW_PARSE, "archive member '%s': %s", m->name,
			       z->msg != NULL ? z->msg
					      : "the packed bytes are cut short");
	if (z->total_out < m->len)
		return fail_length(m, "less", err);
	return 0;
}

static int unpack_deflated(const struct tw_zip_member *m, char *out, struct tw_err *err)
{
	z_stream z = { 0 };
	int rc = -1;

	/* A negative number of bits: a raw stream without zlib's header. */
	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return tw_fail(err, TW_NOMEM, "archive member '%s'", m->name);
	if (inflate_all(&z, m, out, err) == 0)
		rc = 0;
	inflateEnd(&z);
	return rc;
}

int tw_zip_unpack(const struct tw_zip_member *m, char **out, struct tw_err *err)
{
	char *data = malloc(m->len + 1);
	int rc = -1;

	if (data == NULL) {
		tw_fail(err, TW_NOMEM, "archive member '%s': %zu bytes", m->name, m->len);
		goto out;
	}
	if ((m->method == TW_ZIP_STORED ? copy_stored(m, data, err)
					: unpack_deflated(m, data, err)) < 0)
		goto out;
	if (crc32_z(0, (const Bytef *)data, m->len) != m->crc) {
		tw_fail(err, TW_PARSE, "archive member '%s': CRC error", m->name);
		goto out;
	}
	data[m->len] = '\0';

	*out = data;
	data = NULL;
	rc = 0;
out:
	free(data);
	return rc;
}

static int unpack_members(const struct tw_zip_list *d, struct tw_fileset *set,
			  struct tw_err *err)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct tw_zip_member *m = &d->at[i];
		char *data;

		if (m->directory)
			continue;
		if (tw_zip_unpack(m, &data, err) < 0)
			return -1;
		/* The list is sorted, without repeated names. */
		if (tw_fileset_take_next(set, m->name, data, m->len, err) < 0)
			return tw_err_wrap(err, "archive");
	}
	return 0;
}

int tw_zip_read(const char *data, size_t len, const struct tw_fileset_limits *limits,
		struct tw_fileset *out, struct tw_err *err)
{
	struct tw_fileset set = { 0 };
	struct tw_zip_list dir = { 0 };
	int rc = -1;

	if (tw_zip_list_read(data, len, limits, &dir, err) < 0 ||
	    unpack_members(&dir, &set, err) < 0)
		goto out;

	*out = set;
	set = (struct tw_fileset){ 0 };
	rc = 0;
out:
	tw_fileset_clear(&set);
	tw_zip_list_release(&dir);
	return rc;
}

int tw_zip_read_path(const char *path, size_t bytes_max,
		     const struct tw_fileset_limits *limits, struct tw_fileset *out,
		     struct tw_err *err)
{
	char *data = NULL;
	struct stat st;
	size_t len;
	int rc = -1;

	if (stat(path, &st) < 0)
		return tw_fail_errno(err, errno, "cannot read '%s'", path);
	if (S_ISDIR(st.st_mode))
		return tw_fileset_read_dir(out, path, limits, err);
	if (tw_file_read(path, bytes_max, &data, &len, err) < 0)
		goto out;
	if (tw_zip_read(data, len, limits, out, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	free(data);
	return rc;
}
