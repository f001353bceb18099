/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/field/energy.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void components_are_named_and_found_by_name(void **state)
{
	static const char *const names[] = { "package", "core",     "uncore",
					     "dram",    "platform", "gpu" };
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

static void a_zone_s_path_names_the_source_that_does_not_measure(void **state)
{
	static const struct {
		const char *path, *source;
		bool is_virtual;
	} paths[] = {
		{ "model:rapl-sysfs", "trained_power_model", false },
		{ "fake:core", "fake", false },
		{ "passthrough:/run/x/class/powercap/intel-rapl:0", "passthrough",
		  false },
		/* Kepler's simulated meter. */
		{ "/sys/class/powercap/intel-rapl/energy_package", "fake", false },
		{ "/sys/class/powercap/intel-rapl:0", NULL, false },
		{ "/sys/class/powercap/intel-rapl:0/energy_uj", NULL, false },
		{ "/host/sys/class/powercap/intel-rapl:0", NULL, false },
		{ "/run/host-power/class/powercap/intel-rapl:0", NULL, true },
		{ "/dev/cpu/0/msr:0x611", NULL, false },
		{ "aggregated-package", NULL, false },
		{ "models:x", NULL, false },
		{ "", NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(paths); i++) {
		const char *source = tw_energy_source_of_path(paths[i].path);

		if (paths[i].source == NULL)
			assert_null(source);
		else
			assert_string_equal(source, paths[i].source);
		assert_true(tw_energy_path_is_virtual(paths[i].path) ==
			    paths[i].is_virtual);
	}
	assert_string_equal(tw_energy_source_of_meter("model"), "trained_power_model");
	assert_string_equal(tw_energy_source_of_meter("passthrough"), "passthrough");
	assert_string_equal(tw_energy_source_of_meter("rack-7"), "rack-7");
}

static void each_meter_of_the_collector_is_known_with_its_components(void **state)
{
	static const struct {
		const char *name;
		enum tw_component main;
		size_t count;
	} meters[] = {
		{ "ipmi", TW_PLATFORM, 1 },
		{ "redfish", TW_PLATFORM, 1 },
		{ "nvml", TW_GPU, 1 },
		{ "amd_energy", TW_PACKAGE, 2 },
		{ "rapl-msr", TW_PACKAGE, 4 },
		{ "hwmon", TW_PLATFORM, 3 },
		{ "passthrough", TW_PACKAGE, 6 },
		{ "ampere-xgene-hwmon", TW_PACKAGE, 2 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(meters); i++) {
		const struct tw_energy_source *s = tw_energy_source_find(meters[i].name);

		assert_non_null(s);
		assert_int_equal(s->components[0], meters[i].main);
		assert_int_equal(s->count, meters[i].count);
		assert_false(tw_energy_source_is_own(s));
	}
}

static void an_own_name_is_declared_once_and_found_from_then_on(void **state)
{
	const size_t known = tw_energy_source_count();
	const struct tw_energy_source *pdu, *again;
	struct tw_err err = { 0 };

	(void)state;
	assert_null(tw_energy_source_find("pdu-7.b"));
	assert_int_equal(tw_energy_source_open("pdu-7.b", &pdu, &err), 0);
	assert_int_equal(tw_energy_source_open("pdu-7.b", &again, &err), 0);
	assert_ptr_equal(pdu, again);
	assert_ptr_equal(tw_energy_source_find("pdu-7.b"), pdu);
	assert_ptr_equal(tw_energy_source_wanted("pdu-7.b"), pdu);
	assert_string_equal(pdu->name, "pdu-7.b");
	assert_int_equal(pdu->count, TW_COMPONENT_COUNT);
	assert_true(pdu->any && tw_energy_source_is_own(pdu));
	assert_int_equal(tw_energy_source_count(), known);
	assert_int_equal(tw_energy_source_open("acpi", &again, &err), 0);
	assert_ptr_equal(again, tw_energy_source_find("acpi"));
}

static void bad_names_are_refused(void **state)
{
	static const struct {
		const char *name, *why;
	} bad[] = {
		{ "", "want 1 to 63 letters" },
		{ "a b", "want 1 to 63 letters" },
		{ "../etc", "want 1 to 63 letters" },
		{ ".hidden", "want 1 to 63 letters" },
		{ "a/b", "want 1 to 63 letters" },
		{ "Watt\xc3\xa4", "want 1 to 63 letters" },
		{ "a234567890123456789012345678901234567890123456789012345678901234",
		  "want 1 to 63 letters" },
		{ "my-rapl", "names with 'rapl' mean rapl-sysfs" },
		{ "background", "the name is reserved" },
		{ "foreign", "the name is reserved" },
		{ "model", "the name is reserved" },
	};
	const struct tw_energy_source *s = NULL;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_energy_source_open(bad[i].name, &s, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_non_null(strstr(err.text, bad[i].why));
	}
	assert_null(s);
}

static void rapl_by_registers_stands_in_for_rapl_by_files(void **state)
{
	(void)state;
	assert_ptr_equal(tw_energy_source_substitute(tw_energy_source_find("rapl-sysfs")),
			 tw_energy_source_find("rapl-msr"));
	assert_null(tw_energy_source_substitute(tw_energy_source_find("rapl-msr")));
	assert_null(tw_energy_source_substitute(tw_energy_source_find("acpi")));
}

#define THREADS 4

static void *declare_all(void *arg)
{
	size_t *opened = arg;

	for (int i = 0; i < 2 * TW_ENERGY_SOURCES_OWN_MAX; i++) {
		const struct tw_energy_source *s;
		struct tw_err err = { 0 };
		char name[16];

		snprintf(name, sizeof(name), "own%d", i);
		if (tw_energy_source_open(name, &s, &err) == 0)
			*opened += strcmp(s->name, name) == 0;
		else
			assert_non_null(strstr(err.text, "the limit"));
	}
	return NULL;
}

/* Runs last: it uses up the names. */
static void threads_declare_up_to_the_limit(void **state)
{
	pthread_t thread[THREADS];
	size_t opened[THREADS] = { 0 };

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, declare_all, &opened[i]), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	/* One is "pdu-7.b". All threads declare the same names in order. */
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(opened[i], TW_ENERGY_SOURCES_OWN_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_and_simulations_are_not_measured),
		cmocka_unit_test(a_zone_s_path_names_the_source_that_does_not_measure),
		cmocka_unit_test(components_are_named_and_found_by_name),
		cmocka_unit_test(sources_are_complete_sorted_and_findable),
		cmocka_unit_test(rapl_measures_parts_and_acpi_the_platform),
		cmocka_unit_test(a_clients_text_selects_the_source),
		cmocka_unit_test(
			each_meter_of_the_collector_is_known_with_its_components),
		cmocka_unit_test(an_own_name_is_declared_once_and_found_from_then_on),
		cmocka_unit_test(bad_names_are_refused),
		cmocka_unit_test(rapl_by_registers_stands_in_for_rapl_by_files),
		cmocka_unit_test(threads_declare_up_to_the_limit),
	};

	return cmocka_run_group_tests_name("energy", tests, NULL, NULL);
}
