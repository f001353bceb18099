/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/power_model.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model_files.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sample: 10 + (1 cache_miss + 2 cpu_cycles + 3 cpu_instructions) / 1000. */
static struct tw_power_model *make(const struct sample *s)
{
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	sample_model(s, &m);
	if (tw_power_model_new(&m, &p, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(m.parts, 0);
	assert_null(m.info.metadata);
	return p;
}

static void a_part_predicts_from_its_bound_columns(void **state)
{
	static const double x[] = { 7, 1000, 2000, 3000, 7, 0, 0, 0 };
	struct tw_power_model *p =
		make(&(struct sample){ .trainer = "SGDRegressorTrainer" });
	struct tw_strs names = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(
		tw_strs_split(&names, "x,cpu_cycles,cpu_instructions,cache_miss", &err),
		0);
	assert_int_equal(tw_power_model_parts(p), 2);
	assert_int_equal(tw_power_model_component(p, 0), TW_PACKAGE);
	assert_int_equal(tw_power_model_component(p, 1), TW_DRAM);
	assert_string_equal(tw_power_model_info(p)->name, "SGDRegressorTrainer_0");
	for (size_t i = 0; i < 2; i++) {
		uint32_t place[3];
		double watts[2];

		assert_int_equal(tw_power_model_bind(p, i, &names, place, &err), 0);
		tw_power_model_predict(
			p, i,
			&(struct tw_rows){
				.x = x, .rows = 2, .stride = 4, .place = place },
			watts);
		assert_true(watts[0] == 10 + 3 + 2 + 6);
		assert_true(watts[1] == 10);
	}
	tw_strs_clear(&names);
	tw_power_model_free(p);
}

#define FORM(columns, feature)                                                     \
	"{\"bias\":1,\"columns\":[" columns "],\"members\":[{\"weight\":1,"        \
	"\"columns\":[0],\"predictor\":\"linear\",\"model\":{\"All_Weights\":{"    \
	"\"Bias_Weight\":0,\"Numerical_Variables\":{\"" feature "\":{\"scale\":1," \
	"\"weight\":1}}}}}]}"
#define ALONE "\"alone\":" FORM("[0,0,0]", "bpf_cpu_time_ms")
#define FORM_OF_SERIES(columns, feature) "\"series\":" FORM(columns, feature)
#define SERIES FORM_OF_SERIES("[0,2,2]", "bpf_cpu_time_ms@2")

static void a_series_model_has_a_step_and_looks_back(void **state)
{
	const struct sample series = { .group = "BPFOnly",
				       .trainer = "AutoTrainer",
				       .predictor = "ensemble",
				       .text = "{\"ensemble\":{\"floor\":0,\"ceiling\":9,"
					       "\"step_ms\":500," ALONE "," SERIES "}}" };
	const struct sample line = { .trainer = "SGDRegressorTrainer" };
	struct tw_power_model *p = make(&series);

	(void)state;
	assert_int_equal(tw_power_model_back(p), 2);
	assert_true(tw_power_model_step_ms(p) == 500);
	tw_power_model_free(p);
	p = make(&line);
	assert_int_equal(tw_power_model_back(p), 0);
	assert_true(tw_power_model_step_ms(p) == 0);
	tw_power_model_free(p);
}

/* The expected errors look back, and further than the power. */
static void the_rows_that_are_kept_serve_the_expected_errors_too(void **state)
{
	static char errors[] =
		"{\"ensemble\":{\"floor\":0,\"ceiling\":9,\"step_ms\":500," ALONE
		"," FORM_OF_SERIES("[0,5,5]", "bpf_cpu_time_ms@5") "}}";
	const struct sample series = { .group = "BPFOnly",
				       .trainer = "AutoTrainer",
				       .predictor = "ensemble",
				       .text = "{\"ensemble\":{\"floor\":0,\"ceiling\":9,"
					       "\"step_ms\":500," ALONE "," SERIES "}}" };
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	sample_model(&series, &m);
	m.part[0].error_text = strdup(errors);
	m.part[0].error_len = strlen(errors);
	assert_non_null(m.part[0].error_text);
	if (tw_power_model_new(&m, &p, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(tw_power_model_back(p), 5);
	tw_power_model_free(p);
}

static void a_missing_feature_is_named(void **state)
{
	struct tw_power_model *p = make(&(struct sample){ .trainer = "T" });
	struct tw_strs names = { 0 };
	struct tw_err err = { 0 };
	uint32_t place[3];

	(void)state;
	assert_int_equal(tw_strs_split(&names, "cache_miss,cpu_cycles", &err), 0);
	assert_int_equal(tw_power_model_bind(p, 0, &names, place, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text,
			    "model 'T_0' needs 'cpu_instructions', which is missing");
	tw_strs_clear(&names);
	tw_power_model_free(p);
}

/* A model whose watts fall by 1 from 10 for each 1000 misses. */
#define FALLING                                                                   \
	"{\"All_Weights\":{\"Bias_Weight\":10,\"Categorical_Variables\":{},"      \
	"\"Numerical_Variables\":{\"cache_miss\":{\"scale\":1000,\"weight\":-1}," \
	"\"cpu_instructions\":{\"scale\":1,\"weight\":0},"                        \
	"\"cpu_cycles\":{\"scale\":1,\"weight\":0}}}}"

static void negative_predictions_are_zero(void **state)
{
	static const double x[] = { 1e6, 0, 0, 4000, 0, 0 };
	struct tw_power_model *p =
		make(&(struct sample){ .source = "acpi", .text = FALLING });
	double watts[2] = { -1, -1 };

	(void)state;
	assert_int_equal(tw_power_model_component(p, 0), TW_PLATFORM);
	tw_power_model_predict(p, 0, &(struct tw_rows){ .x = x, .rows = 2, .stride = 3 },
			       watts);
	assert_true(watts[0] == 0 && watts[1] == 6);
	tw_power_model_free(p);
}

/* A use below 0, after a reset of its counter, has no power below that at rest. */
static void a_row_with_a_feature_below_zero_has_no_watts(void **state)
{
	/* The last column is no feature of the model. */
	static const double x[] = { 0, -1, 0, 0, 0, 0, 0, -1, NAN, 0, 0, 0, 0, 0, 0, -1 };
	static const uint32_t place[] = { 0, 1, 2 };
	struct tw_power_model *p = make(&(struct sample){ .source = "acpi" });
	double watts[4];

	(void)state;
	tw_power_model_predict(
		p, 0, &(struct tw_rows){ .x = x, .rows = 4, .stride = 4, .place = place },
		watts);
	assert_true(isnan(watts[0]) && watts[1] == 10 && watts[3] == 10);
	tw_power_model_predict(p, 0, &(struct tw_rows){ .x = x, .rows = 1, .stride = 3 },
			       watts);
	assert_true(isnan(watts[0]));
	tw_power_model_free(p);
}

static void a_model_that_its_predictor_rejects_is_refused(void **state)
{
	static const struct {
		struct sample sample;
		enum tw_code code;
		const char *text;
	} bad[] = {
		{ { .predictor = "scikit" }, TW_UNSUPPORTED, "no predictor 'scikit'" },
		{ { .predictor = "xgboost" }, TW_PARSE, "package: " },
		{ { .text = "{}" }, TW_PARSE, "package: " },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_power_model *p = NULL;
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };

		sample_model(&bad[i].sample, &m);
		assert_int_equal(tw_power_model_new(&m, &p, &err), -1);
		assert_int_equal(err.code, bad[i].code);
		assert_non_null(strstr(err.text, bad[i].text));
		assert_non_null(strstr(err.text, "model 'SGDRegressorTrainer_0': "));
		assert_null(p);
		assert_int_equal(m.parts, 0);
		sample_model(&bad[i].sample, &m);
		assert_int_equal(tw_power_model_borrow(&m, &p, &err), -1);
		assert_null(p);
		tw_model_release(&m);
	}
}

static void a_model_is_loaded_from_a_directory_and_from_a_zip(void **state)
{
	struct tw_model m = { 0 };
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };
	char *top = scratch_new(), *data = NULL, *paths[3] = { 0 };
	size_t len;

	(void)state;
	sample_model(&(struct sample){ .trainer = "T", .node_type = 3 }, &m);
	assert_int_equal(tw_model_to_files(&m, &files, &err), 0);
	assert_int_equal(tw_path_join(&paths[0], &err, top, "dir", NULL), 0);
	assert_int_equal(tw_path_join(&paths[1], &err, top, "T_3.zip", NULL), 0);
	assert_int_equal(tw_path_join(&paths[2], &err, top, "absent", NULL), 0);
	assert_int_equal(tw_fileset_write_dir(&files, paths[0], &err), 0);
	assert_int_equal(tw_zip_write(&files, &data, &len, &err), 0);
	assert_int_equal(tw_file_create(paths[1], data, len, &err), 0);
	for (size_t i = 0; i < 2; i++) {
		struct tw_power_model *p = NULL;

		if (tw_power_model_load(paths[i], &p, &err) < 0)
			fail_msg("%s", err.text);
		assert_string_equal(tw_power_model_info(p)->name, "T_3");
		assert_int_equal(tw_power_model_parts(p), 2);
		tw_power_model_free(p);
	}
	for (size_t i = 0; i < 2; i++) {
		struct tw_power_model *p = NULL;
		struct tw_err why = { 0 };

		/* Nothing there, and a zip that is none. */
		if (i == 1)
			assert_int_equal(tw_file_create(paths[2], "zip?", 4, &err), 0);
		assert_int_equal(tw_power_model_load(paths[2], &p, &why), -1);
		assert_int_equal(why.code, i == 0 ? TW_NOTFOUND : TW_PARSE);
		assert_non_null(strstr(why.text, "absent"));
		if (i == 0)
			assert_non_null(strstr(why.text, "cannot open"));
	}
	for (size_t i = 0; i < 3; i++)
		free(paths[i]);
	free(data);
	tw_fileset_clear(&files);
	tw_model_release(&m);
	scratch_free(top);
}

static void running_out_of_memory_is_reported(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_power_model *p = NULL;
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };
		int rc;

		sample_model(&(struct sample){ .trainer = "T" }, &m);
		fail_alloc_at(n);
		rc = tw_power_model_new(&m, &p, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_power_model_free(p);
			break;
		}
		assert_int_equal(m.parts, 0);
	}
}

static double *copy(const double *values, size_t count)
{
	double *d = malloc(count * sizeof(*d));

	assert_non_null(d);
	memcpy(d, values, count * sizeof(*d));
	return d;
}

/* Features: cache_miss, cpu_cycles and cpu_instructions. */
static struct tw_power_model *make_with_ranges(void)
{
	static const double min[] = { 0, 10, -1 }, max[] = { 5, 20, 1 };
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	sample_model(&(struct sample){ .trainer = "T" }, &m);
	for (size_t i = 0; i < 2; i++) {
		free(m.part[i].feature_min);
		free(m.part[i].feature_max);
		m.part[i].feature_min = m.part[i].feature_max = NULL;
	}
	m.part[1].feature_min = copy(min, 3);
	m.part[1].feature_max = copy(max, 3);
	if (tw_power_model_new(&m, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

/* The ends of a range are in it, and so is what is missing. */
static void rows_outside_of_the_training_are_marked(void **state)
{
	static const double x[] = {
		0,   10,  -1,  7, /* all at the least */
		5,   20,  1,   7, /* all at the most */
		5.1, 15,  0,   7, /* above */
		3,   9.9, 0,   7, /* below */
		NAN, 15,  NAN, 7, /* missing */
		3,   15,  1.1, 7, /* above in the last */
	};
	static const unsigned char want[] = { 0, 0, 1, 1, 0, 1 };
	static const unsigned char absent_want[] = { 0, 0, 0, 1, 0, 1 };
	static const uint32_t absent[] = { UINT32_MAX, 1, 2 };
	struct tw_power_model *p = make_with_ranges();
	struct tw_rows in = { .x = x, .rows = 6, .stride = 4 };
	unsigned char outside[7] = { 0 }, marked[7] = { 1, 0 };

	(void)state;
	tw_power_model_mark_outside(p, 1, &in, outside);
	assert_memory_equal(outside, want, 6);
	assert_int_equal(outside[6], 0);
	/* Of the last three rows the first is outside, and the third is not asked for. */
	memset(outside, 0, sizeof(outside));
	in.x = x + 3 * 4;
	in.rows = 2;
	tw_power_model_mark_outside(p, 1, &in, outside);
	assert_memory_equal(outside, ((unsigned char[]){ 1, 0, 0 }), 3);
	in.x = x;
	in.rows = 6;
	/* A mark stays; the other part has no ranges. */
	tw_power_model_mark_outside(p, 0, &in, marked);
	assert_int_equal(marked[2], 0);
	tw_power_model_mark_outside(p, 1, &in, marked);
	assert_int_equal(marked[0], 1);
	assert_int_equal(marked[1], 0);
	assert_int_equal(marked[2], 1);
	memset(outside, 0, sizeof(outside));
	in.place = absent;
	tw_power_model_mark_outside(p, 1, &in, outside);
	assert_memory_equal(outside, absent_want, 6);
	tw_power_model_free(p);
}

static void the_range_of_a_feature_is_that_of_the_training(void **state)
{
	struct tw_power_model *p = make_with_ranges();
	double min = 7, max = 7;

	(void)state;
	assert_string_equal(tw_power_model_range(p, 1, 1, &min, &max), "cpu_cycles");
	assert_true(min == 10 && max == 20);
	assert_string_equal(tw_power_model_range(p, 0, 2, &min, &max),
			    "cpu_instructions");
	assert_true(isnan(min) && isnan(max));
	assert_null(tw_power_model_range(p, 1, 3, &min, &max));
	tw_power_model_free(p);
}

static void figures_are_those_of_the_part(void **state)
{
	struct tw_power_model *p = make(&(struct sample){
		.trainer = "T",
		.metadata = "{\"package_p95\":3.5,\"dram_p95\":2,\"dram_mape\":\"5\"}" });

	(void)state;
	assert_true(tw_power_model_figure(p, 0, "p95") == 3.5);
	assert_true(tw_power_model_figure(p, 1, "p95") == 2);
	assert_true(isnan(tw_power_model_figure(p, 1, "mape")));
	assert_true(isnan(tw_power_model_figure(p, 0, "absent")));
	tw_power_model_free(p);
}

/* A name that comes twice, as in Kepler 0.6, is the first of both or that at its place.
 */
static void a_column_is_found_wherever_it_is(void **state)
{
	static const struct {
		const char *names;
		uint32_t place[3];
	} cases[] = {
		{ "cache_miss,cpu_cycles,cpu_instructions", { 0, 1, 2 } },
		{ "cpu_instructions,cpu_cycles,cache_miss", { 2, 1, 0 } },
		{ "x,y,z,cpu_cycles,cpu_instructions,cache_miss", { 5, 3, 4 } },
		{ "cpu_cycles,cpu_cycles,cache_miss,cpu_instructions", { 2, 1, 3 } },
	};
	struct tw_power_model *p = make(&(struct sample){ .trainer = "T" });

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_strs names = { 0 };
		struct tw_err err = { 0 };
		uint32_t place[3];

		assert_int_equal(tw_strs_split(&names, cases[i].names, &err), 0);
		assert_int_equal(tw_power_model_bind(p, 0, &names, place, &err), 0);
		assert_memory_equal(place, cases[i].place, sizeof(place));
		tw_strs_clear(&names);
	}
	tw_power_model_free(p);
}

static void raw_predictions_may_be_negative(void **state)
{
	static const double x[] = { 1e6, 0, 0, 1000, 0, 0 };
	struct tw_power_model *p =
		make(&(struct sample){ .source = "acpi", .text = FALLING });
	const struct tw_rows in = { .x = x, .rows = 2, .stride = 3 };
	double watts[3] = { 7, 7, -7 };

	(void)state;
	tw_power_model_predict_raw(p, 0, &in, watts);
	assert_true(watts[0] == -990 && watts[1] == 9);
	tw_power_model_predict(p, 0, &in, watts);
	assert_true(watts[0] == 0 && watts[1] == 9 && watts[2] == -7);
	tw_power_model_free(p);
}

/* The caller's model is as it was, and may make another. */
static void a_borrowed_model_stays_the_callers(void **state)
{
	static const double x[] = { 1000, 0, 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	sample_model(&(struct sample){ .trainer = "T" }, &m);
	for (int i = 0; i < 2; i++) {
		struct tw_power_model *p = NULL;
		double watts = 0;

		assert_int_equal(tw_power_model_borrow(&m, &p, &err), 0);
		tw_power_model_predict(
			p, 1, &(struct tw_rows){ .x = x, .rows = 1, .stride = 3 },
			&watts);
		assert_true(watts == 11);
		tw_power_model_free(p);
		assert_int_equal(m.parts, 2);
		assert_non_null(m.part[0].text);
		assert_int_equal(m.part[0].len, strlen(m.part[0].text));
	}
	tw_model_release(&m);
	tw_power_model_free(NULL);
}

/* Of parts that differ the most counts; times add up. */
static void parts_look_back_as_far_as_any(void **state)
{
	static const char far_text[] =
		"{\"ensemble\":{\"floor\":0,\"ceiling\":9,\"step_ms\":700," ALONE
		"," FORM_OF_SERIES("[0,5,5]", "bpf_cpu_time_ms@5") "}}";
	const struct sample near = { .group = "BPFOnly",
				     .trainer = "AutoTrainer",
				     .predictor = "ensemble",
				     .text = "{\"ensemble\":{\"floor\":0,\"ceiling\":9,"
					     "\"step_ms\":500," ALONE "," SERIES "}}" };

	(void)state;
	for (size_t far = 0; far < 2; far++) {
		struct tw_power_model *p = NULL;
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };

		sample_model(&near, &m);
		assert_int_equal(m.parts, 2);
		free(m.part[far].text);
		m.part[far].text = strdup(far_text);
		m.part[far].len = strlen(far_text);
		if (tw_power_model_new(&m, &p, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(tw_power_model_back(p), 5);
		assert_true(tw_power_model_step_ms(p) == 700);
		tw_power_model_free(p);
	}
}

#define POWER(forms) \
	"{\"ensemble\":{\"floor\":0,\"ceiling\":9,\"step_ms\":500," forms "}}"
#define BACK(rows) \
	ALONE "," FORM_OF_SERIES("[0," rows "," rows "]", "bpf_cpu_time_ms@" rows)

/* Expected errors count only where the power looks back, too. */
static void errors_alone_do_not_look_back(void **state)
{
	static const struct {
		const char *power;
		size_t back;
	} cases[] = { { POWER(ALONE), 0 },
		      { POWER(BACK("1")), 5 },
		      { POWER(BACK("6")), 6 } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct sample s = { .group = "BPFOnly",
					  .trainer = "AutoTrainer",
					  .predictor = "ensemble",
					  .text = cases[i].power };
		struct tw_power_model *p = NULL;
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };

		sample_model(&s, &m);
		m.part[0].error_text = strdup(POWER(BACK("5")));
		m.part[0].error_len = strlen(m.part[0].error_text);
		if (tw_power_model_new(&m, &p, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(tw_power_model_back(p), cases[i].back);
		tw_power_model_free(p);
	}
}

/* A tree of two levels: half a nanosecond for each step. */
#define TREE                                                                          \
	"{\"learner\":{\"learner_model_param\":{\"base_score\":\"0\",\"num_class\":"  \
	"\"0\",\"num_feature\":\"2\"},\"objective\":{\"name\":\"reg:squarederror\"}," \
	"\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{\"trees\":["            \
	"{\"left_children\":[1,-1,3,-1,-1],\"right_children\":[2,-1,4,-1,-1],"        \
	"\"split_indices\":[1,0,0,0,0],\"default_left\":[1,0,0,0,0],"                 \
	"\"split_type\":[0,0,0,0,0],\"split_conditions\":[5,1,2,10,100]}]}}}}"

static void the_time_of_a_row_is_that_of_all_parts(void **state)
{
	struct sample trees = { .predictor = "xgboost",
				.group = "BPFOnly",
				.text = TREE };
	struct tw_power_model *p = make(&trees);

	(void)state;
	assert_int_equal(tw_power_model_parts(p), 2);
	assert_int_equal(tw_power_model_row_ns(p), 2);
	tw_power_model_free(p);
	trees.source = "acpi";
	p = make(&trees);
	assert_int_equal(tw_power_model_parts(p), 1);
	assert_int_equal(tw_power_model_row_ns(p), 1);
	tw_power_model_free(p);
}

/* Without intervals in the metadata these are of the figures. */
static void errors_are_those_of_the_part(void **state)
{
	static const double x[] = { 0, 0, 0 }, watts[] = { 10 };
	const struct tw_rows in = { .x = x, .rows = 1, .stride = 3 };
	struct tw_power_model *p = make(
		&(struct sample){ .trainer = "T",
				  .metadata = "{\"package_mae\":1.5,\"package_p95\":3.5,"
					      "\"dram_mae\":0.5,\"dram_p95\":2}" });

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		double expected = -1, half = -1;

		tw_power_model_errors(p, i, &in, watts, &expected, &half);
		assert_true(expected == (i == 0 ? 1.5 : 0.5));
		assert_true(half == (i == 0 ? 3.5 : 2));
	}
	tw_power_model_free(p);
}

static void a_load_that_runs_out_of_memory_is_reported(void **state)
{
	struct tw_model m = { 0 };
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };
	char *top = scratch_new(), *data = NULL, *paths[2];
	size_t len;

	(void)state;
	sample_model(&(struct sample){ .trainer = "T", .node_type = 3 }, &m);
	assert_int_equal(tw_model_to_files(&m, &files, &err), 0);
	paths[0] = scratch_path(top, "dir");
	paths[1] = scratch_path(top, "T_3.zip");
	assert_int_equal(tw_fileset_write_dir(&files, paths[0], &err), 0);
	assert_int_equal(tw_zip_write(&files, &data, &len, &err), 0);
	assert_int_equal(tw_file_create(paths[1], data, len, &err), 0);
	for (size_t i = 0; i < 2; i++) {
		bool failed = true;

		for (int n = 1; failed; n++) {
			struct tw_power_model *p = NULL;
			struct tw_err why = { 0 };

			fail_alloc_at(n);
			failed = fail_alloc_told(tw_power_model_load(paths[i], &p, &why),
						 &why);
			if (failed)
				assert_non_null(strstr(why.text, paths[i]));
			tw_power_model_free(p);
		}
		free(paths[i]);
	}
	free(data);
	tw_fileset_clear(&files);
	tw_model_release(&m);
	scratch_free(top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_predicts_from_its_bound_columns),
		cmocka_unit_test(a_series_model_has_a_step_and_looks_back),
		cmocka_unit_test(the_rows_that_are_kept_serve_the_expected_errors_too),
		cmocka_unit_test(a_missing_feature_is_named),
		cmocka_unit_test(negative_predictions_are_zero),
		cmocka_unit_test(a_row_with_a_feature_below_zero_has_no_watts),
		cmocka_unit_test(a_model_that_its_predictor_rejects_is_refused),
		cmocka_unit_test(a_model_is_loaded_from_a_directory_and_from_a_zip),
		cmocka_unit_test(running_out_of_memory_is_reported),
		cmocka_unit_test(rows_outside_of_the_training_are_marked),
		cmocka_unit_test(the_range_of_a_feature_is_that_of_the_training),
		cmocka_unit_test(figures_are_those_of_the_part),
		cmocka_unit_test(a_column_is_found_wherever_it_is),
		cmocka_unit_test(raw_predictions_may_be_negative),
		cmocka_unit_test(a_borrowed_model_stays_the_callers),
		cmocka_unit_test(parts_look_back_as_far_as_any),
		cmocka_unit_test(errors_alone_do_not_look_back),
		cmocka_unit_test(the_time_of_a_row_is_that_of_all_parts),
		cmocka_unit_test(errors_are_those_of_the_part),
		cmocka_unit_test(a_load_that_runs_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests_name("power_model", tests, NULL, NULL);
}
