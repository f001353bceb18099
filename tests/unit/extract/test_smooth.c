/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/read_csv.h"
#include "trainer/extract/smooth.h"

static const char node[] =
	"timestamp,cpu_cycles,cpu_scaling_frequency_hertz,package_power,node_type\n"
	"10,3,100,30,7\n13,6,200,60,7\n16,0,300,0,7\n19,9,400,3,7\n";

static void features_and_power_are_averaged_and_other_columns_unchanged(void **state)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv(node, &d);
	assert_int_equal(tw_smooth(&d, 3, &err), 0);
	assert_int_equal(d.rows, 2);
	assert_int_equal(d.time_ms[0], 16000);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[0] == 3);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[1] == 5);
	assert_true(tw_dataset_find(&d, "package_power")[0] == 30);
	assert_true(tw_dataset_find(&d, "package_power")[1] == 21);
	assert_true(tw_dataset_find(&d, "cpu_scaling_frequency_hertz")[0] == 300);
	assert_true(tw_dataset_find(&d, "node_type")[1] == 7);
	tw_dataset_release(&d);
}

/* b has no row at 13; power is the node's. */
static void a_missing_workload_counts_as_zero(void **state)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv("timestamp,id,cpu_cycles,package_power\n10,a,2,10\n10,b,4,10\n"
		 "13,a,6,20\n16,a,4,40\n16,b,8,40\n",
		 &d);
	assert_int_equal(tw_smooth(&d, 2, &err), 0);
	assert_int_equal(d.rows, 3);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[0] == 4);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[1] == 5);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[2] == 4);
	assert_true(tw_dataset_find(&d, "package_power")[0] == 15);
	assert_true(tw_dataset_find(&d, "package_power")[1] == 30);
	assert_true(tw_dataset_find(&d, "package_power")[2] == 30);
	tw_dataset_release(&d);
}

/* b has no row at 13. a's usage at 16 is a quarter of that at 13. */
static void shares_become_shares_of_the_windows_usage(void **state)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv("timestamp,id,package_0_package_power,package_usage,packge_ratio_0,"
		 "packge_ratio_1\n"
		 "10,a,10,0.25,1,0\n10,b,10,2,0.5,0.5\n13,a,20,2,0.5,0.5\n"
		 "16,a,30,0.5,0,1\n16,b,30,2,0.25,0.75\n",
		 &d);
	assert_int_equal(tw_smooth(&d, 2, &err), 0);
	assert_int_equal(d.rows, 3);
	assert_true(tw_dataset_find(&d, "packge_ratio_0")[0] == 1.25 / 2.25);
	assert_true(tw_dataset_find(&d, "packge_ratio_1")[0] == 1 / 2.25);
	assert_true(tw_dataset_find(&d, "packge_ratio_0")[1] == 0.4);
	assert_true(tw_dataset_find(&d, "packge_ratio_0")[2] == 0.25);
	assert_true(tw_dataset_find(&d, "package_usage")[1] == 1.25);
	assert_true(tw_dataset_find(&d, "package_0_package_power")[2] == 25);
	tw_dataset_release(&d);
}

/* A window without usage keeps its last share; without a usage column all stay. */
static void shares_without_usage_are_unchanged(void **state)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv("timestamp,package_usage,packge_ratio_0\n10,0,0.5\n13,0,0.25\n", &d);
	assert_int_equal(tw_smooth(&d, 2, &err), 0);
	assert_true(tw_dataset_find(&d, "packge_ratio_0")[0] == 0.25);
	tw_dataset_release(&d);
	read_csv("timestamp,packge_ratio_0\n10,0.5\n13,0.25\n", &d);
	assert_int_equal(tw_smooth(&d, 2, &err), 0);
	assert_true(tw_dataset_find(&d, "packge_ratio_0")[0] == 0.25);
	tw_dataset_release(&d);
}

static void a_window_of_one_changes_nothing_and_a_long_one_is_rejected(void **state)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv(node, &d);
	assert_int_equal(tw_smooth(&d, 1, &err), 0);
	assert_int_equal(d.rows, 4);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[3] == 9);
	assert_int_equal(tw_smooth(&d, 5, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "4 times, fewer than the smooth window of 5");
	assert_int_equal(d.rows, 4);
	tw_dataset_release(&d);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_dataset d = { 0 };

	(void)state;
	read_csv(node, &d);
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_smooth(&d, 2, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 2);
			break;
		}
	}
	tw_dataset_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			features_and_power_are_averaged_and_other_columns_unchanged),
		cmocka_unit_test(a_missing_workload_counts_as_zero),
		cmocka_unit_test(shares_become_shares_of_the_windows_usage),
		cmocka_unit_test(shares_without_usage_are_unchanged),
		cmocka_unit_test(
			a_window_of_one_changes_nothing_and_a_long_one_is_rejected),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("smooth", tests, NULL, NULL);
}
