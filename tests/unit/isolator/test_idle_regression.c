/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "isolator/isolator.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/read_csv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct tw_isolator_args no_args;

static const char table[] = "timestamp,id,cpu_cycles,platform_power,node_type\n"
			    "10,a,1,50,0\n"
			    "10,b,2,50,0\n"
			    "13,a,5,40,0\n";

/* Usage 1..40 in some order, 30 W + 2 W a unit; the machine has no uncore. */
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

static void idle_regression_subtracts_the_power_at_zero_usage(void **state)
{
	const struct tw_isolator *regression = tw_isolator_find("IdleRegressionIsolator");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	json_t *told = json_object();
	void *fitted = NULL;

	(void)state;
	assert_true(regression->from_zero);
	make_line(&d);
	assert_int_equal(regression->fit(&no_args, &d,
					 tw_energy_source_find("rapl-sysfs"), &fitted,
					 &err),
			 0);
	assert_int_equal(regression->apply(fitted, &d, &err), 0);
	for (size_t r = 0; r < d.rows; r++)
		assert_true(fabs(tw_dataset_find(&d, "package_power")[r] -
				 2 * tw_dataset_find(&d, "cpu_instructions")[r]) < 1e-6);
	assert_int_equal(regression->describe(fitted, told, &err), 0);
	assert_int_equal(json_object_size(told), 5);
	assert_true(json_is_true(json_object_get(told, "package_idle_rested")));
	assert_true(json_number_value(json_object_get(told, "package_idle")) == 30);
	assert_true(json_number_value(json_object_get(told, "package_idle_low")) == 30);
	assert_true(json_number_value(json_object_get(told, "package_idle_high")) == 30);
	assert_string_equal(json_string_value(json_object_get(told, "package_idle_by")),
			    "use");
	tw_dataset_release(&d);
	read_csv(table, &d);
	assert_int_equal(regression->apply(fitted, &d, &err), -1);
	assert_string_equal(err.text, "no column 'package_power'");
	json_decref(told);
	free(fitted);
	tw_dataset_release(&d);
}

/* Power follows the sum of the processor time in all modes, not the time in one. */
static void idle_regression_adds_processor_time_by_mode(void **state)
{
	const struct tw_isolator *regression = tw_isolator_find("IdleRegressionIsolator");
	char text[4096];
	/* The first two count; the others are no time by mode. */
	int at = sprintf(text, "timestamp,node_cpu_user_ms,node_cpu_system_ms,node_"
			       "cpufreq_ms,node_cpu_user_us,my_node_cpu_user_ms,"
			       "package_power\n");
	json_t *told = json_object();
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	void *fitted = NULL;

	(void)state;
	for (int r = 0; r < 40; r++) {
		const int user = 1 + (r * 7) % 40, system = 3 + (r * 11) % 40;
		const int other = (r * 13) % 40 * 100;

		at += sprintf(text + at, "%d,%d,%d,%d,%d,%d,%d\n", 3 * r, user, system,
			      other, other, other, 30 + 2 * (user + system));
	}
	read_csv(text, &d);
	assert_int_equal(regression->fit(&no_args, &d,
					 tw_energy_source_find("rapl-sysfs"), &fitted,
					 &err),
			 0);
	assert_int_equal(regression->describe(fitted, told, &err), 0);
	assert_string_equal(json_string_value(json_object_get(told, "package_idle_by")),
			    "use");
	assert_true(fabs(json_number_value(json_object_get(told, "package_idle")) - 30) <
		    1e-3);
	json_decref(told);
	free(fitted);
	tw_dataset_release(&d);
}

/* Fit the IdleRegressionIsolator, subtract from d, and tell what it found. */
static json_t *subtract_idle(struct tw_dataset *d)
{
	const struct tw_isolator *regression = tw_isolator_find("IdleRegressionIsolator");
	const struct tw_energy_source *rapl = tw_energy_source_find("rapl-sysfs");
	json_t *told = json_object();
	struct tw_err err = { 0 };
	void *fitted = NULL;

	if (regression->fit(&no_args, d, rapl, &fitted, &err) < 0 ||
	    regression->apply(fitted, d, &err) < 0 ||
	    regression->describe(fitted, told, &err) < 0)
		fail_msg("%s", err.text);
	free(fitted);
	return told;
}

static void expect_told(const json_t *told, const char *component, double watts,
			double low, double high, bool rested, const char *by)
{
	const struct {
		const char *what;
		double want;
	} cases[] = { { "", watts }, { "_low", low }, { "_high", high } };
	char key[64];

	for (size_t i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "%s_idle%s", component, cases[i].what);
		if (json_number_value(json_object_get(told, key)) != cases[i].want)
			fail_msg("%s is %g", key,
				 json_number_value(json_object_get(told, key)));
	}
	snprintf(key, sizeof(key), "%s_idle_rested", component);
	assert_ptr_equal(json_object_get(told, key), json_boolean(rested));
	snprintf(key, sizeof(key), "%s_idle_by", component);
	assert_string_equal(json_string_value(json_object_get(told, key)), by);
}

/* Usage 20..59 of lines without a residual. The machine never rests: the interval is from
 * 0 to the lowest power. The machine has no uncore. */
static void idle_regression_tells_the_idle_power_of_each_component(void **state)
{
	char text[4096];
	int at = sprintf(text, "timestamp,cpu_instructions,package_power,core_power,"
			       "dram_power\n");
	struct tw_dataset d = { 0 };
	json_t *told;

	(void)state;
	for (int r = 0; r < 40; r++) {
		const int use = 20 + (r * 7) % 40;

		at += sprintf(text + at, "%d,%d,%d,%d,5.12344\n", 3 * r, use,
			      30 + 2 * use, 10 + use);
	}
	read_csv(text, &d);
	told = subtract_idle(&d);
	assert_int_equal(json_object_size(told), 15);
	expect_told(told, "package", 30, 0, 70, false, "use");
	expect_told(told, "core", 10, 0, 30, false, "use");
	expect_told(told, "dram", 5.1234, 0, 5.1234, false, "use");
	for (size_t r = 0; r < d.rows; r++) {
		const double use = tw_dataset_find(&d, "cpu_instructions")[r];

		assert_float_equal(tw_dataset_find(&d, "package_power")[r], 2 * use,
				   1e-9);
		assert_float_equal(tw_dataset_find(&d, "core_power")[r], use, 1e-9);
		assert_float_equal(tw_dataset_find(&d, "dram_power")[r], 0, 1e-9);
	}
	json_decref(told);
	tw_dataset_release(&d);
}

/* A quarter of the rows draws 50 W at the highest usage, the others 100 W. */
static void idle_regression_tells_when_usage_shows_no_rest(void **state)
{
	char text[4096];
	int at = sprintf(text, "timestamp,cpu_instructions,package_power\n");
	struct tw_dataset d = { 0 };
	json_t *told;

	(void)state;
	for (int r = 0; r < 40; r++)
		at += sprintf(text + at, "%d,%d,%d\n", 3 * r, 1 + r, r < 30 ? 100 : 50);
	read_csv(text, &d);
	told = subtract_idle(&d);
	assert_true(json_number_value(json_object_get(told, "package_idle")) == 50);
	assert_true(json_is_true(json_object_get(told, "package_idle_rested")));
	assert_string_equal(json_string_value(json_object_get(told, "package_idle_by")),
			    "least power");
	json_decref(told);
	tw_dataset_release(&d);
}

/* The mean of two rows without a slope; the interval takes three rows. */
static void idle_power_of_two_rows_has_no_interval(void **state)
{
	struct tw_dataset d = { 0 };
	json_t *told;

	(void)state;
	read_csv("timestamp,cpu_instructions,package_power\n1,0,20\n4,0,20\n", &d);
	told = subtract_idle(&d);
	assert_true(json_number_value(json_object_get(told, "package_idle")) == 20);
	assert_true(json_is_null(json_object_get(told, "package_idle_low")));
	assert_true(json_is_null(json_object_get(told, "package_idle_high")));
	json_decref(told);
	tw_dataset_release(&d);
}

/* Beside a feature that measures use better, the processor time counts in no mode. */
static void idle_regression_adds_no_time_to_another_feature(void **state)
{
	const struct tw_isolator *regression = tw_isolator_find("IdleRegressionIsolator");
	char text[4096];
	int at = sprintf(text, "timestamp,bpf_cpu_time_ms,node_cpu_user_ms,"
			       "package_power\n");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	void *fitted = NULL;

	(void)state;
	for (int r = 0; r < 40; r++) {
		const int use = 1 + (r * 7) % 40;

		at += sprintf(text + at, "%d,%d,%d,%d\n", 3 * r, use, 100 * (40 - use),
			      30 + 2 * use);
	}
	read_csv(text, &d);
	assert_int_equal(regression->fit(&no_args, &d,
					 tw_energy_source_find("rapl-sysfs"), &fitted,
					 &err),
			 0);
	assert_int_equal(regression->apply(fitted, &d, &err), 0);
	/* Row 0: a use of 1. */
	assert_true(fabs(tw_dataset_find(&d, "package_power")[0] - 2) < 1e-3);
	free(fitted);
	tw_dataset_release(&d);
}

/* Trainers reject power that is not finite, isolators do not. */
static void idle_power_that_is_not_finite_is_null(void **state)
{
	const struct tw_isolator *regression = tw_isolator_find("IdleRegressionIsolator");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	json_t *told = json_object();
	void *fitted = NULL;

	(void)state;
	make_line(&d);
	for (size_t r = 0; r < d.rows; r++)
		tw_dataset_find(&d, "package_power")[r] = 1e308;
	assert_int_equal(regression->fit(&no_args, &d,
					 tw_energy_source_find("rapl-sysfs"), &fitted,
					 &err),
			 0);
	assert_int_equal(regression->describe(fitted, told, &err), 0);
	assert_true(json_is_null(json_object_get(told, "package_idle")));
	json_decref(told);
	free(fitted);
	tw_dataset_release(&d);
}

static void idle_regression_names_missing_columns(void **state)
{
	const struct tw_isolator *regression = tw_isolator_find("IdleRegressionIsolator");
	static const char *const without_use[] = { "timestamp,x,platform_power\n1,2,3\n",
						   "timestamp,platform_power\n1,3\n" };
	struct tw_err power = { 0 }, rows = { 0 };
	const struct tw_energy_source *acpi = tw_energy_source_find("acpi");
	struct tw_dataset d = { 0 }, useless = { 0 }, empty = { 0 };
	void *fitted = NULL;

	(void)state;
	make_line(&d);
	assert_int_equal(regression->fit(&no_args, &d, acpi, &fitted, &power), -1);
	assert_int_equal(power.code, TW_NOTFOUND);
	assert_string_equal(power.text, "no column 'platform_power'");
	for (size_t i = 0; i < 2; i++) {
		struct tw_err use = { 0 };

		read_csv(without_use[i], &useless);
		assert_int_equal(regression->fit(&no_args, &useless, acpi, &fitted, &use),
				 -1);
		assert_int_equal(use.code, TW_NOTFOUND);
		assert_string_equal(use.text,
				    "no column of a feature that measures usage");
		tw_dataset_release(&useless);
	}
	read_csv("timestamp,platform_power\n", &empty);
	assert_int_equal(regression->fit(&no_args, &empty, acpi, &fitted, &rows), -1);
	assert_int_equal(rows.code, TW_INVALID);
	assert_string_equal(rows.text, "no rows to find idle power in");
	assert_null(fitted);
	tw_dataset_release(&empty);
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
		json_t *told = json_object();
		void *fitted = NULL;
		int rc;

		fail_alloc_at(n);
		rc = tw_isolate_aggregate(&d, &all, &err);
		if (rc == 0)
			rc = it->fit(&no_args, &all, tw_energy_source_find("acpi"),
				     &fitted, &err);
		if (rc == 0)
			rc = it->describe(fitted, told, &err);
		free(fitted);
		json_decref(told);
		tw_dataset_release(&all);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 5);
			break;
		}
	}
	tw_dataset_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_regression_subtracts_the_power_at_zero_usage),
		cmocka_unit_test(idle_regression_adds_processor_time_by_mode),
		cmocka_unit_test(idle_regression_tells_the_idle_power_of_each_component),
		cmocka_unit_test(idle_regression_tells_when_usage_shows_no_rest),
		cmocka_unit_test(idle_power_of_two_rows_has_no_interval),
		cmocka_unit_test(idle_regression_adds_no_time_to_another_feature),
		cmocka_unit_test(idle_power_that_is_not_finite_is_null),
		cmocka_unit_test(idle_regression_names_missing_columns),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("idle_regression", tests, NULL, NULL);
}
