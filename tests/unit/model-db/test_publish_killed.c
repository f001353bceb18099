/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A publisher that is killed at its nth step, for every n. Steps are the system calls
 * by which files are made, moved and removed: tests/sources.mk wraps them.
 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "model-db/publish.h"
#include "tests/unit/scratch.h"
#include "tests/unit/versions.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The step at which to die, counting down; 0: live. */
static int dying;

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

/* The database's directory, and whether a rename in it was not followed by an fsync. */
static ino_t database;
static bool unsynced;

int __wrap_fsync(int fd)
{
	struct stat st;

	step();
	if (fstat(fd, &st) == 0 && st.st_ino == database)
		unsynced = false;
	return __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
	step();
	unsynced = true;
	return __real_rename(from, to);
}

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags)
{
	step();
	unsynced = true;
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
		_exit(version_publish(db, "p", version, &err) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGKILL);
		return true;
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

static void a_kill_leaves_a_first_pipeline_whole_or_absent(void **state)
{
	bool none = false, whole = false;
	int n = 1;

	(void)state;
	for (bool killed = true; killed; n++) {
		char *top = scratch_new(), db[512];
		int version;

		snprintf(db, sizeof(db), "%s/db", top);
		killed = publish_and_die(db, 1, n);
		version = version_seen(db);
		none = none || version == 0;
		whole = whole || (killed && version == 1);
		assert_true(killed || version == 1);

		version_must_publish(db, 2);
		assert_int_equal(version_seen(db), 2);
		assert_int_equal(version_count_others(db), 0);
		scratch_free(top);
	}
	/* It was killed before and after the step that counts. */
	assert_true(none && whole);
	assert_in_range(n, 15, 1000);
}

static void a_kill_leaves_the_old_or_the_new_pipeline(void **state)
{
	bool old = false, fresh = false;
	char *db = scratch_new();
	int n = 1;

	(void)state;
	for (bool killed = true; killed; n++) {
		int version;

		version_must_publish(db, 1);
		assert_int_equal(version_count_others(db), 0);
		killed = publish_and_die(db, 2, n);
		version = version_seen(db);
		assert_in_range(version, 1, 2);
		old = old || version == 1;
		fresh = fresh || (killed && version == 2);
		assert_true(killed || version == 2);

		version_must_publish(db, 3);
		assert_int_equal(version_seen(db), 3);
		assert_int_equal(version_count_others(db), 0);
	}
	assert_true(old && fresh);
	assert_in_range(n, 20, 1000);
	scratch_free(db);
}

/* A process killed during a rollback leaves either version in place, and keeps both. */
static void a_kill_leaves_a_rollback_done_or_not_started(void **state)
{
	char *db = scratch_new();
	bool killed = true;

	(void)state;
	version_must_publish(db, 1);
	version_must_publish(db, 2);
	for (int n = 1; killed; n++) {
		const int before = version_seen(db);
		const pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (child == 0) {
			struct tw_err err = { 0 };

			dying = n;
			_exit(tw_pipeline_rollback(db, "p", NULL, NULL, &err) == 0 ? 0
										   : 1);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		killed = WIFSIGNALED(status);
		assert_true(killed || WEXITSTATUS(status) == 0);
		assert_int_equal(version_seen(db) + version_seen_as(db, ".old-p"), 3);
		assert_true(killed || version_seen(db) != before);
	}
	scratch_free(db);
}

/* After a loss of power the directory must have the last rename. */
static void the_database_is_on_disk_before_success_is_reported(void **state)
{
	char *db = scratch_new();
	struct tw_err err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(stat(db, &st), 0);
	database = st.st_ino;
	for (int version = 1; version <= 3; version++) {
		version_must_publish(db, version);
		assert_false(unsynced);
	}
	assert_int_equal(tw_pipeline_rollback(db, "p", NULL, NULL, &err), 0);
	assert_false(unsynced);
	scratch_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_database_is_on_disk_before_success_is_reported),
		cmocka_unit_test(a_kill_leaves_a_first_pipeline_whole_or_absent),
		cmocka_unit_test(a_kill_leaves_the_old_or_the_new_pipeline),
		cmocka_unit_test(a_kill_leaves_a_rollback_done_or_not_started),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
