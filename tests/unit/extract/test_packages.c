/* SPDX-License-Identifier: Apache-2.0 */
/* Power and shares of separate packages. */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/field/csv.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/prom_cases.h"
#include "trainer/extract/extract.h"
#include "trainer/response/prom.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CASES "tests/cases/packages"

static struct tw_extract_args make_args(enum tw_row_level level)
{
	const struct tw_extract_args args = {
		.source = tw_energy_source_find("rapl-sysfs"),
		.group = tw_feature_group_find("BPFOnly"),
		.level = level,
		.packages = true,
	};

	return args;
}

static struct tw_prom *read_case(const char *name)
{
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };
	char path[256];

	snprintf(path, sizeof(path), CASES "/%s/input.json", name);
	if (tw_prom_read(path, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static void extract_case(const char *name, const struct tw_extract_args *args,
			 struct tw_dataset *out)
{
	struct tw_prom *p = read_case(name);
	struct tw_err err = { 0 };

	if (tw_extract(p, args, out, &err) < 0)
		fail_msg("%s", err.text);
	tw_prom_free(p);
}

/* Extract a case with these arguments. */
static void expect_column(const char *name, const struct tw_extract_args *args,
			  const char *column, const double *want, size_t count)
{
	struct tw_dataset d = { 0 };
	const double *v;

	extract_case(name, args, &d);
	v = tw_dataset_find(&d, column);
	assert_non_null(v);
	assert_int_equal(d.rows, count);
	for (size_t i = 0; i < count; i++)
		if (fabs(v[i] - want[i]) > 1e-15)
			fail_msg("%s, row %zu is %.17g, not %.17g", column, i, v[i],
				 want[i]);
	tw_dataset_release(&d);
}

#define EXPECT(name, args, column, ...)                                    \
	expect_column(name, args, column, (const double[]){ __VA_ARGS__ }, \
		      sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

static void every_case_gives_its_table_or_its_error(void **state)
{
	const struct tw_extract_args args = make_args(TW_ROWS_CONTAINER);

	(void)state;
	assert_true(run_prom_cases(CASES, &args) > 25);
}

static void usage_is_summed_over_containers_before_division(void **state)
{
	const struct tw_extract_args args = make_args(TW_ROWS_NODE);

	(void)state;
	/* c1 and c2 use 0.375 + 0 and 0.125 + 1; then 0.125 + 0.5 and 0.375 + 0.5. */
	EXPECT("two-containers", &args, "packge_ratio_0", 0.25, 0.625 / 1.5, 0);
	EXPECT("two-containers", &args, "packge_ratio_1", 0.75, 0.875 / 1.5, 1);
	EXPECT("two-containers", &args, "package_usage", 1.5, 1.5, 1);
	EXPECT("two-containers", &args, "package_1_package_power", 15, 25, 45);
}

/* The text of a case's table. */
static void write_case(const char *name, const struct tw_extract_args *args,
		       struct tw_buf *out)
{
	struct tw_dataset d = { 0 };

	extract_case(name, args, &d);
	tw_csv_write(&d, out);
	tw_dataset_release(&d);
}

static void expect_as_without_the_gauge(const struct tw_extract_args *args)
{
	struct tw_buf with = { 0 }, without = { 0 };

	write_case("good", args, &with);
	write_case("no-gauge", args, &without);
	assert_string_equal(with.data, without.data);
	assert_null(strstr(with.data, "package_0"));
	tw_buf_clear(&with);
	tw_buf_clear(&without);
}

static void packages_are_separated_only_on_request(void **state)
{
	struct tw_extract_args args = make_args(TW_ROWS_CONTAINER);

	(void)state;
	args.packages = false;
	expect_as_without_the_gauge(&args);
	args.packages = true;
	args.compat = TW_COMPAT_KMS;
	expect_as_without_the_gauge(&args);
}

static void a_platform_has_no_packages(void **state)
{
	struct tw_extract_args args = make_args(TW_ROWS_CONTAINER);
	struct tw_prom *p = read_case("good");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	args.source = tw_energy_source_find("acpi");
	assert_int_equal(tw_extract(p, &args, &d, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	tw_prom_free(p);
}

static void a_guest_has_its_own_usage(void **state)
{
	struct tw_extract_args args = make_args(TW_ROWS_CONTAINER);

	(void)state;
	EXPECT("vm", &args, "packge_ratio_0", 0.75, 0.25, 0.5);
	args.vm_metrics = true;
	EXPECT("vm", &args, "packge_ratio_0", 0.9, 0.8, 0.9);
	EXPECT("vm", &args, "package_0_package_power", 30, 40, 20);
}

/* The counter of package 0 falls; its sum with package 1 does not. */
static void a_reset_of_one_package_repeats_its_power(void **state)
{
	struct tw_extract_args args = make_args(TW_ROWS_CONTAINER);

	(void)state;
	args.resets = TW_RESETS_CARRY;
	EXPECT("falling-energy", &args, "package_power", 45, 20, 56);
	EXPECT("falling-energy", &args, "package_0_package_power", 30, 30, 11);
	EXPECT("falling-energy", &args, "package_1_package_power", 15, 25, 45);
}

/* Each machine has its own usage. */
static void one_of_several_machines_has_its_own_usage(void **state)
{
	struct tw_extract_args args = make_args(TW_ROWS_CONTAINER);

	(void)state;
	args.machine = "node-a";
	EXPECT("two-machines", &args, "packge_ratio_0", 0.75, 0.25, 0.5);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_extract_args args = make_args(TW_ROWS_CONTAINER);
	struct tw_prom *p = read_case("two-containers");

	(void)state;
	for (int n = 1;; n++) {
		struct tw_buf warnings = { 0 };
		struct tw_dataset d = { 0 };
		struct tw_err err = { 0 };
		int rc;

		args.warnings = &warnings;
		fail_alloc_at(n);
		rc = tw_extract(p, &args, &d, &err);
		tw_dataset_release(&d);
		tw_buf_clear(&warnings);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 60);
			break;
		}
	}
	tw_prom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_case_gives_its_table_or_its_error),
		cmocka_unit_test(usage_is_summed_over_containers_before_division),
		cmocka_unit_test(packages_are_separated_only_on_request),
		cmocka_unit_test(a_platform_has_no_packages),
		cmocka_unit_test(a_guest_has_its_own_usage),
		cmocka_unit_test(a_reset_of_one_package_repeats_its_power),
		cmocka_unit_test(one_of_several_machines_has_its_own_usage),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("packages", tests, NULL, NULL);
}
