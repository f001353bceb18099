/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"

#include <string.h>

static void texts_are_copied_and_found(void **state)
{
	struct tw_strs l = { 0 };
	struct tw_err err = { 0 };
	char text[] = "alpha";

	(void)state;
	assert_int_equal(tw_strs_adds(&l, text, &err), 0);
	assert_int_equal(tw_strs_add(&l, "betatron", 4, &err), 0);
	assert_int_equal(tw_strs_add(&l, "", 0, &err), 0);
	text[0] = 'x';
	assert_int_equal(tw_strs_find(&l, "alpha"), 0);
	assert_int_equal(tw_strs_find(&l, "beta"), 1);
	assert_int_equal(tw_strs_find(&l, ""), 2);
	assert_int_equal(tw_strs_find(&l, "bet"), -1);
	assert_true(tw_strs_has(&l, "beta"));
	assert_false(tw_strs_has(&l, "Beta"));
	tw_strs_clear(&l);
	assert_int_equal(l.count, 0);
	assert_false(tw_strs_has(&l, "beta"));
}

static void texts_with_a_nul_are_rejected(void **state)
{
	struct tw_strs l = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_strs_add(&l, "a\0b", 3, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "text contains a NUL byte");
	assert_int_equal(l.count, 0);
	tw_strs_clear(&l);
}

static void splitting_drops_blanks_and_empty_parts(void **state)
{
	static const char *const empty[] = { "", ",", " , ,", "\t" };
	struct tw_strs l = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_strs_split(&l, " a\t, b c ,,d \t,", &err), 0);
	assert_int_equal(l.count, 3);
	assert_string_equal(l.at[0], "a");
	assert_string_equal(l.at[1], "b c");
	assert_string_equal(l.at[2], "d");
	tw_strs_clear(&l);
	for (size_t i = 0; i < TW_COUNT(empty); i++) {
		assert_int_equal(tw_strs_split(&l, empty[i], &err), 0);
		assert_int_equal(l.count, 0);
	}
	tw_strs_clear(&l);
}

static void a_copy_is_independent_and_sorting_is_by_bytes(void **state)
{
	struct tw_strs l = { 0 }, copy = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_strs_split(&l, "b,a,B,ab", &err), 0);
	assert_int_equal(tw_strs_adds(&copy, "gone", &err), 0);
	assert_int_equal(tw_strs_copy(&copy, &l, &err), 0);
	tw_strs_sort(&copy);
	assert_int_equal(copy.count, 4);
	assert_string_equal(copy.at[0], "B");
	assert_string_equal(copy.at[1], "a");
	assert_string_equal(copy.at[2], "ab");
	assert_string_equal(copy.at[3], "b");
	assert_string_equal(l.at[0], "b");
	tw_strs_clear(&copy);
	tw_strs_clear(&l);
	tw_strs_sort(&l);
}

static void a_choice_is_its_index_or_the_names_are_listed(void **state)
{
	static const char *const names[] = { "red", "green", "blue", NULL };
	struct tw_err err = { 0 };
	unsigned choice = 9;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(tw_choice_find(names, names[i], &choice, &err), 0);
		assert_int_equal(choice, i);
	}
	choice = 9;
	assert_int_equal(tw_choice_find(names, "gree", &choice, &err), -1);
	assert_int_equal(choice, 9);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "'gree' is not one of red, green, blue");
}

static void a_reset_arena_holds_texts_without_new_memory(void **state)
{
	static const char *const texts[] = { "cpu_time", "", "instructions" };
	struct tw_arena arena = { 0 };
	struct tw_strs l = { 0 };
	struct tw_err err = { 0 };
	char *first = NULL;

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(tw_strs_add_in(&l, &arena, texts[i],
							strlen(texts[i]), &err),
					 0);
		assert_int_equal(l.count, 3);
		for (size_t i = 0; i < 3; i++)
			assert_string_equal(l.at[i], texts[i]);
		assert_true(first == NULL || first == l.at[0]);
		first = l.at[0];
		l.count = 0;
		tw_arena_reset(&arena);
	}
	assert_int_equal(tw_strs_add_in(&l, &arena, "a\0b", 3, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_int_equal(l.count, 0);
	tw_strs_drop(&l);
	tw_arena_release(&arena);
}

static void a_reset_arena_keeps_only_a_small_chunk(void **state)
{
	struct tw_arena arena = { 0 };

	(void)state;
	tw_arena_reset(&arena);
	assert_null(arena.chunk);
	assert_non_null(tw_arena_get(&arena, 100));
	tw_arena_reset(&arena);
	assert_non_null(arena.chunk);
	assert_int_equal(arena.used, 0);
	assert_non_null(tw_arena_get(&arena, 100000));
	tw_arena_reset(&arena);
	assert_null(arena.chunk);
	tw_arena_release(&arena);
}

static void every_failed_allocation_is_reported_and_keeps_the_list(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_strs l = { 0 }, copy = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_strs_split(&l, "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", &err);
		if (rc == 0)
			rc = tw_strs_copy(&copy, &l, &err);
		if (!fail_alloc_told(rc, &err)) {
			/* 17 texts in a list that grows twice. */
			assert_int_equal(n, 2 * (17 + 2) + 1);
			tw_strs_clear(&copy);
			tw_strs_clear(&l);
			break;
		}
		assert_int_equal(copy.count, 0);
		tw_strs_clear(&copy);
		tw_strs_clear(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_copied_and_found),
		cmocka_unit_test(texts_with_a_nul_are_rejected),
		cmocka_unit_test(splitting_drops_blanks_and_empty_parts),
		cmocka_unit_test(a_copy_is_independent_and_sorting_is_by_bytes),
		cmocka_unit_test(a_choice_is_its_index_or_the_names_are_listed),
		cmocka_unit_test(a_reset_arena_holds_texts_without_new_memory),
		cmocka_unit_test(a_reset_arena_keeps_only_a_small_chunk),
		cmocka_unit_test(every_failed_allocation_is_reported_and_keeps_the_list),
	};

	return cmocka_run_group_tests_name("strs", tests, NULL, NULL);
}
