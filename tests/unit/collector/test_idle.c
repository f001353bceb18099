/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "collector/power/track.h"

#define S UINT64_C(1000000000)

static double chance(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (double)(*seed >> 8) / (1u << 24);
}

/* A machine of 20 W, and 60 W more at full load, that tells 5 % more or less. */
static double learned(double load_from, double load_to, int samples)
{
	struct tw_idle i = { .idle_w = 0 };
	uint32_t seed = 7;

	for (int n = 0; n < samples; n++) {
		const double load = load_from + (load_to - load_from) * chance(&seed);
		const double power_w = (20 + 60 * load) * (0.95 + 0.1 * chance(&seed));

		tw_idle_learn(&i, (uint64_t)(power_w * 1e6), S, load);
	}
	return i.idle_w;
}

static void idle_is_the_middle_and_not_the_lowest_sample(void **state)
{
	(void)state;
	/* The lowest of this many is 19 W. */
	assert_float_equal(learned(0, 0.01, 5000), 20.3, 0.3);
}

static void idle_is_followed_to_no_load_where_there_is_always_some(void **state)
{
	(void)state;
	assert_float_equal(learned(0.3, 0.9, 5000), 20, 1);
}

static void idle_is_not_known_without_differences_of_load(void **state)
{
	(void)state;
	assert_float_equal(learned(0.5, 0.52, 5000), 0, 0);
	assert_float_equal(learned(0, 0.01, 4), 0, 0);
}

static void short_ticks_make_samples_of_a_second(void **state)
{
	struct tw_idle i = { .idle_w = 0 };

	(void)state;
	for (int n = 0; n < 50; n++) {
		assert_float_equal(i.idle_w, 0, 0);
		tw_idle_learn(&i, n % 10 == 9 ? 10000000 : 0, S / 10, 0);
	}
	assert_float_equal(i.idle_w, 10, 1e-6);
}

/* Learn five samples of a second. */
static void learn_five(struct tw_idle *i, double load, double power_w)
{
	for (int n = 0; n < 5; n++)
		tw_idle_learn(i, (uint64_t)(power_w * 1e6), S, load);
}

/* The idle power after samples of one second at no load. */
static double median_of(const double *power_w, size_t count)
{
	struct tw_idle i = { .idle_w = 0 };

	for (size_t n = 0; n < count; n++)
		tw_idle_learn(&i, (uint64_t)(power_w[n] * 1e6), S, 0);
	return i.idle_w;
}

static void five_samples_have_a_median(void **state)
{
	static const double odd[] = { 10, 50, 20, 40, 30 };
	static const double even[] = { 60, 10, 30, 50, 20, 44 };

	(void)state;
	assert_float_equal(median_of(odd, 4), 0, 0);
	assert_float_equal(median_of(odd, 5), 30, 0);
	assert_float_equal(median_of(even, 6), 37, 0);
}

/* Power at two loads, and the idle power that follows. */
static double from_line(double low, double low_w, double high, double high_w)
{
	struct tw_idle i = { .idle_w = 0 };

	learn_five(&i, low, low_w);
	learn_five(&i, high, high_w);
	return i.idle_w;
}

static void a_line_ends_at_no_load(void **state)
{
	const double bin = 1.0 / TW_IDLE_BINS;

	(void)state;
	assert_float_equal(from_line(0.25, 30, 0.75, 55), 17.5, 1e-4);
	assert_float_equal(from_line(0.25, 5.5, 0.75, 15.5), 0.5, 1e-4);
	assert_float_equal(from_line(0.25, 10.1, 0.75, 10.5), 9.9, 1e-4);
	/* The last bin has the full load, too. */
	assert_float_equal(from_line(0.25, 30, 1, 60), 20, 1e-4);
	/* Power that falls with load, and a line below 0 W. */
	assert_float_equal(from_line(0.25, 30, 0.75, 20), 30, 1e-4);
	assert_float_equal(from_line(0.5, 10, 0.9, 90), 0, 0);
	/* Bins that are three apart define a line; those that are two apart do not. */
	assert_float_equal(from_line(8.5 * bin, 17, 11.5 * bin, 23), 0, 1e-4);
	assert_float_equal(from_line(8.5 * bin, 18, 11.5 * bin, 21), 9.5, 1e-4);
	assert_float_equal(from_line(8.5 * bin, 18, 10.5 * bin, 20), 0, 0);
}

static void one_bin_of_a_quiet_machine_has_its_idle_power(void **state)
{
	struct tw_idle i = { .idle_w = 0 };

	(void)state;
	learn_five(&i, 0.049, 12);
	assert_float_equal(i.idle_w, 12, 0);
	i = (struct tw_idle){ .idle_w = 0 };
	learn_five(&i, 0.05, 12);
	assert_float_equal(i.idle_w, 0, 0);
}

/* A sample has the mean load and power of its ticks, weighted by their time. */
static void ticks_of_several_lengths_make_one_sample(void **state)
{
	struct tw_idle i = { .idle_w = 0 };

	(void)state;
	learn_five(&i, 0, 10);
	for (int n = 0; n < 5; n++) {
		tw_idle_learn(&i, 4000000, S / 2, 0.2);
		/* No energy yet: the sample goes on. */
		tw_idle_learn(&i, 0, S / 2, 0.6);
		tw_idle_learn(&i, 36000000, S, 0.8);
	}
	/* 20 W at a load of 0.6. */
	assert_float_equal(i.idle_w, 10, 1e-4);
	assert_float_equal(i.power_w[(int)(0.6 * TW_IDLE_BINS)][4], 20, 1e-4);
	assert_float_equal(i.load[(int)(0.6 * TW_IDLE_BINS)][4], 0.6, 1e-4);
}

static void the_latest_samples_of_a_bin_count(void **state)
{
	struct tw_idle i = { .idle_w = 0 };

	(void)state;
	for (int n = 0; n < TW_IDLE_KEPT; n++)
		tw_idle_learn(&i, 10000000, S, 0);
	for (int n = 0; n < TW_IDLE_KEPT / 2; n++)
		tw_idle_learn(&i, 20000000, S, 0);
	assert_float_equal(i.idle_w, 15, 1e-4);
	tw_idle_learn(&i, 20000000, S, 0);
	assert_float_equal(i.idle_w, 20, 1e-4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_is_the_middle_and_not_the_lowest_sample),
		cmocka_unit_test(idle_is_followed_to_no_load_where_there_is_always_some),
		cmocka_unit_test(idle_is_not_known_without_differences_of_load),
		cmocka_unit_test(short_ticks_make_samples_of_a_second),
		cmocka_unit_test(five_samples_have_a_median),
		cmocka_unit_test(a_line_ends_at_no_load),
		cmocka_unit_test(one_bin_of_a_quiet_machine_has_its_idle_power),
		cmocka_unit_test(ticks_of_several_lengths_make_one_sample),
		cmocka_unit_test(the_latest_samples_of_a_bin_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
