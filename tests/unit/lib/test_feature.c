/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/field/feature.h"

#include <string.h>

static void groups_are_sorted_unique_and_findable(void **state)
{
	(void)state;
	for (size_t i = 0; i < tw_feature_group_count(); i++) {
		const struct tw_feature_group *g = tw_feature_group_at(i);

		assert_ptr_equal(tw_feature_group_find(g->name), g);
		if (i > 0)
			assert_true(strcmp(tw_feature_group_at(i - 1)->name, g->name) <
				    0);
	}
	assert_null(tw_feature_group_find("counteronly"));
	assert_null(tw_feature_group_find(""));
}

static void features_of_a_group_are_known_sorted_and_short(void **state)
{
	(void)state;
	for (size_t i = 0; i < tw_feature_group_count(); i++) {
		const struct tw_feature_group *g = tw_feature_group_at(i);

		assert_true(g->count > 0 || strcmp(g->name, "ThirdParty") == 0);
		for (size_t k = 0; k < g->count; k++) {
			const struct tw_feature *f = tw_feature_find(g->features[k]);

			assert_non_null(f);
			assert_string_equal(f->name, g->features[k]);
			if (strcmp(g->name, "WorkloadOnly") == 0 ||
			    strcmp(g->name, "NodeCPU") == 0)
				assert_true(tw_feature_is_work(f->name));
			assert_non_null(f->unit);
			assert_true(strlen(f->name) <= TW_FEATURE_NAME_MAX);
			if (k > 0)
				assert_true(strcmp(g->features[k - 1], f->name) < 0);
		}
	}
	assert_null(tw_feature_find("cpu"));
	assert_null(tw_feature_find(""));
	assert_string_equal(tw_feature_find("cpu_cycles")->unit, "events/s");
	assert_string_equal(tw_feature_find("bpf_cpu_time_ms")->unit, "ms/s");
}

static void old_names_are_sorted_and_of_features(void **state)
{
	(void)state;
	for (size_t i = 0; i < tw_feature_old_count(); i++) {
		const struct tw_feature_old *old = tw_feature_old_at(i);

		assert_ptr_equal(tw_feature_old_find(old->name), old);
		assert_null(tw_feature_find(old->name));
		assert_non_null(tw_feature_find(old->feature));
		if (i > 0)
			assert_true(strcmp(tw_feature_old_at(i - 1)->name, old->name) <
				    0);
	}
	assert_null(tw_feature_old_find("cpu_instructions"));
}

static void a_group_is_valid_if_all_its_features_are_present(void **state)
{
	const struct tw_feature_group *g = tw_feature_group_find("CounterOnly");
	struct tw_strs names = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_strs_split(&names, "cpu_instructions,cpu_cycles", &err), 0);
	assert_false(tw_feature_group_valid(g, &names));
	assert_int_equal(tw_strs_adds(&names, "cache_miss", &err), 0);
	assert_true(tw_feature_group_valid(g, &names));
	assert_false(tw_feature_group_valid(tw_feature_group_find("Basic"), &names));
	tw_strs_clear(&names);
}

static void outputs_are_named_and_found_by_name(void **state)
{
	enum tw_output o = TW_ABS_POWER;

	(void)state;
	assert_string_equal(tw_output_name(TW_ABS_POWER), "AbsPower");
	assert_true(tw_output_find("DynPower", &o));
	assert_int_equal(o, TW_DYN_POWER);
	assert_string_equal(tw_output_name(o), "DynPower");
	assert_false(tw_output_find("absPower", &o));
	assert_false(tw_output_find("", &o));
	assert_int_equal(o, TW_DYN_POWER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_sorted_unique_and_findable),
		cmocka_unit_test(features_of_a_group_are_known_sorted_and_short),
		cmocka_unit_test(old_names_are_sorted_and_of_features),
		cmocka_unit_test(a_group_is_valid_if_all_its_features_are_present),
		cmocka_unit_test(outputs_are_named_and_found_by_name),
	};

	return cmocka_run_group_tests_name("feature", tests, NULL, NULL);
}
