/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/json/json.h"
#include "profiler/profile.h"
#include "tests/unit/fail_alloc.h"

#include <string.h>

static int read_text(const char *text, struct tw_profile *p, struct tw_err *err)
{
	json_t *doc = NULL;
	int rc;

	if (tw_json_parse(text, strlen(text), "p", &doc, err) < 0)
		return -1;
	rc = tw_profile_from_json(doc, "p", p, err);
	json_decref(doc);
	return rc;
}

static const struct tw_energy_source *rapl(void)
{
	return tw_energy_source_find("rapl-sysfs");
}

static void power_has_minimum_median_and_maximum(void **state)
{
	static const double watts[] = { 5, 1, 9, 2 }, later[] = { 7 };
	struct tw_profile p = { 0 };
	struct tw_err err = { 0 };
	const struct tw_profile_power *found;

	(void)state;
	assert_int_equal(tw_profile_add_power(&p, rapl(), TW_DRAM, 3, watts, 4, &err), 0);
	found = tw_profile_find(&p, rapl(), TW_DRAM, 3);
	assert_non_null(found);
	assert_true(found->min_w == 1 && found->median_w == 3.5 && found->max_w == 9);
	assert_int_equal(found->rows, 4);
	assert_null(tw_profile_find(&p, rapl(), TW_DRAM, 2));
	assert_null(tw_profile_find(&p, rapl(), TW_CORE, 3));
	assert_int_equal(tw_profile_add_power(&p, rapl(), TW_DRAM, 3, later, 1, &err), 0);
	assert_int_equal(p.powers, 1);
	assert_true(tw_profile_find(&p, rapl(), TW_DRAM, 3)->median_w == 7);
	tw_profile_release(&p);
}

static void power_is_clamped_to_the_limits(void **state)
{
	static const double watts[] = { -1, 1e300 };
	struct tw_profile p = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_profile_add_power(&p, rapl(), TW_DRAM, 0, watts, 2, &err), 0);
	assert_true(p.power[0].min_w == 0 && p.power[0].max_w == TW_PROFILE_WATTS_MAX);
	tw_profile_release(&p);
}

static void a_written_profile_reads_back_equal(void **state)
{
	static const double watts[] = { 1.5, 2.25, 9 };
	const struct tw_feature_group *group = tw_feature_group_find("CounterOnly");
	struct tw_profile p = { 0 }, again = { 0 };
	struct tw_err err = { 0 };
	json_t *doc, *second;

	(void)state;
	assert_int_equal(tw_profile_add_power(&p, rapl(), TW_CORE, 0, watts, 3, &err), 0);
	assert_int_equal(tw_profile_add_power(&p, rapl(), TW_CORE, 2, watts, 2, &err), 0);
	assert_int_equal(tw_profile_add_scaler(&p, group, 2, "cpu_cycles", 1e9, &err), 0);
	assert_int_equal(tw_profile_add_scaler(&p, group, 2, "cpu_cycles", 1e8, &err), 0);
	assert_int_equal(tw_profile_add_background(&p, 2, "etcd", &err), 0);
	assert_int_equal(tw_profile_add_background(&p, 2, "etcd", &err), 0);
	assert_true(tw_profile_is_background(&p, 2, "etcd"));
	assert_false(tw_profile_is_background(&p, 0, "etcd"));
	assert_false(tw_profile_is_background(&p, 2, "etc"));
	doc = tw_profile_to_json(&p);
	assert_non_null(doc);
	assert_int_equal(tw_profile_from_json(doc, "p", &again, &err), 0);
	second = tw_profile_to_json(&again);
	assert_true(json_equal(doc, second));
	assert_true(again.scaler[0].max == 1e9);
	assert_int_equal(again.background[0].names.count, 1);
	json_decref(second);
	json_decref(doc);
	tw_profile_release(&again);
	tw_profile_release(&p);
}

static void join_adds_missing_entries_and_update_replaces_them(void **state)
{
	static const double a[] = { 1 }, b[] = { 2 };
	const struct tw_feature_group *group = tw_feature_group_find("CounterOnly");
	struct tw_profile to = { 0 }, from = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_profile_add_power(&to, rapl(), TW_CORE, 0, a, 1, &err), 0);
	assert_int_equal(tw_profile_add_power(&from, rapl(), TW_CORE, 0, b, 1, &err), 0);
	assert_int_equal(tw_profile_add_power(&from, rapl(), TW_CORE, 1, b, 1, &err), 0);
	assert_int_equal(tw_profile_add_scaler(&to, group, 0, "cpu_cycles", 1, &err), 0);
	assert_int_equal(tw_profile_add_scaler(&from, group, 0, "cpu_cycles", 9, &err),
			 0);
	assert_int_equal(tw_profile_add_scaler(&from, group, 1, "cpu_cycles", 9, &err),
			 0);
	assert_int_equal(tw_profile_add_background(&from, 1, "etcd", &err), 0);
	assert_int_equal(tw_profile_join(&to, &from, &err), 0);
	assert_int_equal(to.powers, 2);
	assert_true(tw_profile_find(&to, rapl(), TW_CORE, 0)->min_w == 1);
	assert_true(tw_profile_find(&to, rapl(), TW_CORE, 1)->min_w == 2);
	assert_int_equal(to.scalers, 2);
	assert_true(to.scaler[0].max == 1 && to.scaler[1].max == 9);
	assert_true(tw_profile_is_background(&to, 1, "etcd"));

	assert_int_equal(tw_profile_update(&to, &from, &err), 0);
	assert_int_equal(to.powers, 2);
	assert_true(tw_profile_find(&to, rapl(), TW_CORE, 0)->min_w == 2);
	assert_int_equal(to.scalers, 2);
	assert_true(to.scaler[0].max == 9);
	tw_profile_release(&from);
	tw_profile_release(&to);
}

/* These files have the watts of one package of several, and nothing else. */
static void files_of_kepler_model_server_are_read(void **state)
{
	struct tw_profile p = { 0 };
	struct tw_err err = { 0 };
	const struct tw_profile_power *found;

	(void)state;
	assert_int_equal(read_text("{\"rapl-sysfs\":{\"package\":{\"1\":{\"min_watt\":10,"
				   "\"max_watt\":14,\"#unit\":2}}}}",
				   &p, &err),
			 0);
	found = tw_profile_find(&p, rapl(), TW_PACKAGE, 1);
	assert_non_null(found);
	assert_true(found->min_w == 20 && found->median_w == 24 && found->max_w == 28);
	assert_int_equal(found->rows, 0);
	tw_profile_release(&p);
}

static const struct {
	const char *text, *error;
} bad[] = {
	{ "[]", "p: expected an object, got a list" },
	{ "{\"so lar\":{}}", "p.so lar: energy source 'so lar': want 1 to " },
	{ "{\"acpi\":[]}", "p.acpi: expected an object, got a list" },
	{ "{\"acpi\":{\"roof\":{}}}", "p.acpi.roof: no such component" },
	{ "{\"acpi\":{\"platform\":7}}", "p.acpi.platform: expected an object" },
	{ "{\"acpi\":{\"platform\":{\"x\":{}}}}", "p.acpi.platform: " },
	{ "{\"acpi\":{\"platform\":{\"-1\":{}}}}", "p.acpi.platform: " },
	{ "{\"acpi\":{\"platform\":{\"0\":{\"min_watt\":1}}}}",
	  "p.acpi.platform.0.max_watt: " },
	{ "{\"acpi\":{\"platform\":{\"0\":{\"min_watt\":3,\"max_watt\":2}}}}",
	  "p.acpi.platform.0: watts are not in order" },
	{ "{\"acpi\":{\"platform\":{\"0\":{\"min_watt\":-3,\"max_watt\":2}}}}",
	  "p.acpi.platform.0: watts are not in order" },
	{ "{\"acpi\":{\"platform\":{\"0\":{\"min_watt\":1,\"max_watt\":2,\"#unit\":0}}}}",
	  "p.acpi.platform.0.#unit: " },
	{ "{\"background\":{\"0\":\"etcd\"}}", "p.background.0: expected a" },
	{ "{\"max_scaler\":{\"0\":[]}}", "p.max_scaler.0: expected an object" },
	{ "{\"max_scaler\":{\"0\":{\"BPFOnly\":1}}}",
	  "p.max_scaler.0.BPFOnly: expected an object" },
	{ "{\"acpi\":{\"platform\":{\"0\":{\"min_watt\":3,\"max_watt\":2e300}}}}",
	  "p.acpi.platform.0: 2e+300 W exceeds the limit" },
	{ "{\"max_scaler\":{\"0\":{\"Nope\":{}}}}",
	  "p.max_scaler.0.Nope: no such group" },
	{ "{\"max_scaler\":{\"0\":{\"BPFOnly\":{\"x\":\"1\"}}}}",
	  "p.max_scaler.0.BPFOnly.x: expected a finite number" },
};

static void malformed_profiles_are_rejected_with_their_path(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_profile p = { 0 };
		struct tw_err err = { 0 };

		if (read_text(bad[i].text, &p, &err) == 0)
			fail_msg("taken: %s", bad[i].text);
		if (err.code == TW_OK ||
		    strncmp(err.text, bad[i].error, strlen(bad[i].error)) != 0)
			fail_msg("'%s' gives '%s', not '%s'", bad[i].text, err.text,
				 bad[i].error);
		assert_int_equal(p.powers, 0);
	}
}

static void every_failed_allocation_is_reported(void **state)
{
	static const double watts[] = { 1, 2 };
	const struct tw_feature_group *group = tw_feature_group_find("CounterOnly");

	(void)state;
	for (int n = 1;; n++) {
		struct tw_profile p = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_profile_add_power(&p, rapl(), TW_CORE, 0, watts, 2, &err);
		if (rc == 0)
			rc = tw_profile_add_scaler(&p, group, 0, "cpu_cycles", 1, &err);
		if (rc == 0)
			rc = tw_profile_add_background(&p, 0, "etcd", &err);
		tw_profile_release(&p);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 5);
			break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(power_has_minimum_median_and_maximum),
		cmocka_unit_test(power_is_clamped_to_the_limits),
		cmocka_unit_test(a_written_profile_reads_back_equal),
		cmocka_unit_test(join_adds_missing_entries_and_update_replaces_them),
		cmocka_unit_test(files_of_kepler_model_server_are_read),
		cmocka_unit_test(malformed_profiles_are_rejected_with_their_path),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
