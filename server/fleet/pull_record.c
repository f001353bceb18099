/* SPDX-License-Identifier: Apache-2.0 */
#include "server/fleet/pull_record.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/hash.h"
#include "lib/core/strs.h"
#include "lib/json/fields.h"
#include "model-db/manifest.h"
#include "server/fleet/pull_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY ".pull"
#define PART ".part"
#define RECORD_MAX 4096
#define MANIFEST_MAX ((size_t)64 << 20)
#define CREATOR "tallywatt " TW_VERSION
#define CREATOR_TEXT 64
/* "<pipeline>.0123456789abcdef.part". */
#define NAME_TEXT 192
#define SUM_TEXT 17

static void sum_of(const struct tw_pull_source *s, char out[SUM_TEXT])
{
	snprintf(out, SUM_TEXT, "%016" PRIx64, tw_hash(s->from, strlen(s->from)));
}

static int record_path(const char *db, const struct tw_pull_source *s, char **out,
		       struct tw_err *err)
{
	char name[NAME_TEXT];

	snprintf(name, sizeof(name), "%s.json", s->pipeline);
	return tw_path_join(out, err, db, DIRECTORY, name, NULL);
}

/* ---- the record ---- */

/* A record, and by which source and program it is. */
struct file {
	struct tw_pull_record record;
	char source[SUM_TEXT], creator[CREATOR_TEXT];
};

#define AT(member) TW_FIELD_AT(struct file, member)

static const struct tw_field fields[] = {
	{ "etag", TW_FIELD_TEXT, AT(record.etag) },
	{ "manifest", TW_FIELD_TEXT, AT(record.manifest) },
	{ "next", TW_FIELD_TEXT, AT(record.next) },
	{ "source", TW_FIELD_TEXT, AT(source) },
	{ "creator", TW_FIELD_TEXT, AT(creator) },
};
static const struct tw_fields file_fields = TW_FIELDS(fields, struct file);

/* The tag of another source, or of another program's conversion, is dropped. */
static int parse_record(const char *text, size_t len, const struct tw_pull_source *s,
			struct tw_pull_record *out, struct tw_err *err)
{
	struct file f = { .source = "" };
	char sum[SUM_TEXT];

	if (tw_fields_parse(&file_fields, text, len, "record", &f, err) < 0)
		return -1;
	sum_of(s, sum);
	if (strcmp(f.source, sum) != 0 || strcmp(f.creator, CREATOR) != 0)
		f.record.etag[0] = '\0';
	*out = f.record;
	return 0;
}

bool tw_pull_record_read(const char *db, const struct tw_pull_source *s,
			 struct tw_pull_record *out)
{
	char *path = NULL, *text = NULL;
	struct tw_err ignored = { 0 };
	size_t len;
	const bool found = record_path(db, s, &path, &ignored) == 0 &&
			   tw_file_read(path, RECORD_MAX, &text, &len, &ignored) == 0 &&
			   parse_record(text, len, s, out, &ignored) == 0;

	free(text);
	free(path);
	return found;
}

int tw_pull_record_write(const char *db, const struct tw_pull_source *s,
			 const struct tw_pull_record *r, struct tw_err *err)
{
	struct file f = { .record = *r, .creator = CREATOR };
	char *dir = NULL, *path = NULL;
	struct tw_buf b = { 0 };
	int rc = -1;

	sum_of(s, f.source);
	tw_fields_write(&file_fields, &f, &b);
	tw_buf_adds(&b, "\n");
	if (tw_buf_check(&b, err) < 0 ||
	    tw_path_join(&dir, err, db, DIRECTORY, NULL) < 0 ||
	    tw_dir_make(dir, err) < 0 || record_path(db, s, &path, err) < 0 ||
	    tw_file_replace(path, b.data, b.len, err) < 0)
		goto out;
	rc = 0;
out:
	tw_buf_clear(&b);
	free(path);
	free(dir);
	return rc;
}

/* ---- what is in place ---- */

bool tw_pull_record_fits(struct tw_pull_record *r, const char *digest)
{
	/* A pulled pipeline has a manifest. */
	if (digest[0] == '\0')
		return false;
	if (strcmp(r->manifest, digest) == 0)
		return true;
	if (strcmp(r->next, digest) != 0)
		return false;
	memcpy(r->manifest, r->next, sizeof(r->manifest));
	r->etag[0] = '\0';
	return true;
}

int tw_pull_digest(const char *db, const char *pipeline, bool *exists,
		   char digest[TW_SHA256_TEXT], struct tw_err *err)
{
	char *dir = NULL, *path = NULL, *text = NULL;
	struct tw_err why = { 0 };
	struct stat st;
	size_t len;
	int rc = -1;

	digest[0] = '\0';
	if (tw_path_join(&dir, err, db, pipeline, NULL) < 0 ||
	    tw_path_join(&path, err, dir, TW_MANIFEST_NAME, NULL) < 0)
		goto out;
	*exists = lstat(dir, &st) == 0;
	if (*exists && tw_file_read(path, MANIFEST_MAX, &text, &len, &why) == 0)
		tw_sha256_text(text, len, digest);
	if (why.code != TW_OK && why.code != TW_NOTFOUND) {
		tw_fail(err, why.code, "%s", why.text);
		goto out;
	}
	rc = 0;
out:
	free(text);
	free(path);
	free(dir);
	return rc;
}

/* ---- parts ---- */

static void part_name(const struct tw_pull_source *s, char out[NAME_TEXT])
{
	char sum[SUM_TEXT];

	sum_of(s, sum);
	snprintf(out, NAME_TEXT, "%s.%s" PART, s->pipeline, sum);
}

static int part_path(const char *db, const struct tw_pull_source *s, char **out,
		     struct tw_err *err)
{
	char name[NAME_TEXT];

	part_name(s, name);
	return tw_path_join(out, err, db, DIRECTORY, name, NULL);
}

int tw_pull_part_open(const char *db, const struct tw_pull_source *s, int *fd_out,
		      struct tw_err *err)
{
	char *dir = NULL, *path = NULL;
	int fd = -1, rc = -1;

	if (tw_path_join(&dir, err, db, DIRECTORY, NULL) < 0 ||
	    tw_dir_make(dir, err) < 0 || part_path(db, s, &path, err) < 0)
		goto out;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		tw_fail_errno(err, errno, "cannot open '%s'", path);
		goto out;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		tw_fail(err, TW_IO, "another process is downloading it");
		goto out;
	}

	*fd_out = fd;
	fd = -1;
	rc = 0;
out:
	if (fd >= 0)
		close(fd);
	free(path);
	free(dir);
	return rc;
}

void tw_pull_part_remove(const char *db, const struct tw_pull_source *s)
{
	struct tw_err ignored = { 0 };
	char *path = NULL;

	if (part_path(db, s, &path, &ignored) == 0)
		unlink(path);
	free(path);
}

static bool is_stray(const char *name, const struct tw_pull_sources *sources)
{
	char wanted[NAME_TEXT];

	if (!tw_ends_with(name, PART))
		return false;
	for (size_t i = 0; i < sources->count; i++) {
		part_name(&sources->at[i], wanted);
		if (strcmp(name, wanted) == 0)
			return false;
	}
	return true;
}

void tw_pull_parts_tidy(const char *db, const struct tw_pull_sources *sources)
{
	struct tw_err ignored = { 0 };
	const struct dirent *e;
	char *path = NULL;
	DIR *d = NULL;

	if (tw_path_join(&path, &ignored, db, DIRECTORY, NULL) == 0)
		d = opendir(path);
	free(path);
	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL)
		if (is_stray(e->d_name, sources))
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
}
