/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "tests/unit/fail_alloc.h"

static int fill(struct tw_dataset *d, struct tw_err *err)
{
	double *v;

	if (tw_dataset_init(d, 3, true, err) < 0 || tw_strs_adds(&d->ids, "a", err) < 0 ||
	    tw_strs_adds(&d->ids, "b", err) < 0 ||
	    tw_dataset_add(d, "cpu_cycles", &v, err) < 0)
		return -1;
	for (size_t r = 0; r < 3; r++) {
		d->time_ms[r] = (int64_t)r * 1000;
		d->id[r] = r % 2;
		v[r] = (double)r + 0.5;
	}
	return tw_dataset_add(d, "package_power", NULL, err);
}

static void columns_start_as_zeros_and_are_found_by_name(void **state)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(fill(&d, &err), 0);
	assert_int_equal(d.cols, 2);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[2] == 2.5);
	assert_true(tw_dataset_find(&d, "package_power")[2] == 0.0);
	assert_null(tw_dataset_find(&d, "cpu"));
	tw_dataset_release(&d);
	assert_int_equal(d.rows, 0);
	assert_null(tw_dataset_find(&d, "cpu_cycles"));
}

static void columns_can_be_removed_and_added_again(void **state)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(fill(&d, &err), 0);
	tw_dataset_clear_columns(&d);
	assert_int_equal(d.cols, 0);
	assert_int_equal(d.rows, 3);
	assert_int_equal(d.time_ms[2], 2000);
	assert_int_equal(tw_dataset_add(&d, "cpu_cycles", NULL, &err), 0);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[2] == 0.0);
	tw_dataset_release(&d);
}

static void a_repeated_column_is_rejected(void **state)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(fill(&d, &err), 0);
	assert_int_equal(tw_dataset_add(&d, "cpu_cycles", NULL, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "column 'cpu_cycles' is repeated");
	assert_int_equal(d.cols, 2);
	tw_dataset_release(&d);
}

static void a_copy_has_the_selected_rows_with_their_ids(void **state)
{
	struct tw_dataset d = { 0 }, some = { 0 }, all = { 0 };
	const bool keep[] = { true, false, true };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(fill(&d, &err), 0);
	d.id[2] = 1;
	assert_int_equal(tw_dataset_copy(&d, keep, &some, &err), 0);
	assert_int_equal(some.rows, 2);
	assert_int_equal(some.time_ms[1], 2000);
	assert_string_equal(some.ids.at[some.id[1]], "b");
	assert_true(tw_dataset_find(&some, "cpu_cycles")[1] == 2.5);

	assert_int_equal(tw_dataset_copy(&d, NULL, &all, &err), 0);
	tw_dataset_release(&d);
	assert_int_equal(all.rows, 3);
	assert_true(tw_dataset_find(&all, "cpu_cycles")[1] == 1.5);
	tw_dataset_release(&some);
	tw_dataset_release(&all);
}

static void a_dataset_may_have_no_rows(void **state)
{
	struct tw_dataset d = { 0 }, copy = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_dataset_init(&d, 0, false, &err), 0);
	assert_int_equal(tw_dataset_add(&d, "x", NULL, &err), 0);
	assert_int_equal(tw_dataset_copy(&d, NULL, &copy, &err), 0);
	assert_int_equal(copy.rows, 0);
	assert_int_equal(copy.cols, 1);
	assert_null(copy.id);
	tw_dataset_release(&d);
	tw_dataset_release(&copy);
}

static void every_component_has_its_column(void **state)
{
	(void)state;
	assert_string_equal(tw_power_column(TW_PACKAGE), "package_power");
	assert_string_equal(tw_power_column(TW_PLATFORM), "platform_power");
}

static void power_columns_of_a_package_are_recognised(void **state)
{
	char name[TW_PACKAGE_COLUMN_SIZE];

	(void)state;
	tw_package_power_column(TW_UNCORE, "10", name);
	assert_string_equal(name, "package_10_uncore_power");
	assert_true(tw_is_package_power(name, TW_UNCORE));
	assert_false(tw_is_package_power(name, TW_CORE));
	assert_true(tw_is_package_power("package_0_package_power", TW_PACKAGE));
	assert_false(tw_is_package_power("package_power", TW_PACKAGE));
	assert_false(tw_is_package_power("package__package_power", TW_PACKAGE));
	assert_false(tw_is_package_power("package_core_power", TW_CORE));
	assert_false(tw_is_package_power("core_power", TW_CORE));
	assert_false(tw_is_package_power("", TW_CORE));
	/* The longest name fits. */
	tw_package_power_column(TW_PLATFORM, "0123456789012345678901234567890123456789",
				name);
	assert_string_equal(name,
			    "package_01234567890123456789012345678901_platform_power");
}

static void rows_are_removed_in_place_with_their_ids(void **state)
{
	static const bool keep[] = { false, true, true };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(fill(&d, &err), 0);
	for (size_t r = 0; r < 3; r++) {
		d.time_ms[r] = (int64_t)r;
		d.id[r] = r == 2;
		d.col[0].v[r] = 10.0 * (double)r;
	}
	tw_dataset_keep(&d, keep);
	assert_int_equal(d.rows, 2);
	assert_int_equal(d.time_ms[0], 1);
	assert_int_equal(d.id[1], 1);
	assert_true(d.col[0].v[0] == 10 && d.col[0].v[1] == 20);
	tw_dataset_release(&d);
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_dataset d = { 0 }, copy = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = fill(&d, &err);
		if (rc == 0)
			rc = tw_dataset_copy(&d, NULL, &copy, &err);
		tw_dataset_release(&d);
		tw_dataset_release(&copy);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 10);
			break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_start_as_zeros_and_are_found_by_name),
		cmocka_unit_test(columns_can_be_removed_and_added_again),
		cmocka_unit_test(a_repeated_column_is_rejected),
		cmocka_unit_test(a_copy_has_the_selected_rows_with_their_ids),
		cmocka_unit_test(a_dataset_may_have_no_rows),
		cmocka_unit_test(every_component_has_its_column),
		cmocka_unit_test(power_columns_of_a_package_are_recognised),
		cmocka_unit_test(rows_are_removed_in_place_with_their_ids),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("dataset", tests, NULL, NULL);
}
