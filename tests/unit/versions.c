/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/versions.h"

#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"
#include "model-db/publish.h"
#include "tests/unit/tw_test.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const struct tw_fileset_limits limits = { 100, 1 << 20, 1 << 20, 0 };

void version_make(int version, struct tw_fileset *out)
{
	char name[64], text[64];
	struct tw_err err = { 0 };

	snprintf(text, sizeof(text), "version %d", version);
	assert_int_equal(tw_fileset_add(out, "metadata.json", text, strlen(text), &err),
			 0);
	assert_int_equal(tw_fileset_add(out, "acpi/a.zip", text, strlen(text), &err), 0);
	snprintf(name, sizeof(name), "acpi/only-%d", version);
	assert_int_equal(tw_fileset_add(out, name, text, strlen(text), &err), 0);
	tw_fileset_sort(out);
}

int version_publish(const char *db, const char *name, int version, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	int rc;

	version_make(version, &files);
	rc = tw_pipeline_publish(db, name, &files, err);
	tw_fileset_clear(&files);
	return rc;
}

void version_must_publish(const char *db, int version)
{
	struct tw_err err = { 0 };

	if (version_publish(db, "p", version, &err) < 0)
		fail_msg("%s", err.text);
}

/* What is there is what its manifest says; then without it, to be compared. */
static void check_and_drop_manifest(struct tw_fileset *s)
{
	struct tw_err err = { 0 };
	size_t kept = 0;

	if (tw_manifest_check(s, NULL, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->at[i].name, TW_MANIFEST_NAME) == 0) {
			free(s->at[i].name);
			free(s->at[i].data);
		} else {
			s->at[kept++] = s->at[i];
		}
	}
	s->count = kept;
}

int version_seen_as(const char *db, const char *name)
{
	struct tw_fileset got = { 0 };
	struct tw_err err = { 0 };
	char path[512];
	int version = 0;

	snprintf(path, sizeof(path), "%s/%s", db, name);
	if (access(path, F_OK) < 0)
		return 0;
	if (tw_fileset_read_dir(&got, path, &limits, &err) < 0)
		fail_msg("%s", err.text);
	check_and_drop_manifest(&got);
	for (int v = 1; v <= 3 && version == 0; v++) {
		struct tw_fileset want = { 0 };
		bool same;

		version_make(v, &want);
		same = got.count == want.count;
		for (size_t i = 0; same && i < want.count; i++)
			same = strcmp(got.at[i].name, want.at[i].name) == 0 &&
			       got.at[i].len == want.at[i].len &&
			       memcmp(got.at[i].data, want.at[i].data, want.at[i].len) ==
				       0;
		tw_fileset_clear(&want);
		if (same)
			version = v;
	}
	if (version == 0)
		fail_msg("%zu files that are no version", got.count);
	tw_fileset_clear(&got);
	return version;
}

int version_seen(const char *db)
{
	return version_seen_as(db, "p");
}

int version_count_others(const char *db)
{
	DIR *d = opendir(db);
	const struct dirent *e;
	int others = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		others += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
			  strcmp(e->d_name, "p") != 0 &&
			  strcmp(e->d_name, ".old-p") != 0 &&
			  strcmp(e->d_name, ".lock") != 0;
	closedir(d);
	return others;
}
