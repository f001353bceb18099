/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishing, updating and rolling back while system calls or allocations fail, and with
 * manifests of odd versions.
 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"
#include "model-db/publish.h"
#include "profiler/node_types.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"
#include "tests/unit/versions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- calls that fail: tests/sources.mk wraps them ---- */

enum call { CALL_FLOCK, CALL_READDIR, CALL_RENAME, CALL_EXCHANGE, CALL_COUNT };

/* The fsync() that fails, counting down; 0: all succeed. */
static int failing_fsync;

/* The errno of the next call of each kind; 0: it succeeds. */
static int fault[CALL_COUNT];

static bool fails(enum call c)
{
	if (fault[c] == 0)
		return false;
	errno = fault[c];
	fault[c] = 0;
	return true;
}

int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);
struct dirent *__real_readdir(DIR *d);
struct dirent *__wrap_readdir(DIR *d);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags);

int __wrap_flock(int fd, int how)
{
	return fails(CALL_FLOCK) ? -1 : __real_flock(fd, how);
}

struct dirent *__wrap_readdir(DIR *d)
{
	return fails(CALL_READDIR) ? NULL : __real_readdir(d);
}

int __wrap_fsync(int fd)
{
	if (failing_fsync > 0 && --failing_fsync == 0) {
		errno = EIO;
		return -1;
	}
	return __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
	return fails(CALL_RENAME) ? -1 : __real_rename(from, to);
}

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags)
{
	return fails(CALL_EXCHANGE) ? -1
				    : __real_renameat2(from_dir, from, to_dir, to, flags);
}

static void assert_told(const struct tw_err *err, enum tw_code code, const char *text)
{
	assert_int_equal(err->code, code);
	if (strstr(err->text, text) == NULL)
		fail_msg("'%s' is not in: %s", text, err->text);
}

/* The lowest descriptor that is free. */
static int find_free_fd(void)
{
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* A first publication renames; a later one exchanges, and then renames the old one. */
static void a_failed_call_publishes_nothing(void **state)
{
	static const struct {
		enum call call;
		int error;
		int before; /* the version that is there */
		enum tw_code code;
		const char *text;
	} cases[] = {
		{ CALL_FLOCK, EIO, 1, TW_IO, "cannot lock '" },
		{ CALL_FLOCK, ENOLCK, 0, TW_IO, "/.lock': No locks available" },
		{ CALL_READDIR, EIO, 1, TW_IO, "cannot read '" },
		{ CALL_RENAME, EACCES, 0, TW_DENIED, "cannot make '" },
		{ CALL_EXCHANGE, EIO, 1, TW_IO, "cannot replace '" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char *db = scratch_new();
		const int fd = find_free_fd();
		struct tw_err err = { 0 };

		if (cases[i].before != 0)
			version_must_publish(db, cases[i].before);
		fault[cases[i].call] = cases[i].error;
		assert_int_equal(version_publish(db, "p", 2, &err), -1);
		assert_int_equal(fault[cases[i].call], 0);
		assert_told(&err, cases[i].code, cases[i].text);
		assert_non_null(strstr(err.text, "cannot publish 'p': "));
		assert_int_equal(version_seen(db), cases[i].before);
		assert_int_equal(version_count_others(db), 0);
		assert_int_equal(find_free_fd(), fd);
		version_must_publish(db, 2);
		scratch_free(db);
	}
}

/* Files, the directories that they are in, and the database are synced, in any order. */
static void each_failed_fsync_is_an_error(void **state)
{
	char *db = scratch_new();
	struct tw_err err = { 0 };
	int n;

	(void)state;
	for (n = 1;; n++) {
		err = (struct tw_err){ 0 };
		failing_fsync = n;
		if (version_publish(db, "p", 1 + n % 2, &err) == 0)
			break;
		assert_int_equal(err.code, TW_IO);
		assert_int_equal(version_count_others(db), 0);
	}
	/* It would be the next one. */
	assert_int_equal(failing_fsync, 1);
	/* Three files and the manifest, acpi/, .new-p twice, and the database. */
	assert_int_equal(n, 9);
	failing_fsync = 1;
	assert_int_equal(tw_pipeline_rollback(db, "p", NULL, NULL, &err), -1);
	assert_int_equal(err.code, TW_IO);
	assert_int_equal(failing_fsync, 0);
	scratch_free(db);
}

/* The new version is published then, but the previous one is lost. */
static void a_previous_version_that_cannot_be_kept_is_an_error(void **state)
{
	char *db = scratch_new();
	struct tw_err err = { 0 };

	(void)state;
	version_must_publish(db, 1);
	fault[CALL_RENAME] = EIO;
	assert_int_equal(version_publish(db, "p", 2, &err), -1);
	assert_told(&err, TW_IO, "cannot make '");
	assert_int_equal(version_seen(db), 2);
	assert_int_equal(version_seen_as(db, ".old-p"), 0);
	assert_int_equal(version_count_others(db), 0);
	scratch_free(db);
}

static void an_interrupted_wait_for_the_lock_goes_on(void **state)
{
	char *db = scratch_new();

	(void)state;
	fault[CALL_FLOCK] = EINTR;
	version_must_publish(db, 1);
	assert_int_equal(fault[CALL_FLOCK], 0);
	assert_int_equal(version_seen(db), 1);
	scratch_free(db);
}

/* The descriptor of the lock is 0 then. */
static void a_lock_that_fails_is_closed_without_standard_input_too(void **state)
{
	const int in = dup(STDIN_FILENO);
	char *db = scratch_new();
	struct tw_err err = { 0 };

	(void)state;
	close(STDIN_FILENO);
	fault[CALL_FLOCK] = EIO;
	assert_int_equal(version_publish(db, "p", 1, &err), -1);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	assert_int_equal(dup2(in, STDIN_FILENO), STDIN_FILENO);
	close(in);
	scratch_free(db);
}

static void a_lock_that_is_a_symbolic_link_is_not_followed(void **state)
{
	char *db = scratch_new(), *lock = scratch_path(db, ".lock");
	char *target = scratch_path(db, "target");
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(symlink("target", lock), 0);
	assert_int_equal(version_publish(db, "p", 1, &err), -1);
	assert_told(&err, TW_IO, "cannot open '");
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(version_seen(db), 0);
	free(target);
	free(lock);
	scratch_free(db);
}

static void a_rollback_without_a_database_makes_none(void **state)
{
	char *top = scratch_new(), *db = scratch_path(top, "db");
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_pipeline_rollback(db, "p", NULL, NULL, &err), -1);
	assert_told(&err, TW_NOTFOUND, "cannot roll 'p' back: cannot open '");
	assert_int_equal(access(db, F_OK), -1);
	free(db);
	scratch_free(top);
}

static void a_failed_call_rolls_nothing_back(void **state)
{
	static const enum call calls[] = { CALL_FLOCK, CALL_EXCHANGE };
	char *db = scratch_new();

	(void)state;
	version_must_publish(db, 1);
	version_must_publish(db, 2);
	for (size_t i = 0; i < TW_COUNT(calls); i++) {
		struct tw_err err = { 0 };

		fault[calls[i]] = EIO;
		assert_int_equal(tw_pipeline_rollback(db, "p", NULL, NULL, &err), -1);
		assert_told(&err, TW_IO, "cannot roll 'p' back: cannot ");
		assert_int_equal(version_seen(db), 2);
		assert_int_equal(version_seen_as(db, ".old-p"), 1);
	}
	scratch_free(db);
}

/* .new-q and all in it are of a publisher that was killed; the others are somebody's. */
static void only_left_overs_are_removed(void **state)
{
	static const char *const kept[] = { ".new", ".newer", "q", "x.new-q" };
	char *db = scratch_new(), path[512];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(kept); i++) {
		snprintf(path, sizeof(path), "%s/%s", db, kept[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/.new-%d", db, i);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	version_must_publish(db, 1);
	assert_int_equal(version_count_others(db), TW_COUNT(kept));
	for (size_t i = 0; i < TW_COUNT(kept); i++) {
		snprintf(path, sizeof(path), "%s/%s", db, kept[i]);
		assert_int_equal(rmdir(path), 0);
	}
	scratch_free(db);
}

/* ---- versions ---- */

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

/*
 * Publish files with a manifest of their own. Blanks behind its text change the file, but
 * not its meaning.
 */
static int publish_as(const char *db, long long version, int files, const char *blanks,
		      struct tw_err *err)
{
	struct tw_manifest_id id = { "", version };
	struct tw_fileset s = { 0 };
	struct tw_fileset_file *manifest;
	int rc;

	if (version != 0)
		strcpy(id.pipeline, "p");
	version_make(files, &s);
	assert_int_equal(tw_manifest_add(&s, &id, err), 0);
	manifest = &s.at[s.count - 1];
	assert_string_equal(manifest->name, TW_MANIFEST_NAME);
	manifest->data = realloc(manifest->data, manifest->len + strlen(blanks) + 1);
	assert_non_null(manifest->data);
	strcpy(manifest->data + manifest->len, blanks);
	manifest->len += strlen(blanks);
	rc = tw_pipeline_publish(db, "p", &s, err);
	tw_fileset_clear(&s);
	return rc;
}

static void one_version_has_one_manifest_to_the_last_byte(void **state)
{
	static const char *const others[] = { "", " ", "\n\n" };
	static const long long versions[] = { 1, 5 };

	(void)state;
	for (size_t v = 0; v < TW_COUNT(versions); v++) {
		char *db = scratch_new();

		for (size_t i = 0; i < TW_COUNT(others); i++) {
			struct tw_err err = { 0 };
			const int rc = publish_as(db, versions[v], 1, others[i], &err);

			assert_int_equal(rc, i == 0 ? 0 : -1);
			if (i > 0)
				assert_told(&err, TW_DENIED, "is not newer than the ");
		}
		scratch_free(db);
	}
}

static void a_manifest_without_a_version_replaces_its_like(void **state)
{
	char *db = scratch_new();
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(publish_as(db, 0, 1, "", &err), 0);
	assert_int_equal(publish_as(db, 0, 2, "", &err), 0);
	assert_int_equal(version_seen(db), 2);
	assert_int_equal(version_of(db, "p"), 0);
	/* Without a manifest of their own the same files get a version. */
	version_must_publish(db, 2);
	assert_int_equal(version_of(db, "p"), 1);
	assert_int_equal(publish_as(db, 0, 1, "", &err), -1);
	assert_told(&err, TW_DENIED, "its version 0 is not newer than the published 1");
	scratch_free(db);
}

/* 64 MiB are read, and are no JSON here; one byte more is not read. */
static void a_published_manifest_has_a_limit(void **state)
{
	const off_t max = 64 << 20;
	char *db = scratch_new(), *path = scratch_path(db, "p/manifest.json");

	(void)state;
	version_must_publish(db, 1);
	for (off_t more = 0; more < 2; more++) {
		struct tw_err err = { 0 };

		assert_int_equal(truncate(path, max + more), 0);
		assert_int_equal(version_publish(db, "p", 2, &err), -1);
		assert_int_equal(err.code, more == 0 ? TW_PARSE : TW_INVALID);
	}
	free(path);
	scratch_free(db);
}

/* A database of an old release has none. */
static void a_pipeline_without_a_manifest_is_replaced_by_version_one(void **state)
{
	char *db = scratch_new(), path[512];

	(void)state;
	version_must_publish(db, 1);
	snprintf(path, sizeof(path), "%s/p/manifest.json", db);
	assert_int_equal(unlink(path), 0);
	version_must_publish(db, 1);
	assert_int_equal(version_of(db, "p"), 1);
	scratch_free(db);
}

static void the_previous_version_counts_where_the_published_one_is_gone(void **state)
{
	char *db = scratch_new(), *p = scratch_path(db, "p");
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(publish_as(db, 6, 1, "", &err), 0);
	assert_int_equal(publish_as(db, 7, 2, "", &err), 0);
	assert_int_equal(tw_tree_remove(p, &err), 0);
	version_must_publish(db, 3);
	assert_int_equal(version_of(db, "p"), 7);
	free(p);
	scratch_free(db);
}

static void the_largest_version_has_no_successor(void **state)
{
	char *db = scratch_new();
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(publish_as(db, TW_MANIFEST_ID_MAX - 1, 1, "", &err), 0);
	version_must_publish(db, 2);
	assert_true(version_of(db, "p") == TW_MANIFEST_ID_MAX);
	assert_int_equal(version_publish(db, "p", 3, &err), -1);
	assert_told(&err, TW_INVALID,
		    "manifest.json: the published version is the largest");
	assert_int_equal(version_seen(db), 2);
	scratch_free(db);
}

static void write_manifest(const char *db, const char *name, const char *text)
{
	char path[512];
	struct tw_err err = { 0 };

	snprintf(path, sizeof(path), "%s/%s/manifest.json", db, name);
	assert_int_equal(tw_file_replace(path, text, strlen(text), &err), 0);
}

static void a_manifest_that_cannot_be_read_keeps_its_version(void **state)
{
	static const char *const names[] = { "p", ".old-p" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(names); i++) {
		char *db = scratch_new(), where[64];
		struct tw_err err = { 0 };

		version_must_publish(db, 1);
		version_must_publish(db, 2);
		write_manifest(db, names[i], "{");
		assert_int_equal(version_publish(db, "p", 3, &err), -1);
		snprintf(where, sizeof(where), "/%s': manifest.json", names[i]);
		assert_told(&err, TW_PARSE, where);
		assert_int_equal(version_count_others(db), 0);
		scratch_free(db);
	}
}

/* ---- what is read of a published pipeline ---- */

#define TYPES                                                     \
	"{\"0\":{\"attrs\":{\"processor\":\"xeon\",\"cores\":8}," \
	"\"members\":[\"a\"]},\"1\":{\"attrs\":{\"cores\":4},\"members\":[]}}"
#define METADATA "{\"name\":\"p\",\"trained_by\":\"alice\"}"

static void make_pipeline(struct tw_fileset *s)
{
	struct tw_err err = { 0 };

	assert_int_equal(
		tw_fileset_add(s, "metadata.json", METADATA, strlen(METADATA), &err), 0);
	assert_int_equal(
		tw_fileset_add(s, "node_type_index.json", TYPES, strlen(TYPES), &err), 0);
}

static char *new_database(void)
{
	char *db = scratch_new();
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };

	make_pipeline(&s);
	if (tw_pipeline_publish(db, "p", &s, &err) < 0)
		fail_msg("%s", err.text);
	tw_fileset_clear(&s);
	return db;
}

static void node_types_are_read_or_none_are_there(void **state)
{
	char *db = new_database(), *file = scratch_path(db, "file");
	struct tw_node_types types = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_pipeline_known(db, "q", &types, &err), 0);
	assert_int_equal(types.count, 0);
	assert_int_equal(tw_pipeline_known(db, "p", &types, &err), 0);
	assert_int_equal(types.count, 2);
	assert_int_equal(types.at[0].spec.cores, 8);
	tw_node_types_release(&types);
	assert_int_equal(tw_pipeline_known(db, "../p", &types, &err), -1);
	assert_told(&err, TW_INVALID, "pipeline name");
	/* A file instead of a pipeline is not the same as none. */
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_file_create(file, "", 0, &err), 0);
	assert_int_equal(tw_pipeline_known(db, "file", &types, &err), -1);
	assert_told(&err, TW_IO, "Not a directory");
	free(file);
	scratch_free(db);
}

static void each_failed_allocation_of_a_reader_is_reported(void **state)
{
	char *db = new_database();
	int failures = 0;

	(void)state;
	for (int n = 1;; n++, failures++) {
		struct tw_node_types types = { 0 };
		struct tw_err err = { 0 };

		fail_alloc_at(n);
		if (!fail_alloc_told(tw_pipeline_known(db, "p", &types, &err), &err)) {
			tw_node_types_release(&types);
			break;
		}
		tw_node_types_release(&types);
	}
	for (int n = 1;; n++, failures++) {
		struct tw_err err = { 0 };
		char *owner = NULL;
		bool exists, failed;

		fail_alloc_at(n);
		failed = fail_alloc_told(
			tw_pipeline_published_owner(db, "p", &exists, &owner, &err),
			&err);
		if (!failed)
			assert_string_equal(owner, "alice");
		free(owner);
		if (!failed)
			break;
	}
	assert_true(failures > 8);
	scratch_free(db);
}

static void each_failed_allocation_of_a_rollback_changes_nothing(void **state)
{
	char *db = scratch_new();

	(void)state;
	version_must_publish(db, 1);
	version_must_publish(db, 2);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };

		fail_alloc_at(n);
		if (!fail_alloc_told(tw_pipeline_rollback(db, "p", NULL, NULL, &err),
				     &err))
			break;
		assert_int_equal(version_seen(db), 2);
		assert_non_null(strstr(err.text, "cannot roll 'p' back: "));
	}
	assert_int_equal(version_seen(db), 1);
	assert_int_equal(version_seen_as(db, ".old-p"), 2);
	scratch_free(db);
}

/* Tidying up afterwards may fail without harm. */
static void each_failed_allocation_of_an_update_is_reported(void **state)
{
	char *db = new_database();
	int failures = 0;

	(void)state;
	for (int n = 1;; n++, failures++) {
		struct tw_fileset s = { 0 };
		struct tw_err err = { 0 };
		int rc;

		make_pipeline(&s);
		fail_alloc_at(n);
		rc = tw_pipeline_update(db, "p", &s, NULL, &err);
		tw_fileset_clear(&s);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(err.code, rc < 0 ? TW_NOMEM : TW_OK);
	}
	assert_true(failures > 8);
	scratch_free(db);
}

/* The first owner stays, though the new training does not name him. */
static void an_update_merges_with_the_published_version(void **state)
{
	char *db = new_database(), *owner = NULL;
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };
	bool exists;

	(void)state;
	assert_int_equal(tw_fileset_add(&s, "metadata.json", "{}", 2, &err), 0);
	assert_int_equal(tw_fileset_add(&s, "node_type_index.json", "{}", 2, &err), 0);
	assert_int_equal(tw_pipeline_update(db, "p", &s, NULL, &err), 0);
	assert_int_equal(tw_pipeline_published_owner(db, "p", &exists, &owner, &err), 0);
	assert_string_equal(owner, "alice");
	free(owner);
	tw_fileset_clear(&s);
	scratch_free(db);
}

/* ---- what a caller checks ---- */

/* A second lock on the database's file is not given. */
static int meet_locked(void *arg, const char *path, struct tw_err *err)
{
	char *lock = scratch_path(arg, ".lock");
	const int fd = open(lock, O_RDWR | O_CLOEXEC);

	(void)err;
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	assert_int_equal(access(path, F_OK), -1);
	close(fd);
	free(lock);
	return 0;
}

static void the_lock_is_held_while_a_version_is_replaced(void **state)
{
	char *db = scratch_new();
	const struct tw_publish_terms terms = { .meet = meet_locked, .arg = db };
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	version_make(1, &s);
	assert_int_equal(tw_pipeline_publish_with(db, "p", &s, &terms, &err), 0);
	tw_fileset_clear(&s);
	scratch_free(db);
}

struct visit {
	int calls;
	int answer;
};

static int visit_check(void *arg, const char *name, struct tw_fileset *files,
		       struct tw_err *err)
{
	struct visit *v = arg;

	assert_string_equal(name, "p");
	assert_non_null(tw_fileset_find(files, "metadata.json"));
	v->calls++;
	return v->answer < 0 ? tw_fail(err, TW_DENIED, "not yours") : 0;
}

static int update_with(const char *db, const char *name, struct visit *v,
		       struct tw_err *err)
{
	struct tw_fileset s = { 0 };
	int rc;

	make_pipeline(&s);
	rc = tw_pipeline_update_with(db, name, &s, NULL, visit_check, v, err);
	tw_fileset_clear(&s);
	return rc;
}

static void an_update_checks_the_published_version_if_there_is_one(void **state)
{
	struct visit v = { 0 }, denied = { .answer = -1 };
	char *db = new_database(), *added = scratch_path(db, "p/added");
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(update_with(db, "q", &v, &err), 0);
	assert_int_equal(v.calls, 0);
	assert_int_equal(update_with(db, "p", &v, &err), 0);
	assert_int_equal(v.calls, 1);
	assert_int_equal(update_with(db, "p", &denied, &err), -1);
	assert_told(&err, TW_DENIED, "cannot publish 'p': not yours");
	/* Files that its manifest does not list do not reach the caller's check. */
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_file_create(added, "x", 1, &err), 0);
	assert_int_equal(update_with(db, "p", &v, &err), -1);
	assert_told(&err, TW_INVALID,
		    "cannot add to the published version: manifest.json: 'added' is not "
		    "listed");
	assert_int_equal(v.calls, 1);
	free(added);
	scratch_free(db);
}

static void a_rollback_calls_its_check(void **state)
{
	struct visit v = { 0 };
	char *db = scratch_new();
	struct tw_err err = { 0 };

	(void)state;
	version_must_publish(db, 1);
	version_must_publish(db, 2);
	assert_int_equal(tw_pipeline_rollback(db, "p", visit_check, &v, &err), 0);
	assert_int_equal(v.calls, 1);
	assert_int_equal(version_seen(db), 1);
	scratch_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_call_publishes_nothing),
		cmocka_unit_test(each_failed_fsync_is_an_error),
		cmocka_unit_test(an_update_merges_with_the_published_version),
		cmocka_unit_test(the_lock_is_held_while_a_version_is_replaced),
		cmocka_unit_test(a_previous_version_that_cannot_be_kept_is_an_error),
		cmocka_unit_test(an_interrupted_wait_for_the_lock_goes_on),
		cmocka_unit_test(a_lock_that_fails_is_closed_without_standard_input_too),
		cmocka_unit_test(a_lock_that_is_a_symbolic_link_is_not_followed),
		cmocka_unit_test(a_rollback_without_a_database_makes_none),
		cmocka_unit_test(a_failed_call_rolls_nothing_back),
		cmocka_unit_test(only_left_overs_are_removed),
		cmocka_unit_test(one_version_has_one_manifest_to_the_last_byte),
		cmocka_unit_test(a_manifest_without_a_version_replaces_its_like),
		cmocka_unit_test(
			a_pipeline_without_a_manifest_is_replaced_by_version_one),
		cmocka_unit_test(
			the_previous_version_counts_where_the_published_one_is_gone),
		cmocka_unit_test(a_published_manifest_has_a_limit),
		cmocka_unit_test(the_largest_version_has_no_successor),
		cmocka_unit_test(a_manifest_that_cannot_be_read_keeps_its_version),
		cmocka_unit_test(node_types_are_read_or_none_are_there),
		cmocka_unit_test(each_failed_allocation_of_a_reader_is_reported),
		cmocka_unit_test(each_failed_allocation_of_a_rollback_changes_nothing),
		cmocka_unit_test(each_failed_allocation_of_an_update_is_reported),
		cmocka_unit_test(an_update_checks_the_published_version_if_there_is_one),
		cmocka_unit_test(a_rollback_calls_its_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
