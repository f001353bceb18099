/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "cli/export/export.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/same_files.h"
#include "tests/unit/train_fixture.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

#define GROUP "rapl-sysfs/AbsPower/CounterOnly/"

/* A pipeline of two trainers, of which the first is much better. */
static void make_pipeline(struct tw_train_result *r)
{
	struct training t;
	struct tw_err err = { 0 };

	train_set_up(&t, 40);
	assert_int_equal(
		tw_strs_split(&t.job.abs_trainers,
			      "LinearRegressionTrainer,LogarithmicRegressionTrainer",
			      &err),
		0);
	strcpy(t.job.spec.processor, "a|b");
	t.job.spec.cores = 8;
	if (tw_train(&t.job, r, &err) < 0)
		fail_msg("%s", err.text);
	train_tear_down(&t);
}

static void export_within(double mae, struct tw_fileset *out,
			  struct tw_export_counts *counts)
{
	const struct tw_export_args args = { "p", mae, NAN, "A. Nobody", NULL };
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };

	make_pipeline(&r);
	if (tw_export(&r.pipeline, &args, out, counts, &err) < 0)
		fail_msg("%s", err.text);
	tw_train_result_release(&r);
}

static const char *text_of(const struct tw_fileset *s, const char *name)
{
	const struct tw_fileset_file *f = tw_fileset_find(s, name);

	if (f == NULL)
		fail_msg("there is no file '%s'", name);
	return f->data;
}

static void assert_has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void an_export_has_cards_plots_reports_and_tables(void **state)
{
	struct tw_export_counts n = { 0 };
	struct tw_fileset files = { 0 };
	const char *readme;

	(void)state;
	export_within(NAN, &files, &n);
	assert_int_equal(n.models, 2);
	assert_int_equal(n.left_out, 0);
	assert_int_equal(n.node_types, 1);
	readme = text_of(&files, "README.md");
	assert_has(readme, "# p\n\nAll models, however large their errors.");
	assert_has(readme, "Published by A. Nobody.");
	assert_has(readme, "| 0 | a\\|b | 8 | - | - | - | 0 | "
			   "[link](./error_report/node_type_0.md) |");
	/* The best of the group only. */
	assert_has(readme, "| 0 | CounterOnly | LinearRegressionTrainer_0 | 0.00 |");
	assert_null(strstr(readme, "LogarithmicRegressionTrainer"));
	assert_has(text_of(&files, "error_report/node_type_0.md"),
		   "| CounterOnly | LogarithmicRegressionTrainer_0 |");
	assert_has(text_of(&files, GROUP "LinearRegressionTrainer_0.card.md"),
		   "(LinearRegressionTrainer_0.package.power-curve.svg)");
	text_of(&files, GROUP "LinearRegressionTrainer_0.card.json");
	text_of(&files, GROUP "LinearRegressionTrainer_0.dram.residuals.svg");
	text_of(&files, GROUP "LinearRegressionTrainer_0.zip");
	text_of(&files, GROUP "LinearRegressionTrainer_0.json");
	/* Nothing draws power there. */
	assert_null(
		tw_fileset_find(&files, GROUP "LinearRegressionTrainer_0.core.time.svg"));
	tw_fileset_clear(&files);
}

static void only_models_within_the_limits_are_exported(void **state)
{
	struct tw_export_counts n = { 0 };
	struct tw_fileset files = { 0 };

	(void)state;
	export_within(0.5, &files, &n);
	assert_int_equal(n.models, 1);
	assert_int_equal(n.left_out, 1);
	assert_null(tw_fileset_find(&files, GROUP "LogarithmicRegressionTrainer_0.zip"));
	assert_has(text_of(&files, "README.md"),
		   "Only models with MAE at most 0.5 W; 1 others are left out.");
	assert_has(text_of(&files, "metadata.json"), "\"max_mae\": 0.5");
	assert_null(strstr(text_of(&files, "rapl-sysfs_AbsPower_model_metadata.csv"),
			   "Logarithmic"));
	tw_fileset_clear(&files);
}

static void an_empty_export_is_refused(void **state)
{
	const struct tw_export_args args = { "p", NAN, -1.0, NULL, NULL };
	struct tw_export_counts n = { 0 };
	struct tw_train_result r = { 0 };
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	make_pipeline(&r);
	assert_int_equal(tw_export(&r.pipeline, &args, &files, &n, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text, "none of 2 models is within the limits");
	assert_int_equal(files.count, 0);
	tw_train_result_release(&r);
}

static void the_same_pipeline_gives_the_same_bytes(void **state)
{
	struct tw_fileset a = { 0 }, b = { 0 };
	struct tw_export_counts n = { 0 };

	(void)state;
	export_within(NAN, &a, &n);
	export_within(NAN, &b, &n);
	same_files(&a, &b);
	tw_fileset_clear(&a);
	tw_fileset_clear(&b);
}

static int export(void *arg, struct tw_err *err)
{
	const struct tw_export_args args = { "p", NAN, NAN, NULL, NULL };
	struct tw_export_counts counts = { 0 };
	struct tw_fileset files = { 0 };
	const int rc = tw_export(arg, &args, &files, &counts, err);

	tw_fileset_clear(&files);
	return rc;
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_train_result r = { 0 };
	size_t ended = 0;
	int n = 1;

	(void)state;
	make_pipeline(&r);
	while (fail_alloc_ends(n, export, &r.pipeline, &ended))
		n += 3;
	assert_true(n > 100 && ended > 0);
	tw_train_result_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_export_has_cards_plots_reports_and_tables),
		cmocka_unit_test(only_models_within_the_limits_are_exported),
		cmocka_unit_test(an_empty_export_is_refused),
		cmocka_unit_test(the_same_pipeline_gives_the_same_bytes),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
