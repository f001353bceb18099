/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/quick.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers drawn by a test. */
#define ROUNDS (quick() ? 25000 : 250000)

/* splitmix64 (Steele et al. 2014): a reproducible sequence. */
static uint64_t next_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static bool same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

static void assert_reads_as_strtod(const char *text)
{
	double want = strtod(text, NULL), v = -1.0;

	if (!tw_parse_double(text, strlen(text), &v) || !same_bits(v, want))
		fail_msg("'%s': got %.17g, want %.17g", text, v, want);
}

static void every_bit_pattern_survives_the_round_trip(void **state)
{
	uint64_t seed = 1;
	size_t shorter = 0;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t bits = next_random(&seed);
		char text[TW_DOUBLE_TEXT], full[64];
		double v, back = 0.0;
		size_t len;

		memcpy(&v, &bits, sizeof(v));
		if (!isfinite(v))
			continue;
		len = tw_format_double(text, v);
		assert_int_equal(len, strlen(text));
		if (!tw_parse_double(text, len, &back) || !same_bits(v, back))
			fail_msg("%.17g is written as '%s'", v, text);
		snprintf(full, sizeof(full), "%.17g", v);
		shorter += len < strlen(full);
	}
	assert_true(shorter > ROUNDS / 4);
}

static void numbers_of_all_forms_round_like_strtod(void **state)
{
	uint64_t seed = 2;
	char text[80];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t digits = next_random(&seed) >> (next_random(&seed) % 64);
		const char *sign = next_random(&seed) % 2 == 0 ? "" : "-";
		int exponent = (int)(next_random(&seed) % 50) - 25;

		snprintf(text, sizeof(text), "%s%" PRIu64 "e%d", sign, digits, exponent);
		assert_reads_as_strtod(text);
		snprintf(text, sizeof(text), "%s%" PRIu64, sign, digits);
		assert_reads_as_strtod(text);
	}
}

static void fractions_round_like_strtod(void **state)
{
	uint64_t seed = 3;
	char text[80];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t whole = next_random(&seed) % 1000000;
		uint64_t part = next_random(&seed) >> (next_random(&seed) % 64);

		snprintf(text, sizeof(text), "%" PRIu64 ".%0*" PRIu64, whole,
			 (int)(next_random(&seed) % 12) + 1, part);
		assert_reads_as_strtod(text);
	}
}

static void halfway_and_extreme_cases_round_correctly(void **state)
{
	static const char *const texts[] = {
		"0",
		"-0",
		"0.0",
		"0e0",
		"9007199254740993",
		"9007199254740992",
		"9007199254740993.0000000000000000000000000001",
		"1e22",
		"1e23",
		"1e-22",
		"1e-23",
		"2.2250738585072011e-308",
		"2.2250738585072014e-308",
		"5e-324",
		"2e-324",
		"1.7976931348623157e308",
		"123456789012345678901234567890",
		"0.000000000000000000000000000000000000000000000000001",
		"100000000000000000000000000000000000000000000000000e-50",
		"0e99999",
		"1e-99999",
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(texts); i++)
		assert_reads_as_strtod(texts[i]);
}

static void only_numbers_of_jsons_grammar_are_accepted(void **state)
{
	static const char *const bad[] = { "",       "-",   "+1",    ".5",  "1.",
					   "01",     "-01", "1e",    "1e+", "0x10",
					   " 1",     "1 ",  "nan",   "NaN", "inf",
					   "Inf",    "1,5", "1e1.5", "--1", "1e400",
					   "-1e400", "1a",  "1.e5",  "1..2" };
	double v = 7.0;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++)
		if (tw_parse_double(bad[i], strlen(bad[i]), &v))
			fail_msg("'%s' is taken", bad[i]);
	assert_false(tw_parse_double("1\0", 2, &v));
	assert_true(v == 7.0);
}

static void no_byte_after_the_length_is_read(void **state)
{
	char *text = malloc(3);
	double v = 0.0;

	(void)state;
	memcpy(text, "125", 3);
	assert_true(tw_parse_double(text, 2, &v));
	assert_true(v == 12.0);
	assert_true(tw_parse_double(text, 3, &v));
	assert_true(v == 125.0);
	free(text);
}

static void a_number_of_a_thousand_digits_is_rejected(void **state)
{
	char text[1000];
	double v = 7.0;

	(void)state;
	memset(text, '1', sizeof(text));
	assert_false(tw_parse_double(text, sizeof(text), &v));
	assert_true(v == 7.0);
	assert_true(tw_parse_double(text, 300, &v));
}

static void samples_may_be_nan_or_infinite(void **state)
{
	double v = 0.0;

	(void)state;
	assert_true(tw_parse_sample("NaN", 3, &v));
	assert_true(isnan(v));
	assert_true(tw_parse_sample("+Inf", 4, &v));
	assert_true(isinf(v) && v > 0);
	assert_true(tw_parse_sample("Inf", 3, &v));
	assert_true(isinf(v) && v > 0);
	assert_true(tw_parse_sample("-Inf", 4, &v));
	assert_true(isinf(v) && v < 0);
	assert_true(tw_parse_sample("+1.5", 4, &v));
	assert_true(v == 1.5);
	assert_false(tw_parse_sample("+-1", 3, &v));
	assert_false(tw_parse_sample("+", 1, &v));
	assert_false(tw_parse_sample("", 0, &v));
	assert_false(tw_parse_sample("nan", 3, &v));
}

static void doubles_have_the_shortest_text(void **state)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = {
		{ 0.1, "0.1" },
		{ 1e300, "1e+300" },
		{ 0.0, "0" },
		{ -0.0, "-0" },
		{ 3.0, "3" },
		{ 5e-324, "5e-324" },
		{ 1.0 / 3.0, "0.3333333333333333" },
		{ 170.8, "170.8" },
		{ 0.1 + 0.2, "0.30000000000000004" },
	};
	char text[TW_DOUBLE_TEXT];
	struct tw_buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		assert_int_equal(tw_format_double(text, cases[i].v),
				 strlen(cases[i].text));
		assert_string_equal(text, cases[i].text);
	}
	tw_buf_add_double(&b, 2.5);
	assert_string_equal(b.data, "2.5");
	tw_buf_clear(&b);
}

/* The expected text by the C library: the fewest digits, from 15, that parse back. */
static void assert_like_the_library(double v)
{
	char text[TW_DOUBLE_TEXT], want[64];
	int digits = fabs(v) < DBL_MIN ? 1 : 15;

	do
		snprintf(want, sizeof(want), "%.*g", digits, v);
	while (strtod(want, NULL) != v && ++digits <= 17);
	tw_format_double(text, v);
	assert_string_equal(text, want);
}

static void doubles_have_the_text_of_the_c_library(void **state)
{
	static const double edges[] = { 1e-3, 1e-2, 1e-1,  1.0,    10.0,
					1e14, 1e15, 1e16,  1e17,   123e12,
					1e22, 0.5,  0.125, 0x1p49, 0x1p50 };
	uint64_t seed = 4, bits;
	double v;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(edges); i++) {
		assert_like_the_library(edges[i]);
		assert_like_the_library(-edges[i]);
		assert_like_the_library(nextafter(edges[i], 0.0));
		assert_like_the_library(nextafter(edges[i], INFINITY));
	}
	for (int i = 0; i < ROUNDS; i++) {
		bits = next_random(&seed);
		/* Any magnitude; counters; their rates; a binary fraction. */
		memcpy(&v, &bits, sizeof(v));
		if (isfinite(v))
			assert_like_the_library(v);
		assert_like_the_library((double)(bits >> 14) / 1000.0);
		assert_like_the_library((double)(bits >> 24) / 3.0);
		assert_like_the_library((double)(bits >> 40) / 3e9);
		assert_like_the_library(
			ldexp((double)(bits >> 60), (int)(bits % 64) - 20));
	}
}

static void the_locale_changes_nothing(void **state)
{
	char text[TW_DOUBLE_TEXT];
	double v = 0.0;

	(void)state;
	if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL &&
	    setlocale(LC_NUMERIC, "fr_FR.UTF-8") == NULL) {
		print_message("SKIPPED: no locale with a decimal comma\n");
		skip();
	}
	tw_format_double(text, 2.5);
	assert_true(tw_parse_double("1.2345678901234567890123", 24, &v));
	setlocale(LC_NUMERIC, "C");
	assert_string_equal(text, "2.5");
	assert_true(v == 1.2345678901234567890123);
}

static void whole_numbers_must_be_in_range(void **state)
{
	static const char *const bad[] = { "",   "-1",  "+1",
					   " 1", "1 ",  "0x1",
					   "9",  "301", "99999999999999999999999" };
	uint32_t v = 7;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_parse_u32(bad[i], 10, 300, &v, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_non_null(strstr(err.text, "is not a number from 10 to 300"));
	}
	assert_int_equal(v, 7);
	assert_int_equal(tw_parse_u32("300", 10, 300, &v, &(struct tw_err){ 0 }), 0);
	assert_int_equal(v, 300);
}

static void durations_and_sizes_have_units(void **state)
{
	struct tw_err err = { 0 };
	uint64_t v = 0;

	(void)state;
	assert_int_equal(tw_parse_duration_ms("250ms", &v, &err), 0);
	assert_int_equal(v, 250);
	assert_int_equal(tw_parse_duration_ms("3", &v, &err), 0);
	assert_int_equal(v, 3000);
	assert_int_equal(tw_parse_duration_ms("2m", &v, &err), 0);
	assert_int_equal(v, 120000);
	assert_int_equal(tw_parse_duration_ms("1h", &v, &err), 0);
	assert_int_equal(v, 3600000);
	assert_int_equal(tw_parse_size_bytes("64KiB", &v, &err), 0);
	assert_int_equal(v, 65536);
	assert_int_equal(tw_parse_size_bytes("4096", &v, &err), 0);
	assert_int_equal(v, 4096);
	assert_int_equal(tw_parse_size_bytes("2GiB", &v, &err), 0);
	assert_int_equal(v, (uint64_t)2 << 30);
	/* The largest that fit. */
	assert_int_equal(tw_parse_duration_ms("18446744073709551s", &v, &err), 0);
	assert_int_equal(v, UINT64_C(18446744073709551000));
	assert_int_equal(tw_parse_size_bytes("17179869183GiB", &v, &err), 0);
	assert_int_equal(v, UINT64_C(17179869183) << 30);
}

static void wrong_units_and_overflows_are_rejected(void **state)
{
	static const char *const durations[] = { "",
						 "s",
						 "1.5s",
						 "-1s",
						 "3 s",
						 "3d",
						 "18446744073709552s",
						 "18446744073709551615s" };
	static const char *const sizes[] = { "",
					     "KiB",
					     "1KB",
					     "-1",
					     "1 MiB",
					     "17179869184GiB",
					     "18446744073709551615GiB" };
	uint64_t v = 7;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(durations); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_parse_duration_ms(durations[i], &v, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_non_null(strstr(err.text, "is not a duration such as 250ms"));
	}
	for (size_t i = 0; i < TW_COUNT(sizes); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_parse_size_bytes(sizes[i], &v, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_non_null(strstr(err.text, "is not a size such as 4096"));
	}
	assert_int_equal(v, 7);
}

static void a_median_is_that_of_the_sorted_values(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 9; n++)
		for (unsigned seed = 0; seed < 50; seed++) {
			double v[9], sorted[9];

			for (size_t i = 0; i < n; i++)
				sorted[i] = v[i] =
					(double)((seed * 7919 + i * i * 31) % 11);
			qsort(sorted, n, sizeof(*sorted), tw_compare_doubles);
			assert_true(tw_median(v, n) ==
				    (sorted[(n - 1) / 2] + sorted[n / 2]) / 2);
			for (size_t place = 0; place < n; place++)
				assert_true(tw_nth(v, n, place) == sorted[place]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bit_pattern_survives_the_round_trip),
		cmocka_unit_test(numbers_of_all_forms_round_like_strtod),
		cmocka_unit_test(fractions_round_like_strtod),
		cmocka_unit_test(halfway_and_extreme_cases_round_correctly),
		cmocka_unit_test(only_numbers_of_jsons_grammar_are_accepted),
		cmocka_unit_test(no_byte_after_the_length_is_read),
		cmocka_unit_test(a_number_of_a_thousand_digits_is_rejected),
		cmocka_unit_test(samples_may_be_nan_or_infinite),
		cmocka_unit_test(doubles_have_the_shortest_text),
		cmocka_unit_test(doubles_have_the_text_of_the_c_library),
		cmocka_unit_test(the_locale_changes_nothing),
		cmocka_unit_test(whole_numbers_must_be_in_range),
		cmocka_unit_test(durations_and_sizes_have_units),
		cmocka_unit_test(a_median_is_that_of_the_sorted_values),
		cmocka_unit_test(wrong_units_and_overflows_are_rejected),
	};

	return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
