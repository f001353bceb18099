/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/answer.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int add(struct tw_answer *a, enum tw_component c, const double *watts, size_t rows,
	       struct tw_err *err)
{
	bool nonzero = false;

	if (tw_answer_check(c, watts, 0, rows, &nonzero, err) < 0)
		return -1;
	if (!nonzero)
		return 0;
	tw_answer_component(a, c);
	/* In pieces: it does not matter in which. */
	tw_answer_rows(a, watts, rows / 3);
	tw_answer_rows(a, watts + rows / 3, rows - rows / 3);
	return 0;
}

static void the_contracts_answer_comes_out_to_the_byte(void **state)
{
	static const double package[] = { 41.2, 3.1 }, dram[] = { 8.25, 0.5 };
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	struct tw_answer a;

	(void)state;
	tw_answer_begin(&a, &b);
	assert_int_equal(add(&a, TW_PACKAGE, package, 2, &err), 0);
	assert_int_equal(add(&a, TW_DRAM, dram, 2, &err), 0);
	tw_answer_ratio(&a, "1");
	tw_answer_end(&a);
	assert_string_equal(b.data,
			    "{\"powers\":{\"package\":[41.2,3.1],\"dram\":[8.25,0.5]},"
			    "\"msg\":\"\",\"core_ratio\":1}\n");
	tw_buf_clear(&b);
}

static void components_that_are_zero_in_every_row_are_left_out(void **state)
{
	static const double zero[] = { 0, 0.0004, -0.0 }, some[] = { 0, 0, 0.0005 };
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	struct tw_answer a;

	(void)state;
	tw_answer_begin(&a, &b);
	assert_int_equal(add(&a, TW_DRAM, zero, 3, &err), 0);
	assert_int_equal(add(&a, TW_CORE, some, 3, &err), 0);
	assert_int_equal(add(&a, TW_UNCORE, zero, 3, &err), 0);
	tw_answer_ratio(&a, "0.5");
	tw_answer_end(&a);
	assert_string_equal(
		b.data,
		"{\"powers\":{\"core\":[0,0,0.001]},\"msg\":\"\",\"core_ratio\":0.5}\n");
	tw_buf_clear(&b);
}

static void what_rounds_to_zero_is_not_told_from_zero(void **state)
{
	static const double zero[] = { 0, 0.0004, -0.0 }, some[] = { 0.0005, 0 };
	struct tw_err err = { 0 };
	bool nonzero = false;

	(void)state;
	assert_int_equal(tw_answer_check(TW_CORE, zero, 0, 3, &nonzero, &err), 0);
	assert_false(nonzero);
	assert_int_equal(tw_answer_check(TW_CORE, some, 0, 2, &nonzero, &err), 0);
	assert_true(nonzero);
	/* The rows that follow do not take it back. */
	assert_int_equal(tw_answer_check(TW_CORE, zero, 2, 3, &nonzero, &err), 0);
	assert_true(nonzero);
}

static void an_array_of_zeros_has_an_entry_for_each_row(void **state)
{
	static const double zero[] = { 0, 0.0004, -0.0 };
	struct tw_buf b = { 0 };
	struct tw_answer a;

	(void)state;
	tw_answer_begin(&a, &b);
	tw_answer_component(&a, TW_PACKAGE);
	tw_answer_rows(&a, zero, 3);
	tw_answer_ratio(&a, "2.25");
	tw_answer_end(&a);
	assert_string_equal(b.data, "{\"powers\":{\"package\":[0,0,0]},\"msg\":\"\","
				    "\"core_ratio\":2.25}\n");
	tw_buf_clear(&b);
}

static void numbers_have_at_most_three_decimals_and_no_zeros_behind(void **state)
{
	static const double watts[] = { 0,
					1,
					10,
					0.1,
					0.01,
					0.001,
					0.1239,
					12345.6789,
					99.9996,
					100.05,
					1.5e-9,
					1000000,
					TW_ANSWER_WATTS_MAX,
					0.12,
					7.002 };
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	struct tw_answer a;

	(void)state;
	tw_answer_begin(&a, &b);
	assert_int_equal(
		add(&a, TW_PLATFORM, watts, sizeof(watts) / sizeof(watts[0]), &err), 0);
	assert_string_equal(b.data,
			    "{\"powers\":{\"platform\":[0,1,10,0.1,0.01,0.001,0.124,"
			    "12345.679,100,100.05,0,1000000,1000000000,0.12,7.002");
	tw_buf_clear(&b);
}

static void numbers_read_back_within_half_a_milliwatt(void **state)
{
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (double w = 0.0007; w < 1e8; w *= 1.37) {
		struct tw_answer a;
		char *end;

		tw_answer_begin(&a, &b);
		assert_int_equal(add(&a, TW_PACKAGE, &w, 1, &err), 0);
		assert_true(fabs(strtod(strchr(b.data, '[') + 1, &end) - w) < 0.000501);
		assert_string_equal(end, "");
		tw_buf_clear(&b);
	}
}

static void what_is_no_power_is_refused(void **state)
{
	static const double bad[] = { NAN, INFINITY, -0.001, 2e9 };
	struct tw_buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const double watts[] = { 1, bad[i] };
		struct tw_err err = { 0 };
		struct tw_answer a;

		tw_answer_begin(&a, &b);
		assert_int_equal(add(&a, TW_DRAM, watts, 2, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_non_null(strstr(err.text, "dram of row 1 is "));
	}
	tw_buf_clear(&b);
}

/* docs/wire.md: a client that reads 4096 bytes gets some 570 rows of one component. */
static void five_hundred_and_seventy_rows_fit_into_one_read_of_old_clients(void **state)
{
	double watts[570];
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	struct tw_answer a;

	(void)state;
	for (size_t i = 0; i < 570; i++)
		watts[i] = 1.345 + (double)(i % 90) / 10.0;
	tw_answer_begin(&a, &b);
	assert_int_equal(add(&a, TW_PACKAGE, watts, 570, &err), 0);
	tw_answer_ratio(&a, "1");
	tw_answer_end(&a);
	assert_true(b.len <= 4096);
	tw_buf_clear(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_contracts_answer_comes_out_to_the_byte),
		cmocka_unit_test(components_that_are_zero_in_every_row_are_left_out),
		cmocka_unit_test(what_rounds_to_zero_is_not_told_from_zero),
		cmocka_unit_test(an_array_of_zeros_has_an_entry_for_each_row),
		cmocka_unit_test(numbers_have_at_most_three_decimals_and_no_zeros_behind),
		cmocka_unit_test(numbers_read_back_within_half_a_milliwatt),
		cmocka_unit_test(what_is_no_power_is_refused),
		cmocka_unit_test(
			five_hundred_and_seventy_rows_fit_into_one_read_of_old_clients),
	};

	return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
