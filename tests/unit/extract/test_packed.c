/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/arena.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/response/prom_store.h"

#include <string.h>

/* Compare bits: -0 differs from 0. */
static void assert_comes_back(const struct tw_packed *p, const double *v, size_t count)
{
	struct tw_unpack u = tw_unpack_begin(p);

	assert_int_equal(p->count, count);
	for (size_t i = 0; i < count; i++) {
		const double back = tw_unpack_next(&u);

		assert_memory_equal(&back, &v[i], sizeof(back));
	}
}

static struct tw_packed pack(struct tw_arena *arena, const double *v, size_t count)
{
	struct tw_packed p = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_pack(v, count, arena, &p, &err), 0);
	assert_comes_back(&p, v, count);
	return p;
}

static void numbers_take_the_bytes_that_their_differences_need(void **state)
{
	static const struct {
		double v[4];
		unsigned width, digits;
	} cases[] = {
		{ { 5, 5, 5, 5 }, 0, 0 },
		{ { 1e12, 1e12 + 3000, 1e12 + 6000, 1e12 + 9000 }, 0, 0 },
		{ { 0, 1, 1, 256 }, 1, 0 },
		{ { 0, 1, 2, 258 }, 1, 0 },
		{ { 0, 1, 1, 258 }, 2, 0 },
		{ { 0.25, 1.5, 2, 2 }, 1, 2 },
		{ { 12606.770999, 12606.789, 12607, 12608 }, 3, 6 },
		{ { 0, 7800000000, 7800000001, 15600000000 }, 5, 0 },
		{ { 9007199254740992, 0, 9007199254740991, 4503599627370497 }, 7, 0 },
		{ { 20, 30, 3, 13 }, 1, 0 },
	};
	struct tw_arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_packed p = pack(&arena, cases[i].v, 4);

		assert_false(p.as_is);
		assert_int_equal(p.width, cases[i].width);
		assert_int_equal(p.digits, cases[i].digits);
	}
	tw_arena_release(&arena);
}

static void other_numbers_are_stored_as_doubles(void **state)
{
	static const double odd[][3] = {
		{ 12606.770999999999, 12607, 12608 },
		{ 1e30, 1, 2 },
		{ 0.0, -0.0, 1 },
		{ -1, 0, 1 },
		{ 1.0 / 3, 2.0 / 3, 1 },
		{ 5e-324, 1, 2 },
		{ 9007199254740994, 1, 2 },
	};
	struct tw_arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(odd); i++)
		assert_true(pack(&arena, odd[i], 3).as_is);
	tw_arena_release(&arena);
}

static void sequences_of_any_length_can_be_packed(void **state)
{
	double v[300];
	struct tw_arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(v); i++)
		v[i] = (double)(i * i * i) / 1000;
	for (size_t n = 0; n <= TW_COUNT(v); n++)
		pack(&arena, v, n);
	tw_arena_release(&arena);
}

static void monotonic_sequences_are_recognised(void **state)
{
	static const struct {
		double v[3];
		bool rises;
	} cases[] = {
		{ { 1, 1, 2 }, true },
		{ { 1, 3, 2 }, false },
		{ { 0.5, 0.25, 2 }, false },
		{ { 1.0 / 3, 2.0 / 3, 1 }, true },
		{ { 2.0 / 3, 1.0 / 3, 1 }, false },
	};
	struct tw_arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_packed p = pack(&arena, cases[i].v, 3);

		assert_int_equal(tw_packed_rises(&p), cases[i].rises);
		assert_true(tw_packed_first(&p) == cases[i].v[0]);
		assert_true(tw_packed_last(&p) == cases[i].v[2]);
	}
	tw_arena_release(&arena);
}

static void packing_fails_without_memory(void **state)
{
	static const double whole[] = { 1, 5, 7 }, odd[] = { 1.0 / 3, 1, 2 };
	const double *const v[] = { whole, odd };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(v); i++) {
		struct tw_packed p = { .count = 77 };
		struct tw_arena arena = { 0 };
		struct tw_err err = { 0 };

		fail_alloc_at(1);
		assert_int_equal(tw_pack(v[i], 3, &arena, &p, &err), -1);
		assert_true(fail_alloc_hit());
		assert_int_equal(err.code, TW_NOMEM);
		assert_non_null(strstr(err.text, "numbers packed"));
		assert_int_equal(p.count, 77);
		tw_arena_release(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_take_the_bytes_that_their_differences_need),
		cmocka_unit_test(other_numbers_are_stored_as_doubles),
		cmocka_unit_test(sequences_of_any_length_can_be_packed),
		cmocka_unit_test(monotonic_sequences_are_recognised),
		cmocka_unit_test(packing_fails_without_memory),
	};

	return cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
