/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"
#include "trainer/record/series_reader.h"
#include "trainer/record/spool.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
	char *dir;
	char path[600];
	struct tw_spool *spool;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tw_err err = { 0 };

	assert_non_null(f);
	f->dir = scratch_new();
	snprintf(f->path, sizeof(f->path), "%s/out.json", f->dir);
	assert_int_equal(tw_spool_new(f->path, &f->spool, &err), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tw_spool_free(f->spool);
	scratch_free(f->dir);
	free(f);
	return 0;
}

static size_t series(struct tw_spool *s, const char *metric, const char *a, const char *b)
{
	struct tw_exposition_label label[] = { { "b", b }, { "a", a } };
	struct tw_err err = { 0 };
	size_t i;

	assert_int_equal(tw_spool_series(s, metric, label, 2, &i, &err), 0);
	return i;
}

static void add(struct tw_spool *s, size_t i, int64_t time_ms, double value)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_spool_add(s, i, time_ms, value, &err), 0);
}

static void write_is(struct fixture *f, const char *wanted)
{
	struct tw_err err = { 0 };
	char *text;
	size_t len;

	assert_int_equal(tw_spool_write(f->spool, f->path, &err), 0);
	assert_int_equal(tw_file_read(f->path, 1 << 20, &text, &len, &err), 0);
	assert_string_equal(text, wanted);
	free(text);
}

static void series_are_written_sorted(void **state)
{
	struct fixture *f = *state;
	size_t z, y, x;

	write_is(f, "{\n}\n");
	z = series(f->spool, "z", "1", "2");
	y = series(f->spool, "m", "2", "\"\n");
	x = series(f->spool, "m", "1", "2");
	series(f->spool, "without samples", "1", "2");
	add(f->spool, z, 1500, 0.1);
	add(f->spool, y, 2000, 1e300);
	add(f->spool, x, 1, -3);
	add(f->spool, x, 1002, 4);
	write_is(f, "{\n\"m\":[\n"
		    "{\"metric\":{\"a\":\"1\",\"b\":\"2\"},\"values\":[[0.001,\"-3\"],"
		    "[1.002,\"4\"]]},\n"
		    "{\"metric\":{\"a\":\"2\",\"b\":\"\\\"\\n\"},\"values\":[[2,\"1e+"
		    "300\"]]}],\n"
		    "\"z\":[\n"
		    "{\"metric\":{\"a\":\"1\",\"b\":\"2\"},\"values\":[[1.500,\"0.1\"]]}]"
		    "}\n");
	/* More samples may follow. */
	add(f->spool, z, 1501, 7);
	assert_int_equal(tw_spool_size(f->spool).series, 3);
	assert_int_equal(tw_spool_size(f->spool).samples, 5);
}

static void the_same_labels_in_another_order_are_the_same_series(void **state)
{
	struct fixture *f = *state;
	struct tw_exposition_label swapped[] = { { "a", "1" }, { "b", "2" } };
	struct tw_err err = { 0 };
	size_t i, one = series(f->spool, "m", "1", "2");

	assert_int_equal(tw_spool_series(f->spool, "m", swapped, 2, &i, &err), 0);
	assert_int_equal(i, one);
	assert_int_not_equal(series(f->spool, "n", "1", "2"), one);
	assert_int_not_equal(series(f->spool, "m", "2", "1"), one);
	assert_int_equal(series(f->spool, "m", "1", "2"), one);
}

static void a_repeated_label_is_rejected(void **state)
{
	struct fixture *f = *state;
	struct tw_exposition_label twice[] = { { "a", "1" }, { "b", "2" }, { "a", "1" } };
	struct tw_err err = { 0 };
	size_t i;

	assert_int_equal(tw_spool_series(f->spool, "m", twice, 3, &i, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "two labels 'a'");
}

static void samples_must_be_in_order_of_time(void **state)
{
	struct fixture *f = *state;
	struct tw_err err = { 0 };
	size_t i = series(f->spool, "m", "1", "2");
	int64_t last_ms = 7;

	assert_false(tw_spool_last(f->spool, i, &last_ms));
	assert_int_equal(last_ms, 7);
	add(f->spool, i, 1000, 1);
	assert_true(tw_spool_last(f->spool, i, &last_ms));
	assert_int_equal(last_ms, 1000);
	assert_int_equal(tw_spool_add(f->spool, i, 1000, 2, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "m: a sample at 1000 ms behind one at 1000 ms");
	assert_int_equal(tw_spool_size(f->spool).samples, 1);
}

#define MANY 1000

/* Interleaved blocks of two series, settled at irregular times. */
static void blocks_keep_every_sample_in_order(void **state)
{
	struct fixture *f = *state;
	struct tw_spool *again = NULL;
	struct tw_err err = { 0 };
	size_t i[2];
	char *one, *two, path[700];
	size_t one_len, two_len;

	i[0] = series(f->spool, "m", "1", "2");
	i[1] = series(f->spool, "m", "1", "3");
	for (int k = 0; k < MANY; k++) {
		add(f->spool, i[0], k, k);
		if (k % 3 != 0)
			add(f->spool, i[1], 2 * k, k / 8.0);
		if (k % 41 < 2)
			assert_int_equal(tw_spool_settle(f->spool, &err), 0);
	}
	assert_int_equal(tw_spool_write(f->spool, f->path, &err), 0);
	/* Read back by tw_series_read_file() and written again. */
	assert_int_equal(tw_spool_new(f->path, &again, &err), 0);
	assert_int_equal(tw_series_read_file(again, f->path, &err), 0);
	assert_int_equal(tw_spool_size(again).samples, MANY + MANY * 2 / 3);
	snprintf(path, sizeof(path), "%s.again", f->path);
	assert_int_equal(tw_spool_write(again, path, &err), 0);
	tw_spool_free(again);
	assert_int_equal(tw_file_read(f->path, 1 << 20, &one, &one_len, &err), 0);
	assert_int_equal(tw_file_read(path, 1 << 20, &two, &two_len, &err), 0);
	assert_int_equal(one_len, two_len);
	assert_memory_equal(one, two, one_len);
	assert_non_null(strstr(one, "[[0,\"0\"],[0.001,\"1\"],[0.002,\"2\"],"));
	assert_non_null(strstr(one, ",[0.999,\"999\"]]"));
	assert_non_null(strstr(one, "[[0.002,\"0.125\"],[0.004,\"0.25\"],[0.008,"));
	free(one);
	free(two);
}

static void no_temporary_file_remains(void **state)
{
	struct fixture *f = *state;
	struct dirent *entry;
	DIR *dir = opendir(f->dir);

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		assert_int_equal(entry->d_name[0], '.');
	closedir(dir);
}

static void a_failure_to_write_is_reported(void **state)
{
	struct fixture *f = *state;
	struct tw_spool *none = NULL;
	struct tw_err err = { 0 };

	(void)f;
	assert_int_equal(tw_spool_new("/nowhere/at/all", &none, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_non_null(
		strstr(err.text, "cannot make a temporary file in '/nowhere/at/'"));
	assert_null(none);
}

/* All allocations: series, blocks, reading, writing. */
static int do_all(const char *path, struct tw_err *err)
{
	struct tw_exposition_label label[] = { { "a", "1" } };
	struct tw_spool *s = NULL;
	size_t i;
	int rc = -1;

	if (tw_spool_new(path, &s, err) < 0 ||
	    tw_spool_series(s, "m", label, 1, &i, err) < 0)
		goto out;
	for (int k = 0; k < 70; k++)
		if (tw_spool_add(s, i, k, k, err) < 0)
			goto out;
	if (tw_spool_write(s, path, err) < 0 || tw_spool_settle(s, err) < 0 ||
	    tw_spool_settle(s, err) < 0)
		goto out;
	tw_spool_free(s);
	s = NULL;
	if (tw_spool_new(path, &s, err) < 0 || tw_series_read_file(s, path, err) < 0)
		goto out;
	rc = 0;
out:
	tw_spool_free(s);
	return rc;
}

static void every_failed_allocation_is_reported(void **state)
{
	struct fixture *f = *state;

	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = do_all(f->path, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 20);
			break;
		}
	}
}

static void malformed_responses_are_rejected(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "cut short" },
		{ "[]", "expected an object of metrics" },
		{ "{\"m\":7}", "byte 5: m, series 0: expected a list of series" },
		{ "{\"m\":[7]}", "byte 6: m, series 1: expected an object" },
		{ "{\"m\":[{}]}", "m, series 1: expected \"metric\"" },
		{ "{\"m\":[{\"values\":[]}]}", "expected \"metric\" before \"values\"" },
		{ "{\"m\":[{\"metric\":7}]}", "expected an object of labels" },
		{ "{\"m\":[{\"metric\":{\"a\":7}}]}", "expected a label's text" },
		{ "{\"m\":[{\"metric\":{},\"metric\":{}}]}", "expected \"metric\" once" },
		{ "{\"m\":[{\"metric\":{},\"values\":7}]}",
		  "expected a list of samples" },
		{ "{\"m\":[{\"metric\":{},\"values\":[7]}]}",
		  "expected [time, \"value\"]" },
		{ "{\"m\":[{\"metric\":{},\"values\":[[]]}]}",
		  "expected [time, \"value\"]" },
		{ "{\"m\":[{\"metric\":{},\"values\":[[-1,\"1\"]]}]}",
		  "expected a time in seconds" },
		{ "{\"m\":[{\"metric\":{},\"values\":[[1,1]]}]}",
		  "expected a time and a number in quotes" },
		{ "{\"m\":[{\"metric\":{},\"values\":[[1,\"1\",2]]}]}",
		  "expected a time and a number in quotes" },
		{ "{\"m\":[{\"metric\":{},\"values\":[[1,\"1\"],[1,\"2\"]]}]}",
		  "m: a sample at 1000 ms behind one at 1000 ms" },
		{ "{} x", "byte 3: text after the end" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_file_replace(f->path, cases[i].text,
						 strlen(cases[i].text), &err),
				 0);
		if (tw_series_read_file(f->spool, f->path, &err) == 0)
			fail_msg("'%s' is taken", cases[i].text);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("'%s' is not in '%s'", cases[i].why, err.text);
		tw_spool_free(f->spool);
		f->spool = NULL;
		err = (struct tw_err){ 0 };
		assert_int_equal(tw_spool_new(f->path, &f->spool, &err), 0);
	}
}

static void unknown_members_are_ignored(void **state)
{
	static const char text[] =
		"{\"m\":[{\"x\":{\"metric\":[[1]]},\"metric\":{\"a\":\"1\"},"
		"\"histograms\":[[1,{\"values\":[[1]]}]],"
		"\"values\":[[1,\"NaN\"],[2,\"5\"],[3,\"+Inf\"]]}]}";
	struct fixture *f = *state;
	struct tw_err err = { 0 };

	assert_int_equal(tw_file_replace(f->path, text, strlen(text), &err), 0);
	assert_int_equal(tw_series_read_file(f->spool, f->path, &err), 0);
	write_is(f, "{\n\"m\":[\n{\"metric\":{\"a\":\"1\"},\"values\":[[2,\"5\"]]}]}\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(series_are_written_sorted),
		TEST(the_same_labels_in_another_order_are_the_same_series),
		TEST(a_repeated_label_is_rejected),
		TEST(samples_must_be_in_order_of_time),
		TEST(blocks_keep_every_sample_in_order),
		TEST(no_temporary_file_remains),
		TEST(a_failure_to_write_is_reported),
		TEST(every_failed_allocation_is_reported),
		TEST(malformed_responses_are_rejected),
		TEST(unknown_members_are_ignored),
	};

	return cmocka_run_group_tests_name("spool", tests, NULL, NULL);
}
