/* SPDX-License-Identifier: Apache-2.0 */
/* Merges of parts: which parts are refused. test_shards.py has those that succeed. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "model-db/fitness.h"
#include "model-db/pipeline.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"
#include "trainer/shards/merge.h"
#include "trainer/shards/part.h"
#include "trainer/shards/plan.h"
#include "trainer/train.h"
#include "trainer/train_refusal.h"
#include "trainer/train_result.h"
#include "trainer/train_unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNITS 5
#define TRAINER "SGDRegressorTrainer"

/* A plan of five units on the data of a machine of node type 2. */
struct fixture {
	char *dir;
	struct tw_plan_machine machine;
	struct tw_plan_data data;
	struct tw_plan_unit unit[UNITS];
	struct tw_plan plan;
	struct tw_train_data trained;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->dir = scratch_new();
	f->machine = (struct tw_plan_machine){ .name = "a", .node_type = 2 };
	f->data = (struct tw_plan_data){ .source = "acpi",
					 .output = "AbsPower",
					 .group = "CounterOnly" };
	for (size_t i = 0; i < UNITS; i++)
		f->unit[i].trainer = TRAINER;
	f->plan = (struct tw_plan){ .digest = "0123456789abcdef",
				    .machine = &f->machine,
				    .data = &f->data,
				    .unit = f->unit,
				    .machines = 1,
				    .datas = 1,
				    .units = UNITS };
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	scratch_free(f->dir);
	free(f);
	return 0;
}

/* Write the part of a unit, of these models or of none. */
static void write_part(struct fixture *f, size_t unit, const struct sample *s,
		       size_t models)
{
	struct tw_train_unit u = { .data = &f->trained };
	struct tw_err err = { 0 };

	if (models == 0)
		tw_fail(&u.err, TW_INVALID, "no model");
	for (size_t i = 0; i < models; i++) {
		struct tw_model m = { 0 };

		sample_model(&s[i], &m);
		assert_int_equal(tw_pipeline_add_model(&u.files, &m, &err), 0);
		tw_model_release(&m);
	}
	if (tw_part_write(f->dir, &f->plan, unit, &u, &err) < 0)
		fail_msg("%s", err.text);
	tw_fileset_clear(&u.files);
}

static void merge(const struct fixture *f, const char *dir, const char *more,
		  struct tw_err *err)
{
	const struct tw_train_job job = { .name = "p" };
	struct tw_train_result out = { 0 };
	struct tw_strs dirs = { 0 };

	assert_int_equal(tw_strs_adds(&dirs, dir, err), 0);
	if (more != NULL)
		assert_int_equal(tw_strs_adds(&dirs, more, err), 0);
	assert_int_equal(tw_merge_parts(&f->plan, &job, &dirs, &out, err), -1);
	tw_strs_clear(&dirs);
}

/* The merge of the directories fails, with a reason of this end. */
static void check_refused(const struct fixture *f, const char *dir, const char *more,
			  const char *why)
{
	struct tw_err err = { 0 };
	const char *end;

	merge(f, dir, more, &err);
	end = strstr(err.text, why);
	if (end == NULL || strcmp(end, why) != 0)
		fail_msg("got %s\nwant %s", err.text, why);
}

/* ---- the plan ---- */

static void check_unknown(const struct fixture *f, const char *name)
{
	struct tw_err err = { 0 };

	merge(f, f->dir, NULL, &err);
	if (strstr(err.text, name) == NULL)
		fail_msg("%s", err.text);
}

/* A plan of a later release may name trainers, sources, groups that this one lacks. */
static void a_plan_of_unknown_names_is_refused(void **state)
{
	struct fixture *f = *state;

	f->unit[UNITS - 1].trainer = "T9";
	check_unknown(f, "'T9'");
	f->unit[UNITS - 1].trainer = TRAINER;
	f->data.group = "G9";
	check_unknown(f, "'G9'");
	f->data.group = "CounterOnly";
	f->data.source = "model";
	check_unknown(f, "'model'");
	f->data.source = "acpi";
	f->data.output = "o9";
	check_unknown(f, "data[0]: no output 'o9'");
}

/* ---- which parts there are ---- */

#define ADDRESS "a/acpi/AbsPower/CounterOnly/" TRAINER

static void missing_units_are_counted_and_some_named(void **state)
{
	struct fixture *f = *state;

	check_refused(f, f->dir, NULL,
		      "5 of 5 units are missing: " ADDRESS ", " ADDRESS ", " ADDRESS
		      ", ..");
	write_part(f, 4, NULL, 0);
	write_part(f, 0, NULL, 0);
	check_refused(f, f->dir, NULL,
		      "3 of 5 units are missing: " ADDRESS ", " ADDRESS ", " ADDRESS);
	write_part(f, 1, NULL, 0);
	write_part(f, 2, NULL, 0);
	check_refused(f, f->dir, NULL, "1 of 5 units are missing: " ADDRESS);
}

static void only_files_with_the_suffix_are_parts(void **state)
{
	static const char *const others[] = { ".unit.zip", "0.unit.zip.part", "0.zip" };
	struct fixture *f = *state;
	struct tw_err err = { 0 };
	char *none = scratch_path(f->dir, "none");

	for (size_t i = 0; i < TW_COUNT(others); i++) {
		char *path = scratch_path(f->dir, others[i]);

		assert_int_equal(tw_file_replace(path, "x", 1, &err), 0);
		free(path);
	}
	check_refused(f, f->dir, NULL,
		      "5 of 5 units are missing: " ADDRESS ", " ADDRESS ", " ADDRESS
		      ", ..");
	check_refused(f, f->dir, none, "No such file or directory");
	check_refused(f, none, f->dir, "No such file or directory");
	free(none);
}

/* A unit may have been trained twice. */
static void two_results_of_a_unit_are_the_same(void **state)
{
	struct fixture *f = *state;
	char *first = f->dir, want[768];

	write_part(f, 0, NULL, 0);
	f->dir = scratch_new();
	write_part(f, 0, NULL, 0);
	write_part(f, 1, NULL, 0);
	check_refused(f, first, f->dir,
		      "3 of 5 units are missing: " ADDRESS ", " ADDRESS ", " ADDRESS);
	scratch_free(f->dir);
	f->dir = scratch_new();
	f->trained.rows = 1;
	write_part(f, 0, NULL, 0);
	snprintf(want, sizeof(want),
		 "'%s/000000.unit.zip' and '%s/000000.unit.zip' are different results of "
		 "unit 0: remove the wrong one",
		 first, f->dir);
	check_refused(f, first, f->dir, want);
	scratch_free(first);
}

/* ---- a part's model ---- */

static void a_part_has_the_model_of_its_unit(void **state)
{
	static const struct {
		struct sample s[2];
		size_t models;
		const char *why; /* NULL: accepted */
	} cases[] = {
		{ { { .source = "acpi", .node_type = 2 } }, 1, NULL },
		{ { { .source = "acpi", .node_type = 2 },
		    { .source = "acpi", .node_type = 3 } },
		  2,
		  ": 2 models, want one" },
		{ { { .source = "acpi", .node_type = 1 } },
		  1,
		  ": the model '" TRAINER "_1' is of another unit" },
		{ { { .node_type = 2 } },
		  1,
		  ": the model '" TRAINER "_2' is of another unit" },
		{ { { .source = "acpi", .node_type = 2, .output = TW_DYN_POWER } },
		  1,
		  ": the model '" TRAINER "_2' is of another unit" },
		{ { { .source = "acpi", .node_type = 2, .group = "BPFOnly" } },
		  1,
		  ": the model '" TRAINER "_2' is of another unit" },
		{ { { .source = "acpi", .node_type = 2, .trainer = "T" } },
		  1,
		  ": the model 'T_2' is of another unit" },
	};

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct fixture *f = *state;

		write_part(f, 3, cases[i].s, cases[i].models);
		check_refused(f, f->dir, NULL,
			      cases[i].why != NULL ? cases[i].why
						   : "4 of 5 units are missing: " ADDRESS
						     ", " ADDRESS ", " ADDRESS ", ..");
		scratch_free(f->dir);
		f->dir = scratch_new();
	}
}

/* A part has no rows; the drift is in the metadata of its model. */
static void the_drift_of_a_refused_model_is_told(void **state)
{
	static const struct sample drifts = {
		.source = "acpi",
		.node_type = 2,
		.metadata = "{\"certificate_refused\": \"" TW_REFUSED_DRIFT
			    "\", \"platform_drift\": 45.26}"
	};
	const struct tw_train_job job = { .name = "p", .isolator = &tw_isolator_none };
	struct fixture *f = *state;
	struct tw_train_result out = { 0 };
	struct tw_strs dirs = { 0 };
	struct tw_err err = { 0 };

	for (size_t i = 0; i < UNITS; i++)
		write_part(f, i, &drifts, i == 0);
	assert_int_equal(tw_strs_adds(&dirs, f->dir, &err), 0);
	if (tw_merge_parts(&f->plan, &job, &dirs, &out, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_add(&out.quality, "", 1);
	if (strstr(out.quality.data, "; drift of platform: 45.3 W an hour\n") == NULL)
		fail_msg("%s", out.quality.data);
	tw_train_result_release(&out);
	tw_strs_clear(&dirs);
}

static void without_memory_nothing_is_merged(void **state)
{
	const struct sample s = { .source = "acpi", .node_type = 2 };
	struct fixture *f = *state;
	struct tw_strs dirs = { 0 };
	struct tw_err unused = { 0 };
	bool hit = true;

	assert_int_equal(tw_strs_adds(&dirs, f->dir, &unused), 0);
	write_part(f, 0, &s, 1);
	for (int n = 1; hit; n++) {
		const struct tw_train_job job = { .name = "p" };
		struct tw_train_result out = { 0 };
		struct tw_err err = { 0 };

		fail_alloc_at(n);
		assert_int_equal(tw_merge_parts(&f->plan, &job, &dirs, &out, &err), -1);
		hit = fail_alloc_hit();
		/* The names of what is missing may lack memory. */
		if (err.code != (hit ? TW_NOMEM : TW_NOTFOUND) &&
		    strstr(err.text, "missing: ?") == NULL)
			fail_msg("%d: %s", n, err.text);
	}
	tw_strs_clear(&dirs);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_plan_of_unknown_names_is_refused),
		TEST(missing_units_are_counted_and_some_named),
		TEST(only_files_with_the_suffix_are_parts),
		TEST(two_results_of_a_unit_are_the_same),
		TEST(a_part_has_the_model_of_its_unit),
		TEST(the_drift_of_a_refused_model_is_told),
		TEST(without_memory_nothing_is_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
