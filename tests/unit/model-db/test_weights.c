/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "model-db/weights.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The weights as text; free() it. */
static char *write_weights(const struct sample *s, enum tw_client client)
{
	struct tw_model m = { 0 };
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	char *text;

	sample_model(s, &m);
	/* After another document, as in the index. */
	tw_buf_adds(&b, "{}");
	if (tw_weights_write(&m, client, &b, &err) < 0)
		fail_msg("%s", err.text);
	text = tw_buf_detach(&b, NULL);
	assert_non_null(text);
	assert_memory_equal(text, "{}{", 3);
	memmove(text, text + 2, strlen(text + 2) + 1);
	tw_model_release(&m);
	return text;
}

static void assert_refused(const struct sample *s, enum tw_client client,
			   enum tw_code code, const char *want)
{
	struct tw_model m = { 0 };
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };

	sample_model(s, &m);
	if (tw_weights_write(&m, client, &b, &err) == 0)
		fail_msg("taken: %s", want);
	if (err.code != code || strstr(err.text, want) == NULL)
		fail_msg("got %d '%s', want %d '%s'", err.code, err.text, code, want);
	tw_buf_clear(&b);
	tw_model_release(&m);
}

#define ALL                                                                          \
	"{\"All_Weights\":{\"Bias_Weight\":10,\"Categorical_Variables\":{},"         \
	"\"Numerical_Variables\":{\"bpf_cpu_time_ms\":{\"scale\":1000,\"mean\":0,"   \
	"\"variance\":1000000,\"weight\":1},\"bpf_page_cache_hit\":{\"scale\":1000," \
	"\"mean\":0,\"variance\":1000000,\"weight\":2}}}}"

static const struct sample bpf = {
	.group = "BPFOnly",
	.spec = { .processor = "amd_epyc", .cores = 4, .frequency_mhz = 2600 },
};

static void current_clients_get_name_spec_and_error_too(void **state)
{
	char *text = write_weights(&bpf, TW_CLIENT_CURRENT);

	(void)state;
	assert_string_equal(text,
			    "{\"model_name\":\"SGDRegressorTrainer_0\",\"machine_spec\":"
			    "{\"processor\":\"amd_epyc\",\"cores\":4,\"frequency\":2600},"
			    "\"mae\":1.5,\"package\":" ALL ",\"dram\":" ALL "}");
	free(text);
}

static void an_undefined_error_and_an_unknown_machine_are_left_out(void **state)
{
	const struct sample s = { .group = "BPFOnly", .mae_w = NAN };
	char *text = write_weights(&s, TW_CLIENT_CURRENT);

	(void)state;
	assert_string_equal(text,
			    "{\"model_name\":\"SGDRegressorTrainer_0\",\"package\":" ALL
			    ",\"dram\":" ALL "}");
	free(text);
}

static void clients_before_0_7_12_get_component_keys_only(void **state)
{
	char *text = write_weights(&bpf, TW_CLIENT_0_7);

	(void)state;
	assert_string_equal(text, "{\"package\":" ALL ",\"dram\":" ALL "}");
	free(text);
}

static void clients_before_0_5_4_get_the_key_pkg(void **state)
{
	char *text = write_weights(&bpf, TW_CLIENT_0_5);

	(void)state;
	assert_string_equal(text, "{\"pkg\":" ALL ",\"dram\":" ALL "}");
	free(text);
}

static void a_total_is_the_sum_of_package_and_dram(void **state)
{
	char *text = write_weights(&bpf, TW_CLIENT_0_5_TOTAL);

	(void)state;
	assert_string_equal(
		text,
		"{\"All_Weights\":{\"Bias_Weight\":20,\"Categorical_Variables\":{},"
		"\"Numerical_Variables\":{\"bpf_cpu_time_ms\":{\"scale\":1000,\"mean\":0,"
		"\"variance\":1000000,\"weight\":2},\"bpf_page_cache_hit\":{\"scale\":"
		"1000,"
		"\"mean\":0,\"variance\":1000000,\"weight\":4}}}}");
	free(text);
}

/* Two components with other scales and features: the sum predicts what both do. */
static void a_total_predicts_what_its_components_predict_together(void **state)
{
	struct tw_model m = { 0 };
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	json_t *doc, *v, *num, *f;
	double watts;

	(void)state;
	sample_model(&bpf, &m);
	free(m.part[1].text);
	m.part[1].text = strdup("{\"All_Weights\":{\"Bias_Weight\":null,"
				"\"Numerical_Variables\":{\"bpf_page_cache_hit\":"
				"{\"scale\":50,\"weight\":3}}}}");
	m.part[1].len = strlen(m.part[1].text);
	if (tw_weights_write(&m, TW_CLIENT_0_5_TOTAL, &b, &err) < 0)
		fail_msg("%s", err.text);
	doc = json_loadb(b.data, b.len, 0, NULL);
	v = json_object_get(doc, "All_Weights");
	num = json_object_get(v, "Numerical_Variables");
	watts = json_number_value(json_object_get(v, "Bias_Weight"));
	f = json_object_get(num, "bpf_cpu_time_ms");
	watts += 700 / json_number_value(json_object_get(f, "scale")) *
		 json_number_value(json_object_get(f, "weight"));
	f = json_object_get(num, "bpf_page_cache_hit");
	watts += 90 / json_number_value(json_object_get(f, "scale")) *
		 json_number_value(json_object_get(f, "weight"));
	/* 10 + 700/1000*1 + 90/1000*2, and 0 + 90/50*3 */
	assert_true(fabs(watts - (10.88 + 5.4)) < 1e-12);
	json_decref(doc);
	tw_buf_clear(&b);
	tw_model_release(&m);
}

static void clients_before_0_5_4_get_a_platform_only_as_a_total(void **state)
{
	const struct sample s = { .source = "acpi", .group = "BPFOnly" };
	char *text = write_weights(&s, TW_CLIENT_0_5_TOTAL);

	(void)state;
	assert_string_equal(text, ALL);
	free(text);
	text = write_weights(&s, TW_CLIENT_0_7);
	assert_string_equal(text, "{\"platform\":" ALL "}");
	free(text);
	assert_refused(&s, TW_CLIENT_0_5, TW_UNSUPPORTED,
		       "model 'SGDRegressorTrainer_0': this client knows no component "
		       "'platform'");
}

static void trees_are_base64_and_for_current_clients_only(void **state)
{
	/* Lengths 2, 3 and 4: each way that base64 can end. RFC 4648 by hand. */
	static const struct {
		const char *text, *base64;
	} cases[] = { { "{}", "e30=" }, { "{ }", "eyB9" }, { "{  }", "eyAgfQ==" } };
	struct sample s = { .group = "BPFOnly",
			    .predictor = "xgboost",
			    .trainer = "XgboostFitTrainer" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char want[512], *text;

		s.text = cases[i].text;
		text = write_weights(&s, TW_CLIENT_CURRENT);
		snprintf(want, sizeof(want),
			 "\"package\":{\"All_Weights\":{\"Categorical_Variables\":{},"
			 "\"Numerical_Variables\":{\"bpf_cpu_time_ms\":{\"scale\":1},"
			 "\"bpf_page_cache_hit\":{\"scale\":1}},\"XGboost_Weights\":\"%"
			 "s\"}}",
			 cases[i].base64);
		if (strstr(text, want) == NULL)
			fail_msg("%s has no %s", text, want);
		free(text);
	}
	for (int c = TW_CLIENT_0_7; c < TW_CLIENT_COUNT; c++)
		assert_refused(&s, (enum tw_client)c, TW_UNSUPPORTED,
			       "this client cannot use weights of xgboost models");
}

#define CURVE(name, feature, weights)                                            \
	"{\"curve\":\"" name "\",\"All_Weights\":{\"CurveFit_Weights\":" weights \
	",\"Numerical_Variables\":{\"" feature "\":{\"scale\":1000}}}}"

static void curves_are_for_current_clients_only(void **state)
{
	const struct sample s = {
		.source = "acpi",
		.group = "BPFOnly",
		.trainer = "ExponentialRegressionTrainer",
		.predictor = "curvefit",
		.text = CURVE("exponential", "bpf_cpu_time_ms", "[2,1.5,7]"),
	};
	char *text = write_weights(&s, TW_CLIENT_CURRENT), *metric = NULL;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	struct tw_weights_shape shape;

	(void)state;
	assert_string_equal(text, "{\"model_name\":\"ExponentialRegressionTrainer_0\","
				  "\"mae\":1.5,\"platform\":{\"All_Weights\":{"
				  "\"Categorical_Variables\":{},\"Numerical_Variables\":{"
				  "\"bpf_cpu_time_ms\":{\"scale\":1000}},"
				  "\"CurveFit_Weights\":[2,1.5,7]}}}");
	free(text);
	for (int c = TW_CLIENT_0_7; c < TW_CLIENT_COUNT; c++)
		assert_refused(&s, (enum tw_client)c, TW_UNSUPPORTED,
			       "this client cannot use weights of curvefit models");
	sample_model(&s, &m);
	assert_int_equal(tw_weights_first_metric(&m, &metric, &err), 0);
	assert_string_equal(metric, "bpf_cpu_time_ms");
	free(metric);
	assert_int_equal(tw_weights_shape(&m, &shape, &err), 0);
	assert_true(shape.known && shape.idle_power && shape.rises && shape.non_negative);
	assert_false(shape.additive);
	tw_model_release(&m);
}

/* What clients would crash on or compute wrong (docs/wire.md). */
static void curves_that_clients_compute_wrongly_are_refused(void **state)
{
	static const struct {
		const char *trainer, *text;
		enum tw_code code;
		const char *want;
	} cases[] = {
		{ "LogisticRegressionTrainer",
		  CURVE("exponential", "bpf_cpu_time_ms", "[2,1.5,7]"), TW_UNSUPPORTED,
		  "clients compute no exponential curve for this trainer" },
		{ "ExponentialRegressionTrainer",
		  CURVE("exponential", "bpf_cpu_time_ms", "[2,1.5]"), TW_INVALID,
		  "CurveFit_Weights: 2 weights, exponential has 3" },
		{ "ExponentialRegressionTrainer",
		  CURVE("exponential", "cpu_cycles", "[2,1.5,7]"), TW_INVALID,
		  "platform.json: 'cpu_cycles' is not a feature of the model" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++)
		assert_refused(&(struct sample){ .source = "acpi",
						 .group = "BPFOnly",
						 .trainer = cases[i].trainer,
						 .predictor = "curvefit",
						 .text = cases[i].text },
			       TW_CLIENT_CURRENT, cases[i].code, cases[i].want);
}

static void curves_of_two_metrics_have_no_weights(void **state)
{
	const struct sample s = {
		.group = "BPFOnly",
		.trainer = "ExponentialRegressionTrainer",
		.predictor = "curvefit",
		.text = CURVE("exponential", "bpf_cpu_time_ms", "[2,1.5,7]"),
	};
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	char *metric = NULL;

	(void)state;
	sample_model(&s, &m);
	assert_true(m.parts > 1);
	free(m.part[1].text);
	m.part[1].text = strdup(CURVE("exponential", "bpf_page_cache_hit", "[2,1.5,7]"));
	assert_non_null(m.part[1].text);
	m.part[1].len = strlen(m.part[1].text);
	assert_int_equal(tw_weights_first_metric(&m, &metric, &err), -1);
	assert_int_equal(err.code, TW_UNSUPPORTED);
	assert_string_equal(
		err.text, "model 'ExponentialRegressionTrainer_0': its components need "
			  "both 'bpf_cpu_time_ms' and 'bpf_page_cache_hit', clients use "
			  "one metric");
	tw_model_release(&m);
}

static void only_some_kinds_have_weights(void **state)
{
	const struct {
		const char *predictor;
		bool exist, plain;
	} cases[] = { { "curvefit", true, false },
		      { "linear", true, true },
		      { "xgboost", true, false },
		      { "knn", false, false } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct sample s = { .predictor = cases[i].predictor };
		struct tw_model m = { 0 };

		sample_model(&s, &m);
		assert_int_equal(tw_weights_exist(&m), cases[i].exist);
		assert_int_equal(tw_weights_plain(&m), cases[i].plain);
		tw_model_release(&m);
	}
	assert_refused(&(struct sample){ .predictor = "knn" }, TW_CLIENT_CURRENT,
		       TW_UNSUPPORTED, "knn models have no weights");
}

static void mean_and_variance_follow_from_the_scale(void **state)
{
	const struct sample s = {
		.group = "BPFOnly",
		.source = "acpi",
		.text = "{\"All_Weights\":{\"Categorical_Variables\":null,\"Numerical_"
			"Variables\":"
			"{\"bpf_cpu_time_ms\":{\"scale\":0.5,\"mean\":3,\"weight\":2e-3}"
			","
			"\"bpf_page_cache_hit\":{\"scale\":0,\"weight\":7}}}}",
	};
	char *text = write_weights(&s, TW_CLIENT_0_7);

	(void)state;
	assert_string_equal(
		text, "{\"platform\":{\"All_Weights\":{\"Bias_Weight\":0,"
		      "\"Categorical_Variables\":{},\"Numerical_Variables\":{"
		      "\"bpf_cpu_time_ms\":{\"scale\":0.5,\"mean\":0,\"variance\":0.25,"
		      "\"weight\":0.002},\"bpf_page_cache_hit\":{\"scale\":1,\"mean\":0,"
		      "\"variance\":1,\"weight\":0}}}}}");
	free(text);
}

static void weights_that_give_negative_power_are_refused(void **state)
{
	static const char *const texts[] = {
		"{\"All_Weights\":{\"Bias_Weight\":-1,\"Numerical_Variables\":{"
		"\"bpf_cpu_time_ms\":{\"scale\":1,\"weight\":1}}}}",
		"{\"All_Weights\":{\"Bias_Weight\":50,\"Numerical_Variables\":{"
		"\"bpf_cpu_time_ms\":{\"scale\":1,\"weight\":-1e-3}}}}",
		"{\"All_Weights\":{\"Bias_Weight\":1,\"Categorical_Variables\":"
		"{\"cpu_architecture\":{\"Sky Lake\":{\"weight\":-1.5}}},"
		"\"Numerical_Variables\":{}}}",
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
		const struct sample s = { .group = "BPFOnly", .text = texts[i] };
		struct tw_weights_shape shape;
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };

		sample_model(&s, &m);
		assert_int_equal(tw_weights_shape(&m, &shape, &err), 0);
		assert_true(shape.known);
		assert_false(shape.non_negative || shape.rises || shape.additive);
		tw_model_release(&m);
		for (int c = 0; c < TW_CLIENT_COUNT; c++)
			assert_refused(&s, (enum tw_client)c, TW_UNSUPPORTED,
				       "its weights give negative power");
	}
	assert_refused(&(struct sample){ .source = "acpi",
					 .group = "BPFOnly",
					 .trainer = "LogarithmicRegressionTrainer",
					 .predictor = "curvefit",
					 .text = CURVE("logarithmic", "bpf_cpu_time_ms",
						       "[-3,4,70]") },
		       TW_CLIENT_CURRENT, TW_UNSUPPORTED,
		       "its weights give negative power");
}

static void categories_are_kept(void **state)
{
	const struct sample s = {
		.group = "BPFOnly",
		.source = "acpi",
		.text = "{\"All_Weights\":{\"Bias_Weight\":1,\"Categorical_Variables\":"
			"{\"cpu_architecture\":{\"Sky Lake\":{\"weight\":2.5}}},"
			"\"Numerical_Variables\":{}}}",
	};
	char *text = write_weights(&s, TW_CLIENT_0_7);

	(void)state;
	assert_non_null(
		strstr(text, "{\"cpu_architecture\":{\"Sky Lake\":{\"weight\":2.5}}}"));
	free(text);
}

#define NUMERICAL(feature) \
	"{\"All_Weights\":{\"Bias_Weight\":1,\"Numerical_Variables\":{" feature "}}}"

static void weights_that_crash_clients_are_refused(void **state)
{
	static const struct {
		const char *text;
		enum tw_code code;
		const char *want;
	} cases[] = {
		{ "{}", TW_PARSE, "package.json.All_Weights: missing" },
		{ "{\"All_Weights\":[]}", TW_PARSE,
		  "package.json.All_Weights: expected an object" },
		{ "{\"All_Weights\":{\"Bias_Weight\":[1]}}", TW_PARSE,
		  "package.json.All_Weights.Bias_Weight: expected a finite number" },
		{ "{\"All_Weights\":{\"Bias_Weight\":\"1\"}}", TW_PARSE,
		  "package.json.All_Weights.Bias_Weight: expected a finite number" },
		{ "{\"All_Weights\":{\"Numerical_Variables\":[]}}", TW_PARSE,
		  "All_Weights.Numerical_Variables: expected an object, got a list" },
		{ "{\"All_Weights\":{\"Categorical_Variables\":{\"a\":1}}}", TW_PARSE,
		  "Categorical_Variables.a: expected an object, got a number" },
		{ "{\"All_Weights\":{\"Categorical_Variables\":{\"a\":{\"b\":{}}}}}",
		  TW_PARSE, "Categorical_Variables.a.b.weight: expected a number" },
		{ NUMERICAL("\"cpu_cycles\":{\"scale\":1,\"weight\":1}"), TW_INVALID,
		  "Numerical_Variables.cpu_cycles: not a feature of the model" },
		{ NUMERICAL("\"bpf_cpu_time_ms\":3"), TW_PARSE,
		  "Numerical_Variables.bpf_cpu_time_ms: expected an object" },
		{ NUMERICAL("\"bpf_cpu_time_ms\":{\"weight\":1}"), TW_PARSE,
		  "bpf_cpu_time_ms.scale: missing" },
		{ NUMERICAL("\"bpf_cpu_time_ms\":{\"scale\":1}"), TW_PARSE,
		  "bpf_cpu_time_ms.weight: missing" },
		{ NUMERICAL("\"bpf_cpu_time_ms\":{\"scale\":-1,\"weight\":1}"),
		  TW_INVALID, "bpf_cpu_time_ms.scale: -1 is out of range" },
		{ NUMERICAL("\"bpf_cpu_time_ms\":{\"scale\":1e200,\"weight\":1}"),
		  TW_INVALID, "bpf_cpu_time_ms.scale: 1e+200 is out of range" },
		{ NUMERICAL("\"bpf_cpu_time_ms\":{\"scale\":1e-200,\"weight\":1}"),
		  TW_INVALID, "bpf_cpu_time_ms.scale: 1e-200 is out of range" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct sample s = { .group = "BPFOnly", .text = cases[i].text };

		for (int c = 0; c < TW_CLIENT_COUNT; c++)
			assert_refused(&s, (enum tw_client)c, cases[i].code,
				       cases[i].want);
	}
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_model m = { 0 };
	int failures = 0;

	(void)state;
	sample_model(&bpf, &m);
	for (int n = 1;; n++, failures++) {
		struct tw_buf b = { 0 };
		struct tw_err err = { 0 };
		bool failed;
		int rc;

		fail_alloc_at(n);
		rc = tw_weights_write(&m, TW_CLIENT_CURRENT, &b, &err);
		failed = rc < 0 || tw_buf_failed(&b);
		tw_buf_clear(&b);
		if (!fail_alloc_hit()) {
			assert_false(failed);
			break;
		}
		assert_true(failed);
		assert_true(rc == 0 || err.code == TW_NOMEM);
	}
	assert_true(failures > 3);
	tw_model_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(current_clients_get_name_spec_and_error_too),
		cmocka_unit_test(an_undefined_error_and_an_unknown_machine_are_left_out),
		cmocka_unit_test(clients_before_0_7_12_get_component_keys_only),
		cmocka_unit_test(clients_before_0_5_4_get_the_key_pkg),
		cmocka_unit_test(a_total_is_the_sum_of_package_and_dram),
		cmocka_unit_test(a_total_predicts_what_its_components_predict_together),
		cmocka_unit_test(clients_before_0_5_4_get_a_platform_only_as_a_total),
		cmocka_unit_test(trees_are_base64_and_for_current_clients_only),
		cmocka_unit_test(curves_are_for_current_clients_only),
		cmocka_unit_test(curves_that_clients_compute_wrongly_are_refused),
		cmocka_unit_test(curves_of_two_metrics_have_no_weights),
		cmocka_unit_test(only_some_kinds_have_weights),
		cmocka_unit_test(mean_and_variance_follow_from_the_scale),
		cmocka_unit_test(weights_that_give_negative_power_are_refused),
		cmocka_unit_test(categories_are_kept),
		cmocka_unit_test(weights_that_crash_clients_are_refused),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
