/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/field/energy.h"

#include <string.h>

static void components_are_named_and_found_by_name(void **state)
{
	static const char *const names[] = { "package", "core", "uncore", "dram",
					     "platform" };
	enum tw_component c = TW_DRAM;

	(void)state;
	assert_false(tw_component_find("Package", &c));
	assert_false(tw_component_find("", &c));
	assert_int_equal(c, TW_DRAM);
	for (int i = 0; i < TW_COMPONENT_COUNT; i++) {
		assert_string_equal(tw_component_name((enum tw_component)i), names[i]);
		assert_true(tw_component_find(names[i], &c));
		assert_int_equal(c, i);
	}
}

static void sources_are_complete_sorted_and_findable(void **state)
{
	(void)state;
	assert_true(tw_energy_source_count() > 0);
	for (size_t i = 0; i < tw_energy_source_count(); i++) {
		const struct tw_energy_source *s = tw_energy_source_at(i);

		assert_ptr_equal(tw_energy_source_find(s->name), s);
		assert_true(s->count > 0 && s->count <= TW_COMPONENT_COUNT);
		if (i > 0)
			assert_true(strcmp(tw_energy_source_at(i - 1)->name, s->name) <
				    0);
	}
	assert_null(tw_energy_source_find("rapl"));
	assert_null(tw_energy_source_find(""));
}

static void rapl_measures_parts_and_acpi_the_platform(void **state)
{
	const struct tw_energy_source *rapl = tw_energy_source_find("rapl-sysfs");
	const struct tw_energy_source *acpi = tw_energy_source_find("acpi");

	(void)state;
	assert_int_equal(rapl->count, 4);
	assert_int_equal(rapl->components[0], TW_PACKAGE);
	assert_int_equal(rapl->components[3], TW_DRAM);
	assert_int_equal(acpi->count, 1);
	assert_int_equal(acpi->components[0], TW_PLATFORM);
}

static void a_clients_text_selects_the_source(void **state)
{
	const struct tw_energy_source *rapl = tw_energy_source_find("rapl-sysfs");

	(void)state;
	assert_ptr_equal(tw_energy_source_wanted(NULL), rapl);
	assert_ptr_equal(tw_energy_source_wanted(""), rapl);
	assert_ptr_equal(tw_energy_source_wanted("rapl"), rapl);
	assert_ptr_equal(tw_energy_source_wanted("intel-rapl-msr"), rapl);
	assert_ptr_equal(tw_energy_source_wanted("acpi"), tw_energy_source_find("acpi"));
	assert_null(tw_energy_source_wanted("bogus"));
}

static void estimates_and_simulations_are_not_measured(void **state)
{
	(void)state;
	assert_true(tw_energy_source_is_measured(tw_energy_source_find("rapl-sysfs")));
	assert_true(tw_energy_source_is_measured(tw_energy_source_find("acpi")));
	assert_false(tw_energy_source_is_measured(tw_energy_source_find("fake")));
	assert_false(tw_energy_source_is_measured(
		tw_energy_source_find("trained_power_model")));
	assert_false(tw_energy_source_is_measured(
		&(struct tw_energy_source){ .name = "passthrough" }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_and_simulations_are_not_measured),
		cmocka_unit_test(components_are_named_and_found_by_name),
		cmocka_unit_test(sources_are_complete_sorted_and_findable),
		cmocka_unit_test(rapl_measures_parts_and_acpi_the_platform),
		cmocka_unit_test(a_clients_text_selects_the_source),
	};

	return cmocka_run_group_tests_name("energy", tests, NULL, NULL);
}
