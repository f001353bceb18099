/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/field/feature.h"
#include "tests/unit/scratch.h"
#include "trainer/online/store.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT "{\"kepler_node_package_joules_total\":[]}"

static struct tw_store *open_store(const char *dir)
{
	char *path = scratch_path(dir, "online.sqlite");
	struct tw_store *s = NULL;
	struct tw_err err = { 0 };

	if (tw_store_open(path, &s, &err) < 0)
		fail_msg("%s", err.text);
	free(path);
	return s;
}

static struct tw_segment segment_at(int64_t from_ms)
{
	return (struct tw_segment){ .from_ms = from_ms,
				    .to_ms = from_ms + 1000,
				    .rows = 10,
				    .feature = { tw_feature_find("bpf_cpu_time_ms") },
				    .mean = { 250.5 },
				    .features = 1,
				    .watts = 42.5,
				    .load_low = 1,
				    .load_high = 900 };
}

static int add(struct tw_store *s, const char *window, int64_t from_ms,
	       struct tw_err *err)
{
	struct tw_segment g = segment_at(from_ms);

	return tw_store_add(s, window, &g, TEXT, strlen(TEXT), err);
}

static size_t count(struct tw_store *s, const char *window)
{
	struct tw_segments w = { 0 };
	struct tw_err err = { 0 };
	size_t n;

	assert_int_equal(tw_store_segments(s, window, &w, &err), 0);
	n = w.count;
	tw_segments_release(&w);
	return n;
}

static void a_segment_is_read_as_it_was_added(void **state)
{
	struct tw_store *s = open_store(*state);
	struct tw_segments w = { 0 };
	struct tw_strs windows = { 0 };
	struct tw_err err = { 0 };
	char *text;
	size_t len;

	assert_int_equal(add(s, "a", 5000, &err), 0);
	tw_store_close(s);
	s = open_store(*state);
	assert_int_equal(tw_store_segments(s, "a", &w, &err), 0);
	assert_int_equal(w.count, 1);
	assert_int_equal(w.at[0].from_ms, 5000);
	assert_int_equal(w.at[0].to_ms, 6000);
	assert_int_equal(w.at[0].rows, 10);
	assert_false(w.at[0].held);
	assert_int_equal(w.at[0].features, 1);
	assert_ptr_equal(w.at[0].feature[0], tw_feature_find("bpf_cpu_time_ms"));
	assert_true(w.at[0].mean[0] == 250.5 && w.at[0].load_high == 900);
	assert_true(w.at[0].watts == 42.5);
	assert_true(w.at[0].bytes > 0);
	assert_int_equal(tw_store_text(s, w.at[0].id, &text, &len, &err), 0);
	assert_string_equal(text, TEXT);
	assert_int_equal(len, strlen(TEXT));
	assert_int_equal(tw_store_windows(s, &windows, &err), 0);
	assert_int_equal(windows.count, 1);
	assert_int_equal(tw_store_remove(s, w.at[0].id, &err), 0);
	assert_int_equal(count(s, "a"), 0);
	assert_int_equal(tw_store_text(s, w.at[0].id, &text, &len, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	free(text);
	tw_strs_clear(&windows);
	tw_segments_release(&w);
	tw_store_close(s);
}

static void a_segment_that_overlaps_is_rejected(void **state)
{
	static const int64_t from[] = { 5000, 4500, 5999, 0 };
	struct tw_store *s = open_store(*state);
	struct tw_err err = { 0 };

	assert_int_equal(add(s, "a", 5000, &err), 0);
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		struct tw_err why = { 0 };

		assert_int_equal(add(s, "a", from[i], &why), -1);
		assert_int_equal(why.code, TW_INVALID);
	}
	assert_int_equal(add(s, "a", 6000, &err), 0);
	assert_int_equal(add(s, "b", 5000, &err), 0);
	assert_int_equal(count(s, "a"), 2);
	tw_store_close(s);
}

static void what_was_held_out_is_released_and_forgotten_by_time(void **state)
{
	struct tw_store *s = open_store(*state);
	struct tw_segments w = { 0 };
	struct tw_err err = { 0 };

	for (int64_t i = 0; i < 6; i++) {
		struct tw_segment g = segment_at(1000 * i);

		g.held = i % 2 == 0;
		assert_int_equal(tw_store_add(s, "a", &g, TEXT, strlen(TEXT), &err), 0);
	}
	assert_int_equal(tw_store_release_held(s, "a", 3000, &err), 0);
	assert_int_equal(tw_store_forget(s, "a", 2000, &err), 0);
	assert_int_equal(tw_store_segments(s, "a", &w, &err), 0);
	assert_int_equal(w.count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(w.at[i].held, i == 2);
	tw_segments_release(&w);
	tw_store_close(s);
}

static void segments_of_the_future_are_forgotten(void **state)
{
	struct tw_store *s = open_store(*state);
	struct tw_segments w = { 0 };
	struct tw_err err = { 0 };

	for (int64_t i = 0; i < 4; i++)
		assert_int_equal(add(s, "a", 1000 * i, &err), 0);
	assert_int_equal(add(s, "b", 9000, &err), 0);
	assert_int_equal(tw_store_forget_after(s, "a", 2000, &err), 0);
	assert_int_equal(tw_store_segments(s, "a", &w, &err), 0);
	assert_int_equal(w.count, 2);
	assert_int_equal(w.at[1].to_ms, 2000);
	tw_segments_release(&w);
	assert_int_equal(count(s, "b"), 1);
	/* What comes now is later than what is left. */
	assert_int_equal(add(s, "a", 2000, &err), 0);
	tw_store_close(s);
}

static void decisions_outlive_the_process(void **state)
{
	const struct tw_standing wanted = { 1, 2, 3, 4, 5, 0.25 };
	struct tw_store *s = open_store(*state);
	struct tw_standing found;
	struct tw_err err = { 0 };
	uint64_t n[TW_VERDICTS];

	assert_int_equal(tw_store_standing(s, "a", &found, &err), 0);
	assert_int_equal(found.trained_to_ms, 0);
	assert_int_equal(tw_store_set_standing(s, "a", &wanted, &err), 0);
	assert_int_equal(tw_store_add_verdict(s, "a", 9, TW_PUBLISHED, "why", &err), 0);
	assert_int_equal(tw_store_add_verdict(s, "a", 9, TW_PUBLISHED, "why", &err), 0);
	tw_store_close(s);
	s = open_store(*state);
	assert_int_equal(tw_store_standing(s, "a", &found, &err), 0);
	assert_memory_equal(&found, &wanted, sizeof(found));
	assert_int_equal(tw_store_count_verdicts(s, "a", n, &err), 0);
	assert_int_equal(n[TW_PUBLISHED], 2);
	assert_int_equal(n[TW_ROLLED_BACK], 0);
	tw_store_close(s);
}

/* Add one interval after the other, and die in the middle of a transaction. */
static void write_and_die(const char *dir, int64_t intervals, bool within)
{
	struct tw_store *s = open_store(dir);
	struct tw_err err = { 0 };
	int64_t at;

	if (tw_store_read_to(s, &at, &err) < 0)
		_exit(1);
	for (int64_t i = 0; i <= intervals; i++, at += 1000) {
		if (tw_store_begin(s, &err) < 0 || add(s, "a", at, &err) < 0 ||
		    (i == intervals && within && raise(SIGKILL) != 0) ||
		    tw_store_set_read_to(s, at + 1000, &err) < 0 ||
		    (i == intervals && raise(SIGKILL) != 0) ||
		    tw_store_commit(s, &err) < 0)
			_exit(1);
	}
}

static void a_kill_at_any_moment_leaves_whole_intervals(void **state)
{
	for (int64_t k = 0; k < 6; k++) {
		struct tw_store *s;
		struct tw_segments w = { 0 };
		struct tw_err err = { 0 };
		int64_t read_to_ms;
		int status;
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0) {
			write_and_die(*state, 3, k % 2 == 0);
			_exit(2);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		s = open_store(*state);
		assert_int_equal(tw_store_read_to(s, &read_to_ms, &err), 0);
		assert_int_equal(read_to_ms, 3000 * (k + 1));
		assert_int_equal(tw_store_segments(s, "a", &w, &err), 0);
		assert_int_equal(w.count, 3 * (k + 1));
		for (size_t i = 0; i < w.count; i++)
			assert_int_equal(w.at[i].from_ms, 1000 * i);
		tw_segments_release(&w);
		tw_store_close(s);
	}
}

static void an_aborted_transaction_changes_nothing(void **state)
{
	struct tw_store *s = open_store(*state);
	struct tw_err err = { 0 };
	int64_t read_to_ms;

	tw_store_abort(s);
	assert_int_equal(tw_store_begin(s, &err), 0);
	assert_int_equal(add(s, "a", 0, &err), 0);
	assert_int_equal(tw_store_set_read_to(s, 1000, &err), 0);
	tw_store_abort(s);
	assert_int_equal(count(s, "a"), 0);
	assert_int_equal(tw_store_read_to(s, &read_to_ms, &err), 0);
	assert_int_equal(read_to_ms, 0);
	tw_store_close(s);
}

static void another_process_and_other_files_are_refused(void **state)
{
	char *path = scratch_path(*state, "online.sqlite");
	struct tw_store *s = open_store(*state), *second;
	struct tw_err err = { 0 }, why = { 0 };

	assert_int_equal(tw_store_open(path, &second, &err), -1);
	assert_non_null(strstr(err.text, "another process uses it"));
	tw_store_close(s);
	assert_int_equal(
		tw_file_replace(path, "no database at all, but some text", 33, &why), 0);
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_store_open(path, &second, &err), -1);
	assert_non_null(strstr(err.text, "online.sqlite"));
	free(path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_segment_is_read_as_it_was_added),
		TEST(a_segment_that_overlaps_is_rejected),
		TEST(what_was_held_out_is_released_and_forgotten_by_time),
		TEST(segments_of_the_future_are_forgotten),
		TEST(decisions_outlive_the_process),
		TEST(a_kill_at_any_moment_leaves_whole_intervals),
		TEST(an_aborted_transaction_changes_nothing),
		TEST(another_process_and_other_files_are_refused),
	};

	return cmocka_run_group_tests_name("online_store", tests, NULL, NULL);
}
