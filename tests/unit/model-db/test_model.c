/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "model-db/model.h"
#include "model-db/model_files.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/same_files.h"
#include "tests/unit/sample_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_files(const struct tw_model *m, struct tw_fileset *out)
{
	struct tw_err err = { 0 };

	if (tw_model_to_files(m, out, &err) < 0)
		fail_msg("%s", err.text);
}

static void read_files(const struct tw_fileset *files, struct tw_model *out)
{
	struct tw_err err = { 0 };

	if (tw_model_from_files(files, out, &err) < 0)
		fail_msg("%s", err.text);
}

static void sample_files(const struct sample *s, struct tw_fileset *out)
{
	struct tw_model m = { 0 };

	sample_model(s, &m);
	write_files(&m, out);
	tw_model_release(&m);
}

static const char *text_of(const struct tw_fileset *files, const char *name)
{
	const struct tw_fileset_file *f = tw_fileset_find(files, name);

	if (f == NULL)
		fail_msg("no file '%s'", name);
	return f->data;
}

static void a_written_model_reads_back_unchanged(void **state)
{
	const struct sample s = {
		.group = "BPFOnly",
		.trainer = "Odd_Trainer.v2",
		.node_type = 17,
		.output = TW_DYN_POWER,
		.mae_w = 0.1,
		.spec = { .processor = "intel_xeon", .cores = 96, .memory_gib = 377 },
		.metadata = "{\"package_mae\":0.1,\"dram_mae\":0.05,\"seed\":7}",
	};
	struct tw_fileset files = { 0 }, again = { 0 };
	struct tw_model m = { 0 };

	(void)state;
	sample_files(&s, &files);
	read_files(&files, &m);
	assert_string_equal(m.info.name, "Odd_Trainer.v2_17");
	assert_string_equal(m.info.trainer, "Odd_Trainer.v2");
	assert_string_equal(m.info.predictor, "linear");
	assert_string_equal(m.info.source->name, "rapl-sysfs");
	assert_string_equal(m.info.group->name, "BPFOnly");
	assert_int_equal(m.info.output, TW_DYN_POWER);
	assert_int_equal(m.info.node_type, 17);
	assert_int_equal(m.info.spec.cores, 96);
	assert_int_equal(m.info.features.count, 2);
	assert_true(m.info.mae_w == 0.1 && m.info.mape_percent == 12.25);
	assert_int_equal(m.parts, 2);
	assert_int_equal(m.part[1].component, TW_DRAM);
	assert_true(m.part[1].feature_min[1] == 0 &&
		    m.part[1].feature_max[1] == 1e6 + 0.1);
	assert_string_equal(m.part[1].text, text_of(&files, "dram.json"));

	write_files(&m, &again);
	same_files(&files, &again);
	tw_fileset_clear(&again);
	tw_fileset_clear(&files);
	tw_model_release(&m);
}

static void the_files_are_those_of_the_wire_contract(void **state)
{
	const struct sample s = { .spec = { .cores = 4 }, .metadata = "{\"seed\":7}" };
	struct tw_fileset files = { 0 };

	(void)state;
	sample_files(&s, &files);
	assert_int_equal(files.count, 5);
	assert_string_equal(files.at[0].name, "SGDRegressorTrainer_0.json");
	assert_string_equal(files.at[1].name, "dram.json");
	assert_string_equal(files.at[2].name, "metadata.json");
	assert_string_equal(files.at[3].name, "package.json");
	assert_string_equal(files.at[4].name, "weight.json");
	assert_string_equal(text_of(&files, "metadata.json"),
			    "{\n"
			    "  \"format_version\": 1,\n"
			    "  \"model_name\": \"SGDRegressorTrainer_0\",\n"
			    "  \"model_class\": \"linear\",\n"
			    "  \"model_file\": \"SGDRegressorTrainer_0.json\",\n"
			    "  \"energy_source\": \"rapl-sysfs\",\n"
			    "  \"output_type\": \"AbsPower\",\n"
			    "  \"feature_group\": \"CounterOnly\",\n"
			    "  \"features\": [\"cache_miss\", \"cpu_cycles\", "
			    "\"cpu_instructions\"],\n"
			    "  \"fe_files\": [],\n"
			    "  \"trainer\": \"SGDRegressorTrainer\",\n"
			    "  \"node_type\": 0,\n"
			    "  \"mae\": 1.5,\n"
			    "  \"mape\": 12.25,\n"
			    "  \"machine_spec\": {\n"
			    "    \"cores\": 4\n"
			    "  },\n"
			    "  \"seed\": 7\n"
			    "}\n");
	tw_fileset_clear(&files);
}

static void a_model_that_is_not_linear_has_no_weight_file(void **state)
{
	const struct sample s = { .predictor = "xgboost",
				  .trainer = "XgboostFitTrainer" };
	struct tw_fileset files = { 0 };

	(void)state;
	sample_files(&s, &files);
	assert_null(tw_fileset_find(&files, "weight.json"));
	assert_non_null(tw_fileset_find(&files, "package.json"));
	tw_fileset_clear(&files);
}

static void fields_go_before_further_metadata(void **state)
{
	const struct sample s = {
		.metadata = "{\"mae\":99,\"node_type\":5,\"machine_spec\":{\"cores\":8},"
			    "\"origin\":\"here\"}",
	};
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };

	(void)state;
	sample_files(&s, &files);
	read_files(&files, &m);
	assert_true(m.info.mae_w == 1.5);
	assert_int_equal(m.info.node_type, 0);
	assert_false(tw_machine_spec_known(&m.info.spec));
	assert_string_equal(json_string_value(json_object_get(m.info.metadata, "origin")),
			    "here");
	tw_model_release(&m);
	tw_fileset_clear(&files);
}

/* A copy of the files in which the first `from` in one of them is `to`. */
static void edit(const struct tw_fileset *files, const char *name, const char *from,
		 const char *to, struct tw_fileset *out)
{
	struct tw_err err = { 0 };

	for (size_t i = 0; i < files->count; i++) {
		const struct tw_fileset_file *f = &files->at[i];
		char text[8192];
		char *at;

		if (strcmp(f->name, name) != 0) {
			assert_int_equal(
				tw_fileset_add(out, f->name, f->data, f->len, &err), 0);
			continue;
		}
		if (from == NULL)
			continue;
		at = strstr(f->data, from);
		if (at == NULL)
			fail_msg("%s has no '%s'", name, from);
		assert_in_range(snprintf(text, sizeof(text), "%.*s%s%s",
					 (int)(at - f->data), f->data, to,
					 at + strlen(from)),
				0, sizeof(text) - 1);
		assert_int_equal(tw_fileset_add(out, name, text, strlen(text), &err), 0);
	}
}

/* Old readers take each object of metadata.json for a model. */
static void objects_of_the_metadata_have_a_file_of_their_own(void **state)
{
	const struct sample s = {
		.spec = { .cores = 4 },
		.metadata = "{\"data_quality\":[{\"rows\":9}],\"deep_list\":[1,[{}]],"
			    "\"an_object\":{},"
			    "\"flat\":[[1],\"x\"]}",
	};
	static const char *const keys[] = { "data_quality", "deep_list", "an_object",
					    "flat" };
	struct tw_fileset files = { 0 }, old = { 0 };
	struct tw_model m = { 0 };
	const char *metadata;

	(void)state;
	sample_files(&s, &files);
	metadata = text_of(&files, "metadata.json");
	assert_non_null(strstr(metadata, "\"flat\""));
	for (size_t i = 0; i < 3; i++) {
		assert_null(strstr(metadata, keys[i]));
		assert_non_null(strstr(text_of(&files, "details.json"), keys[i]));
	}
	read_files(&files, &m);
	for (size_t i = 0; i < TW_COUNT(keys); i++)
		assert_non_null(json_object_get(m.info.metadata, keys[i]));
	assert_true(tw_model_has_details(&m.info));
	tw_model_release(&m);
	/* Older files have them in metadata.json. */
	edit(&files, "metadata.json", "\"flat\"", "\"an_object\": {\"b\": 1}, \"flat\"",
	     &old);
	read_files(&old, &m);
	assert_int_equal(json_object_size(json_object_get(m.info.metadata, "an_object")),
			 1);
	tw_model_release(&m);
	tw_fileset_clear(&old);
	tw_fileset_clear(&files);
}

static void an_undefined_error_is_null_and_not_a_number(void **state)
{
	const struct sample s = { .mae_w = NAN };
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };

	(void)state;
	sample_files(&s, &files);
	assert_non_null(strstr(text_of(&files, "metadata.json"), "\"mae\": null"));
	read_files(&files, &m);
	assert_true(isnan(m.info.mae_w));
	assert_true(m.info.mape_percent == 12.25);
	tw_model_release(&m);
	tw_fileset_clear(&files);
}

struct bad {
	const char *file, *from, *to; /* from NULL: the file is missing */
	enum tw_code code;
	const char *want;
};

#define META "metadata.json"
#define PARTS "SGDRegressorTrainer_0.json"
#define OF_40_BYTES "SGDRegressorTrainerSGDRegressorTrainer01"

static const struct bad bad_files[] = {
	{ META, NULL, NULL, TW_INVALID, "model: there is no file 'metadata.json'" },
	{ META, "}\n", "", TW_PARSE, "metadata.json" },
	{ META, "\"mae\": 1.5", "\"mae\": 1.5, \"mae\": 2", TW_PARSE, "metadata.json" },
	{ META, "\"format_version\": 1", "\"format_version\": 2", TW_UNSUPPORTED,
	  "format_version: 2, want 1" },
	{ META, "\"fe_files\": []", "\"fe_files\": [\"scaler.pkl\"]", TW_UNSUPPORTED,
	  "metadata.json.fe_files: 1 files of feature engineering; pickles are not "
	  "supported" },
	{ META, "\"model_name\": \"SGDRegressorTrainer_0\"", "\"model_name\": 3",
	  TW_PARSE, "metadata.json.model_name: expected a string, got a number" },
	{ META, "SGDRegressorTrainer_0", "SGDRegressorTrainer", TW_INVALID,
	  "metadata.json.model_name 'SGDRegressorTrainer' is not <trainer>_<node type>" },
	{ META, "SGDRegressorTrainer_0", "SGDRegressorTrainer_01", TW_INVALID,
	  "is not <trainer>_<node type>" },
	{ META, "SGDRegressorTrainer_0", "SGDRegressorTrainer_-1", TW_INVALID,
	  "is not <trainer>_<node type>" },
	{ META, "SGDRegressorTrainer_0", "_0", TW_INVALID,
	  "is not <trainer>_<node type>" },
	{ META, "SGDRegressorTrainer_0", "SGDRegressorTrainer_9999999999", TW_INVALID,
	  "is not <trainer>_<node type>" },
	{ META, "SGDRegressorTrainer_0", "../SGDRegressorTrainer_0", TW_INVALID,
	  "metadata.json.model_name '../SGDRegressorTrainer_0'" },
	{ META, "SGDRegressorTrainer_0", "KNeighborsRegressorTrainer_0", TW_INVALID,
	  "metadata.json.trainer 'SGDRegressorTrainer' is not that of model_name" },
	{ META, "\"node_type\": 0", "\"node_type\": 1", TW_INVALID,
	  "metadata.json.node_type 1 is not that of model_name 'SGDRegressorTrainer_0'" },
	{ META, "\"node_type\": 0", "\"node_type\": -1", TW_INVALID, "node_type" },
	{ META, "\"linear\"", "\"../linear\"", TW_INVALID, "metadata.json.model_class" },
	{ META, "\"linear\"", "null", TW_PARSE, "metadata.json.model_class" },
	{ META, "rapl-sysfs", "../sun", TW_INVALID,
	  "metadata.json.energy_source: energy source '../sun': want 1 to 63 " },
	{ META, "AbsPower", "AbsoluteVodka", TW_INVALID,
	  "metadata.json.output_type: 'AbsoluteVodka' is not known" },
	{ META, "CounterOnly", "Some", TW_INVALID,
	  "metadata.json.feature_group: 'Some' is not known" },
	{ META, "\"mae\": 1.5", "\"mae\": -1.5", TW_INVALID, "mae -1.5, mape 12.25" },
	{ META, "\"mape\": 12.25", "\"mape\": -2", TW_INVALID,
	  "expected numbers of at least 0" },
	{ META, "\"mae\": 1.5", "\"mae\": \"1.5\"", TW_PARSE, "metadata.json.mae" },
	{ META, "\"mae\": 1.5", "\"mae\": 1e999", TW_PARSE, "metadata.json" },
	{ META, "\"cpu_cycles\"", "\"cache_miss\"", TW_INVALID,
	  "metadata.json.features: 'cache_miss' twice" },
	{ META, "\"cpu_cycles\"", "\"\"", TW_INVALID,
	  "features[0]: not a feature's name" },
	{ META, "\"cpu_cycles\"", "\"cpu cycles\"", TW_INVALID, "not a feature's name" },
	{ META, "\"cpu_cycles\"", "7", TW_PARSE, "metadata.json.features[1]" },
	{ META, "\"cpu_cycles\",", "", TW_INVALID,
	  "package.features[1]: 'cpu_cycles' is not among metadata's features" },
	{ META, "\"model_file\": \"SGD", "\"model_file\": \"sub/SGD", TW_INVALID,
	  "metadata.json.model_file 'sub/SGDRegressorTrainer_0.json'" },
	{ META, "\"model_file\": \"SGD", "\"model_file\": \"X", TW_INVALID,
	  "metadata.json.model_file: there is no file 'XRegressorTrainer_0.json'" },
	{ META, "\"model_file\": \"SGDRegressorTrainer_0.json\"", "\"model_file\": 0",
	  TW_PARSE, "metadata.json.model_file: expected a string" },
	{ META, "\"cores\": 4", "\"cores\": \"abc\"", TW_INVALID,
	  "metadata.json.machine_spec.cores: 'abc' is not a number" },
	{ PARTS, NULL, NULL, TW_INVALID, "metadata.json.model_file: there is no file" },
	{ PARTS, "{", "", TW_PARSE, PARTS },
	{ PARTS, "\"package\"", "\"roof\"", TW_INVALID,
	  PARTS ".roof: no such component" },
	{ PARTS, "\"package\"", "\"platform\"", TW_INVALID,
	  PARTS ".platform: not a component of rapl-sysfs" },
	{ PARTS, "\"dram.json\"", "\"uncore.json\"", TW_INVALID,
	  PARTS ".dram.model_file: there is no file 'uncore.json'" },
	{ PARTS, "\"dram.json\"", "\"/etc/passwd\"", TW_INVALID,
	  PARTS ".dram.model_file '/etc/passwd'" },
	{ PARTS, "\"fe_files\": []", "\"fe_files\": [1]", TW_UNSUPPORTED,
	  PARTS ".package.fe_files: 1 files" },
	{ PARTS, "\"cpu_cycles\"", "\"cache_miss\"", TW_INVALID,
	  "package.features: 'cache_miss' twice" },
	{ PARTS, "\"cpu_cycles\",", "", TW_INVALID,
	  PARTS ".package.feature_min: 3 numbers for 2 features" },
	{ PARTS, "\"feature_min\"", "\"feature_mim\"", TW_INVALID,
	  "package: only one of feature_min, feature_max" },
	{ PARTS, "1000000.1", "\"1\"", TW_PARSE,
	  PARTS ".package.feature_max[1]: expected a finite number" },
	{ PARTS, "1000000.1", "-1", TW_INVALID, PARTS ".package: range 1 is 0 to -1" },
	{ "package.json", NULL, NULL, TW_INVALID,
	  PARTS ".package.model_file: there is no file 'package.json'" },
	{ "package.json", "}}}", "}}", TW_PARSE, "package.json: byte" },
	{ "package.json", "}}}", "}}}x", TW_PARSE, "package.json: byte" },
	{ "package.json", "10", "NaN", TW_PARSE, "package.json: byte" },
	{ "dram.json", "{\"All_Weights\"", "[]{\"All_Weights\"", TW_PARSE,
	  "dram.json: expected an object" },
};

static void bad_files_are_refused_with_file_and_place(void **state)
{
	const struct sample s = { .spec = { .cores = 4 } };
	struct tw_fileset files = { 0 };

	(void)state;
	sample_files(&s, &files);
	for (size_t i = 0; i < TW_COUNT(bad_files); i++) {
		const struct bad *b = &bad_files[i];
		struct tw_fileset edited = { 0 };
		struct tw_model m = { 0 };
		struct tw_err err = { 0 };

		edit(&files, b->file, b->from, b->to, &edited);
		if (tw_model_from_files(&edited, &m, &err) == 0)
			fail_msg("taken: %s: %s", b->file, b->want);
		if (err.code != b->code || strstr(err.text, b->want) == NULL)
			fail_msg("got %d '%s', want %d '%s'", err.code, err.text, b->code,
				 b->want);
		assert_null(strchr(err.text, '\n'));
		assert_null(m.info.metadata);
		assert_int_equal(m.parts, 0);
		tw_fileset_clear(&edited);
	}
	tw_fileset_clear(&files);
}

static void files_may_omit_trainer_and_node_type_of_the_name(void **state)
{
	static const char *const cut[] = {
		"  \"trainer\": \"SGDRegressorTrainer\",\n",
		"  \"node_type\": 0,\n",
		"  \"format_version\": 1,\n",
		"  \"fe_files\": [],\n",
	};
	struct tw_fileset files = { 0 };

	(void)state;
	sample_files(&(struct sample){ 0 }, &files);
	for (size_t i = 0; i < TW_COUNT(cut); i++) {
		struct tw_fileset edited = { 0 };
		struct tw_model m = { 0 };

		edit(&files, META, cut[i], "", &edited);
		read_files(&edited, &m);
		assert_string_equal(m.info.trainer, "SGDRegressorTrainer");
		assert_int_equal(m.info.node_type, 0);
		tw_model_release(&m);
		tw_fileset_clear(&edited);
	}
	tw_fileset_clear(&files);
}

static void an_old_mape_of_minus_one_is_undefined(void **state)
{
	struct tw_fileset files = { 0 }, edited = { 0 };
	struct tw_model m = { 0 };

	(void)state;
	sample_files(&(struct sample){ 0 }, &files);
	edit(&files, META, "\"mape\": 12.25", "\"mape\": -1", &edited);
	read_files(&edited, &m);
	assert_true(isnan(m.info.mape_percent));
	tw_model_release(&m);
	tw_fileset_clear(&edited);
	tw_fileset_clear(&files);
}

static void a_component_without_ranges_is_read(void **state)
{
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 }, again = { 0 };

	(void)state;
	sample_model(&(struct sample){ 0 }, &m);
	for (size_t i = 0; i < m.parts; i++) {
		free(m.part[i].feature_min);
		free(m.part[i].feature_max);
		m.part[i].feature_min = m.part[i].feature_max = NULL;
	}
	write_files(&m, &files);
	read_files(&files, &again);
	assert_null(again.part[0].feature_min);
	tw_model_release(&again);
	tw_model_release(&m);
	tw_fileset_clear(&files);
}

static void a_model_that_breaks_the_rules_is_not_written(void **state)
{
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	sample_model(&(struct sample){ .text = "{\"All_Weights\":nan}" }, &m);
	assert_int_equal(tw_model_to_files(&m, &files, &err), -1);
	assert_int_equal(err.code, TW_PARSE);
	assert_non_null(strstr(err.text, "package.json: byte"));
	assert_int_equal(files.count, 0);
	tw_model_release(&m);

	err = (struct tw_err){ 0 };
	sample_model(&(struct sample){ 0 }, &m);
	m.part[1].feature_max[2] = INFINITY;
	assert_int_equal(tw_model_to_files(&m, &files, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "dram: range 2 is 0 to inf"));
	tw_model_release(&m);
}

static void too_many_features_are_refused(void **state)
{
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	sample_model(&(struct sample){ 0 }, &m);
	for (int i = 0; i < 254; i++) {
		char name[16];

		snprintf(name, sizeof(name), "x%03d", i);
		assert_int_equal(tw_strs_adds(&m.info.features, name, &err), 0);
	}
	assert_int_equal(tw_model_to_files(&m, &files, &err), -1);
	assert_string_equal(err.text,
			    "metadata.json.features: 257 features, want 1 to 256");
	tw_model_release(&m);
}

static void every_failed_allocation_is_reported(void **state)
{
	const struct sample s = { .spec = { .cores = 4 }, .metadata = "{\"seed\":7}" };
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };
	int failures = 0;

	(void)state;
	sample_model(&s, &m);
	for (int n = 1;; n++, failures++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_model_to_files(&m, &files, &err);
		if (!fail_alloc_told(rc, &err))
			break;
		assert_int_equal(files.count, 0);
	}
	assert_true(failures > 10);
	tw_model_release(&m);

	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_model_from_files(&files, &m, &err);
		if (!fail_alloc_told(rc, &err))
			break;
		assert_int_equal(m.parts, 0);
	}
	tw_model_release(&m);
	tw_fileset_clear(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_written_model_reads_back_unchanged),
		cmocka_unit_test(the_files_are_those_of_the_wire_contract),
		cmocka_unit_test(a_model_that_is_not_linear_has_no_weight_file),
		cmocka_unit_test(fields_go_before_further_metadata),
		cmocka_unit_test(objects_of_the_metadata_have_a_file_of_their_own),
		cmocka_unit_test(an_undefined_error_is_null_and_not_a_number),
		cmocka_unit_test(bad_files_are_refused_with_file_and_place),
		cmocka_unit_test(files_may_omit_trainer_and_node_type_of_the_name),
		cmocka_unit_test(an_old_mape_of_minus_one_is_undefined),
		cmocka_unit_test(a_component_without_ranges_is_read),
		cmocka_unit_test(a_model_that_breaks_the_rules_is_not_written),
		cmocka_unit_test(too_many_features_are_refused),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
