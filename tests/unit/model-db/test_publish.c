/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"
#include "model-db/publish.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"
#include "tests/unit/versions.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* What renameat2() answers instead of doing it; 0: it does it (tests/sources.mk). */
static int no_exchange;

int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags);

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags)
{
	if (no_exchange != 0) {
		errno = no_exchange;
		return -1;
	}
	return __real_renameat2(from_dir, from, to_dir, to, flags);
}

static void a_name_that_is_a_path_is_refused_and_nothing_made(void **state)
{
	static const char *const names[] = {
		"",    "machines", ".",      "..",   "../x",  "/x",
		"a/b", ".hidden",  ".new-p", "a\nb", "a\x01",
	};
	char long_name[301], *top = scratch_new(), db[512];

	(void)state;
	memset(long_name, 'a', 300);
	long_name[300] = '\0';
	snprintf(db, sizeof(db), "%s/db", top);
	for (size_t i = 0; i <= TW_COUNT(names); i++) {
		const char *name = i < TW_COUNT(names) ? names[i] : long_name;
		struct tw_err err = { 0 };

		assert_int_equal(version_publish(db, name, 1, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_non_null(strstr(err.text, "pipeline name"));
		assert_null(strchr(err.text, '\n'));
		assert_int_equal(access(db, F_OK), -1);
	}
	scratch_free(top);
}

static void without_an_atomic_exchange_the_old_version_stays(void **state)
{
	const int answers[] = { EINVAL, ENOSYS };
	char *db = scratch_new();

	(void)state;
	version_must_publish(db, 1);
	for (size_t i = 0; i < 2; i++) {
		struct tw_err err = { 0 };

		no_exchange = answers[i];
		assert_int_equal(version_publish(db, "p", 2, &err), -1);
		no_exchange = 0;
		assert_int_equal(err.code, TW_UNSUPPORTED);
		assert_non_null(strstr(err.text, "cannot exchange two directories"));
		assert_int_equal(version_seen(db), 1);
		assert_int_equal(version_count_others(db), 0);
	}
	scratch_free(db);
}

static void a_file_in_the_pipelines_place_is_left_alone(void **state)
{
	char *db = scratch_new(), path[512];
	struct tw_err err = { 0 };

	(void)state;
	snprintf(path, sizeof(path), "%s/p", db);
	assert_int_equal(tw_file_create(path, "mine", 4, &err), 0);
	assert_int_equal(version_publish(db, "p", 1, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "is not a directory"));
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(version_count_others(db), 0);
	scratch_free(db);
}

static void the_previous_version_is_kept_and_comes_back(void **state)
{
	char *db = scratch_new();
	struct tw_err err = { 0 };

	(void)state;
	version_must_publish(db, 1);
	assert_int_equal(tw_pipeline_rollback(db, "p", NULL, NULL, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text,
			    "cannot roll 'p' back: there is no previous version");
	version_must_publish(db, 2);
	version_must_publish(db, 3);
	assert_int_equal(version_seen_as(db, ".old-p"), 2);

	err = (struct tw_err){ 0 };
	assert_int_equal(tw_pipeline_rollback(db, "p", NULL, NULL, &err), 0);
	assert_int_equal(version_seen(db), 2);
	assert_int_equal(version_seen_as(db, ".old-p"), 3);
	assert_int_equal(tw_pipeline_rollback(db, "p", NULL, NULL, &err), 0);
	assert_int_equal(version_seen(db), 3);

	assert_int_equal(tw_pipeline_rollback(db, "../p", NULL, NULL, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	scratch_free(db);
}

/* As by a client that sends it again because it had no answer. */
static void the_same_version_again_keeps_the_previous_one(void **state)
{
	char *db = scratch_new(), path[512];
	struct tw_err err = { 0 };

	(void)state;
	version_must_publish(db, 1);
	version_must_publish(db, 1);
	snprintf(path, sizeof(path), "%s/.old-p", db);
	assert_int_equal(access(path, F_OK), -1);
	version_must_publish(db, 2);
	/* It replaces damaged files of the published version. */
	snprintf(path, sizeof(path), "%s/p/manifest.json.minisig", db);
	assert_int_equal(tw_file_create(path, "x", 1, &err), 0);
	version_must_publish(db, 2);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(version_seen(db), 2);
	assert_int_equal(version_seen_as(db, ".old-p"), 1);
	assert_int_equal(version_count_others(db), 0);
	assert_int_equal(tw_pipeline_rollback(db, "p", NULL, NULL, &err), 0);
	assert_int_equal(version_seen(db), 1);
	scratch_free(db);
}

/* The lock's descriptor is 0 then, and is closed like any. */
static void without_standard_input_the_lock_is_released(void **state)
{
	const int in = dup(STDIN_FILENO);
	char *db = scratch_new();
	struct tw_err err = { 0 };

	(void)state;
	close(STDIN_FILENO);
	version_must_publish(db, 1);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	version_must_publish(db, 2);
	assert_int_equal(tw_pipeline_rollback(db, "p", NULL, NULL, &err), 0);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	assert_int_equal(dup2(in, STDIN_FILENO), STDIN_FILENO);
	close(in);
	scratch_free(db);
}

/* The version in the manifest of a directory of the database. */
static long long version_of(const char *db, const char *name)
{
	struct tw_manifest_id id;
	struct tw_err err = { 0 };
	char path[512], *text;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s/manifest.json", db, name);
	assert_int_equal(tw_file_read(path, 1 << 20, &text, &len, &err), 0);
	assert_int_equal(tw_manifest_read_id(text, len, &id, &err), 0);
	free(text);
	return id.version;
}

static void versions_increase_with_the_files(void **state)
{
	char *db = scratch_new();
	struct tw_err err = { 0 };

	(void)state;
	version_must_publish(db, 1);
	assert_int_equal(version_of(db, "p"), 1);
	version_must_publish(db, 1); /* the same files */
	assert_int_equal(version_of(db, "p"), 1);
	version_must_publish(db, 2);
	assert_int_equal(version_of(db, "p"), 2);
	assert_int_equal(tw_pipeline_rollback(db, "p", NULL, NULL, &err), 0);
	assert_int_equal(version_of(db, "p"), 1);
	/* Version 2 is taken: it was published once. */
	version_must_publish(db, 3);
	assert_int_equal(version_of(db, "p"), 3);
	scratch_free(db);
}

/* Publish files with a manifest of their own. */
static int publish_as(const char *db, const char *pipeline, long long version, int files,
		      bool allow_downgrade, struct tw_err *err)
{
	const struct tw_publish_terms terms = { .allow_downgrade = allow_downgrade };
	struct tw_manifest_id id = { "", version };
	struct tw_fileset s = { 0 };
	int rc;

	snprintf(id.pipeline, sizeof(id.pipeline), "%s", pipeline);
	version_make(files, &s);
	assert_int_equal(tw_manifest_add(&s, &id, err), 0);
	rc = tw_pipeline_publish_with(db, "p", &s, &terms, err);
	tw_fileset_clear(&s);
	return rc;
}

static void refused_as(const char *db, const char *pipeline, long long version, int files,
		       const char *text)
{
	struct tw_err err = { 0 };

	assert_int_equal(publish_as(db, pipeline, version, files, false, &err), -1);
	assert_int_equal(err.code, TW_DENIED);
	assert_string_equal(err.text, text);
}

static void an_older_version_and_another_name_are_refused(void **state)
{
	char *db = scratch_new();
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(publish_as(db, "p", 5, 1, false, &err), 0);
	assert_int_equal(publish_as(db, "p", 5, 1, false, &err), 0); /* the same */
	refused_as(db, "p", 4, 2,
		   "cannot publish 'p': its version 4 is not newer than the published 5 "
		   "(--allow-downgrade)");
	refused_as(db, "p", 5, 2,
		   "cannot publish 'p': its version 5 is not newer than the published 5 "
		   "(--allow-downgrade)");
	refused_as(db, "q", 6, 2, "cannot publish 'p': manifest.json is of pipeline 'q'");
	refused_as(db, "q", 1, 2, "cannot publish 'p': manifest.json is of pipeline 'q'");
	assert_int_equal(version_seen(db), 1);
	assert_int_equal(publish_as(db, "p", 6, 2, false, &err), 0);
	assert_int_equal(version_seen(db), 2);
	assert_int_equal(publish_as(db, "p", 4, 3, true, &err), 0);
	assert_int_equal(version_seen(db), 3);
	assert_int_equal(publish_as(db, "q", 7, 1, true, &err), -1);
	scratch_free(db);
}

static int refuse_all(void *arg, const char *name, struct tw_fileset *files,
		      struct tw_err *err)
{
	(void)arg;
	assert_string_equal(name, "p");
	assert_int_equal(files->count, 4);
	return tw_fail(err, TW_DENIED, "not signed");
}

static void a_rollback_checks_what_it_brings_back(void **state)
{
	char *db = scratch_new(), path[512];
	struct tw_err err = { 0 };

	(void)state;
	version_must_publish(db, 1);
	version_must_publish(db, 2);
	assert_int_equal(tw_pipeline_rollback(db, "p", refuse_all, NULL, &err), -1);
	assert_string_equal(err.text, "cannot roll 'p' back: not signed");
	assert_int_equal(version_seen(db), 2);

	err = (struct tw_err){ 0 };
	snprintf(path, sizeof(path), "%s/.old-p/more", db);
	assert_int_equal(tw_file_create(path, "x", 1, &err), 0);
	assert_int_equal(tw_pipeline_rollback(db, "p", NULL, NULL, &err), -1);
	assert_string_equal(err.text,
			    "cannot roll 'p' back: manifest.json: 'more' is not listed");
	assert_int_equal(version_seen(db), 2);
	scratch_free(db);
}

static void an_empty_pipeline_is_refused(void **state)
{
	struct tw_fileset none = { 0 };
	struct tw_err err = { 0 };
	char *db = scratch_new();

	(void)state;
	assert_int_equal(tw_pipeline_publish(db, "p", &none, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "cannot publish 'p': it has no files");
	assert_int_equal(version_seen(db), 0);
	scratch_free(db);
}

struct publisher {
	const char *db;
	int version;
	struct tw_err err;
};

static void *publish_often(void *arg)
{
	struct publisher *p = arg;

	for (int i = 0; i < 5 && p->err.code == TW_OK; i++)
		version_publish(p->db, "p", p->version, &p->err);
	return NULL;
}

/* Publish metadata.json as pipeline "p", and read its owner; NULL: none. Free it. */
static char *owner_after(const char *db, const char *metadata)
{
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };
	bool exists = false;
	char *owner = NULL;

	assert_int_equal(
		tw_fileset_add(&files, "metadata.json", metadata, strlen(metadata), &err),
		0);
	assert_int_equal(tw_pipeline_publish(db, "p", &files, &err), 0);
	assert_int_equal(tw_pipeline_published_owner(db, "p", &exists, &owner, &err), 0);
	assert_true(exists);
	tw_fileset_clear(&files);
	return owner;
}

static void the_owner_of_a_pipeline_is_read(void **state)
{
	char *db = scratch_new(), *owner = NULL;
	struct tw_err err = { 0 };
	bool exists = true;

	(void)state;
	assert_int_equal(tw_pipeline_published_owner(db, "p", &exists, &owner, &err), 0);
	assert_false(exists);
	assert_null(owner);
	owner = owner_after(db, "{\"name\":\"p\",\"trained_by\":\"alice\"}");
	assert_string_equal(owner, "alice");
	free(owner);
	assert_null(owner_after(db, "{\"name\":\"p\"}"));
	assert_null(owner_after(db, "{\"trained_by\":[\"alice\"]}"));
	assert_int_equal(tw_pipeline_published_owner(db, "../p", &exists, &owner, &err),
			 -1);
	assert_int_equal(err.code, TW_INVALID);
	scratch_free(db);
}

static void a_pipeline_without_readable_metadata_has_no_owner_but_an_error(void **state)
{
	static const char broken[] = "{";
	char *db = scratch_new(), *owner = NULL;
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };
	bool exists = false;

	(void)state;
	assert_int_equal(tw_fileset_add(&files, "metadata.json", broken, 1, &err), 0);
	assert_int_equal(tw_pipeline_publish(db, "p", &files, &err), 0);
	assert_int_equal(tw_pipeline_published_owner(db, "p", &exists, &owner, &err), -1);
	assert_int_equal(err.code, TW_PARSE);
	assert_true(exists);
	assert_null(owner);
	tw_fileset_clear(&files);
	scratch_free(db);
}

static void concurrent_publishers_take_turns(void **state)
{
	struct publisher p[3] = { 0 };
	char *db = scratch_new();
	pthread_t thread[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		p[i].db = db;
		p[i].version = i + 1;
		assert_int_equal(pthread_create(&thread[i], NULL, publish_often, &p[i]),
				 0);
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		if (p[i].err.code != TW_OK)
			fail_msg("%s", p[i].err.text);
	}
	assert_in_range(version_seen(db), 1, 3);
	assert_int_equal(version_count_others(db), 0);
	scratch_free(db);
}

static void the_lock_is_readable_but_not_writable_by_others(void **state)
{
	const mode_t before = umask(0);
	char *db = scratch_new(), path[512];
	struct stat st;

	(void)state;
	version_must_publish(db, 1);
	umask(before);
	snprintf(path, sizeof(path), "%s/.lock", db);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	scratch_free(db);
}

static void every_failed_allocation_leaves_the_old_version(void **state)
{
	struct tw_fileset files = { 0 };
	char *db = scratch_new(), left_over[512], second[512];
	int failures = 0;

	(void)state;
	snprintf(left_over, sizeof(left_over), "%s/.new-q", db);
	snprintf(second, sizeof(second), "%s/.new-r", db);
	version_must_publish(db, 1);
	version_make(2, &files);
	for (int n = 1;; n++, failures++) {
		struct tw_err err = { 0 };
		int rc;

		assert_true(mkdir(left_over, 0755) == 0 || errno == EEXIST);
		assert_true(mkdir(second, 0755) == 0 || errno == EEXIST);
		fail_alloc_at(n);
		rc = tw_pipeline_publish(db, "p", &files, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			break;
		}
		/* Tidying up afterwards may fail without harm. */
		assert_int_equal(err.code, rc < 0 ? TW_NOMEM : TW_OK);
		assert_int_equal(version_seen(db), rc == 0 ? 2 : 1);
		version_must_publish(db, 1);
	}
	assert_true(failures > 3);
	assert_int_equal(version_seen(db), 2);
	assert_int_equal(access(left_over, F_OK), -1);
	tw_fileset_clear(&files);
	scratch_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_that_is_a_path_is_refused_and_nothing_made),
		cmocka_unit_test(without_an_atomic_exchange_the_old_version_stays),
		cmocka_unit_test(a_file_in_the_pipelines_place_is_left_alone),
		cmocka_unit_test(the_previous_version_is_kept_and_comes_back),
		cmocka_unit_test(the_same_version_again_keeps_the_previous_one),
		cmocka_unit_test(without_standard_input_the_lock_is_released),
		cmocka_unit_test(versions_increase_with_the_files),
		cmocka_unit_test(an_older_version_and_another_name_are_refused),
		cmocka_unit_test(a_rollback_checks_what_it_brings_back),
		cmocka_unit_test(an_empty_pipeline_is_refused),
		cmocka_unit_test(the_owner_of_a_pipeline_is_read),
		cmocka_unit_test(
			a_pipeline_without_readable_metadata_has_no_owner_but_an_error),
		cmocka_unit_test(concurrent_publishers_take_turns),
		cmocka_unit_test(the_lock_is_readable_but_not_writable_by_others),
		cmocka_unit_test(every_failed_allocation_leaves_the_old_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
