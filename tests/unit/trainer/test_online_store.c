/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/field/feature.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"
#include "trainer/online/store.h"

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT "{\"kepler_node_package_joules_total\":[]}"

/* Nothing here waits for the disk. */
int fsync(int fd)
{
	(void)fd;
	return 0;
}

int fdatasync(int fd)
{
	return fsync(fd);
}

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
	for (size_t i = 0; i < TW_COUNT(from); i++) {
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
	assert_int_equal(err.code, TW_IO);
	assert_non_null(strstr(err.text, "another process uses it"));
	tw_store_close(s);
	assert_int_equal(
		tw_file_replace(path, "no database at all, but some text", 33, &why), 0);
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_store_open(path, &second, &err), -1);
	assert_int_equal(err.code, TW_PARSE);
	assert_non_null(strstr(err.text, "online.sqlite"));
	free(path);
}

/* ---- what else a file may have ---- */

/* Change the file beside the store, which is closed. */
static void change_file(const char *dir, const char *sql)
{
	char *path = scratch_path(dir, "online.sqlite");
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
	free(path);
}

static int number_in_file(const char *dir, const char *sql)
{
	char *path = scratch_path(dir, "online.sqlite");
	sqlite3_stmt *q = NULL;
	sqlite3 *db = NULL;
	int number;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	number = sqlite3_column_int(q, 0);
	sqlite3_finalize(q);
	sqlite3_close(db);
	free(path);
	return number;
}

/* Each call in a store with a segment and a table less. */
enum call {
	READ_TO,
	SET_READ_TO,
	WINDOWS,
	ADD,
	SEGMENTS,
	TEXT_OF,
	REMOVE,
	FORGET,
	FORGET_AFTER,
	RELEASE_HELD,
	STANDING,
	SET_STANDING,
	ADD_VERDICT,
	COUNT_VERDICTS
};

static int call(struct tw_store *s, enum call what, struct tw_err *err)
{
	static int64_t at_ms = 9000;
	const struct tw_standing none = { 0 };
	struct tw_standing standing;
	struct tw_segments w = { 0 };
	struct tw_strs names = { 0 };
	uint64_t n[TW_VERDICTS];
	char *text = NULL;
	int64_t ms;
	size_t len;
	int rc = 0;

	switch (what) {
	case READ_TO:
		return tw_store_read_to(s, &ms, err);
	case SET_READ_TO:
		return tw_store_set_read_to(s, 1, err);
	case WINDOWS:
		rc = tw_store_windows(s, &names, err);
		break;
	case ADD:
		return add(s, "a", at_ms += 1000, err);
	case SEGMENTS:
		rc = tw_store_segments(s, "a", &w, err);
		break;
	case TEXT_OF:
		rc = tw_store_text(s, 1, &text, &len, err);
		break;
	case REMOVE:
		return tw_store_remove(s, 1, err);
	case FORGET:
		return tw_store_forget(s, "a", 99999, err);
	case FORGET_AFTER:
		return tw_store_forget_after(s, "a", 0, err);
	case RELEASE_HELD:
		return tw_store_release_held(s, "a", 99999, err);
	case STANDING:
		return tw_store_standing(s, "a", &standing, err);
	case SET_STANDING:
		return tw_store_set_standing(s, "a", &none, err);
	case ADD_VERDICT:
		return tw_store_add_verdict(s, "a", 1, TW_PUBLISHED, "why", err);
	case COUNT_VERDICTS:
		return tw_store_count_verdicts(s, "a", n, err);
	}
	free(text);
	tw_strs_clear(&names);
	tw_segments_release(&w);
	return rc;
}

static void a_file_without_a_table_fails_where_it_is_needed(void **state)
{
	static const struct {
		enum call call;
		const char *table;
	} cases[] = {
		{ READ_TO, "reading" },
		{ SET_READ_TO, "reading" },
		{ WINDOWS, "segment" },
		{ WINDOWS, "standing" },
		{ ADD, "segment" },
		{ ADD, "response" },
		{ SEGMENTS, "segment" },
		{ TEXT_OF, "response" },
		{ TEXT_OF, "segment" },
		{ REMOVE, "response" },
		{ REMOVE, "segment" },
		{ FORGET, "response" },
		{ FORGET, "segment" },
		{ FORGET_AFTER, "response" },
		{ RELEASE_HELD, "segment" },
		{ STANDING, "standing" },
		{ SET_STANDING, "standing" },
		{ ADD_VERDICT, "verdict" },
		{ ADD_VERDICT, "verdict_count" },
		{ COUNT_VERDICTS, "verdict_count" },
	};

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char *dir = scratch_new(), sql[64];
		struct tw_store *s = open_store(dir);
		struct tw_err err = { 0 };

		assert_int_equal(add(s, "a", 0, &err), 0);
		assert_int_equal(call(s, cases[i].call, &err), 0);
		tw_store_close(s);
		snprintf(sql, sizeof(sql), "DROP TABLE %s", cases[i].table);
		change_file(dir, sql);
		s = open_store(dir);
		assert_int_equal(call(s, cases[i].call, &err), -1);
		if (err.code != TW_IO || strstr(err.text, "no such table") == NULL)
			fail_msg("%zu: %s", i, err.text);
		tw_store_close(s);
		scratch_free(dir);
	}
	(void)state;
}

/* Features of a later release are skipped, as is what is not a number. */
static void a_summary_may_be_of_another_release(void **state)
{
	struct tw_store *s = open_store(*state);
	struct tw_segments w = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(add(s, "a", 0, &err), 0);
	tw_store_close(s);
	change_file(*state,
		    "UPDATE segment SET means = '{\"new\":1,\"cpu_cycles\":\"x\","
		    "\"cache_miss\":null,\"cpu_instructions\":7,\"watts\":\"5\"}'");
	s = open_store(*state);
	assert_int_equal(tw_store_segments(s, "a", &w, &err), 0);
	assert_int_equal(w.at[0].features, 1);
	assert_string_equal(w.at[0].feature[0]->name, "cpu_instructions");
	assert_true(w.at[0].mean[0] == 7 && isnan(w.at[0].watts));
	tw_segments_release(&w);
	tw_store_close(s);
	change_file(*state, "UPDATE segment SET means = 'x'");
	s = open_store(*state);
	assert_int_equal(tw_store_segments(s, "a", &w, &err), -1);
	assert_int_equal(err.code, TW_PARSE);
	tw_segments_release(&w);
	tw_store_close(s);
}

static void a_damaged_response_is_refused(void **state)
{
	static const struct {
		const char *sql;
		enum tw_code code;
	} cases[] = {
		{ "UPDATE response SET deflated = x'00'", TW_PARSE },
		{ "UPDATE segment SET bytes = 5", TW_PARSE },
		{ "UPDATE segment SET bytes = 1000000000000", TW_NOMEM },
		{ "UPDATE segment SET bytes = 268435457", TW_NOMEM },
	};
	struct tw_store *s = open_store(*state);
	struct tw_err err = { 0 };
	char *text = NULL;
	size_t len;

	assert_int_equal(add(s, "a", 0, &err), 0);
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		tw_store_close(s);
		change_file(*state, cases[i].sql);
		s = open_store(*state);
		tw_err_clear(&err);
		assert_int_equal(tw_store_text(s, 1, &text, &len, &err), -1);
		assert_int_equal(err.code, cases[i].code);
	}
	assert_int_equal(tw_store_add(s, "b", &(struct tw_segment){ .to_ms = 1 }, "x",
				      ((size_t)256 << 20) + 1, &err),
			 -1);
	assert_int_equal(count(s, "b"), 0);
	tw_store_close(s);
}

static void another_format_is_refused(void **state)
{
	char *path = scratch_path(*state, "online.sqlite");
	struct tw_store *s = open_store(*state);
	struct tw_err err = { 0 };

	tw_store_close(s);
	change_file(*state, "PRAGMA user_version = 99");
	assert_int_equal(tw_store_open(path, &s, &err), -1);
	assert_int_equal(err.code, TW_UNSUPPORTED);
	assert_non_null(strstr(err.text, "has format 99; this program knows format"));
	assert_int_equal(number_in_file(*state, "PRAGMA user_version"), 99);
	free(path);
}

/* The last thousand reasons are kept, all are counted. */
static void reasons_are_kept_for_a_while(void **state)
{
	struct tw_store *s = open_store(*state);
	struct tw_err err = { 0 };
	uint64_t n[TW_VERDICTS];

	assert_int_equal(tw_store_begin(s, &err), 0);
	for (int i = 0; i < 1005; i++)
		assert_int_equal(
			tw_store_add_verdict(s, "a", i,
					     i < 5 ? TW_ROLLED_BACK : TW_NOT_BETTER,
					     "why", &err),
			0);
	assert_int_equal(tw_store_commit(s, &err), 0);
	assert_int_equal(tw_store_count_verdicts(s, "a", n, &err), 0);
	assert_int_equal(n[TW_ROLLED_BACK], 5);
	assert_int_equal(n[TW_NOT_BETTER], 1000);
	assert_int_equal(n[TW_PUBLISHED], 0);
	tw_store_close(s);
	assert_int_equal(number_in_file(*state, "SELECT count(*) FROM verdict"), 1000);
	assert_int_equal(number_in_file(*state, "SELECT min(at_ms) FROM verdict"), 5);
}

/* The database refuses one of the statements, as where the disk is full. */
static void a_statement_that_fails_is_an_error(void **state)
{
	static const char *const refused[] = { "INSERT ON segment", "INSERT ON response",
					       "UPDATE ON segment", "INSERT ON verdict",
					       "DELETE ON segment" };

	for (size_t i = 0; i < TW_COUNT(refused); i++) {
		struct tw_store *s = open_store(*state);
		struct tw_err err = { 0 };
		char sql[160];
		int rc;

		assert_int_equal(add(s, "a", 1000 * (int64_t)i, &err), 0);
		tw_store_close(s);
		snprintf(sql, sizeof(sql),
			 "CREATE TRIGGER t BEFORE %s BEGIN SELECT RAISE(ABORT, 'full'); "
			 "END",
			 refused[i]);
		change_file(*state, sql);
		s = open_store(*state);
		rc = i == 3   ? tw_store_add_verdict(s, "a", 1, TW_PUBLISHED, "x", &err)
		     : i == 4 ? tw_store_forget(s, "a", INT64_MAX, &err)
			      : add(s, "a", 1000 * (int64_t)TW_COUNT(refused), &err);
		assert_int_equal(rc, -1);
		assert_non_null(strstr(err.text, "full"));
		tw_store_close(s);
		change_file(*state,
			    "DROP TRIGGER t; DELETE FROM segment WHERE from_ms >= 5000");
	}
}

/* A file of another program, which has one of the tables. */
static void a_table_of_somebody_is_not_taken_over(void **state)
{
	char *path = scratch_path(*state, "online.sqlite");
	struct tw_err err = { 0 };
	struct tw_store *s;

	change_file(*state, "CREATE TABLE verdict (mine TEXT)");
	assert_int_equal(tw_store_open(path, &s, &err), -1);
	assert_non_null(strstr(err.text, "verdict"));
	tw_err_clear(&err);
	assert_int_equal(tw_store_open("/nonexistent/online.sqlite", &s, &err), -1);
	assert_non_null(strstr(err.text, "/nonexistent/online.sqlite"));
	change_file(*state, "DROP TABLE verdict");
	tw_store_close(open_store(*state));
	free(path);
}

/* It outlives the loss of power: a log before the pages, by the file's header. */
static void the_file_has_a_log(void **state)
{
	struct tw_err err = { 0 };
	char *path = scratch_path(*state, "online.sqlite"), *text;
	size_t len;

	for (int i = 0; i < 2; i++) {
		tw_store_close(open_store(*state));
		assert_int_equal(tw_file_read(path, 1 << 20, &text, &len, &err), 0);
		assert_true(len > 20 && text[18] == 2 && text[19] == 2);
		free(text);
		change_file(*state, "PRAGMA journal_mode = DELETE");
	}
	free(path);
}

static void without_memory_no_segment_is_added(void **state)
{
	struct tw_store *s = open_store(*state);

	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		assert_int_equal(tw_store_begin(s, &err), 0);
		fail_alloc_at(n);
		rc = add(s, "a", 1000, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_int_equal(tw_store_commit(s, &err), 0);
			break;
		}
		tw_store_abort(s);
		assert_int_equal(count(s, "a"), 0);
	}
	assert_int_equal(count(s, "a"), 1);
	tw_store_close(s);
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
		TEST(a_file_without_a_table_fails_where_it_is_needed),
		TEST(a_summary_may_be_of_another_release),
		TEST(a_damaged_response_is_refused),
		TEST(another_format_is_refused),
		TEST(reasons_are_kept_for_a_while),
		TEST(a_statement_that_fails_is_an_error),
		TEST(a_table_of_somebody_is_not_taken_over),
		TEST(the_file_has_a_log),
		TEST(without_memory_no_segment_is_added),
	};

	return cmocka_run_group_tests_name("online_store", tests, NULL, NULL);
}
