/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "collector/power/causes.h"
#include "collector/workloads/schedule.h"

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
	assert_float_equal(share_w(&w, &alone), 6, 0.2);
	assert_float_equal(share_w(&w, &shared), 3.9, 0.2);
	assert_float_equal(share_w(&w, &awake), 20, 0.5);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_are_those_of_the_machine),
		cmocka_unit_test(without_support_weights_are_not_ready),
		cmocka_unit_test(weights_that_become_wrong_are_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
