/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fsyncs, fsync_fails_at;

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
	fsyncs++;
	errno = EIO;
	return fsyncs == fsync_fails_at ? -1 : __real_fsync(fd);
}

static int setup(void **state)
{
	*state = scratch_new();
	fsyncs = 0;
	fsync_fails_at = 0;
	return 0;
}

static int fill(struct tw_fileset *s, struct tw_err *err)
{
	if (tw_fileset_add(s, "b/c/two", "22", 2, err) < 0 ||
	    tw_fileset_add(s, "b-x", "", 0, err) < 0 ||
	    tw_fileset_add(s, "b/one", "1\0001", 3, err) < 0)
		return -1;
	return tw_fileset_add(s, "a", "alpha", 5, err);
}

static void assert_same(const struct tw_fileset *a, const struct tw_fileset *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct tw_fileset_file *f = tw_fileset_find(b, a->at[i].name);

		assert_non_null(f);
		assert_int_equal(f->len, a->at[i].len);
		assert_memory_equal(f->data, a->at[i].data, f->len + 1);
	}
}

static void a_written_set_is_read_back_sorted(void **state)
{
	static const char *const names[] = { "a", "b-x", "b/c/two", "b/one" };
	const struct tw_fileset_limits none = { 0 };
	struct tw_fileset s = { 0 }, back = { 0 };
	struct tw_err err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/set", (char *)*state);
	assert_int_equal(fill(&s, &err), 0);
	assert_int_equal(tw_fileset_write_dir(&s, path, &err), 0);
	assert_int_equal(fsyncs, 4 + 3); /* files; b/c, b and the top */
	assert_int_equal(tw_fileset_read_dir(&back, path, &none, &err), 0);
	assert_same(&s, &back);
	for (size_t i = 0; i < back.count; i++)
		assert_string_equal(back.at[i].name, names[i]);
	assert_int_equal(tw_fileset_write_dir(&s, path, &err), -1);
	assert_non_null(strstr(err.text, "File exists"));
	tw_fileset_clear(&back);
	tw_fileset_clear(&s);
	assert_null(tw_fileset_find(&s, "a"));
}

struct exchanging {
	char a[512], b[512];
	atomic_bool stop;
};

static void *exchange(void *arg)
{
	struct exchanging *x = arg;

	while (!atomic_load(&x->stop)) {
		renameat2(AT_FDCWD, x->a, AT_FDCWD, x->b, RENAME_EXCHANGE);
		usleep(200);
	}
	return NULL;
}

/* Versions of the same names: each file has the same letter. */
static void write_version(const char *dir, const char *letter)
{
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };
	char name[32];

	for (int i = 0; i < 24; i++) {
		snprintf(name, sizeof(name), "%c/%d", 'a' + i % 4, i);
		assert_int_equal(tw_fileset_add(&s, name, letter, 1, &err), 0);
	}
	assert_int_equal(tw_fileset_write_dir(&s, dir, &err), 0);
	tw_fileset_clear(&s);
}

static void a_directory_that_is_exchanged_is_not_mixed(void **state)
{
	const struct tw_fileset_limits none = { 0 };
	struct exchanging x = { .a = "" };
	pthread_t thread;
	int whole = 0;

	snprintf(x.a, sizeof(x.a), "%s/a", (char *)*state);
	snprintf(x.b, sizeof(x.b), "%s/b", (char *)*state);
	atomic_init(&x.stop, false);
	write_version(x.a, "1");
	write_version(x.b, "2");
	assert_int_equal(pthread_create(&thread, NULL, exchange, &x), 0);
	for (int n = 0; n < 1000; n++) {
		struct tw_fileset s = { 0 };
		struct tw_err err = { 0 };

		if (tw_fileset_read_dir(&s, x.a, &none, &err) < 0) {
			assert_non_null(strstr(err.text, "was replaced while it was"));
			continue;
		}
		whole++;
		assert_int_equal(s.count, 24);
		for (size_t i = 1; i < s.count; i++)
			assert_string_equal(s.at[i].data, s.at[0].data);
		tw_fileset_clear(&s);
	}
	atomic_store(&x.stop, true);
	pthread_join(thread, NULL);
	assert_true(whole > 0);
}

static void a_failed_sync_anywhere_is_reported(void **state)
{
	struct tw_fileset s = { 0 };
	struct tw_err filled = { 0 };
	char path[512];

	assert_int_equal(fill(&s, &filled), 0);
	for (int n = 1; n <= 7; n++) {
		struct tw_err err = { 0 };

		snprintf(path, sizeof(path), "%s/set%d", (char *)*state, n);
		fsyncs = 0;
		fsync_fails_at = n;
		assert_int_equal(tw_fileset_write_dir(&s, path, &err), -1);
		assert_int_equal(err.code, TW_IO);
	}
	tw_fileset_clear(&s);
}

static void bad_and_repeated_names_are_rejected(void **state)
{
	static const char *const bad[] = { "",     "/a",     "a/",   "a//b",
					   "../a", "a/../b", "a/.b", "a\nb" };
	struct tw_fileset s = { 0 };
	struct tw_err twice = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_fileset_add(&s, bad[i], "x", 1, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_int_equal(strncmp(err.text, "file name '", 11), 0);
	}
	assert_int_equal(s.count, 0);
	assert_int_equal(tw_fileset_add(&s, "a/b", "x", 1, &twice), 0);
	assert_int_equal(tw_fileset_add(&s, "a/b", "y", 1, &twice), -1);
	assert_int_equal(twice.code, TW_INVALID);
	assert_string_equal(twice.text, "file 'a/b' is given twice");
	tw_fileset_clear(&s);
}

static void limits_hold_when_reading(void **state)
{
	static const struct {
		struct tw_fileset_limits limits;
		const char *text;
	} cases[] = {
		{ { .files = 3 }, "more than 3 files" },
		{ { .file_bytes = 4 }, "has 5 bytes, limit is 4" },
		{ { .total_bytes = 9 }, "limit is" },
	};
	const struct tw_fileset_limits just = { .files = 4,
						.file_bytes = 5,
						.total_bytes = 10 };
	struct tw_fileset s = { 0 }, back = { 0 };
	struct tw_err err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/set", (char *)*state);
	assert_int_equal(fill(&s, &err), 0);
	assert_int_equal(tw_fileset_write_dir(&s, path, &err), 0);
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err why = { 0 };

		assert_int_equal(tw_fileset_read_dir(&back, path, &cases[i].limits, &why),
				 -1);
		assert_int_equal(why.code, TW_INVALID);
		assert_non_null(strstr(why.text, cases[i].text));
		assert_int_equal(back.count, 0);
	}
	assert_int_equal(tw_fileset_read_dir(&back, path, &just, &err), 0);
	tw_fileset_clear(&back);
	tw_fileset_clear(&s);
}

static void links_in_a_directory_are_rejected(void **state)
{
	const struct tw_fileset_limits none = { 0 };
	struct tw_fileset back = { 0 };
	struct tw_err err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/link", (char *)*state);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	assert_int_equal(tw_fileset_read_dir(&back, *state, &none, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "is a link or special file"));
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_fileset s = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = fill(&s, &err);
		tw_fileset_clear(&s);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 8);
			break;
		}
	}
}

static void the_text_of_a_buffer_becomes_a_file(void **state)
{
	struct tw_buf text = { 0 }, limited = { .limit = 4 };
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	tw_buf_adds(&text, "watts");
	assert_int_equal(tw_fileset_take_buf(&s, "a/b.json", &text, &err), 0);
	assert_null(text.data);
	assert_string_equal(tw_fileset_find(&s, "a/b.json")->data, "watts");
	assert_int_equal(tw_fileset_find(&s, "a/b.json")->len, 5);

	tw_buf_adds(&limited, "longer than its limit");
	assert_int_equal(tw_fileset_take_buf(&s, "c.json", &limited, &err), -1);
	assert_int_equal(err.code, TW_NOMEM);
	assert_string_equal(err.text, "file 'c.json': out of memory");
	assert_int_equal(s.count, 1);
	tw_fileset_clear(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_of_a_buffer_becomes_a_file),
		cmocka_unit_test_setup_teardown(a_written_set_is_read_back_sorted, setup,
						scratch_tear_down),
		cmocka_unit_test_setup_teardown(
			a_directory_that_is_exchanged_is_not_mixed, setup,
			scratch_tear_down),
		cmocka_unit_test_setup_teardown(a_failed_sync_anywhere_is_reported, setup,
						scratch_tear_down),
		cmocka_unit_test_setup_teardown(bad_and_repeated_names_are_rejected,
						setup, scratch_tear_down),
		cmocka_unit_test_setup_teardown(limits_hold_when_reading, setup,
						scratch_tear_down),
		cmocka_unit_test_setup_teardown(links_in_a_directory_are_rejected, setup,
						scratch_tear_down),
		cmocka_unit_test_setup_teardown(every_failed_allocation_is_reported,
						setup, scratch_tear_down),
	};

	return cmocka_run_group_tests_name("fileset", tests, NULL, NULL);
}
