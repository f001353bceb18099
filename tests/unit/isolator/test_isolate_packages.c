/* SPDX-License-Identifier: Apache-2.0 */
/* Isolation and the columns of packages. */
#include "tests/unit/tw_test.h"

#include "isolator/isolator.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/read_csv.h"

/* Aggregated container rows equal the rows extracted at node level. */
static void shares_are_averaged_weighted_by_usage(void **state)
{
	struct tw_dataset d = { 0 }, all = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv("timestamp,id,packge_ratio_0,package_usage,package_0_core_power\n"
		 "10,a,0.75,0.5,7\n10,b,0,1,7\n13,a,0.25,0,8\n13,b,0.75,0,8\n",
		 &d);
	assert_int_equal(tw_isolate_aggregate(&d, &all, &err), 0);
	assert_true(tw_dataset_find(&all, "packge_ratio_0")[0] == 0.25);
	assert_true(tw_dataset_find(&all, "package_usage")[0] == 1.5);
	assert_true(tw_dataset_find(&all, "package_0_core_power")[0] == 7);
	/* Without usage: the unweighted mean. */
	assert_true(tw_dataset_find(&all, "packge_ratio_0")[1] == 0.5);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
}

static const char idle_table[] =
	"timestamp,core_power,package_0_core_power,package_1_core_power,package_power,"
	"package_0_package_power,package_1_package_power\n"
	"10,9,5,4,60,40,20\n13,8,5,3,90,60,30\n16,12,9,3,75,45,30\n";

/* Apply an isolator to the table. d is the caller's. */
static void isolate_table(const char *isolator, struct tw_dataset *d)
{
	const struct tw_energy_source *source = tw_energy_source_find("rapl-sysfs");
	const struct tw_isolator *it = tw_isolator_find(isolator);
	const struct tw_isolator_args args = { 0 };
	struct tw_err err = { 0 };
	void *fitted = NULL;

	read_csv(idle_table, d);
	assert_int_equal(it->fit(&args, d, source, &fitted, &err), 0);
	assert_int_equal(tw_isolate_apply(it, fitted, source, d, &err), 0);
	free(fitted);
}

static void subtraction_is_distributed_by_minimum_power(void **state)
{
	struct tw_dataset d = { 0 };

	(void)state;
	isolate_table("MinIdleIsolator", &d);
	/* 60 W are subtracted: 40 and 20. */
	assert_true(tw_dataset_find(&d, "package_power")[1] == 30);
	assert_true(tw_dataset_find(&d, "package_0_package_power")[0] == 0);
	assert_true(tw_dataset_find(&d, "package_0_package_power")[1] == 20);
	assert_true(tw_dataset_find(&d, "package_1_package_power")[1] == 10);
	for (size_t r = 0; r < d.rows; r++)
		assert_true(tw_dataset_find(&d, "core_power")[r] ==
			    tw_dataset_find(&d, "package_0_core_power")[r] +
				    tw_dataset_find(&d, "package_1_core_power")[r]);
	tw_dataset_release(&d);
}

static void subtracting_nothing_changes_no_bit(void **state)
{
	struct tw_dataset d = { 0 }, before = { 0 };

	(void)state;
	isolate_table("NoneIsolator", &d);
	read_csv(idle_table, &before);
	for (size_t i = 0; i < d.cols; i++)
		assert_memory_equal(d.col[i].v, before.col[i].v, d.rows * sizeof(double));
	tw_dataset_release(&before);
	tw_dataset_release(&d);
}

/* An isolator that subtracts 6 W from each component. */
static int take_six(const void *state, struct tw_dataset *d, struct tw_err *err)
{
	double *watts = tw_dataset_find(d, "core_power");

	(void)state;
	(void)err;
	for (size_t r = 0; watts != NULL && r < d->rows; r++)
		watts[r] -= 6;
	return 0;
}

static void packages_with_zero_minimums_share_equally(void **state)
{
	const struct tw_energy_source *source = tw_energy_source_find("rapl-sysfs");
	const struct tw_isolator it = { .apply = take_six };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv("timestamp,core_power,package_a_core_power,package_b_core_power\n"
		 "10,9,0,9\n13,9,9,0\n",
		 &d);
	assert_int_equal(tw_isolate_apply(&it, NULL, source, &d, &err), 0);
	assert_true(tw_dataset_find(&d, "package_a_core_power")[0] == -3);
	assert_true(tw_dataset_find(&d, "package_b_core_power")[0] == 6);
	fail_alloc_at(1);
	assert_int_equal(tw_isolate_apply(&it, NULL, source, &d, &err), -1);
	assert_true(fail_alloc_hit());
	assert_int_equal(err.code, TW_NOMEM);
	assert_true(tw_dataset_find(&d, "core_power")[0] == 3);
	tw_dataset_release(&d);
}

/* The least powers are 1, 2 and 3 W, in the first, second and last row: of 6 W so many.
 */
static void each_package_gives_its_part_in_each_row(void **state)
{
	const struct tw_energy_source *source = tw_energy_source_find("rapl-sysfs");
	const struct tw_isolator it = { .apply = take_six };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv("timestamp,package_a_core_power,core_power,package_b_core_power,"
		 "package_c_core_power\n"
		 "1,1,30,9,9\n2,9,31,2,9\n3,9,32,9,9\n4,9,33,9,9\n5,9,34,9,9\n"
		 "6,9,35,9,9\n7,9,36,9,3\n",
		 &d);
	assert_int_equal(tw_isolate_apply(&it, NULL, source, &d, &err), 0);
	for (size_t r = 0; r < 7; r++) {
		assert_true(tw_dataset_find(&d, "core_power")[r] == 24 + (double)r);
		assert_float_equal(tw_dataset_find(&d, "package_a_core_power")[r],
				   r == 0 ? 0 : 8, 1e-12);
		assert_float_equal(tw_dataset_find(&d, "package_b_core_power")[r],
				   r == 1 ? 0 : 7, 1e-12);
		assert_float_equal(tw_dataset_find(&d, "package_c_core_power")[r],
				   r == 6 ? 0 : 6, 1e-12);
	}
	tw_dataset_release(&d);
}

static void one_row_is_enough(void **state)
{
	const struct tw_energy_source *source = tw_energy_source_find("rapl-sysfs");
	const struct tw_isolator it = { .apply = take_six };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv("timestamp,package_a_core_power,core_power\n10,9,9\n", &d);
	assert_int_equal(tw_isolate_apply(&it, NULL, source, &d, &err), 0);
	assert_float_equal(tw_dataset_find(&d, "package_a_core_power")[0], 3, 1e-12);
	tw_dataset_release(&d);
}

static int refuse(const void *state, struct tw_dataset *d, struct tw_err *err)
{
	(void)state;
	(void)d;
	return tw_fail(err, TW_INVALID, "refused");
}

static void packages_stay_if_the_isolator_fails(void **state)
{
	const struct tw_energy_source *source = tw_energy_source_find("rapl-sysfs");
	const struct tw_isolator it = { .apply = refuse };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv(idle_table, &d);
	assert_int_equal(tw_isolate_apply(&it, NULL, source, &d, &err), -1);
	assert_string_equal(err.text, "refused");
	assert_true(tw_dataset_find(&d, "package_0_core_power")[0] == 5);
	tw_dataset_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_averaged_weighted_by_usage),
		cmocka_unit_test(subtraction_is_distributed_by_minimum_power),
		cmocka_unit_test(subtracting_nothing_changes_no_bit),
		cmocka_unit_test(packages_with_zero_minimums_share_equally),
		cmocka_unit_test(each_package_gives_its_part_in_each_row),
		cmocka_unit_test(one_row_is_enough),
		cmocka_unit_test(packages_stay_if_the_isolator_fails),
	};

	return cmocka_run_group_tests_name("isolate_packages", tests, NULL, NULL);
}
