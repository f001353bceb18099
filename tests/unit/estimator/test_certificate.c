/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/predict/certificate.h"
#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "model-db/fitness.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The samples have bpf_cpu_time_ms up to 1e6, bpf_page_cache_hit up to 1000000.1. */
#define CORNER 1e6

#define LINEAR(bias, weights)                     \
	"{\"All_Weights\":{\"Bias_Weight\":" bias \
	",\"Categorical_Variables\":{},\"Numerical_Variables\":{" weights "}}}"
#define WEIGHT(feature, w) "\"" feature "\":{\"scale\":1e6,\"weight\":" w "}"
#define WEIGHTS(cpu_time, cache_hit) \
	WEIGHT("bpf_cpu_time_ms", cpu_time) "," WEIGHT("bpf_page_cache_hit", cache_hit)
#define CPU_TIME(w) WEIGHTS(w, "0")
#define CURVE(weights)                                                           \
	"{\"curve\":\"logarithmic\",\"All_Weights\":{\"Categorical_Variables\":" \
	"{},\"Numerical_Variables\":{\"bpf_cpu_time_ms\":{\"scale\":1e6}},"      \
	"\"CurveFit_Weights\":" weights "}}"
#define POLYNOMIAL(bias, linear)                         \
	"{\"polynomial\":{\"bias\":" bias ",\"scale\":[" \
	"1e6,1e6],\"linear\":" linear ",\"quadratic\":[0,0,0]}}"
#define KNN(values)                                                               \
	"{\"knn\":{\"neighbors\":1,\"scale\":[1e6,1e6],\"points\":[[0,0],[1,1]]," \
	"\"values\":" values "}}"
/* Below `first` of bpf_cpu_time_ms, below `second`, above: watts a, b and c. */
#define TREE(first, second, a, b, c)                                                     \
	"{\"learner\":{\"learner_model_param\":{\"base_score\":\"0\",\"num_class\":"     \
	"\"0\",\"num_feature\":\"2\"},\"objective\":{\"name\":\"reg:squarederror\"},"    \
	"\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{\"trees\":[{"              \
	"\"left_children\":[1,-1,3,-1,-1],\"right_children\":[2,-1,4,-1,-1],"            \
	"\"split_indices\":[0,0,0,0,0],\"default_left\":[1,0,0,0,0],"                    \
	"\"split_type\":[0,0,0,0,0],\"split_conditions\":[" first "," a "," second "," b \
	"," c "]}]}}}}"

/* A model of BPFOnly, of platform alone where its source is acpi. */
struct asked {
	struct sample sample;
	const char *dram; /* the text of this part; NULL: that of package */
	bool no_ranges;
};

static void make_model(const struct asked *a, struct tw_model *out)
{
	struct sample s = a->sample;

	if (s.group == NULL)
		s.group = "BPFOnly";
	if (s.source == NULL && a->dram == NULL)
		s.source = "acpi";
	sample_model(&s, out);
	if (a->dram != NULL) {
		assert_int_equal(out->part[1].component, TW_DRAM);
		free(out->part[1].text);
		out->part[1].text = strdup(a->dram);
		assert_non_null(out->part[1].text);
		out->part[1].len = strlen(a->dram);
	}
	for (size_t i = 0; a->no_ranges && i < out->parts; i++) {
		free(out->part[i].feature_min);
		free(out->part[i].feature_max);
		out->part[i].feature_min = out->part[i].feature_max = NULL;
	}
}

static struct tw_power_model *make(const struct asked *a)
{
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	make_model(a, &m);
	if (tw_power_model_new(&m, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static struct tw_certificate certify(const struct asked *a, const double *rows,
				     size_t count)
{
	struct tw_power_model *p = make(a);
	struct tw_certificate c = { 0 };
	struct tw_err err = { 0 };

	if (tw_certify(p, rows, count, NULL, &c, &err) < 0)
		fail_msg("%s", err.text);
	tw_power_model_free(p);
	return c;
}

/* ---- rise and sums ---- */

#define NO_DEVIATION NAN

static const struct {
	const char *why;
	struct asked asked;
	bool rises, additive;
	double share_deviation;
} models[] = {
	{ "a line with a constant",
	  { .sample = { .text = LINEAR("10", CPU_TIME("20")) } },
	  .rises = true,
	  .share_deviation = 0 },
	{ "a line without",
	  { .sample = { .text = LINEAR("0", CPU_TIME("20")) } },
	  .rises = true,
	  .additive = true,
	  .share_deviation = 0 },
	{ "a line that is level",
	  { .sample = { .text = LINEAR("10", CPU_TIME("0")) } },
	  .share_deviation = NO_DEVIATION },
	{ "a line that falls",
	  { .sample = { .text = LINEAR("30", CPU_TIME("-20")) } },
	  .share_deviation = NO_DEVIATION },
	{ "dynamic power at zero use",
	  { .sample = { .output = TW_DYN_POWER,
			.text = LINEAR("62.8", CPU_TIME("20")) } },
	  .rises = true,
	  .share_deviation = 0 },
	{ "trees with more power at rest than under load",
	  { .sample = { .predictor = "xgboost",
			.text = TREE("100", "5e5", "105", "33", "103") } },
	  .share_deviation = NO_DEVIATION },
	/* At 1/32 of the end there are 17 of 70 W above rest. */
	{ "trees that rise in steps",
	  { .sample = { .predictor = "xgboost",
			.text = TREE("100", "5e5", "33", "50", "103") } },
	  .rises = true,
	  .share_deviation = 32 * 17.0 / 70 - 1 },
	{ "trees that fall by less than 1 % of their range",
	  { .sample = { .predictor = "xgboost",
			.text = TREE("100", "5e5", "10", "100", "99.2") } },
	  .rises = true,
	  .share_deviation = 32 * 90 / 89.2 - 1 },
	{ "trees that fall by more than 1 % of their range",
	  { .sample = { .predictor = "xgboost",
			.text = TREE("100", "5e5", "10", "100", "99") } },
	  .share_deviation = 32 * 90.0 / 89 - 1 },
	{ "package rises, dram is level",
	  { .sample = { .text = LINEAR("10", CPU_TIME("20")) },
	    .dram = LINEAR("8", CPU_TIME("0")) },
	  .rises = true,
	  .share_deviation = 0 },
	{ "package is level, dram rises",
	  { .sample = { .text = LINEAR("10", CPU_TIME("0")) },
	    .dram = LINEAR("8", CPU_TIME("20")) },
	  .share_deviation = NO_DEVIATION },
	{ "package rises, dram falls",
	  { .sample = { .predictor = "knn", .text = KNN("[10,30]") },
	    .dram = KNN("[9,3]") },
	  /* The nearer point: 10 W before the middle, 30 W from there on. */
	  .share_deviation = 1 },
	{ "package adds up, dram has a constant",
	  { .sample = { .text = LINEAR("0", CPU_TIME("20")) },
	    .dram = LINEAR("0.01", CPU_TIME("20")) },
	  .rises = true,
	  .share_deviation = 0 },
	/* 30 ln(9 x + 1): 32 ln(1 + 9 / 32) / ln(10) is 3.4443. */
	{ "a curve through 0",
	  { .sample = { .predictor = "curvefit",
			.output = TW_DYN_POWER,
			.text = CURVE("[30,9,0]") } },
	  .rises = true,
	  .share_deviation = 2.4443 },
	{ "a polynomial that is a line through 0",
	  { .sample = { .predictor = "polynomial", .text = POLYNOMIAL("0", "[3,4]") } },
	  .rises = true,
	  .additive = true,
	  .share_deviation = 0 },
};

static void models_are_asked_whether_they_rise_and_add_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(models); i++) {
		const struct tw_certificate c = certify(&models[i].asked, NULL, 0);
		const double want = models[i].share_deviation;

		if (c.rises != models[i].rises || c.additive != models[i].additive)
			fail_msg("%s: rises %d, additive %d", models[i].why, c.rises,
				 c.additive);
		/* 1e-4: the curve's figure was computed to four decimals. */
		if (isnan(want) ? !isnan(c.share_deviation)
				: !(fabs(c.share_deviation - want) < 1e-4))
			fail_msg("%s: share deviation %g is not %g", models[i].why,
				 c.share_deviation, want);
	}
}

/* ---- rays ---- */

/* The features of NodeCPUFreq in order: 0 is the frequency, 6 node_cpu_user_ms. */
#define ZEROS_9 "0,0,0,0,0,0,0,0,0"
#define SCALES_9 "1e6,1e6,1e6,1e6,1e6,1e6,1e6,1e6,1e6"

/* Certify a line of the features of NodeCPUFreq; all but these two have weight 0. */
static struct tw_certificate certify_node_line(int bias_w, int frequency_w,
					       int user_time_w)
{
	const struct tw_feature_group *g = tw_feature_group_find("NodeCPUFreq");
	struct asked line = { .sample = { .group = g->name } };
	struct tw_buf weights = { 0 }, text = { 0 };
	struct tw_certificate c;

	for (size_t i = 0; i < g->count; i++) {
		const char *f = g->features[i];
		int w = 0;

		if (strcmp(f, "cpu_scaling_frequency_hertz") == 0)
			w = frequency_w;
		if (strcmp(f, "node_cpu_user_ms") == 0)
			w = user_time_w;
		tw_buf_addf(&weights, "%s" WEIGHT("%s", "%d"), i > 0 ? "," : "", f, w);
	}
	tw_buf_addf(&text, LINEAR("%d", "%s"), bias_w, weights.data);
	line.sample.text = text.data;
	c = certify(&line, NULL, 0);
	tw_buf_clear(&weights);
	tw_buf_clear(&text);
	return c;
}

static void a_clock_frequency_stays_on_a_ray(void **state)
{
	struct tw_certificate c;

	(void)state;
	/* It would fall from 50 to 40 W if the clock were 0 at rest. */
	c = certify_node_line(50, -20, 10);
	assert_true(c.rises);
	assert_true(c.share_deviation < 1e-9);
	/* It would rise from 0 to 20 W. */
	c = certify_node_line(0, 20, 0);
	assert_false(c.rises);
	assert_false(c.additive);
}

static void a_clock_frequency_is_not_added_up(void **state)
{
	/* 30 W times use times frequency: 0 at rest, and two halves of a use add up. */
	const struct asked product = {
		.sample = { .group = "NodeCPUFreq",
			    .predictor = "polynomial",
			    .text = "{\"polynomial\":{\"bias\":0,\"scale\":[" SCALES_9
				    "],\"linear\":[" ZEROS_9
				    "],\"quadratic\":[0,0,0,0,0,0,30,0,0," ZEROS_9
				    "," ZEROS_9 "," ZEROS_9 "," ZEROS_9 "]}}" }
	};
	const struct tw_certificate c = certify(&product, NULL, 0);

	(void)state;
	assert_true(c.rises);
	assert_true(c.additive);
}

static void a_model_without_ranges_is_asked_of_a_busy_machine(void **state)
{
	/* The step is at five busy cores. */
	struct asked step = {
		.sample = { .predictor = "xgboost",
			    .text = TREE("5000", "5000", "10", "20", "20") },
		.no_ranges = true,
	};

	(void)state;
	step.sample.spec.cores = 4;
	assert_false(certify(&step, NULL, 0).rises);
	step.sample.spec.cores = 6;
	assert_true(certify(&step, NULL, 0).rises);
	/* 16 cores where the model does not say. */
	step.sample.spec.cores = 0;
	assert_true(certify(&step, NULL, 0).rises);
	/* With ranges the number of cores does not count. */
	step.sample.spec.cores = 4;
	step.no_ranges = false;
	assert_true(certify(&step, NULL, 0).rises);
}

static void given_rows_extend_what_is_checked(void **state)
{
	/* On the ray to the corner bpf_page_cache_hit makes up for it. */
	static const struct asked mixed = {
		.sample = { .predictor = "polynomial",
			    .text = POLYNOMIAL("20", "[-10,40]") },
	};
	/* Behind the corner it falls. */
	static const struct asked late = {
		.sample = { .predictor = "xgboost",
			    .text = TREE("100", "2e6", "10", "50", "20") },
	};
	static const double good[] = { CORNER, CORNER, CORNER / 3, CORNER / 2 };
	static const double axis[] = { CORNER, CORNER, CORNER, 0 };
	static const double beyond[] = { 4 * CORNER, 0 };

	(void)state;
	assert_true(certify(&mixed, NULL, 0).rises);
	assert_true(certify(&mixed, good, 2).rises);
	assert_false(certify(&mixed, axis, 2).rises);
	assert_true(certify(&late, NULL, 0).rises);
	assert_true(certify(&late, good, 2).rises);
	assert_false(certify(&late, beyond, 1).rises);
}

static void a_given_row_at_rest_is_no_fault(void **state)
{
	static const struct asked line = {
		.sample = { .text = LINEAR("0", CPU_TIME("20")) },
	};
	static const double rest[] = { 0, 0, 0, CORNER };
	const struct tw_certificate c = certify(&line, rest, 2);

	(void)state;
	assert_true(c.rises);
	assert_true(c.additive);
	assert_true(c.share_deviation < 1e-9);
}

/* ---- the box, and rest ---- */

static void negative_power_in_the_box_is_found(void **state)
{
	static const struct {
		const char *why;
		struct asked asked;
		bool non_negative;
	} cases[] = {
		{ "a line with a constant",
		  { .sample = { .text = LINEAR("10", CPU_TIME("20")) } },
		  true },
		{ "a feature that lowers power, alone",
		  { .sample = { .text = LINEAR("10", WEIGHTS("20", "-11")) } },
		  false },
		/* 10 - 6 W within the training range, below 0 at twice the range. */
		{ "a feature that lowers power beyond the range",
		  { .sample = { .text = LINEAR("10", WEIGHTS("20", "-6")) } },
		  false },
		{ "a constant below 0",
		  { .sample = { .text = LINEAR("-5", CPU_TIME("20")) } },
		  false },
		{ "less than 1 % of the range below 0",
		  { .sample = { .text = LINEAR("-0.1", CPU_TIME("20")) } },
		  true },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++)
		if (certify(&cases[i].asked, NULL, 0).non_negative !=
		    cases[i].non_negative)
			fail_msg("%s", cases[i].why);
}

static struct tw_certificate certify_recorded(const struct asked *a, double low,
					      double high, double low_load)
{
	const struct tw_rest_evidence evidence = { low, high, true, "bpf_cpu_time_ms",
						   low_load };
	struct tw_power_model *p = make(a);
	struct tw_certificate c = { 0 };
	struct tw_err err = { 0 };

	if (tw_certify(p, NULL, 0, &evidence, &c, &err) < 0)
		fail_msg("%s", err.text);
	tw_power_model_free(p);
	return c;
}

static void power_at_rest_is_compared_with_the_recording(void **state)
{
	static const struct asked line = {
		.sample = { .text = LINEAR("10", CPU_TIME("20")) },
	};

	(void)state;
	assert_true(certify_recorded(&line, 9, 11, 1e4).rest);
	/* The margin is 1 % of the range of 20 W. */
	assert_true(certify_recorded(&line, 8, 9.85, 1e4).rest);
	assert_false(certify_recorded(&line, 8, 9.75, 1e4).rest);
	assert_false(certify_recorded(&line, 10.25, 12, 1e4).rest);
	assert_false(certify(&line, NULL, 0).recorded);
	assert_true(certify(&line, NULL, 0).rest);
}

static void a_step_within_the_lowest_loads_is_found(void **state)
{
	/* 10 W of 20 W of range at 100 of 1e6. */
	static const struct asked step = {
		.sample = { .predictor = "xgboost",
			    .text = TREE("100", "5e5", "10", "20", "30") },
	};
	static const struct asked line = {
		.sample = { .text = LINEAR("10", CPU_TIME("20")) },
	};

	(void)state;
	assert_false(certify_recorded(&step, 10, 10, 1000).no_jump);
	/* It is within the interval of rest. */
	assert_true(certify_recorded(&step, 10, 20, 1000).no_jump);
	/* The step is behind the lowest loads. */
	assert_true(certify_recorded(&step, 10, 10, 50).no_jump);
	/* Steep, but even: the lowest loads are half the range. */
	assert_true(certify_recorded(&line, 10, 10, 5e5).no_jump);
}

/* ---- what must not be chosen ---- */

static const struct {
	struct asked asked;
	const char *want; /* NULL: it may be chosen */
} defaults[] = {
	{ { .sample = { .text = LINEAR("10", CPU_TIME("20")) } }, NULL },
	{ { .sample = { .text = LINEAR("0", CPU_TIME("20")), .output = TW_DYN_POWER } },
	  NULL },
	{ { .sample = { .text = LINEAR("30", CPU_TIME("-20")) } },
	  "model 'SGDRegressorTrainer_0': " TW_FITNESS_FALLS },
	{ { .sample = { .text = LINEAR("62.8", CPU_TIME("20")),
			.output = TW_DYN_POWER } },
	  "model 'SGDRegressorTrainer_0': " TW_FITNESS_NOT_ADDITIVE },
	/* Dynamic power that does not rise is 0 W at any use: it adds up. */
	{ { .sample = { .text = LINEAR("0", CPU_TIME("0")), .output = TW_DYN_POWER } },
	  NULL },
};

static void unfit_models_are_listed_with_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(defaults); i++) {
		struct tw_power_model *p = make(&defaults[i].asked);
		struct tw_model m = { 0 };
		struct tw_err err = { 0 }, again = { 0 };
		const int want = defaults[i].want == NULL ? 0 : -1;

		make_model(&defaults[i].asked, &m);
		assert_int_equal(tw_certify_default(p, &err), want);
		assert_int_equal(tw_certify_model(&m, &again), want);
		assert_int_equal(m.parts, 0);
		if (want < 0) {
			assert_int_equal(err.code, TW_INVALID);
			assert_string_equal(err.text, defaults[i].want);
			assert_string_equal(again.text, defaults[i].want);
		}
		tw_power_model_free(p);
	}
}

static void a_model_that_cannot_be_loaded_gets_no_certificate(void **state)
{
	const struct asked broken = { .sample = { .predictor = "xgboost" } };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	make_model(&broken, &m);
	assert_int_equal(tw_certify_model(&m, &err), -1);
	assert_int_equal(err.code, TW_PARSE);
	assert_int_equal(m.parts, 0);
}

/* ---- metadata ---- */

static void a_certificate_is_keys_of_the_metadata(void **state)
{
	static const struct tw_certificate c = { .rises = true,
						 .non_negative = true,
						 .recorded = true,
						 .rest = true,
						 .share_deviation = 0.123456 };
	static const struct tw_certificate none = { .additive = true,
						    .share_deviation = NAN };
	json_t *metadata = json_object();
	struct tw_err err = { 0 };

	(void)state;
	assert_non_null(metadata);
	assert_int_equal(tw_certificate_write(&c, metadata, &err), 0);
	assert_int_equal(json_object_size(metadata), 6);
	assert_true(json_is_true(json_object_get(metadata, "certificate_non_negative")));
	assert_true(json_is_true(json_object_get(metadata, "certificate_rest")));
	assert_true(json_is_false(json_object_get(metadata, "certificate_no_jump")));
	assert_true(json_is_true(json_object_get(metadata, "certificate_rises")));
	assert_true(json_is_false(json_object_get(metadata, "certificate_additive")));
	assert_true(json_number_value(json_object_get(
			    metadata, "certificate_share_deviation")) == 0.1235);
	assert_int_equal(json_object_clear(metadata), 0);
	/* A deviation that is not defined is left out, and tests without a recording. */
	assert_int_equal(tw_certificate_write(&none, metadata, &err), 0);
	assert_int_equal(json_object_size(metadata), 3);
	assert_true(json_is_false(json_object_get(metadata, "certificate_non_negative")));
	assert_true(json_is_false(json_object_get(metadata, "certificate_rises")));
	assert_true(json_is_true(json_object_get(metadata, "certificate_additive")));
	json_decref(metadata);
}

/* ---- memory ---- */

static void every_failed_allocation_is_reported(void **state)
{
	static const struct asked line = {
		.sample = { .text = LINEAR("10", CPU_TIME("20")) },
	};
	static const struct tw_certificate c = { .share_deviation = 0.5 };
	int failures = 0;

	(void)state;
	for (int n = 1;; n++, failures++) {
		struct tw_certificate untouched = { .share_deviation = 7 };
		struct tw_power_model *p = make(&line);
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_certify(p, NULL, 0, NULL, &untouched, &err);
		tw_power_model_free(p);
		if (!fail_alloc_told(rc, &err))
			break;
		assert_true(untouched.share_deviation == 7);
	}
	assert_true(failures > 0);
	for (int n = 1;; n++) {
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };
		int rc;

		make_model(&line, &m);
		fail_alloc_at(n);
		rc = tw_certify_model(&m, &err);
		assert_int_equal(m.parts, 0);
		if (!fail_alloc_told(rc, &err))
			break;
	}
	for (int n = 1;; n++) {
		json_t *metadata = json_object();
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_certificate_write(&c, metadata, &err);
		json_decref(metadata);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(models_are_asked_whether_they_rise_and_add_up),
		cmocka_unit_test(a_clock_frequency_stays_on_a_ray),
		cmocka_unit_test(a_clock_frequency_is_not_added_up),
		cmocka_unit_test(a_model_without_ranges_is_asked_of_a_busy_machine),
		cmocka_unit_test(given_rows_extend_what_is_checked),
		cmocka_unit_test(a_given_row_at_rest_is_no_fault),
		cmocka_unit_test(unfit_models_are_listed_with_the_reason),
		cmocka_unit_test(a_model_that_cannot_be_loaded_gets_no_certificate),
		cmocka_unit_test(negative_power_in_the_box_is_found),
		cmocka_unit_test(power_at_rest_is_compared_with_the_recording),
		cmocka_unit_test(a_step_within_the_lowest_loads_is_found),
		cmocka_unit_test(a_certificate_is_keys_of_the_metadata),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("certificate", tests, NULL, NULL);
}
