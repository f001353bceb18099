/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool fail_fsync, fail_rename;
static int fsyncs;

int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);

int __wrap_fsync(int fd)
{
	fsyncs++;
	errno = EIO;
	return fail_fsync ? -1 : __real_fsync(fd);
}

int __wrap_rename(const char *from, const char *to)
{
	errno = EIO;
	return fail_rename ? -1 : __real_rename(from, to);
}

static int setup(void **state)
{
	fail_fsync = false;
	fail_rename = false;
	fsyncs = 0;
	*state = scratch_new();
	return 0;
}

static int entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

static void assert_content(const char *path, const char *want)
{
	struct tw_err err = { 0 };
	char *data = NULL;
	size_t len = 0;

	assert_int_equal(tw_file_read(path, 4096, &data, &len, &err), 0);
	assert_int_equal(len, strlen(want));
	assert_string_equal(data, want);
	free(data);
}

static void replacing_syncs_file_and_directory_and_leaves_nothing_else(void **state)
{
	char *path = scratch_path(*state, "f");
	struct tw_err err = { 0 };

	assert_int_equal(tw_file_replace(path, "old", 3, &err), 0);
	assert_int_equal(fsyncs, 2);
	assert_int_equal(tw_file_replace(path, "newer", 5, &err), 0);
	assert_content(path, "newer");
	assert_int_equal(entries(*state), 1);
	free(path);
}

static void a_failed_replace_keeps_the_old_file(void **state)
{
	char *path = scratch_path(*state, "f");
	struct tw_err err = { 0 }, again = { 0 };

	assert_int_equal(tw_file_replace(path, "old", 3, &err), 0);
	fail_fsync = true;
	assert_int_equal(tw_file_replace(path, "new", 3, &err), -1);
	assert_int_equal(err.code, TW_IO);
	assert_non_null(strstr(err.text, "cannot write '"));
	fail_fsync = false;
	fail_rename = true;
	assert_int_equal(tw_file_replace(path, "new", 3, &again), -1);
	assert_int_equal(again.code, TW_IO);
	assert_non_null(strstr(again.text, "cannot replace '"));
	assert_content(path, "old");
	assert_int_equal(entries(*state), 1);
	free(path);
}

static void only_a_regular_file_is_replaced(void **state)
{
	char *fifo = scratch_path(*state, "fifo"), *link = scratch_path(*state, "link");
	struct tw_err err = { 0 }, again = { 0 };
	struct stat st;

	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("nowhere", link), 0);
	assert_int_equal(tw_file_replace(fifo, "new", 3, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "it is not a regular file"));
	assert_int_equal(tw_file_replace(link, "new", 3, &again), -1);
	assert_int_equal(lstat(fifo, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(entries(*state), 2);
	free(link);
	free(fifo);
}

static void creating_does_not_overwrite_nor_follow_a_link(void **state)
{
	char *path = scratch_path(*state, "f"), *link = scratch_path(*state, "link");
	char *target = scratch_path(*state, "target");
	struct tw_err err = { 0 }, again = { 0 };

	assert_int_equal(tw_file_create(path, "one", 3, &err), 0);
	assert_int_equal(tw_file_create(path, "two", 3, &err), -1);
	assert_non_null(strstr(err.text, "File exists"));
	assert_content(path, "one");
	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(tw_file_create(link, "two", 3, &again), -1);
	assert_int_equal(access(target, F_OK), -1);
	free(target);
	free(link);
	free(path);
}

static void reading_has_a_limit_and_needs_a_regular_file(void **state)
{
	char *path = scratch_path(*state, "f"), *fifo = scratch_path(*state, "fifo");
	const struct {
		const char *path;
		enum tw_code code;
		const char *text;
	} bad[] = {
		{ path, TW_INVALID, "has 5 bytes, limit is 4" },
		{ fifo, TW_INVALID, "is not a regular file" },
		{ *state, TW_INVALID, "is not a regular file" },
		{ "/dev/null", TW_INVALID, "is not a regular file" },
		{ "/nonexistent/f", TW_NOTFOUND, "cannot open '/nonexistent/f'" },
	};
	struct tw_err err = { 0 };
	char *data = NULL;
	size_t len = 0;

	assert_int_equal(tw_file_create(path, "12345", 5, &err), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_err why = { 0 };

		assert_int_equal(tw_file_read(bad[i].path, 4, &data, &len, &why), -1);
		assert_int_equal(why.code, bad[i].code);
		assert_non_null(strstr(why.text, bad[i].text));
		assert_null(data);
	}
	assert_int_equal(tw_file_read(path, 5, &data, &len, &err), 0);
	assert_int_equal(len, 5);
	free(data);
	free(fifo);
	free(path);
}

/* Of a list in sysfs the size is 4096 or 28672. */
static void a_file_of_sysfs_is_as_long_as_its_text(void **state)
{
	struct tw_err err = { 0 };
	char *data = NULL;
	size_t len = 0;

	(void)state;
	if (tw_file_read("/sys/devices/system/cpu/online", 1024, &data, &len, &err) < 0)
		fail_msg("%s", err.text);
	assert_in_range(len, 1, 1024);
	free(data);
}

static void a_file_without_a_size_is_read_until_it_ends(void **state)
{
	static const char cpus[] = "/proc/cpuinfo";
	struct tw_err err = { 0 };
	char *data = NULL;
	size_t len = 0, again = 0;

	(void)state;
	if (tw_file_read(cpus, 64u << 20, &data, &len, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(len > 0);
	assert_int_equal(strlen(data), len);
	free(data);
	data = NULL;
	assert_int_equal(tw_file_read(cpus, 7, &data, &again, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "has more bytes than its limit, 7"));
	assert_null(data);
	for (int n = 1;; n++) {
		struct tw_err why = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_file_read(cpus, 64u << 20, &data, &again, &why);
		if (!fail_alloc_told(rc, &why))
			break;
	}
	free(data);
}

static void directories_are_made_with_their_parents(void **state)
{
	char *path = scratch_path(*state, "a//b/c"), *file = scratch_path(*state, "f");
	char *under = scratch_path(file, "x");
	struct tw_err err = { 0 };
	struct stat st;

	assert_int_equal(tw_dir_make(path, &err), 0);
	assert_int_equal(tw_dir_make(path, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(tw_file_create(file, "", 0, &err), 0);
	assert_int_equal(tw_dir_make(under, &err), -1);
	assert_non_null(strstr(err.text, "cannot make directory '"));
	free(under);
	free(file);
	free(path);
}

static void removing_a_tree_leaves_what_links_point_to(void **state)
{
	char *keep = scratch_path(*state, "keep"), *kept = scratch_path(keep, "f");
	char *tree = scratch_path(*state, "tree"), *deep = scratch_path(tree, "a/b");
	char *link = scratch_path(deep, "link"), *file = scratch_path(deep, "file");
	struct tw_err err = { 0 };

	assert_int_equal(tw_dir_make(keep, &err), 0);
	assert_int_equal(tw_dir_make(deep, &err), 0);
	assert_int_equal(tw_file_create(kept, "x", 1, &err), 0);
	assert_int_equal(tw_file_create(file, "x", 1, &err), 0);
	assert_int_equal(symlink(keep, link), 0);
	assert_int_equal(tw_tree_remove(tree, &err), 0);
	assert_int_equal(access(tree, F_OK), -1);
	assert_content(kept, "x");

	assert_int_equal(symlink(keep, tree), 0);
	assert_int_equal(tw_tree_remove(tree, &err), 0);
	assert_content(kept, "x");
	assert_int_equal(tw_tree_remove(tree, &err), 0);
	assert_int_equal(entries(*state), 1);
	free(file);
	free(link);
	free(deep);
	free(tree);
	free(kept);
	free(keep);
}

static void a_tree_that_is_too_deep_is_not_removed(void **state)
{
	char path[512];
	struct tw_err err = { 0 };
	size_t len = (size_t)snprintf(path, sizeof(path), "%s/t", (char *)*state);

	for (int i = 0; i < 70; i++)
		len += (size_t)snprintf(path + len, sizeof(path) - len, "/d");
	assert_int_equal(tw_dir_make(path, &err), 0);
	snprintf(path, sizeof(path), "%s/t", (char *)*state);
	assert_int_equal(tw_tree_remove(path, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "directory 'd' is too deep to remove");
}

static void paths_are_joined_with_one_slash(void **state)
{
	struct tw_err err = { 0 };
	char *path = NULL;

	(void)state;
	assert_int_equal(tw_path_join(&path, &err, "a/", "b", "c.json", NULL), 0);
	assert_string_equal(path, "a/b/c.json");
	free(path);
	fail_alloc_at(1);
	assert_int_equal(tw_path_join(&path, &err, "a", "b", NULL), -1);
	assert_true(fail_alloc_hit());
	assert_int_equal(err.code, TW_NOMEM);
}

static void names_that_are_unsafe_in_a_path_are_rejected(void **state)
{
	static const struct {
		const char *name;
		size_t len;
		const char *shown;
	} bad[] = {
		{ "", 0, "name '':" },
		{ ".", 1, "name '.':" },
		{ "..", 2, "name '..':" },
		{ ".x", 2, "name '.x':" },
		{ "-", 1, "name '-':" },
		{ "-rf", 3, "name '-rf':" },
		{ "../x", 4, "name '../x':" },
		{ "/x", 2, "name '/x':" },
		{ "a\0b", 3, "name 'a\\x00b':" },
		{ "a\nb", 3, "name 'a\\x0ab':" },
		{ "a'b", 3, "name 'a\\x27b':" },
		{ "\x1b[31m", 5, "name '\\x1b[31m':" },
		{ "\xff", 1, "name '\\xff':" },
		{ "a b", 3, "name 'a b':" },
	};
	char longer[300];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_name_check("name", bad[i].name, bad[i].len, &err),
				 -1);
		assert_int_equal(err.code, TW_INVALID);
		if (strncmp(err.text, bad[i].shown, strlen(bad[i].shown)) != 0)
			fail_msg("'%s' does not start with \"%s\"", err.text,
				 bad[i].shown);
	}
	for (size_t len = 129; len <= sizeof(longer); len += 171) {
		struct tw_err err = { 0 };

		memset(longer, '\x01', sizeof(longer));
		assert_int_equal(tw_name_check("name", longer, len, &err), -1);
		assert_non_null(strstr(err.text, "\\x01...': expected 1 to 128 letters"));
	}
}

static void plain_names_are_accepted(void **state)
{
	static const char *const good[] = { "a",    "std_v0.7.11", "AbsPower",
					    "a..b", "x+y:z@1",     "a-" };
	struct tw_err err = { 0 };
	char longest[128];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(good); i++)
		assert_int_equal(tw_name_check("name", good[i], strlen(good[i]), &err),
				 0);
	memset(longest, 'x', sizeof(longest));
	assert_int_equal(tw_name_check("name", longest, sizeof(longest), &err), 0);
}

/* A file that tw_replace_write() writes in pieces. */
static void a_reader_sees_the_old_file_until_the_commit(void **state)
{
	char *path = scratch_path(*state, "f");
	struct tw_replace r = { 0 };
	struct tw_err err = { 0 };
	char *data;
	size_t len;

	tw_replace_abort(&r);
	assert_int_equal(tw_file_create(path, "old", 3, &err), 0);
	for (int kept = 0; kept < 2; kept++) {
		assert_int_equal(tw_replace_open(&r, path, &err), 0);
		assert_int_equal(tw_replace_write(&r, "new", 3, &err), 0);
		assert_int_equal(tw_replace_write(&r, "er", 2, &err), 0);
		assert_int_equal(tw_file_read(path, 10, &data, &len, &err), 0);
		assert_string_equal(data, "old");
		free(data);
		if (kept == 0)
			tw_replace_abort(&r);
		else
			assert_int_equal(tw_replace_commit(&r, &err), 0);
	}
	tw_replace_abort(&r);
	assert_int_equal(tw_file_read(path, 10, &data, &len, &err), 0);
	assert_string_equal(data, "newer");
	free(data);
	/* No temporary file remains. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(*state), 0);
	assert_int_equal(tw_dir_make(*state, &err), 0);
	free(path);
}

static void failed_allocations_are_reported(void **state)
{
	char *path = scratch_path(*state, "f");
	struct tw_err err = { 0 }, dir = { 0 };
	char *data = NULL;
	size_t len = 0;

	assert_int_equal(tw_file_create(path, "x", 1, &err), 0);
	fail_alloc_at(1);
	assert_int_equal(tw_file_read(path, 10, &data, &len, &err), -1);
	assert_true(fail_alloc_hit());
	assert_int_equal(err.code, TW_NOMEM);
	fail_alloc_at(1);
	assert_int_equal(tw_dir_make(path, &dir), -1);
	assert_true(fail_alloc_hit());
	assert_int_equal(dir.code, TW_NOMEM);
	err = (struct tw_err){ 0 };
	fail_alloc_at(1);
	assert_int_equal(tw_file_replace(path, "y", 1, &err), -1);
	assert_true(fail_alloc_hit());
	assert_int_equal(err.code, TW_NOMEM);
	free(path);
}

static void names_of_a_directory_are_listed_sorted(void **state)
{
	const char *dir = *state;
	struct tw_strs names = { 0 };
	struct tw_err err = { 0 };
	static const char *const made[] = { "b", ".hidden", "a" };

	for (size_t i = 0; i < 3; i++) {
		char *path = NULL;

		assert_int_equal(tw_path_join(&path, &err, dir, made[i], NULL), 0);
		assert_int_equal(tw_file_create(path, "", 0, &err), 0);
		free(path);
	}
	assert_int_equal(tw_dir_list(dir, &names, &err), 0);
	assert_int_equal(names.count, 3);
	assert_string_equal(names.at[0], ".hidden");
	assert_string_equal(names.at[1], "a");
	assert_string_equal(names.at[2], "b");
	tw_strs_clear(&names);

	assert_int_equal(tw_dir_list("/no/such/directory", &names, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text, "cannot read '/no/such/directory': "
				      "No such file or directory");
	assert_int_equal(names.count, 0);
}

#define NOEXEC "/proc/sys/vm/memfd_noexec"

/* 0: it is there, and executable as wanted. Else an errno. */
static int memory_fault(bool executable)
{
	const int fd = tw_file_in_memory("test", executable);
	struct stat st;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) < 0 || write(fd, "x", 1) != 1)
		return EIO;
	close(fd);
	return ((st.st_mode & S_IXOTH) != 0) == executable ? 0 : ENOEXEC;
}

/* Run as the first process of a namespace, which has the sysctl for itself. */
static int memory_fault_of_rule(char rule, bool executable)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (unshare(CLONE_NEWPID) < 0 || (pid = fork()) < 0)
			_exit(255);
		if (pid == 0) {
			const int fd = open(NOEXEC, O_WRONLY | O_CLOEXEC);

			_exit(fd < 0 || write(fd, &rule, 1) != 1
				      ? 255
				      : memory_fault(executable));
		}
		_exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status)
			      ? WEXITSTATUS(status)
			      : 255);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void a_file_in_memory_is_executable_where_it_is_wanted_and_allowed(void **state)
{
	static const char rules[] = "012";

	(void)state;
	if (geteuid() != 0 || access(NOEXEC, W_OK) != 0)
		skip();
	for (const char *rule = rules; *rule != '\0'; rule++) {
		assert_int_equal(memory_fault_of_rule(*rule, false), 0);
		assert_int_equal(memory_fault_of_rule(*rule, true),
				 *rule == '2' ? EACCES : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_sysfs_is_as_long_as_its_text),
		cmocka_unit_test(
			a_file_in_memory_is_executable_where_it_is_wanted_and_allowed),
		cmocka_unit_test_setup_teardown(
			replacing_syncs_file_and_directory_and_leaves_nothing_else, setup,
			scratch_tear_down),
		cmocka_unit_test_setup_teardown(a_failed_replace_keeps_the_old_file,
						setup, scratch_tear_down),
		cmocka_unit_test_setup_teardown(only_a_regular_file_is_replaced, setup,
						scratch_tear_down),
		cmocka_unit_test_setup_teardown(
			creating_does_not_overwrite_nor_follow_a_link, setup,
			scratch_tear_down),
		cmocka_unit_test_setup_teardown(
			reading_has_a_limit_and_needs_a_regular_file, setup,
			scratch_tear_down),
		cmocka_unit_test(a_file_without_a_size_is_read_until_it_ends),
		cmocka_unit_test_setup_teardown(directories_are_made_with_their_parents,
						setup, scratch_tear_down),
		cmocka_unit_test_setup_teardown(
			removing_a_tree_leaves_what_links_point_to, setup,
			scratch_tear_down),
		cmocka_unit_test_setup_teardown(a_tree_that_is_too_deep_is_not_removed,
						setup, scratch_tear_down),
		cmocka_unit_test_setup_teardown(paths_are_joined_with_one_slash, setup,
						scratch_tear_down),
		cmocka_unit_test_setup_teardown(
			names_that_are_unsafe_in_a_path_are_rejected, setup,
			scratch_tear_down),
		cmocka_unit_test_setup_teardown(plain_names_are_accepted, setup,
						scratch_tear_down),
		cmocka_unit_test_setup_teardown(
			a_reader_sees_the_old_file_until_the_commit, setup,
			scratch_tear_down),
		cmocka_unit_test_setup_teardown(names_of_a_directory_are_listed_sorted,
						setup, scratch_tear_down),
		cmocka_unit_test_setup_teardown(failed_allocations_are_reported, setup,
						scratch_tear_down),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
