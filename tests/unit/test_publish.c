/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A publisher that is killed at its nth step, for every n. Steps are the system calls
 * by which files are made, moved and removed: tests/sources.mk wraps them.
 */
#include "tests/unit/tw_test.h"

#include "lib/err.h"
#include "lib/file.h"
#include "lib/fileset.h"
#include "model-db/manifest.h"
#include "model-db/pipeline.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The step at which to die, counting down; 0: live. */
static int dying;
/* What renameat2() answers instead of doing it; 0: it does it. */
static int no_exchange;

static void step(void)
{
	if (dying > 0 && --dying == 0)
		raise(SIGKILL);
}

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, mode_t mode);
int __real_openat(int dir, const char *path, int flags, mode_t mode);
int __wrap_openat(int dir, const char *path, int flags, mode_t mode);
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags);
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __real_unlinkat(int dir, const char *path, int flags);
int __wrap_unlinkat(int dir, const char *path, int flags);
int __real_rmdir(const char *path);
int __wrap_rmdir(const char *path);
int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);

int __wrap_open(const char *path, int flags, mode_t mode)
{
	step();
	return __real_open(path, flags, mode);
}

int __wrap_openat(int dir, const char *path, int flags, mode_t mode)
{
	step();
	return __real_openat(dir, path, flags, mode);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	step();
	return __real_mkdir(path, mode);
}

/* Half of it first, so that a file can be found half written. */
ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	step();
	return __real_write(fd, data, len > 1 ? len / 2 : len);
}

int __wrap_fsync(int fd)
{
	step();
	return __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
	step();
	return __real_rename(from, to);
}

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags)
{
	step();
	if (no_exchange != 0) {
		errno = no_exchange;
		return -1;
	}
	return __real_renameat2(from_dir, from, to_dir, to, flags);
}

int __wrap_unlink(const char *path)
{
	step();
	return __real_unlink(path);
}

int __wrap_unlinkat(int dir, const char *path, int flags)
{
	step();
	return __real_unlinkat(dir, path, flags);
}

int __wrap_rmdir(const char *path)
{
	step();
	return __real_rmdir(path);
}

int __wrap_flock(int fd, int how)
{
	step();
	return __real_flock(fd, how);
}

static const struct tw_fileset_limits limits = { 100, 1 << 20, 1 << 20, 0 };

/* Names and contents differ between versions, so that no mixture looks whole. */
static void make_version(int version, struct tw_fileset *out)
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

static int publish(const char *db, const char *name, int version, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	int rc;

	make_version(version, &files);
	rc = tw_pipeline_publish(db, name, &files, err);
	tw_fileset_clear(&files);
	return rc;
}

static void must_publish(const char *db, int version)
{
	struct tw_err err = { 0 };

	if (publish(db, "p", version, &err) < 0)
		fail_msg("%s", err.text);
}

/* What is there is what its manifest says; then without it, to be compared. */
static void check_and_drop_manifest(struct tw_fileset *s)
{
	struct tw_err err = { 0 };
	size_t kept = 0;

	if (tw_manifest_check(s, &err) < 0)
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

/* The version that is wholly there; 0: none at all. Anything else fails the test. */
static int seen_as(const char *db, const char *name)
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

		make_version(v, &want);
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

static int seen(const char *db)
{
	return seen_as(db, "p");
}

/* What is in the database beside "p", the one before and the lock. */
static int count_others(const char *db)
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

/* Publish in a child that dies at step n. Whether it was killed; it succeeds otherwise.
 */
static bool publish_and_die(const char *db, int version, int n)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		struct tw_err err = { 0 };

		dying = n;
		_exit(publish(db, "p", version, &err) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGKILL);
		return true;
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

static void killed_anywhere_a_first_pipeline_is_there_wholly_or_not_at_all(void **state)
{
	bool none = false, whole = false;
	int n = 1;

	(void)state;
	for (bool killed = true; killed; n++) {
		char *top = scratch_new(), db[512];
		int version;

		snprintf(db, sizeof(db), "%s/db", top);
		killed = publish_and_die(db, 1, n);
		version = seen(db);
		none = none || version == 0;
		whole = whole || (killed && version == 1);
		assert_true(killed || version == 1);

		must_publish(db, 2);
		assert_int_equal(seen(db), 2);
		assert_int_equal(count_others(db), 0);
		scratch_free(top);
	}
	/* It was killed before and after the step that counts. */
	assert_true(none && whole);
	assert_in_range(n, 15, 1000);
}

static void killed_anywhere_the_old_pipeline_or_the_new_one_is_there(void **state)
{
	bool old = false, fresh = false;
	char *db = scratch_new();
	int n = 1;

	(void)state;
	for (bool killed = true; killed; n++) {
		int version;

		must_publish(db, 1);
		assert_int_equal(count_others(db), 0);
		killed = publish_and_die(db, 2, n);
		version = seen(db);
		assert_in_range(version, 1, 2);
		old = old || version == 1;
		fresh = fresh || (killed && version == 2);
		assert_true(killed || version == 2);

		must_publish(db, 3);
		assert_int_equal(seen(db), 3);
		assert_int_equal(count_others(db), 0);
	}
	assert_true(old && fresh);
	assert_in_range(n, 20, 1000);
	scratch_free(db);
}

static void a_name_that_is_a_path_is_refused_and_nothing_made(void **state)
{
	static const char *const names[] = {
		"", ".", "..", "../x", "/x", "a/b", ".hidden", ".new-p", "a\nb", "a\x01",
	};
	char long_name[301], *top = scratch_new(), db[512];

	(void)state;
	memset(long_name, 'a', 300);
	long_name[300] = '\0';
	snprintf(db, sizeof(db), "%s/db", top);
	for (size_t i = 0; i <= sizeof(names) / sizeof(names[0]); i++) {
		const char *name =
			i < sizeof(names) / sizeof(names[0]) ? names[i] : long_name;
		struct tw_err err = { 0 };

		assert_int_equal(publish(db, name, 1, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_non_null(strstr(err.text, "pipeline name"));
		assert_null(strchr(err.text, '\n'));
		assert_int_equal(access(db, F_OK), -1);
	}
	scratch_free(top);
}

static void without_an_atomic_exchange_the_old_one_stays(void **state)
{
	const int answers[] = { EINVAL, ENOSYS };
	char *db = scratch_new();

	(void)state;
	must_publish(db, 1);
	for (size_t i = 0; i < 2; i++) {
		struct tw_err err = { 0 };

		no_exchange = answers[i];
		assert_int_equal(publish(db, "p", 2, &err), -1);
		no_exchange = 0;
		assert_int_equal(err.code, TW_UNSUPPORTED);
		assert_non_null(strstr(err.text, "cannot exchange two directories"));
		assert_int_equal(seen(db), 1);
		assert_int_equal(count_others(db), 0);
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
	assert_int_equal(publish(db, "p", 1, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "is not a directory"));
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(count_others(db), 0);
	scratch_free(db);
}

static void the_previous_version_is_kept_and_comes_back(void **state)
{
	char *db = scratch_new();
	struct tw_err err = { 0 };

	(void)state;
	must_publish(db, 1);
	assert_int_equal(tw_pipeline_rollback(db, "p", &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text,
			    "cannot roll 'p' back: there is no previous version");
	must_publish(db, 2);
	must_publish(db, 3);
	assert_int_equal(seen_as(db, ".old-p"), 2);

	err = (struct tw_err){ 0 };
	assert_int_equal(tw_pipeline_rollback(db, "p", &err), 0);
	assert_int_equal(seen(db), 2);
	assert_int_equal(seen_as(db, ".old-p"), 3);
	assert_int_equal(tw_pipeline_rollback(db, "p", &err), 0);
	assert_int_equal(seen(db), 3);

	assert_int_equal(tw_pipeline_rollback(db, "../p", &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	scratch_free(db);
}

/* Whoever is killed while rolling back leaves one of the two, and both are kept. */
static void killed_anywhere_a_rollback_is_done_or_not(void **state)
{
	char *db = scratch_new();
	bool killed = true;

	(void)state;
	must_publish(db, 1);
	must_publish(db, 2);
	for (int n = 1; killed; n++) {
		const int before = seen(db);
		const pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (child == 0) {
			struct tw_err err = { 0 };

			dying = n;
			_exit(tw_pipeline_rollback(db, "p", &err) == 0 ? 0 : 1);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		killed = WIFSIGNALED(status);
		assert_true(killed || WEXITSTATUS(status) == 0);
		assert_int_equal(seen(db) + seen_as(db, ".old-p"), 3);
		assert_true(killed || seen(db) != before);
	}
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
	assert_int_equal(seen(db), 0);
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
		publish(p->db, "p", p->version, &p->err);
	return NULL;
}

static void publishers_at_once_take_turns(void **state)
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
	assert_in_range(seen(db), 1, 3);
	assert_int_equal(count_others(db), 0);
	scratch_free(db);
}

static void every_failed_allocation_leaves_the_old_one(void **state)
{
	struct tw_fileset files = { 0 };
	char *db = scratch_new();
	int failures = 0;

	(void)state;
	must_publish(db, 1);
	make_version(2, &files);
	for (int n = 1;; n++, failures++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_pipeline_publish(db, "p", &files, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			break;
		}
		/* Tidying up afterwards may fail without harm. */
		assert_true(rc == 0 || err.code == TW_NOMEM);
		assert_int_equal(seen(db), rc == 0 ? 2 : 1);
		must_publish(db, 1);
	}
	assert_true(failures > 3);
	assert_int_equal(seen(db), 2);
	tw_fileset_clear(&files);
	scratch_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			killed_anywhere_a_first_pipeline_is_there_wholly_or_not_at_all),
		cmocka_unit_test(
			killed_anywhere_the_old_pipeline_or_the_new_one_is_there),
		cmocka_unit_test(a_name_that_is_a_path_is_refused_and_nothing_made),
		cmocka_unit_test(without_an_atomic_exchange_the_old_one_stays),
		cmocka_unit_test(a_file_in_the_pipelines_place_is_left_alone),
		cmocka_unit_test(the_previous_version_is_kept_and_comes_back),
		cmocka_unit_test(killed_anywhere_a_rollback_is_done_or_not),
		cmocka_unit_test(an_empty_pipeline_is_refused),
		cmocka_unit_test(publishers_at_once_take_turns),
		cmocka_unit_test(every_failed_allocation_leaves_the_old_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
