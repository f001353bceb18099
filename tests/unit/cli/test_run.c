/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics and the report of tallywatt run, on simulated runs. */
#include "tests/unit/tw_test.h"

#include "cli/run/run_report.h"
#include "cli/run/run_verdict.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define COMPARISONS 200
#define PAIRS 20

/* ---- simulated runs ---- */

static uint64_t seed;

/* From 0 to 1. */
static double uniform(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ((double)(seed >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * acos(-1) * uniform());
}

/* What a run adds to its joules, as a share. */
static double steady(size_t run)
{
	(void)run;
	return 0.03 * normal();
}

/* Now and then something else runs. */
static double disturbed(size_t run)
{
	(void)run;
	return 0.02 * normal() - 0.03 * log(uniform());
}

/* The machine gets warm. */
static double drifting(size_t run)
{
	return 0.02 * normal() + 0.004 * (double)run;
}

/* As cmd_run.c: in turns, and a look after each pair. 1 or -1: the verdict. */
static int compare(double (*noise)(size_t run), double effect, size_t *pairs)
{
	struct tw_run_mean m = { .count = 0 };

	for (*pairs = 1; *pairs <= PAIRS; ++*pairs) {
		const double first = noise(2 * *pairs), second = noise(2 * *pairs + 1);
		const bool swap = *pairs % 2 == 0;
		struct tw_run_ratio r;

		tw_run_pair_add(&m, 40 * (1 + effect) * (1 + (swap ? second : first)),
				40 * (1 + (swap ? first : second)));
		r = tw_run_pairs_ratio(&m);
		if (tw_run_ratio_decides(&r))
			return r.of > 1 ? 1 : -1;
	}
	return 0;
}

static void equal_commands_rarely_get_a_verdict(void **state)
{
	double (*const noises[])(size_t run) = { steady, disturbed, drifting };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(noises); i++) {
		int alarms = 0;
		size_t pairs;

		seed = 40 + i;
		for (int k = 0; k < COMPARISONS; k++)
			alarms += compare(noises[i], 0, &pairs) != 0;
		assert_in_range(alarms, 0, COMPARISONS * TW_RUN_ERROR_RATE);
	}
}

static void five_percent_more_is_found(void **state)
{
	int found = 0, wrong = 0;
	size_t pairs, sum = 0;

	(void)state;
	seed = 7;
	for (int k = 0; k < COMPARISONS; k++) {
		const int verdict = compare(steady, 0.05, &pairs);

		found += verdict > 0;
		wrong += verdict < 0;
		sum += pairs;
	}
	assert_in_range(found, COMPARISONS * 9 / 10, COMPARISONS);
	assert_int_equal(wrong, 0);
	/* It mostly ends before all pairs have run. */
	assert_in_range(sum / COMPARISONS, 5, 15);
}

static void few_pairs_have_no_verdict(void **state)
{
	struct tw_run_mean m = { .count = 0 };
	struct tw_run_ratio r;

	(void)state;
	/* A meter that rounds shows the same again. */
	for (int i = 0; i < TW_RUN_PAIRS_MIN - 1; i++)
		tw_run_pair_add(&m, 11, 10);
	r = tw_run_pairs_ratio(&m);
	assert_false(tw_run_ratio_decides(&r));
	assert_true(isinf(r.high) && r.low <= 0);
	assert_true(fabs(r.of - 1.1) < 1e-9);
}

static void a_mean_has_the_interval_of_student(void **state)
{
	static const double values[] = { 9, 10, 11, 12 };
	struct tw_run_mean m = { .count = 0 };

	(void)state;
	tw_run_mean_add(&m, values[0]);
	assert_true(isnan(tw_run_mean_error(&m)));
	for (size_t i = 1; i < TW_COUNT(values); i++)
		tw_run_mean_add(&m, values[i]);
	assert_true(fabs(m.mean - 10.5) < 1e-12);
	/* t(0.975, 3) = 3.182, s = 1.291. */
	assert_true(fabs(tw_run_mean_error(&m) - 3.182446 * 1.2909944 / 2) < 1e-5);
}

static void two_values_have_an_interval(void **state)
{
	struct tw_run_mean m = { .count = 0 };

	(void)state;
	tw_run_mean_add(&m, 1);
	tw_run_mean_add(&m, 3);
	/* t(0.975, 1) = 12.706, and a standard error of 1. */
	assert_true(fabs(tw_run_mean_error(&m) - 12.70620) < 1e-4);
}

/* At the ends of the interval, "1" is 20 times less likely than the mixture of effects.
 */
static void an_interval_ends_where_the_ratio_is_twenty(void **state)
{
	static const size_t counts[] = { 5, 6, 10, 100, 1000 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(counts); i++) {
		const double n = (double)counts[i], f = n - 1, k = 1 + n;
		/* A standard error of 0.02. */
		const struct tw_run_mean m = { .count = counts[i],
					       .mean = log(1.25),
					       .squares = 0.0004 * n * (n - 1) };
		const struct tw_run_ratio r = tw_run_pairs_ratio(&m);
		const double t = log(r.high / 1.25) / 0.02;
		const double ratio = pow(k, -0.5) *
				     pow((1 + t * t / f) / (1 + t * t / (f * k)), n / 2);

		assert_true(t > 0 && fabs(ratio - 20) < 1e-6);
		assert_true(fabs(r.of - 1.25) < 1e-9);
		assert_true(fabs(r.low * r.high - 1.25 * 1.25) < 1e-9);
	}
}

static void an_interval_decides_without_1(void **state)
{
	static const struct {
		double low, high;
		bool decides;
	} cases[] = { { 0.5, 2, false },
		      { 1, 2, false },
		      { 0.5, 1, false },
		      { 1.01, 2, true },
		      { 0.5, 0.99, true } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_run_ratio r = { .low = cases[i].low,
						.high = cases[i].high };

		assert_int_equal(tw_run_ratio_decides(&r), cases[i].decides);
	}
}

/* ---- the report ---- */

static char left[] = "sleep (pid 7)";

static const struct tw_run runs[] = {
	{ .seconds = 2,
	  .cpu_seconds = 1.5,
	  .left = left,
	  .left_count = 1,
	  .figures = { .joules = 10,
		       .peak_w = 6,
		       .idle_joules = 8,
		       .error_joules = 1.25,
		       .source = "model",
		       .estimated = true } },
	{ .other = true,
	  .seconds = 1,
	  .figures = { .joules = 5,
		       .peak_w = (double)NAN,
		       .idle_joules = (double)NAN,
		       .error_joules = (double)NAN,
		       .source = "rapl-sysfs",
		       .machine = true } },
};

static void the_report_says_what_is_counted(void **state)
{
	static const char *const wanted[] = {
		"make\n  10.00 J in 2.000 s: mean 5.00 W, peak 6.00 W\n",
		"of the command and its children, above idle",
		"idle apart: 8.00 J, 4.00 W of the machine",
		"ESTIMATED by model, +- 1.25 J (the model's mean error)",
		"1 process outlives it, not counted from its end on: sleep (pid 7)",
		"make -j\n  5.00 J in 1.000 s: mean 5.00 W\n",
		"of the WHOLE MACHINE with its idle power",
		"MEASURED by rapl-sysfs\n",
		("VERDICT: no difference is shown, 0 pairs; equal commands get a "
		 "difference in 5 % at most"),
	};
	const struct tw_run_report r = {
		.command = "make", .other = "make -j", .run = runs, .count = 2
	};
	struct tw_buf b = { 0 };

	(void)state;
	tw_run_report_text(&r, &b);
	for (size_t i = 0; i < TW_COUNT(wanted); i++)
		if (strstr(b.data, wanted[i]) == NULL)
			fail_msg("no '%s' in:\n%s", wanted[i], b.data);
	tw_buf_clear(&b);
	tw_run_report_json(&r, &b);
	assert_non_null(strstr(b.data, "\"verdict\":{\"is\":\"none\""));
	assert_non_null(strstr(b.data, "\"scope\":\"machine\""));
	assert_non_null(strstr(b.data, "\"peak_watts\":null"));
	tw_buf_clear(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_commands_rarely_get_a_verdict),
		cmocka_unit_test(five_percent_more_is_found),
		cmocka_unit_test(few_pairs_have_no_verdict),
		cmocka_unit_test(a_mean_has_the_interval_of_student),
		cmocka_unit_test(two_values_have_an_interval),
		cmocka_unit_test(an_interval_ends_where_the_ratio_is_twenty),
		cmocka_unit_test(an_interval_decides_without_1),
		cmocka_unit_test(the_report_says_what_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
