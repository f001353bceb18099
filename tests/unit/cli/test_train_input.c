/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "cli/train/train_input.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/field/feature.h"
#include "tests/unit/scratch.h"
#include "trainer/train_result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char table[] = "timestamp,cache_miss,cpu_cycles,package_power\n"
			    "1,5,6,7\n"
			    "4,8,9,10\n";

/* Write the table as dir/t.csv and read it as `prefix` says. */
static int read_one(const char *prefix, const struct tw_feature_group *group,
		    struct tw_train_input *in, struct tw_buf *warnings,
		    struct tw_err *err)
{
	char *dir = scratch_new(), *path = NULL, file[4096];
	struct tw_strs files = { 0 };
	int status;

	assert_int_equal(tw_path_join(&path, err, dir, "t.csv", NULL), 0);
	assert_int_equal(tw_file_replace(path, table, strlen(table), err), 0);
	snprintf(file, sizeof(file), "%s%s", prefix, path);
	assert_int_equal(tw_strs_adds(&files, file, err), 0);
	status = tw_train_input_csv(in, &files, tw_energy_source_find("rapl-sysfs"),
				    group, warnings, NULL, NULL, err);
	tw_strs_clear(&files);
	free(path);
	scratch_free(dir);
	return status;
}

static void a_file_names_its_group_or_takes_the_common_one(void **state)
{
	const struct tw_feature_group *basic = tw_feature_group_find("Basic");
	struct tw_train_input own = { 0 }, common = { 0 };
	struct tw_buf warnings = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(read_one("CounterOnly=", basic, &own, &warnings, &err), 0);
	assert_int_equal(own.tables, 1);
	assert_string_equal(own.table[0].group->name, "CounterOnly");
	assert_string_equal(own.table[0].source->name, "rapl-sysfs");
	assert_int_equal(own.table[0].data->rows, 2);
	assert_int_equal(read_one("", basic, &common, &warnings, &err), 0);
	assert_string_equal(common.table[0].group->name, "Basic");
	tw_train_input_release(&own);
	tw_train_input_release(&common);
	tw_buf_clear(&warnings);
}

static void missing_features_are_reported(void **state)
{
	struct tw_train_input in = { 0 };
	struct tw_buf warnings = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(read_one("CounterOnly=", NULL, &in, &warnings, &err), 0);
	assert_non_null(
		strstr(warnings.data,
		       "t.csv' has no 'cpu_instructions', going on without it\n"));
	assert_null(strstr(warnings.data, "cpu_cycles"));
	tw_train_input_release(&in);
	tw_buf_clear(&warnings);
}

static void wrong_arguments_are_named(void **state)
{
	static const char absent_file[] = "CounterOnly=/nonexistent/t.csv";
	struct tw_train_input in[3] = { 0 };
	struct tw_strs files = { 0 };
	struct tw_buf warnings = { 0 };
	struct tw_err none = { 0 }, unknown = { 0 }, absent = { 0 };

	(void)state;
	assert_int_equal(read_one("", NULL, &in[0], &warnings, &none), -1);
	assert_non_null(
		strstr(none.text, "the feature group is missing: want GROUP=PATH"));
	assert_int_equal(read_one("Nope=", NULL, &in[1], &warnings, &unknown), -1);
	assert_non_null(strstr(unknown.text, "no feature group 'Nope'; there are "));
	assert_int_equal(tw_strs_adds(&files, absent_file, &absent), 0);
	assert_int_equal(tw_train_input_csv(&in[2], &files, tw_energy_source_find("acpi"),
					    NULL, &warnings, NULL, NULL, &absent),
			 -1);
	assert_non_null(strstr(absent.text, "/nonexistent/t.csv"));
	for (size_t i = 0; i < 3; i++)
		tw_train_input_release(&in[i]);
	tw_strs_clear(&files);
	tw_buf_clear(&warnings);
}

static void the_report_has_models_failures_and_times(void **state)
{
	struct tw_train_row rows[] = {
		{ "acpi", "AbsPower", "Basic", "A", NULL, 0, 1.25, 10.5, NAN, NAN, 187,
		  "", "" },
		{ "acpi", "AbsPower", "Basic", "B", NULL, 0, 2.5, NAN, NAN, NAN, 187, "",
		  "" },
		{ "acpi", "DynPower", "Basic", "A", NULL, 0, 0, 0, NAN, NAN, 2, "2 rows",
		  "" },
	};
	const struct tw_train_result r = { .row = rows,
					   .rows = 3,
					   .models = 2,
					   .extract_ns = 2000000,
					   .fit_ns = 500000 };
	const struct tw_train_times t = { .parse_ns = 1000000, .total_ns = 9900000 };
	struct tw_buf out = { 0 };

	(void)state;
	tw_train_result_report(&r, &t, &out);
	assert_non_null(
		strstr(out.data,
		       " A                                    1.250    10.50    187\n"));
	assert_non_null(
		strstr(out.data,
		       " B                                    2.500        -    187\n"));
	assert_non_null(
		strstr(out.data, "        -        -      2  no model: 2 rows\n"));
	assert_non_null(strstr(out.data, "parse 1.0 ms, extract 2.0 ms, isolate 0.0 ms, "
					 "fit and validate 0.5 ms, pack 0.0 ms, "
					 "publish 0.0 ms, total 9.9 ms\n"));
	tw_buf_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_names_its_group_or_takes_the_common_one),
		cmocka_unit_test(missing_features_are_reported),
		cmocka_unit_test(wrong_arguments_are_named),
		cmocka_unit_test(the_report_has_models_failures_and_times),
	};

	return cmocka_run_group_tests_name("train_input", tests, NULL, NULL);
}
