/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/power/causes.h"
#include "collector/workloads/schedule.h"

#include <math.h>

#define S UINT64_C(1000000000)

static double chance(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (double)(*seed >> 33) / (double)(UINT64_C(1) << 31);
}

/* What ran on a package in a second, by chance. */
static struct tw_package_use some(uint64_t *seed)
{
	struct tw_package_use u = { .alone_ns = (uint64_t)(4e9 * chance(seed)),
				    .shared_ns = (uint64_t)(4e9 * chance(seed)),
				    .awake_ns = (uint64_t)(1e9 * chance(seed)) };

	u.cycles = 3 * (u.alone_ns + u.shared_ns);
	u.instructions = (uint64_t)((double)u.cycles * 2 * chance(seed));
	u.misses = (uint64_t)((double)u.cycles * 1e-3 * chance(seed));
	return u;
}

/* 6 W a core, 3.9 W a sibling, 20 W awake. */
static double law_w(const struct tw_package_use *u)
{
	return 6e-9 * (double)u->alone_ns + 3.9e-9 * (double)u->shared_ns +
	       20e-9 * (double)u->awake_ns;
}

static void learn(struct tw_causes *w, const struct tw_package_use *u, double power_w)
{
	double x[TW_CAUSE_COUNT];

	tw_causes_of(u, x);
	tw_causes_learn(w, x, (double)(u->cycles + u->instructions),
			(uint64_t)(power_w * 1e6), S);
}

static double share_w(const struct tw_causes *w, const struct tw_package_use *u)
{
	double x[TW_CAUSE_COUNT];

	tw_causes_of(u, x);
	return tw_causes_weigh(w, x) / (double)S;
}

static void weights_are_those_of_the_machine(void **state)
{
	const struct tw_package_use alone = { .alone_ns = S, .cycles = 3 * S },
				    shared = { .shared_ns = S, .cycles = 3 * S },
				    awake = { .awake_ns = S };
	struct tw_causes w = { 0 };
	uint64_t seed = 1;

	(void)state;
	assert_false(tw_causes_ready(&w));
	for (int row = 0; row < 1000; row++) {
		const struct tw_package_use u = some(&seed);

		learn(&w, &u, law_w(&u));
		assert_true(row > 90 || !tw_causes_ready(&w));
	}
	assert_true(tw_causes_ready(&w));
	assert_true(fabs(share_w(&w, &alone) - 6) < 0.2);
	assert_true(fabs(share_w(&w, &shared) - 3.9) < 0.2);
	assert_true(fabs(share_w(&w, &awake) - 20) < 0.5);
	for (int i = 0; i < TW_CAUSE_COUNT; i++)
		assert_true(w.weight[i] >= 0);
}

/* A meter that shows something else, or a machine whose power the plain rule knows. */
static void without_support_weights_are_not_ready(void **state)
{
	struct tw_causes noise = { 0 }, still = { 0 };
	uint64_t seed = 2;

	(void)state;
	for (int row = 0; row < 1000; row++) {
		const struct tw_package_use u = some(&seed), none = { 0 };

		learn(&noise, &u, 100 * chance(&seed));
		learn(&still, &none, 0);
	}
	assert_false(tw_causes_ready(&noise));
	assert_false(tw_causes_ready(&still));
}

/* A machine changes: the weights follow, and are not ready while they are wrong. */
static void weights_that_become_wrong_are_not_used(void **state)
{
	struct tw_causes w = { 0 };
	uint64_t seed = 3;

	(void)state;
	for (int row = 0; row < 500; row++) {
		const struct tw_package_use u = some(&seed);

		learn(&w, &u, law_w(&u));
	}
	assert_true(tw_causes_ready(&w));
	for (int row = 0; row < 100; row++) {
		const struct tw_package_use u = some(&seed);

		learn(&w, &u, 3 * law_w(&u));
	}
	assert_false(tw_causes_ready(&w));
	for (int row = 0; row < 20000; row++) {
		const struct tw_package_use u = some(&seed);

		learn(&w, &u, 3 * law_w(&u));
	}
	assert_true(tw_causes_ready(&w));
}

static bool near(double got, double want)
{
	return fabs(got - want) <= 1e-9 * fmax(1, fabs(want));
}

static void causes_are_time_by_frequency_and_waiting(void **state)
{
	static const struct {
		struct tw_package_use use;
		double x[TW_CAUSE_COUNT]; /* in s */
	} cases[] = {
		{ { .awake_ns = 0 }, { 0 } },
		{ { .awake_ns = S }, { [TW_CAUSE_AWAKE] = 1 } },
		/* 3 GHz, no misses. */
		{ { .alone_ns = 2 * S, .shared_ns = S, .cycles = 9 * S },
		  { 2, 2, 2, 1, 1, 1, 0, 0, 0 } },
		/* 6 GHz; half of the time it waits for memory; 2 a cycle of 3 GHz. */
		{ { .alone_ns = 2 * S,
		    .shared_ns = S,
		    .cycles = 18 * S,
		    .instructions = 36 * S,
		    .misses = S * 15 / 1000,
		    .awake_ns = S / 2 },
		  { 2, 16, 8, 1, 8, 4, 12, 1.5, 0.5 } },
		/* It waits no more than nine tenths. */
		{ { .shared_ns = S, .cycles = 3 * S, .misses = S / 5 },
		  { 0, 0, 0, 1, 1, 0.1, 0, 20, 0 } },
		/* Counts of no time. */
		{ { .cycles = S, .instructions = 3 * S, .misses = S / 100 },
		  { 0, 0, 0, 0, 0, 0, 1, 1, 0 } },
		{ { .alone_ns = 1, .cycles = 3 }, { 1e-9, 1e-9, 1e-9 } },
		/* Half of the time on small cores; 1.5 GHz, a quarter of the time it
		 * waits.
		 */
		{ { .alone_ns = S, .small_ns = S, .cycles = 3 * S, .misses = S / 200 },
		  { 1, 0.125, 0.09375, 0, 0, 0, 0, 0.5, 0, 1, 0.125, 0.09375 } },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		double x[TW_CAUSE_COUNT];

		tw_causes_of(&cases[i].use, x);
		for (int k = 0; k < TW_CAUSE_COUNT; k++)
			if (!near(x[k], cases[i].x[k] * (double)S))
				fail_msg("case %zu, cause %d: %g", i, k, x[k]);
	}
}

static void a_share_is_the_sum_of_weighted_causes(void **state)
{
	/* What follows in memory is no cause. */
	const double x[TW_CAUSE_COUNT + 1] = { 3, 0, 0, 5, 0, 0, 0, 0, 7, 0, 0, 2, 1e9 };
	struct tw_causes w = { .rows = 0 };

	(void)state;
	for (int i = 0; i < TW_CAUSE_COUNT; i++)
		w.weight[i] = i + 1;
	assert_true(near(tw_causes_weigh(&w, x), 3 + 20 + 63 + 24));
}

static void weights_are_ready_by_their_errors(void **state)
{
	static const struct {
		double rows, error, plain_error, power;
		bool ready;
	} cases[] = {
		{ 100, 9.9, 10, 100, true },   { 99.9, 9.9, 10, 100, false },
		{ 100, 10, 11, 100, false },   { 100, 9.9, 9.9, 100, false },
		{ 100, 9.9, 9.8, 100, false }, { 100, 11, 12, 100, false },
		{ 100, 0, 0, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_causes w = { .rows = cases[i].rows,
					     .error = cases[i].error,
					     .plain_error = cases[i].plain_error,
					     .power = cases[i].power };

		assert_int_equal(tw_causes_ready(&w), cases[i].ready);
	}
}

/* Half a second at 12 J, 24 W, of one cause and of another. */
static void learn_row(struct tw_causes *w, double first, double last, double plain)
{
	double x[TW_CAUSE_COUNT] = { 0 };

	x[0] = first * (double)S / 2;
	x[TW_CAUSE_AWAKE] = last * (double)S / 2;
	tw_causes_learn(w, x, plain * (double)S / 2, 12000000, S / 2);
}

static void sums_fade_to_a_half_in_half_a_day(void **state)
{
	struct tw_causes w = { 0 };
	double fade;

	(void)state;
	learn_row(&w, 2, 3, 5);
	assert_true(near(w.rows, 1));
	assert_true(near(w.xx[0][0], 4));
	assert_true(near(w.xx[0][TW_CAUSE_AWAKE], 6));
	assert_true(near(w.xx[TW_CAUSE_AWAKE][TW_CAUSE_AWAKE], 9));
	assert_true(near(w.xy[0], 48));
	assert_true(near(w.xy[TW_CAUSE_AWAKE], 72));
	assert_true(near(w.plain_xx, 25));
	assert_true(near(w.plain_xy, 120));
	learn_row(&w, 1, 10, 2);
	fade = w.rows - 1;
	assert_true(fabs(pow(fade, 14400) - 0.5) < 0.01);
	assert_true(near(w.xx[0][TW_CAUSE_AWAKE], 6 * fade + 10));
	assert_true(near(w.xy[TW_CAUSE_AWAKE], 72 * fade + 240));
	assert_true(near(w.plain_xx, 25 * fade + 4));
	assert_true(near(w.plain_xy, 120 * fade + 48));
}

/* Errors are of rows before they are learned; those of two hundred rows ago fade. */
static void errors_are_of_rows_that_were_not_seen(void **state)
{
	const double keep = 1 - 1.0 / 200;
	struct tw_causes w = { 0 };
	double said;

	(void)state;
	learn_row(&w, 2, 3, 0.5);
	assert_true(near(w.error, 24));
	assert_true(near(w.plain_error, 24));
	assert_true(near(w.power, 24));
	/* The plain rule has 24 W for 0.5, so 36 W for 0.75. */
	said = w.weight[0] * 4 + w.weight[TW_CAUSE_AWAKE];
	learn_row(&w, 4, 1, 0.75);
	assert_true(near(w.error, keep * 24 + fabs(said - 24)));
	assert_true(near(w.plain_error, keep * 24 + 12));
	assert_true(near(w.power, keep * 24 + 24));
	assert_true(said > 25 || said < 23);
}

/* Without a plain measure its error is all of the power. */
static void a_plain_rule_without_measure_says_nothing(void **state)
{
	struct tw_causes w = { 0 };

	(void)state;
	learn_row(&w, 1, 0, 0);
	learn_row(&w, 1, 0, 0);
	assert_true(near(w.plain_error, 24 * (2 - 1.0 / 200)));
}

/* What a machine never shows keeps its relation to what it shows. */
static void unseen_causes_have_the_weights_of_the_prior(void **state)
{
	static const double prior[TW_CAUSE_COUNT] = { 0.3, 0.3, 0.2, 0.2, 0.2, 0.13,
						      0.2, 0.2, 1,   0.1, 0.1, 0.07 };
	struct tw_causes w = { 0 };

	(void)state;
	learn_row(&w, 0, 0, 1);
	for (int i = 0; i < TW_CAUSE_COUNT; i++)
		assert_true(w.weight[i] == 0);
	for (int row = 0; row < 3; row++) {
		learn_row(&w, 1, 0, 1);
		for (int i = 0; i < TW_CAUSE_COUNT; i++)
			assert_true(near(w.weight[i], prior[i] * 24 / 0.3));
	}
	/* Two causes at once: the factor by which both together fit. */
	w = (struct tw_causes){ 0 };
	learn_row(&w, 2, 3, 1);
	assert_true(near(w.weight[1], 0.3 * 24 / (2 * 0.3 + 3)));
}

/* Weights solve the ridge: no cause's weight could be better. */
static void weights_are_the_best_of_0_or_more(void **state)
{
	struct tw_causes w = { 0 };
	uint64_t seed = 4;
	bool at_0 = false;

	(void)state;
	for (int row = 0; row < 300; row++) {
		double x[TW_CAUSE_COUNT] = { 0 };

		for (int i = 0; i < 3; i++)
			x[i] = chance(&seed) * (double)S;
		/* The second cause has less power than none. */
		tw_causes_learn(&w, x, 1,
				(uint64_t)(fmax(9 * x[0] - 4 * x[1] + 5 * x[2], 0) / 1e3),
				S);
	}
	for (int i = 0; i < 3; i++) {
		/* The prior's pull is 0.3 or 0.2 of its scale, as of the unseen causes.
		 */
		double rest = w.xy[i] + w.weight[i == 2 ? 3 : 6] * (i == 2 ? 1 : 1.5) -
			      w.weight[i];

		for (int k = 0; k < 3; k++)
			rest -= w.xx[i][k] * w.weight[k];
		assert_true(w.weight[i] > 0 ? fabs(rest) < 1e-3 : rest < 0);
		at_0 = at_0 || w.weight[i] == 0;
	}
	assert_true(at_0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(causes_are_time_by_frequency_and_waiting),
		cmocka_unit_test(a_share_is_the_sum_of_weighted_causes),
		cmocka_unit_test(weights_are_ready_by_their_errors),
		cmocka_unit_test(sums_fade_to_a_half_in_half_a_day),
		cmocka_unit_test(errors_are_of_rows_that_were_not_seen),
		cmocka_unit_test(a_plain_rule_without_measure_says_nothing),
		cmocka_unit_test(unseen_causes_have_the_weights_of_the_prior),
		cmocka_unit_test(weights_are_the_best_of_0_or_more),
		cmocka_unit_test(weights_are_those_of_the_machine),
		cmocka_unit_test(without_support_weights_are_not_ready),
		cmocka_unit_test(weights_that_become_wrong_are_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
