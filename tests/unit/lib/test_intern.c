/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/intern.h"
#include "tests/unit/fail_alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void equal_bytes_have_one_address(void **state)
{
	struct tw_intern t = { 0 };
	struct tw_err err = { 0 };
	const void *at[2000];
	char text[32];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 2000; i++) {
			int n = snprintf(text, sizeof(text), "text %d", i);
			const char *s = tw_intern(&t, text, (size_t)n, &err);

			assert_string_equal(s, text);
			assert_true((uintptr_t)s % sizeof(double) == 0);
			if (round == 0)
				at[i] = s;
			assert_ptr_equal(s, at[i]);
		}
	}
	assert_int_equal(t.count, 2000);
	tw_intern_release(&t);
	assert_int_equal(t.count, 0);
}

static void a_prefix_and_the_empty_text_are_distinct(void **state)
{
	struct tw_intern t = { 0 };
	struct tw_err err = { 0 };
	const char *abc = tw_intern(&t, "abc", 3, &err),
		   *ab = tw_intern(&t, "abc", 2, &err);
	const char *none = tw_intern(&t, NULL, 0, &err);

	(void)state;
	assert_ptr_not_equal(abc, ab);
	assert_string_equal(ab, "ab");
	assert_string_equal(none, "");
	assert_ptr_equal(tw_intern(&t, "", 0, &err), none);
	tw_intern_release(&t);
}

static void large_texts_are_interned(void **state)
{
	static char big[1 << 20];
	struct tw_intern t = { 0 };
	struct tw_err err = { 0 };
	const char *s;

	(void)state;
	memset(big, 'x', sizeof(big));
	s = tw_intern(&t, big, sizeof(big), &err);
	assert_memory_equal(s, big, sizeof(big));
	assert_ptr_equal(tw_intern(&t, big, sizeof(big), &err), s);
	tw_intern_release(&t);
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_intern t = { 0 };
		struct tw_err err = { 0 };
		const void *last = NULL;

		fail_alloc_at(n);
		for (int i = 0; i < 1000 && err.code == TW_OK; i++)
			last = tw_intern(&t, &i, sizeof(i), &err);
		tw_intern_release(&t);
		if (!fail_alloc_hit()) {
			assert_non_null(last);
			assert_true(n > 5);
			break;
		}
		assert_null(last);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

static void unknown_texts_are_not_found(void **state)
{
	struct tw_intern t = { 0 };
	struct tw_err err = { 0 };
	const void *a;

	(void)state;
	assert_null(tw_intern_find(&t, "a", 1));
	a = tw_intern(&t, "a", 1, &err);
	assert_ptr_equal(tw_intern_find(&t, "a", 1), a);
	assert_null(tw_intern_find(&t, "b", 1));
	assert_null(tw_intern_find(&t, "a", 0));
	assert_int_equal(t.count, 1);
	tw_intern_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_texts_are_not_found),
		cmocka_unit_test(equal_bytes_have_one_address),
		cmocka_unit_test(a_prefix_and_the_empty_text_are_distinct),
		cmocka_unit_test(large_texts_are_interned),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("intern", tests, NULL, NULL);
}
