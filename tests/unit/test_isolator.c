/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "isolator/isolator.h"
#include "lib/csv.h"
#include "lib/err.h"
#include "tests/unit/fail_alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_csv(const char *text, struct tw_dataset *d)
{
	struct tw_err err = { 0 };

	if (tw_csv_read(text, strlen(text), d, &err) < 0)
		fail_msg("%s", err.text);
}

static const char table[] = "timestamp,id,cpu_cycles,platform_power,node_type\n"
			    "10,a,1,50,0\n"
			    "10,b,2,50,0\n"
			    "13,a,5,40,0\n";

static void the_registry_is_sorted_complete_and_searchable(void **state)
{
	(void)state;
	assert_true(tw_isolator_count() >= 2);
	for (size_t i = 0; i < tw_isolator_count(); i++) {
		const struct tw_isolator *it = tw_isolator_at(i);

		assert_non_null(it->name);
		assert_non_null(it->summary);
		assert_true(it->fit != NULL && it->apply != NULL && it->free != NULL);
		assert_ptr_equal(tw_isolator_find(it->name), it);
		if (i > 0)
			assert_true(strcmp(tw_isolator_at(i - 1)->name, it->name) < 0);
		it->free(NULL);
	}
	assert_null(tw_isolator_find("minidleisolator"));
	assert_null(tw_isolator_find(""));
}

static void aggregation_sums_features_and_averages_power(void **state)
{
	struct tw_dataset d = { 0 }, all = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv(table, &d);
	assert_int_equal(tw_isolate_aggregate(&d, &all, &err), 0);
	assert_int_equal(all.rows, 2);
	assert_string_equal(all.ids.at[all.id[1]], "all containers");
	assert_true(tw_dataset_find(&all, "cpu_cycles")[0] == 3);
	assert_true(tw_dataset_find(&all, "platform_power")[0] == 50);
	assert_true(tw_dataset_find(&all, "platform_power")[1] == 40);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
}

static void node_level_rows_are_aggregated_to_themselves(void **state)
{
	struct tw_dataset d = { 0 }, all = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv("timestamp,x,core_power,packge_ratio_package\n1,2,3,1\n2,4,5,1\n", &d);
	assert_int_equal(tw_isolate_aggregate(&d, &all, &err), 0);
	assert_int_equal(all.rows, 2);
	assert_non_null(all.id);
	assert_true(tw_dataset_find(&all, "x")[1] == 4);
	assert_true(tw_dataset_find(&all, "packge_ratio_package")[1] == 1);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
}

static void min_idle_takes_the_fitted_minimum_from_any_rows(void **state)
{
	const struct tw_isolator *min = tw_isolator_find("MinIdleIsolator");
	struct tw_dataset d = { 0 }, other = { 0 };
	struct tw_err err = { 0 };
	void *fitted = NULL;

	(void)state;
	read_csv(table, &d);
	read_csv("timestamp,platform_power\n20,45\n23,30\n", &other);
	assert_int_equal(min->fit(&d, tw_energy_source_find("acpi"), &fitted, &err), 0);
	assert_int_equal(min->apply(fitted, &d, &err), 0);
	assert_true(tw_dataset_find(&d, "platform_power")[0] == 10);
	assert_true(tw_dataset_find(&d, "platform_power")[2] == 0);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[2] == 5);
	assert_int_equal(min->apply(fitted, &other, &err), 0);
	assert_true(tw_dataset_find(&other, "platform_power")[0] == 5);
	assert_true(tw_dataset_find(&other, "platform_power")[1] == -10);
	min->free(fitted);
	tw_dataset_release(&other);
	tw_dataset_release(&d);
}

static void min_idle_takes_the_components_that_there_are(void **state)
{
	const struct tw_isolator *min = tw_isolator_find("MinIdleIsolator");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	void *fitted = NULL;

	(void)state;
	read_csv("timestamp,package_power,dram_power\n1,20,3\n4,15,5\n", &d);
	assert_int_equal(min->fit(&d, tw_energy_source_find("rapl-sysfs"), &fitted, &err),
			 0);
	assert_int_equal(min->apply(fitted, &d, &err), 0);
	assert_true(tw_dataset_find(&d, "package_power")[0] == 5);
	assert_true(tw_dataset_find(&d, "dram_power")[1] == 2);
	min->free(fitted);
	tw_dataset_release(&d);
}

static void min_idle_names_what_it_lacks(void **state)
{
	const struct tw_isolator *min = tw_isolator_find("MinIdleIsolator");
	struct tw_err err = { 0 }, rows = { 0 };
	struct tw_dataset d = { 0 }, empty = { 0 };
	void *fitted = NULL;

	(void)state;
	read_csv(table, &d);
	assert_int_equal(min->fit(&d, tw_energy_source_find("rapl-sysfs"), &fitted, &err),
			 -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text, "no column 'package_power'");
	read_csv("timestamp,platform_power\n", &empty);
	assert_int_equal(min->fit(&empty, tw_energy_source_find("acpi"), &fitted, &rows),
			 -1);
	assert_int_equal(rows.code, TW_INVALID);
	assert_string_equal(rows.text, "no rows to find idle power in");
	assert_null(fitted);
	tw_dataset_release(&empty);
	tw_dataset_release(&d);
}

static void none_changes_nothing(void **state)
{
	const struct tw_isolator *none = tw_isolator_find("NoneIsolator");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	void *fitted = NULL;

	(void)state;
	read_csv(table, &d);
	assert_int_equal(none->fit(&d, tw_energy_source_find("acpi"), &fitted, &err), 0);
	assert_int_equal(none->apply(fitted, &d, &err), 0);
	assert_true(tw_dataset_find(&d, "platform_power")[0] == 50);
	none->free(fitted);
	tw_dataset_release(&d);
}

/* Use 1..40 in some order at 30 W + 2 W a unit; the machine has no uncore. */
static void make_line(struct tw_dataset *d)
{
	char text[4096];
	int at = sprintf(text, "timestamp,cpu_cycles,cpu_instructions,package_power\n");

	for (int r = 0; r < 40; r++) {
		const int use = 1 + (r * 7) % 40;

		at += sprintf(text + at, "%d,%d,%d,%d\n", 3 * r, (r * 11) % 40, use,
			      30 + 2 * use);
	}
	read_csv(text, d);
}

static void idle_regression_takes_the_power_at_zero_use(void **state)
{
	const struct tw_isolator *regression = tw_isolator_find("IdleRegressionIsolator");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	json_t *told = json_object();
	void *fitted = NULL;

	(void)state;
	assert_true(regression->from_zero);
	make_line(&d);
	assert_int_equal(
		regression->fit(&d, tw_energy_source_find("rapl-sysfs"), &fitted, &err),
		0);
	assert_int_equal(regression->apply(fitted, &d, &err), 0);
	for (size_t r = 0; r < d.rows; r++)
		assert_true(fabs(tw_dataset_find(&d, "package_power")[r] -
				 2 * tw_dataset_find(&d, "cpu_instructions")[r]) < 1e-6);
	assert_int_equal(regression->describe(fitted, told, &err), 0);
	assert_int_equal(json_object_size(told), 4);
	assert_true(json_number_value(json_object_get(told, "package_idle")) == 30);
	assert_true(json_number_value(json_object_get(told, "package_idle_low")) == 30);
	assert_true(json_number_value(json_object_get(told, "package_idle_high")) == 30);
	assert_string_equal(json_string_value(json_object_get(told, "package_idle_by")),
			    "use");
	json_decref(told);
	regression->free(fitted);
	tw_dataset_release(&d);
}

static void idle_regression_names_what_it_lacks(void **state)
{
	const struct tw_isolator *regression = tw_isolator_find("IdleRegressionIsolator");
	struct tw_err power = { 0 }, use = { 0 }, rows = { 0 };
	const struct tw_energy_source *acpi = tw_energy_source_find("acpi");
	struct tw_dataset d = { 0 }, useless = { 0 }, empty = { 0 };
	void *fitted = NULL;

	(void)state;
	make_line(&d);
	assert_int_equal(regression->fit(&d, acpi, &fitted, &power), -1);
	assert_int_equal(power.code, TW_NOTFOUND);
	assert_string_equal(power.text, "no column 'platform_power'");
	read_csv("timestamp,x,platform_power\n1,2,3\n", &useless);
	assert_int_equal(regression->fit(&useless, acpi, &fitted, &use), -1);
	assert_int_equal(use.code, TW_NOTFOUND);
	assert_string_equal(use.text, "no column of a feature that tells use");
	read_csv("timestamp,platform_power\n", &empty);
	assert_int_equal(regression->fit(&empty, acpi, &fitted, &rows), -1);
	assert_int_equal(rows.code, TW_INVALID);
	assert_string_equal(rows.text, "no rows to find idle power in");
	assert_null(fitted);
	tw_dataset_release(&empty);
	tw_dataset_release(&useless);
	tw_dataset_release(&d);
}

static void every_failed_allocation_is_reported(void **state)
{
	const struct tw_isolator *it = tw_isolator_find("IdleRegressionIsolator");
	struct tw_dataset d = { 0 };

	(void)state;
	read_csv(table, &d);
	for (int n = 1;; n++) {
		struct tw_dataset all = { 0 };
		struct tw_err err = { 0 };
		void *fitted = NULL;
		int rc;

		fail_alloc_at(n);
		rc = tw_isolate_aggregate(&d, &all, &err);
		if (rc == 0)
			rc = it->fit(&all, tw_energy_source_find("acpi"), &fitted, &err);
		it->free(fitted);
		tw_dataset_release(&all);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			assert_true(n > 5);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
	tw_dataset_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_registry_is_sorted_complete_and_searchable),
		cmocka_unit_test(aggregation_sums_features_and_averages_power),
		cmocka_unit_test(node_level_rows_are_aggregated_to_themselves),
		cmocka_unit_test(min_idle_takes_the_fitted_minimum_from_any_rows),
		cmocka_unit_test(min_idle_takes_the_components_that_there_are),
		cmocka_unit_test(min_idle_names_what_it_lacks),
		cmocka_unit_test(idle_regression_takes_the_power_at_zero_use),
		cmocka_unit_test(idle_regression_names_what_it_lacks),
		cmocka_unit_test(none_changes_nothing),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("isolator", tests, NULL, NULL);
}
