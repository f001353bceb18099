/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ZIP_LIST_H
#define TW_ZIP_LIST_H

/*
 * The central directory of a zip archive in memory (APPNOTE.TXT 6.3, 4.3.7, 4.3.12,
 * 4.3.16), read as foreign bytes. For lib/zip/zip.c, and for who wants a few members
 * only.
 *
 * All of it is looked at before anything is unpacked: a directory is returned only if
 * every member may be read within the limits, going by what is declared.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_fileset_limits;

enum tw_zip_method { TW_ZIP_STORED = 0, TW_ZIP_DEFLATED = 8 };

struct tw_zip_member {
	char *name;         /* owned; its parts are plain names */
	const char *packed; /* in the archive */
	size_t packed_len;
	size_t len; /* as declared */
	uint32_t crc;
	enum tw_zip_method method;
	bool directory;
};

struct tw_zip_list {
	struct tw_zip_member *at;
	size_t count;
};

/*
 * *out must be all zero; it is yours, on failure too: tw_zip_list_release(). It points
 * into data. No two members have one name.
 */
int tw_zip_list_read(const char *data, size_t len, const struct tw_fileset_limits *limits,
		     struct tw_zip_list *out, struct tw_err *err);

/* NULL if there is no member of that name. */
const struct tw_zip_member *tw_zip_list_find(const struct tw_zip_list *l,
					     const char *name);

/*
 * A sum of names, lengths and check sums of all members: archives of the same files have
 * the same, others another. No proof against forgery.
 */
uint64_t tw_zip_list_sum(const struct tw_zip_list *l);

/* Unpack a member: *out is yours (free()), with a NUL behind its len bytes. */
int tw_zip_unpack(const struct tw_zip_member *m, char **out, struct tw_err *err);

void tw_zip_list_release(struct tw_zip_list *l);

#endif /* TW_ZIP_LIST_H */
