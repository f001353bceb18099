/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "profiler/cpu_identity.h"
#include "profiler/typical_tdp.h"

#include <math.h>
#include <string.h>

/* Published figures of the largest and the smallest products. */
static void tdp_is_that_of_the_generation_s_products(void **state)
{
	static const struct {
		const char *generation, *processor;
		double cores, low, high;
		bool is_own;
	} cases[] = {
		{ "genoa", "", 96, 300, 400, true },
		{ "genoa", "", 16, 180, 250, true },
		{ "sapphire_rapids", "", 48, 250, 350, true },
		{ "granite_rapids", "", 120, 400, 520, true },
		{ "sierra_forest", "", 144, 230, 330, true },
		{ "siena", "", 64, 160, 220, true },
		{ "sapphire_rapids_w", "", 48, 300, 400, true },
		/* Without products: as Sierra Forest, and as Naples. */
		{ "clearwater_forest", "", 144, 230, 330, false },
		{ "c86_4g", "", 32, 150, 200, false },
		/* By the letters: a laptop's part, and an economical desktop's. */
		{ "raptor_lake", "intel_core_i7_1366u", 10, 14, 16, true },
		{ "raptor_lake", "intel_core_i7_14701t", 20, 33, 42, true },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_typical_tdp t;

		assert_true(tw_typical_tdp(cases[i].generation, cases[i].processor,
					   cases[i].cores, &t));
		assert_true(t.cores == cases[i].cores);
		assert_true(t.is_own == cases[i].is_own);
		if (t.tdp_w < cases[i].low || t.tdp_w > cases[i].high)
			fail_msg("%s of %g cores: %g W", cases[i].generation,
				 cases[i].cores, t.tdp_w);
	}
}

/* Two thirds of normal misses are within a standard deviation. */
static void the_factor_holds_two_thirds_of_the_products(void **state)
{
	static const char *const generations[] = { "skylake_sp",     "cascade_lake_sp",
						   "ice_lake_sp",    "sapphire_rapids",
						   "emerald_rapids", "granite_rapids",
						   "rome",           "milan",
						   "genoa",          "turin" };
	const struct tw_cpu_product *p;

	(void)state;
	for (size_t g = 0; g < TW_COUNT(generations); g++) {
		double inside = 0, all = 0;

		for (size_t i = 0; (p = tw_cpu_product_at(i)) != NULL; i++) {
			const struct tw_cpu_generation *of =
				tw_cpu_generation_of_name(p->processor);
			struct tw_typical_tdp t;

			if (of == NULL || strcmp(of->key, generations[g]) != 0 ||
			    p->tdp_w == 0 || p->cores == 0)
				continue;
			assert_true(tw_typical_tdp(of->key, p->processor, p->cores, &t));
			assert_true(t.factor > 1.05 && t.factor < 1.35);
			inside += fabs(log(p->tdp_w / t.tdp_w)) < log(t.factor);
			all++;
		}
		if (all < 8 || inside < 0.6 * all || inside > 0.95 * all)
			fail_msg("%s: %g of %g products", generations[g], inside, all);
	}
}

static void unknown_cores_make_it_less_certain(void **state)
{
	struct tw_typical_tdp known, unknown;

	(void)state;
	assert_true(tw_typical_tdp("milan", "", NAN, &unknown));
	assert_true(unknown.cores > 16 && unknown.cores < 40);
	assert_true(tw_typical_tdp("milan", "", unknown.cores, &known));
	assert_float_equal(known.tdp_w, unknown.tdp_w, 1e-9);
	assert_true(unknown.factor > 1.2 * known.factor);
}

static void a_generation_without_products_has_none(void **state)
{
	static const char *const none[] = { "graviton4", "neoverse_n1", "apple_m1", "",
					    "no_such_generation" };
	struct tw_typical_tdp t;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(none); i++)
		assert_false(tw_typical_tdp(none[i], "", 64, &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tdp_is_that_of_the_generation_s_products),
		cmocka_unit_test(the_factor_holds_two_thirds_of_the_products),
		cmocka_unit_test(unknown_cores_make_it_less_certain),
		cmocka_unit_test(a_generation_without_products_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
