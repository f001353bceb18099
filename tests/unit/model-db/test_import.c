/* SPDX-License-Identifier: Apache-2.0 */
/* Old pipelines as sets of files; real ones are in tests/integration. */
#include "tests/unit/tw_test.h"

#include "estimator/predict/categories.h"
#include "estimator/predict/predictor.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/zip/fileset.h"
#include "model-db/import/import.h"
#include "model-db/import/import_find.h"
#include "model-db/import/import_model.h"
#include "model-db/manifest.h"
#include "model-db/model.h"
#include "model-db/pipeline.h"
#include "tests/unit/fail_alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP "rapl/AbsPower/BPFOnly/"
#define WEIGHTS(categories, feature, more)                                            \
	"{\"package\":{\"All_Weights\":{\"Bias_Weight\":7,\"Categorical_Variables\":" \
	"{" categories "},\"Numerical_Variables\":{\"" feature                        \
	"\":{\"scale\":2000,\"mean\":0,\"variance\":0,\"weight\":3}}" more "}}}"
#define LINEAR(feature) WEIGHTS("", feature, "")
#define ARCHITECTURES                                              \
	"\"cpu_architecture\":{\"Sandy Bridge\":{\"weight\":1.5}," \
	"\"Broadwell\":{\"weight\":-2}}"

struct file {
	const char *name, *text;
};

static const struct file both[] = {
	{ "metadata.json", "{\"name\":\"old\"}" },
	{ "node_type_index.json",
	  "{\"1\":{\"attrs\":{\"processor\":\"x\",\"cores\":4,\"chips\":1,\"memory\":8,"
	  "\"frequency\":2000},\"members\":[\"m\"]}}" },
	{ "rapl_AbsPower_model_metadata.csv",
	  "model_name,mae,package_mae,mape,feature_group\n"
	  "SGDRegressorTrainer_1,2.5,2.5,-1,CounterOnly\n"
	  "SGDRegressorTrainer_1,1.5,\"1.5\",x,BPFOnly\n" },
	{ GROUP "SGDRegressorTrainer_1.json", LINEAR("bpf_cpu_time_us") },
	{ GROUP "KNeighborsRegressorTrainer_1/metadata.json",
	  "{\"model_class\":\"scikit\",\"features\":[\"bpf_cpu_time_us\"]}" },
	{ GROUP "SVRRegressorTrainer_1.zip", "no zip" },
};

static int fill(const struct file *files, size_t count, struct tw_fileset *out,
		struct tw_err *err)
{
	for (size_t i = 0; i < count; i++)
		if (tw_fileset_add(out, files[i].name, files[i].text,
				   strlen(files[i].text), err) < 0)
			return -1;
	return 0;
}

/* ---- places and names ---- */

static void places_are_directories_above_source_and_output(void **state)
{
	static const struct {
		const char *name, *place; /* NULL: none */
	} cases[] = {
		{ "rapl/AbsPower/BPFOnly/X_0.zip", "" },
		{ "v0.6/nx12/std/acpi/DynPower/Basic/X_0/weight.json", "v0.6/nx12/std" },
		{ "rapl/rapl-sysfs/AbsPower/Basic/X_0.zip", "rapl" },
		{ "rapl/AbsPower/X_0.zip", NULL },
		{ "rapl/AbsPowerVM/BPFOnly/X_0.zip", NULL },
		{ "mine/AbsPower/BPFOnly/X_0.zip", NULL },
		{ "metadata.json", NULL },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct file f = { cases[i].name, "x" };
		struct tw_fileset s = { 0 };
		struct tw_strs places = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(fill(&f, 1, &s, &err), 0);
		assert_int_equal(tw_import_places(&s, &places, &err), 0);
		assert_int_equal(places.count, cases[i].place != NULL);
		if (cases[i].place != NULL)
			assert_string_equal(places.at[0], cases[i].place);
		tw_strs_clear(&places);
		tw_fileset_clear(&s);
	}
}

static void names_are_the_shortest_unique_suffixes(void **state)
{
	static const char *const places[] = { "a/x/std", "b/x/std", "ec2", "c/other",
					      "d/ec2" };
	static const char *const names[] = { "a-x-std", "b-x-std", "ec2", "other",
					     "d-ec2" };
	struct tw_strs l = { 0 }, out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(places); i++)
		assert_int_equal(tw_strs_adds(&l, places[i], &err), 0);
	assert_int_equal(tw_strs_adds(&l, "", &err), 0);
	assert_int_equal(tw_import_names(&l, "self", &out, &err), 0);
	for (size_t i = 0; i < TW_COUNT(names); i++)
		assert_string_equal(out.at[i], names[i]);
	assert_string_equal(out.at[TW_COUNT(names)], "self");
	tw_strs_clear(&out);
	tw_strs_clear(&l);
}

static void a_set_is_replaced_by_the_files_of_its_one_place(void **state)
{
	static const struct file files[] = {
		{ "a/b/" GROUP "X_0.json", "x" },
		{ "a/b/metadata.json", "{}" },
		{ "a/bc/y", "y" },
	};
	static const struct file another = { "c/" GROUP "X_0.json", "x" };
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(fill(files, TW_COUNT(files), &s, &err), 0);
	assert_int_equal(tw_import_enter(&s, &err), 0);
	assert_int_equal(s.count, 2);
	assert_non_null(tw_fileset_find(&s, "metadata.json"));
	assert_int_equal(fill(&another, 1, &s, &err), 0);
	assert_int_equal(tw_import_enter(&s, &err), -1);
	assert_string_equal(err.text, "2 pipelines, want one");
	tw_fileset_clear(&s);
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_import_enter(&s, &err), -1);
	assert_string_equal(err.text, "not a pipeline: it has no model");
}

static void our_pipelines_have_a_manifest_or_a_creator(void **state)
{
	static const struct {
		struct file file;
		bool old;
	} cases[] = {
		{ { "metadata.json", "{}" }, true },
		{ { "metadata.json", "[" }, true },
		{ { "x", "{}" }, true },
		{ { "metadata.json", "{\"creator\":\"tallywatt 0.1.0\"}" }, false },
		{ { TW_MANIFEST_NAME, "{}" }, false },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_fileset s = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(fill(&cases[i].file, 1, &s, &err), 0);
		assert_int_equal(tw_import_is_old(&s), cases[i].old);
		tw_fileset_clear(&s);
	}
}

/* ---- models ---- */

struct outcomes {
	size_t of[TW_IMPORT_OUTCOMES];
	char why[256];  /* of the last */
	double watts;   /* of the last model, for a row of 4 ms on a Sandy Bridge */
	double unknown; /* the same, on a machine of which nothing is known */
};

static void told(void *arg, const char *model, enum tw_import_outcome outcome,
		 const char *why)
{
	struct outcomes *o = arg;

	(void)model;
	assert_true(*why != '\0');
	snprintf(o->why, sizeof(o->why), "%s", why);
	o->of[outcome]++;
}

static int look(void *arg, const struct tw_model *m, struct tw_err *err)
{
	static const char *const name = "cpu_architecture", *const value = "Sandy Bridge";
	const struct tw_categories given = { .names = &name,
					     .values = &value,
					     .count = 1 };
	const double x = 4000;
	struct tw_rows row = { .x = &x, .rows = 1, .stride = 1, .categories = &given };
	const struct tw_predictor *p = tw_predictor_find(m->info.predictor);
	struct outcomes *o = arg;
	void *state = NULL;

	if (tw_predictor_load(p, m->part[0].text, m->part[0].len, &m->part[0].features,
			      &state, err) < 0)
		return -1;
	p->predict(state, &row, &o->watts);
	row.categories = NULL;
	p->predict(state, &row, &o->unknown);
	tw_predictor_free(p, state);
	return 0;
}

static int import(const struct file *files, size_t count, struct tw_fileset *out,
		  struct outcomes *o, struct tw_err *err)
{
	const struct tw_import_listener listener = { .report = told,
						     .look = look,
						     .arg = o };
	struct tw_fileset old = { 0 };
	int rc = -1;

	if (fill(files, count, &old, err) < 0 ||
	    tw_import_pipeline(&old, out, &listener, err) < 0)
		goto out;
	rc = 0;
out:
	tw_fileset_clear(&old);
	return rc;
}

static void weights_without_metadata_take_errors_from_the_table(void **state)
{
	const struct tw_fileset_file *f;
	struct tw_fileset out = { 0 };
	struct outcomes o = { 0 };
	struct tw_err err = { 0 };
	size_t models;

	(void)state;
	if (import(both, TW_COUNT(both), &out, &o, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(o.of[TW_IMPORT_USABLE], 1);
	assert_int_equal(o.of[TW_IMPORT_KEPT], 1);
	assert_int_equal(o.of[TW_IMPORT_REFUSED], 1);
	assert_int_equal(tw_pipeline_check(&out, NULL, NULL, &models, &err), 0);
	assert_int_equal(models, 1);
	f = tw_fileset_find(
		&out, "rapl-sysfs/AbsPower/BPFOnly/SGDRegressorTrainer_1/metadata.json");
	assert_non_null(f);
	assert_non_null(strstr(f->data, "\"mae\": 1.5"));
	assert_non_null(strstr(f->data, "\"mape\": null"));
	assert_non_null(tw_fileset_find(&out, TW_PIPELINE_FOREIGN
					"/" GROUP
					"KNeighborsRegressorTrainer_1/metadata.json"));
	tw_fileset_clear(&out);
}

/* The first file of a pipeline is the model. */
static int import_one(const char *name, const char *text, struct outcomes *o,
		      struct tw_err *err)
{
	const struct file files[] = { { name, text }, both[0], both[1] };
	struct tw_fileset out = { 0 };
	int rc = import(files, TW_COUNT(files), &out, o, err);

	tw_fileset_clear(&out);
	return rc;
}

static void categories_of_weights_are_imported_and_count(void **state)
{
	struct outcomes o = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (import_one(GROUP "SGDRegressorTrainer_1.json",
		       WEIGHTS(ARCHITECTURES, "bpf_cpu_time_us", ""), &o, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(o.of[TW_IMPORT_USABLE], 1);
	/* Bias, 4000 ms of a scale of 2000 ms, and the category. */
	assert_true(o.watts == 7 + 3 * 2 + 1.5);
	assert_true(o.unknown == 7 + 3 * 2);
}

static void a_curve_with_categories_is_refused(void **state)
{
	struct outcomes o = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(import_one(GROUP "LogarithmicRegressionTrainer_1.json",
				    WEIGHTS(ARCHITECTURES, "bpf_cpu_time_us",
					    ",\"CurveFit_Weights\":[1,2,3]"),
				    &o, &err),
			 -1);
	assert_string_equal(err.text, "none of the 1 models can be used");
	assert_non_null(strstr(o.why, "package: it has categories"));
}

#define SPECPOWER_GROUP "acpi/AbsPower/BPFOnly/"

/* Two results: 64 cores with two threads each, and 4 cores without SMT. */
static const struct file specpower[] = {
	{ "metadata.json", "{\"name\":\"specpower\"}" },
	{ "node_type_index.json",
	  "{\"0\":{\"attrs\":{\"processor\":\"amd_epyc_7763\",\"cores\":128.0,"
	  "\"chips\":2.0,\"memory\":256.0,\"frequency\":2500.0},\"members\":"
	  "[\"dell-amd_epyc_7763-2500.0-128.0cores-32.0kbcache-256.0gb-7\"]},"
	  "\"1\":{\"attrs\":{\"processor\":\"intel_xeon_x3360\",\"cores\":4.0,"
	  "\"chips\":1.0},\"members\":"
	  "[\"nec-intel_xeon_x3360-2800.0-4.0cores-32.0kbcache-4.0gb-0\"]}}" },
	{ SPECPOWER_GROUP "SGDRegressorTrainer_0.json",
	  "{\"platform\":{\"All_Weights\":{\"Bias_Weight\":100,\"Categorical_Variables\":"
	  "{},\"Numerical_Variables\":{\"bpf_cpu_time_ms\":{\"scale\":91000.5,"
	  "\"weight\":300}}}}}" },
	{ SPECPOWER_GROUP "ExponentialRegressionTrainer_1.json",
	  "{\"platform\":{\"All_Weights\":{\"Categorical_Variables\":{},"
	  "\"Numerical_Variables\":{\"bpf_cpu_time_ms\":{\"scale\":3991.7}},"
	  "\"CurveFit_Weights\":[1,1,60]}}}" },
};

static void expect_in(const struct tw_fileset *s, const char *name, const char *text)
{
	const struct tw_fileset_file *f = tw_fileset_find(s, name);

	if (f == NULL)
		fail_msg("no '%s'", name);
	if (strstr(f->data, text) == NULL)
		fail_msg("'%s' has no '%s': %s", name, text, f->data);
}

static void the_throughput_of_specpower_becomes_cpu_time(void **state)
{
	static const char sgd[] = SPECPOWER_GROUP "SGDRegressorTrainer_0/";
	struct tw_fileset out = { 0 };
	struct outcomes o = { 0 };
	struct tw_err err = { 0 };
	char name[128];

	(void)state;
	if (import(specpower, TW_COUNT(specpower), &out, &o, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(o.of[TW_IMPORT_USABLE], 2);
	/* Full load is that of all logical CPUs: 256, and not 128 cores. */
	assert_true(fabs(o.watts - (100 + 300 * 4000 / 256000.0)) < 1e-9);
	expect_in(&out, SPECPOWER_GROUP "SGDRegressorTrainer_0.json", "\"scale\":256000");
	expect_in(&out, SPECPOWER_GROUP "ExponentialRegressionTrainer_1/platform.json",
		  "\"scale\":4000");
	/* The training range is the load from rest to full. */
	snprintf(name, sizeof(name), "%sSGDRegressorTrainer_0.json", sgd);
	expect_in(&out, name, "\"feature_min\"");
	expect_in(&out, name, "256000");
	snprintf(name, sizeof(name), "%smetadata.json", sgd);
	expect_in(&out, name, "\"cores\": 256");
	expect_in(&out, name, "\"threads_per_core\": 2");
	expect_in(&out, "node_type_index.json", "256");
	tw_fileset_clear(&out);
}

static void other_pipelines_keep_their_load(void **state)
{
	struct file files[TW_COUNT(specpower)];
	struct tw_fileset out = { 0 };
	struct outcomes o = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	memcpy(files, specpower, sizeof(files));
	files[1].text = "{\"0\":{\"attrs\":{\"processor\":\"amd_epyc_7763\",\"cores\":"
			"128},\"members\":[\"m5.metal\"]}}";
	if (import(files, TW_COUNT(files), &out, &o, &err) < 0)
		fail_msg("%s", err.text);
	expect_in(&out, SPECPOWER_GROUP "SGDRegressorTrainer_0.json",
		  "\"scale\":91000.5");
	expect_in(&out, SPECPOWER_GROUP "SGDRegressorTrainer_0/metadata.json",
		  "\"cores\": 128");
	tw_fileset_clear(&out);
}

static void expect_failed_allocations(const struct file *files, size_t count,
				      size_t usable)
{
	for (int n = 1;; n++) {
		struct tw_fileset out = { 0 };
		struct outcomes o = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = import(files, count, &out, &o, &err);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			tw_fileset_clear(&out);
			break;
		}
		/* A model or a file that there was no memory for is not left out. */
		if (rc < 0)
			assert_int_equal(err.code, TW_NOMEM);
		else
			assert_int_equal(o.of[TW_IMPORT_USABLE], usable);
		tw_fileset_clear(&out);
	}
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	expect_failed_allocations(both, TW_COUNT(both), 1);
	expect_failed_allocations(specpower, TW_COUNT(specpower), 2);
}

static void places_and_names_report_failed_allocations(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		static const struct file files[] = { { "a/p/" GROUP "X_0.json", "x" },
						     { "b/p/" GROUP "X_0.json", "x" } };
		struct tw_fileset s = { 0 }, inner = { 0 };
		struct tw_strs places = { 0 }, names = { 0 };
		struct tw_err err = { 0 };
		int rc = -1;

		fail_alloc_at(n);
		if (fill(files, TW_COUNT(files), &s, &err) == 0 &&
		    tw_import_places(&s, &places, &err) == 0 &&
		    tw_import_names(&places, "self", &names, &err) == 0 &&
		    tw_import_move(&s, places.at[0], &inner, &err) == 0)
			rc = 0;
		tw_strs_clear(&names);
		tw_strs_clear(&places);
		tw_fileset_clear(&inner);
		tw_fileset_clear(&s);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_directories_above_source_and_output),
		cmocka_unit_test(names_are_the_shortest_unique_suffixes),
		cmocka_unit_test(a_set_is_replaced_by_the_files_of_its_one_place),
		cmocka_unit_test(our_pipelines_have_a_manifest_or_a_creator),
		cmocka_unit_test(weights_without_metadata_take_errors_from_the_table),
		cmocka_unit_test(categories_of_weights_are_imported_and_count),
		cmocka_unit_test(a_curve_with_categories_is_refused),
		cmocka_unit_test(the_throughput_of_specpower_becomes_cpu_time),
		cmocka_unit_test(other_pipelines_keep_their_load),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(places_and_names_report_failed_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
