/* SPDX-License-Identifier: Apache-2.0 */
/* Series that clients name, and their last rows. */
#include "tests/unit/tw_test.h"

#include "estimator/history.h"
#include "estimator/predict/predictor.h"
#include "estimator/predict/series.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"

#include <stdio.h>
#include <string.h>

static struct tw_recent_rows *find(struct tw_history *h, const char *name, uint64_t user)
{
	const struct tw_history_key key = { .name = name, .user = user, .cols = 2 };
	struct tw_recent_rows *s = NULL;
	struct tw_err err = { 0 };

	assert_int_equal(tw_history_find(h, &key, 2, &s, &err), 0);
	return s;
}

/* Add a row; the first column of each row of the series, as text: "1 2 3". */
static const char *add(struct tw_recent_rows *s, int64_t time_ms, double value)
{
	static char text[128];
	const double row[] = { value, -value };
	struct tw_rows rows;
	size_t used = 0;

	tw_recent_rows_add(s, time_ms, row);
	tw_recent_rows_newest(s, &rows);
	assert_int_equal(rows.rows, 1);
	assert_int_equal(rows.time_ms[0], time_ms);
	assert_true(rows.x[0] == value && rows.x[1] == -value);
	for (size_t back = rows.before + 1; back-- > 0;) {
		const double *x = rows.x - back * rows.stride;

		assert_true(x[1] == -x[0]);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%g",
					 used > 0 ? " " : "", x[0]);
	}
	return text;
}

static void a_series_keeps_its_last_rows(void **state)
{
	struct tw_recent_rows s = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_recent_rows_reserve(&s, 2, 2, &err), 0);
	assert_string_equal(add(&s, 1000, 1), "1");
	assert_string_equal(add(&s, 2000, 2), "1 2");
	assert_string_equal(add(&s, 3000, 3), "1 2 3");
	assert_string_equal(add(&s, 4000, 4), "2 3 4");
	/* The same time again: for another output, or asked twice. */
	assert_string_equal(add(&s, 4000, 5), "2 3 5");
	/* A clock was set back. */
	assert_string_equal(add(&s, 3999, 6), "6");
	assert_string_equal(add(&s, 4999, 7), "6 7");
	/* A model that looks back further. */
	assert_int_equal(tw_recent_rows_reserve(&s, 2, 3, &err), 0);
	assert_string_equal(add(&s, 5999, 8), "6 7 8");
	assert_string_equal(add(&s, 6999, 9), "6 7 8 9");
	tw_recent_rows_release(&s);
}

static void name_user_and_columns_identify_a_series(void **state)
{
	struct tw_history *h = NULL;
	struct tw_recent_rows *other = NULL;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_history_new(1 << 20, &h, &err), 0);
	assert_string_equal(add(find(h, "a", 0), 1, 1), "1");
	assert_string_equal(add(find(h, "b", 0), 2, 2), "2");
	assert_string_equal(add(find(h, "a", 7), 2, 3), "3");
	assert_string_equal(add(find(h, "a", 0), 2, 4), "1 4");
	assert_int_equal(tw_history_find(h,
					 &(struct tw_history_key){
						 .name = "a", .columns = 9, .cols = 2 },
					 2, &other, &err),
			 0);
	assert_string_equal(add(other, 3, 5), "5");
	assert_int_equal(tw_history_count(h), 4);
	assert_int_equal(tw_history_dropped(h), 0);
	tw_history_free(h);
}

static void the_series_not_used_for_longest_is_dropped(void **state)
{
	struct tw_history *h = NULL;
	struct tw_err err = { 0 };
	char name[32];
	size_t count;

	(void)state;
	assert_int_equal(tw_history_new(4096, &h, &err), 0);
	add(find(h, "kept", 0), 1, 1);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		add(find(h, name, 0), 1, i);
		assert_string_equal(add(find(h, "kept", 0), 1, 1), "1");
	}
	count = tw_history_count(h);
	assert_in_range(count, 3, 20);
	assert_int_equal(tw_history_dropped(h), 1001 - count);
	assert_string_equal(add(find(h, "kept", 0), 2, 2), "1 2");
	assert_string_equal(add(find(h, "s999", 0), 2, 2), "999 2");
	assert_string_equal(add(find(h, "s0", 0), 2, 2), "2");
	tw_history_free(h);
}

static void a_series_that_is_too_large_is_refused(void **state)
{
	const struct tw_history_key key = { .name = "a", .cols = 256 };
	struct tw_history *h = NULL;
	struct tw_recent_rows *s = NULL;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_history_new(4096, &h, &err), 0);
	assert_int_equal(tw_history_find(h, &key, 255, &s, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "series 'a': "));
	assert_non_null(strstr(err.text, " bytes, --series-memory allows 4096"));
	assert_int_equal(tw_history_count(h), 0);
	tw_history_free(h);
}

static void running_out_of_memory_is_reported(void **state)
{
	const struct tw_history_key key = { .name = "a", .cols = 2 };

	(void)state;
	for (int n = 1;; n++) {
		struct tw_history *h = NULL;
		struct tw_recent_rows *s = NULL;
		struct tw_err err = { 0 };
		bool failed;

		fail_alloc_at(n);
		failed = tw_history_new(4096, &h, &err) < 0 ||
			 tw_history_find(h, &key, 2, &s, &err) < 0 ||
			 tw_history_find(h, &key, 9, &s, &err) < 0;
		if (!fail_alloc_hit()) {
			assert_false(failed);
			tw_history_free(h);
			break;
		}
		assert_true(failed);
		assert_int_equal(err.code, TW_NOMEM);
		tw_history_free(h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_series_keeps_its_last_rows),
		cmocka_unit_test(name_user_and_columns_identify_a_series),
		cmocka_unit_test(the_series_not_used_for_longest_is_dropped),
		cmocka_unit_test(a_series_that_is_too_large_is_refused),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
