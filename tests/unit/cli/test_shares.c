/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "cli/engage/shares.h"
#include "lib/core/buf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORKS 3
#define ALL 7U

/* An awake machine takes 12 J; workloads 10, 20 and 30 J more; 0 and 1 together save 4.
 */
static double law(unsigned set)
{
	double j = set != 0 ? 12 : 0;

	for (int i = 0; i < WORKS; i++)
		j += (set >> i & 1) != 0 ? 10 * (i + 1) : 0;
	return j - ((set & 3) == 3 ? 4 : 0);
}

/* All are charged their fair shares, times a factor. */
static struct tw_shares run_all(double times)
{
	struct tw_shares s = { .works = WORKS,
			       .name = { "one", "two", "three" },
			       .again_j = law(ALL) * 1.01,
			       .rest_w = 5.5,
			       .source = "rapl-sysfs",
			       .rule = "learned" };

	for (unsigned set = 0; set <= ALL; set++)
		s.run[set] = (struct tw_shares_run){ .joules = law(set),
						     .cpu_s = { 1, 1, 2 } };
	for (unsigned set = 0; set <= ALL; set++)
		for (size_t i = 0; i < WORKS; i++)
			if ((set >> i & 1) != 0)
				s.run[set].charged_j[i] =
					times * tw_shares_fair(&s, set, i);
	return s;
}

static void shares_are_shapley_values(void **state)
{
	const struct tw_shares s = run_all(1);
	const double fair[WORKS] = { 4 + 10 - 2, 4 + 20 - 2, 4 + 30 };

	(void)state;
	for (size_t i = 0; i < WORKS; i++)
		assert_true(fabs(tw_shares_fair(&s, ALL, i) - fair[i]) < 1e-9);
	/* Without workload 2, the others have half of what is awake each. */
	assert_true(fabs(tw_shares_fair(&s, 3, 0) - (6 + 10 - 2)) < 1e-9);
	assert_true(fabs(tw_shares_fair(&s, 4, 2) - 42) < 1e-9);
}

static char *report(const struct tw_shares *s)
{
	struct tw_buf b = { 0 };

	tw_shares_report(s, &b);
	return tw_buf_detach(&b, NULL);
}

static void assert_says(const struct tw_shares *s, const char *what)
{
	char *text = report(s);

	if (strstr(text, what) == NULL)
		fail_msg("no '%s' in: %s", what, text);
	free(text);
}

static void a_report_has_shares_and_errors(void **state)
{
	const struct tw_shares s = run_all(1.05);

	(void)state;
	assert_says(&s, "rapl-sysfs: 5.5 W at rest, 68.0 J above rest by all; rule: "
			"learned\n");
	/* 68 J by CPU time: a quarter, a quarter and a half. */
	assert_says(&s,
		    "one            22.00     12.00     12.60     +5.0        17.00\n");
	assert_says(&s,
		    "three          42.00     34.00     35.70     +5.0        34.00\n");
	assert_says(&s, "charged                 5.0      5.0 ");
	/* Errors 5/12, 5/22 and 0. */
	assert_says(&s, "by CPU time            22.7     41.7 ");
}

/* Fair: within 3 % and 6 %. Without a meter that repeats itself, no verdict. */
static void the_verdict_needs_quiet_runs(void **state)
{
	struct tw_shares s = run_all(1.02);

	(void)state;
	assert_says(&s, "verdict: fair.");
	s.run[ALL].charged_j[0] = 1.07 * 12;
	assert_says(&s, "verdict: not fair.");
	s = run_all(0.96);
	assert_says(&s, "verdict: not fair.");
	s = run_all(1);
	s.again_j = law(ALL) * 1.03;
	assert_says(&s, "verdict: none. The same work took 3.0 %");
	s = run_all(1);
	s.run[ALL].joules = 0;
	assert_says(&s, "verdict: none.");
}

/* One neighbour less: a bill that stays the same is wrong by what it should have lost. */
static void changes_are_those_of_fair_shares(void **state)
{
	struct tw_shares s = run_all(1);

	(void)state;
	assert_says(&s, "charged                 0.0      0.0        0.0      0.0\n");
	for (unsigned set = 1; set < ALL; set++)
		for (size_t i = 0; i < WORKS; i++)
			s.run[set].charged_j[i] = s.run[ALL].charged_j[i];
	/* Workload 0 has 4 J of what is awake, 6 with one neighbour: 2 of 12 J, and,
	 * without workload 1, 2 J more that they saved. */
	assert_says(&s, "charged                 0.0      0.0       12.9     33.3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_shapley_values),
		cmocka_unit_test(a_report_has_shares_and_errors),
		cmocka_unit_test(the_verdict_needs_quiet_runs),
		cmocka_unit_test(changes_are_those_of_fair_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
