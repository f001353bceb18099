/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "model-db/index/choose.h"
#include "server/model_request.h"
#include "tests/unit/api_schema.h"
#include "tests/unit/fail_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(const char *text, struct tw_wanted *out, struct tw_err *err)
{
	return tw_model_request_parse(text, strlen(text), NULL, out, err);
}

static void keplers_own_request_is_understood(void **state)
{
	/* Captured from Kepler 0.7.12. */
	static const char text[] =
		"{\"metrics\":[\"bpf_cpu_time_ms\",\"bpf_page_cache_hit\","
		"\"cpu_architecture\"],\"output_type\":\"AbsPower\","
		"\"source\":\"intel_rapl\",\"node_type\":0,\"weight\":true,"
		"\"trainer_name\":\"SGDRegressorTrainer\",\"filter\":\"\","
		"\"machine_spec\":{\"vendor\":\"authenticamd\",\"processor\":\"amd_"
		"epyc\","
		"\"cores\":2,\"chips\":1,\"memory\":23,\"frequency\":2600,"
		"\"threads_per_core\":1}}";
	struct tw_wanted w = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(parse(text, &w, &err), 0);
	assert_int_equal(w.metrics.count, 3);
	assert_string_equal(w.metrics.at[0], "bpf_cpu_time_ms");
	assert_string_equal(w.metrics.at[2], "cpu_architecture");
	assert_int_equal(w.output, TW_ABS_POWER);
	assert_string_equal(w.source->name, "rapl-sysfs");
	assert_int_equal(w.node_type, -1);
	assert_true(w.weight);
	assert_true(w.loose_node_type);
	assert_string_equal(w.trainer, "SGDRegressorTrainer");
	assert_null(w.filter);
	assert_null(w.pipeline);
	assert_string_equal(w.spec.vendor, "authenticamd");
	assert_string_equal(w.spec.processor, "amd_epyc");
	assert_int_equal(w.spec.cores, 2);
	assert_int_equal(w.spec.chips, 1);
	assert_int_equal(w.spec.memory_gib, 23);
	assert_int_equal(w.spec.frequency_mhz, 2600);
	assert_int_equal(w.spec.threads_per_core, 1);
	assert_int_equal(w.client, TW_CLIENT_CURRENT);
	tw_wanted_release(&w);
}

static void every_key_may_be_given(void **state)
{
	static const char text[] =
		"{\"metrics\":[],\"output_type\":\"DynPower\",\"source\":\"acpi\","
		"\"weight\":false,\"trainer_name\":\"T\",\"node_type\":\"17\","
		"\"filter\":\"mae:10;features:a,b\",\"pipeline_name\":\"p-1\","
		"\"machine_spec\":null,\"loose_node_type\":false,\"other\":{\"x\":[1]},"
		"\"model_classes\":[\"linear\",1,\"ensemble\"]}";
	struct tw_wanted w = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(parse(text, &w, &err), 0);
	assert_int_equal(w.metrics.count, 0);
	assert_int_equal(w.output, TW_DYN_POWER);
	assert_string_equal(w.source->name, "acpi");
	assert_false(w.weight);
	assert_false(w.loose_node_type);
	assert_true(w.classes && w.ensembles && !w.trees);
	assert_string_equal(w.trainer, "T");
	assert_string_equal(w.filter, "mae:10;features:a,b");
	assert_string_equal(w.pipeline, "p-1");
	assert_int_equal(w.node_type, 17);
	assert_false(tw_machine_spec_known(&w.spec));
	tw_wanted_release(&w);
}

/* What follows {"metrics":[], */
static const struct meaning {
	const char *rest;
	enum tw_client client;
	enum tw_output output;
	bool weight;
	long long node_type;
} meanings[] = {
	/* Kepler 0.7.12 to 0.9: the node type was never set. */
	{ "\"output_type\":\"AbsPower\",\"machine_spec\":{},\"node_type\":0",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, false, -1 },
	{ "\"output_type\":\"AbsPower\",\"machine_spec\":null,\"node_type\":0",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, false, -1 },
	{ "\"output_type\":\"AbsPower\",\"machine_spec\":{},\"node_type\":1,\"weight\":"
	  "true",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, true, 1 },
	/* Kepler sends none of these keys. */
	{ "\"output_type\":\"AbsPower\",\"machine_spec\":{},\"node_type\":0,"
	  "\"loose_node_type\":false",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, false, 0 },
	{ "\"output_type\":\"AbsPower\",\"machine_spec\":{},\"node_type\":0,"
	  "\"model_classes\":[\"linear\"]",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, false, 0 },
	{ "\"output_type\":\"AbsPower\",\"machine_spec\":{},\"node_type\":0,"
	  "\"pipeline_name\":\"\"",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, false, 0 },
	/* Kepler 0.5.4 to 0.7.11 */
	{ "\"output_type\":\"DynPower\",\"source\":\"rapl\",\"node_type\":1,\"weight\":"
	  "true",
	  TW_CLIENT_0_7, TW_DYN_POWER, true, 1 },
	{ "\"output_type\":\"DynPower\",\"node_type\":1,\"weight\":false", TW_CLIENT_0_7,
	  TW_DYN_POWER, false, 1 },
	/* Kepler up to 0.5.3 */
	{ "\"output_type\":\"AbsModelWeight\"", TW_CLIENT_0_5_TOTAL, TW_ABS_POWER, true,
	  -1 },
	{ "\"output_type\":\"DynModelWeight\"", TW_CLIENT_0_5_TOTAL, TW_DYN_POWER, true,
	  -1 },
	{ "\"output_type\":\"AbsComponentModelWeight\"", TW_CLIENT_0_5, TW_ABS_POWER,
	  true, -1 },
	{ "\"output_type\":\"DynComponentModelWeight\"", TW_CLIENT_0_5, TW_DYN_POWER,
	  true, -1 },
	{ "\"output_type\":\"AbsComponentPower\"", TW_CLIENT_0_5, TW_ABS_POWER, false,
	  -1 },
	{ "\"output_type\":\"DynComponentPower\"", TW_CLIENT_0_5, TW_DYN_POWER, false,
	  -1 },
	{ "\"output_type\":\"DynPower\"", TW_CLIENT_0_5_TOTAL, TW_DYN_POWER, false, -1 },
	/* Everybody else: as 0.7.12, and a node type that is meant. */
	{ "\"output_type\":\"AbsPower\",\"weight\":true", TW_CLIENT_CURRENT, TW_ABS_POWER,
	  true, -1 },
	{ "\"output_type\":\"AbsPower\",\"source\":\"\",\"node_type\":1",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, false, 1 },
	/* Some clients send a text. */
	{ "\"output_type\":\"AbsPower\",\"weight\":\"true\"", TW_CLIENT_CURRENT,
	  TW_ABS_POWER, true, -1 },
	{ "\"output_type\":\"AbsPower\",\"weight\":\"True\"", TW_CLIENT_CURRENT,
	  TW_ABS_POWER, true, -1 },
	{ "\"output_type\":\"AbsPower\",\"weight\":\"false\"", TW_CLIENT_CURRENT,
	  TW_ABS_POWER, false, -1 },
	{ "\"output_type\":\"AbsModelWeight\",\"weight\":\"False\"", TW_CLIENT_CURRENT,
	  TW_ABS_POWER, false, -1 },
	{ "\"output_type\":\"AbsPower\",\"weight\":true,\"node_type\":0",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, true, 0 },
	{ "\"output_type\":\"AbsPower\",\"weight\":true,\"node_type\":1e1,\"source\":"
	  "\"\"",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, true, 10 },
	{ "\"output_type\":\"AbsPower\",\"weight\":true,\"node_type\":\"-1\"",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, true, -1 },
	{ "\"output_type\":\"AbsPower\",\"weight\":true,\"node_type\":\"\"",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, true, -1 },
	{ "\"output_type\":\"AbsPower\",\"weight\":true,\"node_type\":null,\"filter\":"
	  "null,"
	  "\"trainer_name\":null,\"pipeline_name\":null,\"loose_node_type\":null",
	  TW_CLIENT_CURRENT, TW_ABS_POWER, true, -1 },
};

static void each_generation_is_recognised_by_its_keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(meanings); i++) {
		const struct meaning *m = &meanings[i];
		struct tw_wanted w = { 0 };
		struct tw_err err = { 0 };
		char text[512];

		snprintf(text, sizeof(text), "{\"metrics\":[],%s}", m->rest);
		if (parse(text, &w, &err) < 0)
			fail_msg("%s: %s", text, err.text);
		if (w.client != m->client || w.output != m->output ||
		    w.weight != m->weight || w.node_type != m->node_type)
			fail_msg("%s: client %d, output %d, weight %d, node type %lld",
				 text, (int)w.client, (int)w.output, w.weight,
				 w.node_type);
		assert_string_equal(w.source->name, "rapl-sysfs");
		tw_wanted_release(&w);
	}
}

static void a_default_machine_needs_a_processor_and_its_cpus(void **state)
{
	static const char *const texts[][2] = {
		{ "amd_epyc_7713",
		  "default_machine: want KEY=VALUE, not 'amd_epyc_7713'" },
		{ "processor=amd_epyc_7713",
		  "default_machine: it needs processor and cores" },
		{ "cores=8", "default_machine: it needs processor and cores" },
		{ "", "default_machine: it needs processor and cores" },
		{ "processor=a,cores=8,sockets=2",
		  "default_machine: 'sockets' is not a key of machine_spec" },
		{ "processor=a,cores=8,cores=9", "default_machine.cores: given twice" },
		{ "processor=a,cores=many",
		  "default_machine.cores: 'many' is not a number" },
	};
	struct tw_machine_spec s;
	struct tw_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
		err = (struct tw_err){ 0 };
		assert_int_equal(tw_default_machine_parse(texts[i][0], &s, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_string_equal(err.text, texts[i][1]);
	}
	assert_int_equal(tw_default_machine_parse("processor=amd_epyc_7713, cores=256,"
						  "chips=2,memory=512",
						  &s, &err),
			 0);
	assert_string_equal(s.processor, "amd_epyc_7713");
	assert_int_equal(s.cores, 256);
	assert_int_equal(s.chips, 2);
	assert_int_equal(s.memory_gib, 512);
}

/* What follows {"metrics":[],"output_type":"AbsPower" */
static const struct unnamed {
	const char *rest;
	bool is_default;
	long long node_type;
} unnamed[] = {
	{ "", true, -1 },
	/* Constants of Kepler */
	{ ",\"node_type\":1,\"weight\":true,\"source\":\"acpi\"", true, -1 },
	{ ",\"node_type\":0,\"weight\":true", true, -1 },
	{ ",\"node_type\":1,\"trainer_name\":\"SGDRegressorTrainer\"", true, -1 },
	{ ",\"model_classes\":[\"linear\"],\"pipeline_name\":\"p\"", true, -1 },
	/* Choices */
	{ ",\"node_type\":2,\"weight\":true", false, 2 },
	{ ",\"node_type\":1,\"model_classes\":[\"linear\"]", false, 1 },
	{ ",\"node_type\":0,\"pipeline_name\":\"p\"", false, 0 },
	{ ",\"loose_node_type\":false", false, -1 },
	{ ",\"machine_spec\":{\"cores\":8}", false, -1 },
	{ ",\"machine_spec\":{}", false, -1 },
	{ ",\"machine_spec\":null,\"node_type\":0", false, -1 },
};

static void the_default_machine_is_of_requests_that_choose_none(void **state)
{
	const struct tw_machine_spec machine = { .processor = "amd_epyc_7713",
						 .cores = 256 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(unnamed); i++) {
		const struct unnamed *u = &unnamed[i];
		struct tw_wanted w = { 0 };
		struct tw_err err = { 0 };
		char text[512];

		snprintf(text, sizeof(text),
			 "{\"metrics\":[],\"output_type\":\"AbsPower\"%s}", u->rest);
		if (tw_model_request_parse(text, strlen(text), &machine, &w, &err) < 0)
			fail_msg("%s: %s", text, err.text);
		if ((w.spec.cores == 256) != u->is_default || w.node_type != u->node_type)
			fail_msg("%s: %u cores, node type %lld", text, w.spec.cores,
				 w.node_type);
		tw_wanted_release(&w);
	}
}

#define ABS "\"metrics\":[],\"output_type\":\"AbsPower\""

static const struct refusal {
	const char *text;
	enum tw_code code;
	const char *error; /* its beginning */
} refusals[] = {
	{ "", TW_PARSE, "request: byte 0: cut short before a value" },
	{ "{", TW_PARSE, "request: byte 1: cut short in an object" },
	{ "{" ABS "}}", TW_PARSE, "request: byte 39: text after the end" },
	{ "{" ABS ",}", TW_PARSE, "request: byte 39: expected a key" },
	{ "[]", TW_PARSE, "request: expected an object, got a list" },
	{ "null", TW_PARSE, "request: expected an object, got null" },
	{ "17", TW_PARSE, "request: expected an object, got a number" },
	{ "{" ABS ",\"filter\":\"a\\u0000b\"}", TW_PARSE, "request.filter: a NUL in it" },
	{ "{" ABS ",\"filter\":\"\xff\"}", TW_PARSE, "request: byte " },
	{ "{" ABS ",\"weight\":true,\"weight\":false}", TW_PARSE,
	  "request.weight: given twice" },
	{ "{" ABS ",\"machine_spec\":{\"cores\":2,\"cores\":4}}", TW_INVALID,
	  "request.machine_spec.cores: given twice" },
	{ "{" ABS ",\"machine_spec\":{\"vendor\":[\"x\"]}}", TW_INVALID,
	  "request.machine_spec.vendor: expected a string, got a list" },
	{ "{" ABS ",\"machine_spec\":{\"memory\":{\"x\":1}}}", TW_INVALID,
	  "request.machine_spec.memory: expected a number, got an object" },
	{ "{\"output_type\":\"AbsPower\",\"metrics\":[\"a\\u0000\"]}", TW_INVALID,
	  "request.metrics[0]: " },
	{ "{\"output_type\":\"AbsPower\",\"metrics\":[[\"a\"]]}", TW_PARSE,
	  "request.metrics[0]: expected a string, got a list" },
	{ "{\"output_type\":\"AbsPower\",\"metrics\":null}", TW_PARSE,
	  "request.metrics: must not be null" },
	{ "{\"metrics\":[],\"output_type\":null}", TW_PARSE,
	  "request.output_type: must not be null" },
	{ "{\"metrics\":[]}", TW_PARSE, "request.output_type: missing" },
	{ "{\"output_type\":\"AbsPower\"}", TW_PARSE, "request.metrics: missing" },
	{ "{\"output_type\":1}", TW_PARSE,
	  "request.output_type: expected a string, got a number" },
	{ "{\"output_type\":\"abspower\"}", TW_INVALID,
	  "request.output_type: 'abspower' is neither AbsPower nor DynPower" },
	{ "{\"output_type\":\"\"}", TW_INVALID,
	  "request.output_type: '' is neither AbsPower nor DynPower" },
	{ "{\"output_type\":\"AbsPower\",\"metrics\":\"a\"}", TW_PARSE,
	  "request.metrics: expected a list, got a string" },
	{ "{\"output_type\":\"AbsPower\",\"metrics\":[\"a\",1]}", TW_PARSE,
	  "request.metrics[1]: expected a string, got a number" },
	{ "{" ABS ",\"source\":\"bogus\"}", TW_INVALID,
	  "request.source: no energy source is called 'bogus'" },
	{ "{" ABS ",\"source\":{}}", TW_PARSE,
	  "request.source: expected a string, got an object" },
	{ "{" ABS ",\"weight\":\"\"}", TW_PARSE,
	  "request.weight: expected true or false, got a string" },
	{ "{" ABS ",\"weight\":\"truest\"}", TW_PARSE,
	  "request.weight: expected true or false, got a string" },
	{ "{" ABS ",\"weight\":\"true\\u0000\"}", TW_PARSE,
	  "request.weight: expected true or false, got a string" },
	{ "{" ABS ",\"weight\":\"yes\"}", TW_PARSE,
	  "request.weight: expected true or false, got a string" },
	{ "{" ABS ",\"weight\":0}", TW_PARSE,
	  "request.weight: expected true or false, got a number" },
	{ "{" ABS ",\"loose_node_type\":\"no\"}", TW_PARSE,
	  "request.loose_node_type: expected true or false, got a string" },
	{ "{" ABS ",\"trainer_name\":[]}", TW_PARSE,
	  "request.trainer_name: expected a string, got a list" },
	{ "{" ABS ",\"pipeline_name\":7}", TW_PARSE,
	  "request.pipeline_name: expected a string, got a number" },
	{ "{" ABS ",\"filter\":false}", TW_PARSE,
	  "request.filter: expected a string, got false" },
	{ "{" ABS ",\"node_type\":1.5}", TW_PARSE,
	  "request.node_type: expected a whole number, got a number" },
	{ "{" ABS ",\"node_type\":-2}", TW_INVALID,
	  "request.node_type: -2 is not from -1 to 1000000" },
	{ "{" ABS ",\"node_type\":1e-2}", TW_PARSE,
	  "request.node_type: expected a whole number, got a number" },
	{ "{" ABS ",\"node_type\":12345678901234567890123}", TW_INVALID,
	  "request.node_type: 12345678901234567" },
	{ "{" ABS ",\"node_type\":1000001}", TW_INVALID,
	  "request.node_type: 1000001 is not from -1 to 1000000" },
	{ "{" ABS ",\"node_type\":\"x\"}", TW_INVALID, "request.node_type: 'x' is not" },
	{ "{" ABS ",\"node_type\":\" 1\"}", TW_INVALID,
	  "request.node_type: ' 1' is not" },
	{ "{" ABS ",\"node_type\":\"-2\"}", TW_INVALID,
	  "request.node_type: '-2' is not" },
	{ "{" ABS ",\"node_type\":[]}", TW_PARSE,
	  "request.node_type: expected a whole number, got a list" },
	{ "{" ABS ",\"machine_spec\":[]}", TW_INVALID,
	  "request.machine_spec: expected an object, got a list" },
	{ "{" ABS ",\"machine_spec\":{\"cores\":\"abc\"}}", TW_INVALID,
	  "request.machine_spec.cores: 'abc' is not a number" },
};

/* Kepler 0.5 to 0.7.9, 0.8 and 0.9 list counters whether the machine has them or not. */
static void a_list_of_all_metrics_proves_no_counters(void **state)
{
	static const struct {
		const char *text;
		bool unproven;
	} cases[] = {
		{ "{\"metrics\":[\"cpu_cycles\",\"cpu_ref_cycles\",\"bpf_cpu_time_ms\"],"
		  "\"output_type\":\"AbsPower\"}",
		  true },
		{ "{\"metrics\":[\"cpu_cycles\",\"cpu_ref_cycles\",\"bpf_cpu_time_ms\"],"
		  "\"output_type\":\"AbsPower\",\"model_classes\":[\"linear\"]}",
		  false },
		{ "{\"metrics\":[\"cpu_cycles\",\"cpu_ref_cycles\",\"bpf_cpu_time_us\"],"
		  "\"output_type\":\"AbsPower\"}",
		  true },
		{ "{\"metrics\":[\"cpu_cycles\",\"bpf_cpu_time_ms\"],"
		  "\"output_type\":\"AbsPower\"}",
		  false },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_wanted w = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(parse(cases[i].text, &w, &err), 0);
		assert_int_equal(w.counters_unproven, cases[i].unproven);
		tw_wanted_release(&w);
	}
}

static void kepler_s_default_trainer_is_told_from_one_that_was_chosen(void **state)
{
	static const struct {
		const char *rest;
		bool is_default;
	} cases[] = {
		{ "\"trainer_name\":\"SGDRegressorTrainer\",\"weight\":true", true },
		{ "\"trainer_name\":\"SGDRegressorTrainer\",\"weight\":false", false },
		{ "\"trainer_name\":\"SGDRegressorTrainers\",\"weight\":true", false },
		{ "\"trainer_name\":\"\",\"weight\":true", false },
		{ "\"trainer_name\":\"SGDRegressorTrainer\",\"weight\":true,"
		  "\"model_classes\":[\"linear\",\"xgboost\"]",
		  false },
		/* tw-estimator, for a client that names the default. */
		{ "\"trainer_name\":\"SGDRegressorTrainer\",\"weight\":false,"
		  "\"model_classes\":[\"linear\"]",
		  true },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_wanted w = { 0 };
		struct tw_err err = { 0 };
		char text[256];

		snprintf(text, sizeof(text),
			 "{\"metrics\":[],\"output_type\":\"AbsPower\",%s}",
			 cases[i].rest);
		assert_int_equal(parse(text, &w, &err), 0);
		assert_int_equal(w.default_trainer, cases[i].is_default);
		tw_wanted_release(&w);
	}
}

static void malformed_text_is_rejected_with_its_position(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(refusals); i++) {
		const struct refusal *r = &refusals[i];
		struct tw_wanted w = { 0 }, zero = { 0 };
		struct tw_err err = { 0 };

		if (parse(r->text, &w, &err) == 0)
			fail_msg("%s is taken", r->text);
		if (strncmp(err.text, r->error, strlen(r->error)) != 0)
			fail_msg("%s: %s", r->text, err.text);
		assert_int_equal(err.code, r->code);
		assert_memory_equal(&w, &zero, sizeof(w));
	}
}

static void numbers_and_lengths_have_limits(void **state)
{
	struct tw_wanted w = { 0 };
	struct tw_err err = { 0 };
	char *text = malloc(200000);
	size_t len;

	(void)state;
	assert_non_null(text);
	len = (size_t)sprintf(text, "{\"output_type\":\"AbsPower\",\"metrics\":[\"m\"");
	for (int i = 0; i < TW_MODEL_REQUEST_METRICS_MAX; i++)
		len += (size_t)sprintf(text + len, ",\"m\"");
	sprintf(text + len, "]}");
	assert_int_equal(parse(text, &w, &err), -1);
	assert_string_equal(err.text, "request.metrics: 257 entries, limit is 256");

	err = (struct tw_err){ 0 };
	sprintf(text, "{\"output_type\":\"AbsPower\",\"metrics\":[\"a\",\"%0300d\"]}", 0);
	assert_int_equal(parse(text, &w, &err), -1);
	assert_string_equal(err.text, "request.metrics[1]: 300 bytes, limit is 127");

	err = (struct tw_err){ 0 };
	strcpy(text, "{\"x\":");
	memset(text + 5, '[', 199994);
	text[199999] = '\0';
	assert_int_equal(parse(text, &w, &err), -1);
	assert_string_equal(err.text, "request: byte 68: nested deeper than 64");

	err = (struct tw_err){ 0 };
	memset(text, '[', 199999);
	text[199999] = '\0';
	assert_int_equal(parse(text, &w, &err), -1);
	assert_string_equal(err.text, "request: expected an object, got a list");
	free(text);
}

static void old_names_are_taken_where_weights_are_wanted(void **state)
{
	struct tw_wanted w = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(parse("{\"metrics\":[\"cpu_instr\"],"
			       "\"output_type\":\"DynComponentModelWeight\"}",
			       &w, &err),
			 0);
	assert_string_equal(w.metrics.at[0], "cpu_instructions");
	assert_true(w.old_names != 0);
	tw_wanted_release(&w);

	/* The client of a zip could not bind the feature. */
	assert_int_equal(parse("{\"metrics\":[\"cpu_instr\"],\"weight\":false,"
			       "\"output_type\":\"DynPower\"}",
			       &w, &err),
			 0);
	assert_string_equal(w.metrics.at[0], "cpu_instr");
	assert_int_equal(w.old_names, 0);
	tw_wanted_release(&w);
}

static void a_name_of_300_bytes_is_just_a_name(void **state)
{
	struct tw_wanted w = { 0 };
	struct tw_err err = { 0 };
	char text[1024];

	(void)state;
	sprintf(text, "{" ABS ",\"trainer_name\":\"%0300d\"}", 0);
	assert_int_equal(parse(text, &w, &err), 0);
	assert_int_equal(strlen(w.trainer), 300);
	tw_wanted_release(&w);
}

static void bytes_behind_the_length_are_not_read(void **state)
{
	struct tw_wanted w = { 0 };
	struct tw_err err = { 0 };
	const char text[] = "{" ABS "}";
	char *exact = malloc(sizeof(text) - 1);

	(void)state;
	assert_non_null(exact);
	memcpy(exact, text, sizeof(text) - 1);
	assert_int_equal(tw_model_request_parse(exact, sizeof(text) - 1, NULL, &w, &err),
			 0);
	tw_wanted_release(&w);
	free(exact);
}

static void every_failed_allocation_is_reported(void **state)
{
	static const char text[] =
		"{\"output_type\":\"AbsPower\",\"metrics\":[\"a\",\"cpu_instr\"],"
		"\"trainer_name\":\"t\",\"pipeline_name\":\"p\",\"weight\":true,"
		"\"filter\":\"mae:1\"}";
	int failures = 0;

	(void)state;
	for (int n = 1;; n++) {
		struct tw_wanted w = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = parse(text, &w, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_wanted_release(&w);
			break;
		}
		failures++;
	}
	assert_true(failures >= 7);
}

static int parse_only(const char *text, struct tw_err *err)
{
	struct tw_wanted w = { 0 };
	const int rc = parse(text, &w, err);

	tw_wanted_release(&w);
	return rc;
}

/* The request's, and the keys of a machine spec as a request reads and an answer has
 * them. */
static void the_schemas_of_the_api_are_read(void **state)
{
	static const struct tw_machine_spec all = { "v", "p", 1, 1, 1, 1, 1, "s" };
	json_t *request = api_schema("server/openapi.json", "ModelRequest");
	json_t *spec = api_schema("server/openapi.json", "MachineSpec");
	json_t *written = tw_machine_spec_to_json(&all), *value;
	const json_t *properties = json_object_get(spec, "properties");
	const char *key;

	(void)state;
	api_schema_is_read(request, "", parse_only);
	api_schema_is_read(spec, "machine_spec.", parse_only);
	assert_int_equal(json_object_size(written), json_object_size(properties));
	json_object_foreach(written, key, value)
		assert_string_equal(json_string_value(json_object_get(
					    json_object_get(properties, key), "type")),
				    json_is_string(value) ? "string" : "integer");
	json_decref(written);
	json_decref(request);
	json_decref(spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keplers_own_request_is_understood),
		cmocka_unit_test(every_key_may_be_given),
		cmocka_unit_test(the_schemas_of_the_api_are_read),
		cmocka_unit_test(each_generation_is_recognised_by_its_keys),
		cmocka_unit_test(a_default_machine_needs_a_processor_and_its_cpus),
		cmocka_unit_test(the_default_machine_is_of_requests_that_choose_none),
		cmocka_unit_test(a_list_of_all_metrics_proves_no_counters),
		cmocka_unit_test(
			kepler_s_default_trainer_is_told_from_one_that_was_chosen),
		cmocka_unit_test(malformed_text_is_rejected_with_its_position),
		cmocka_unit_test(numbers_and_lengths_have_limits),
		cmocka_unit_test(old_names_are_taken_where_weights_are_wanted),
		cmocka_unit_test(a_name_of_300_bytes_is_just_a_name),
		cmocka_unit_test(bytes_behind_the_length_are_not_read),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("model_request", tests, NULL, NULL);
}
