/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "model-db/index/choose.h"
#include "model-db/index/filter.h"
#include "model-db/index/index.h"
#include "model-db/index/matcher.h"
#include "tests/unit/choosing.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/loaded_index.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

#include <stdio.h>
#include <string.h>

/* The answer: "pipeline/group/name". */
static const struct {
	const char *why;
	struct choosing q;
	const char *want;
} answers[] = {
	{ "lowest error of all", { 0 }, "lab/CounterOnly/XgboostFitTrainer_0" },
	{ "only what the client can measure",
	  { .metrics = BPF },
	  "lab/BPFOnly/LinearRegressionTrainer_0" },
	{ "any order of metrics, and more than are known",
	  { .metrics = "gpu,cpu_instructions,cpu_cycles,cache_miss", .pipeline = "alt" },
	  "alt/CounterOnly/SGDRegressorTrainer_0" },
	{ "platform", { .source = "acpi" }, "alt/BPFOnly/SGDRegressorTrainer_1" },
	{ "an undefined error is last, but served",
	  { .output = TW_DYN_POWER },
	  "alt/CounterOnly/OtherTrainer_0" },
	{ "trainer, and of its models the first node type of equals",
	  { .trainer = "SGDRegressorTrainer" },
	  "lab/CounterOnly/SGDRegressorTrainer_0" },
	{ "trainer without an error",
	  { .trainer = "OtherTrainer" },
	  "alt/CounterOnly/OtherTrainer_0" },
	{ "pipeline (fault 33)",
	  { .pipeline = "alt" },
	  "alt/CounterOnly/SGDRegressorTrainer_0" },
	{ "node type 5 is not 15 (fault 2)",
	  { .node_type = 5, .strict = true },
	  "lab/CounterOnly/SGDRegressorTrainer_5" },
	{ "node type goes before error",
	  { .node_type = 5 },
	  "lab/CounterOnly/SGDRegressorTrainer_5" },
	{ "node type 0 is a node type",
	  { .node_type = -2, .trainer = "SGDRegressorTrainer" },
	  "lab/CounterOnly/SGDRegressorTrainer_0" },
	{ "of this number in this pipeline",
	  { .node_type = -2, .pipeline = "alt", .strict = true },
	  "alt/CounterOnly/SGDRegressorTrainer_0" },
	{ "an unknown node type, loosely",
	  { .node_type = 77 },
	  "lab/CounterOnly/XgboostFitTrainer_0" },
	{ "strict without a node type",
	  { .strict = true },
	  "lab/CounterOnly/XgboostFitTrainer_0" },
	{ "the same machine goes before preference",
	  { .spec = { .processor = "epyc", .cores = 64 } },
	  "alt/CounterOnly/SGDRegressorTrainer_0" },
	{ "all that is known of it must agree, strictly",
	  { .spec = { .processor = "epyc", .cores = 64 }, .strict = true },
	  "alt/CounterOnly/SGDRegressorTrainer_0" },
	{ "the same machine, of the pipeline that is asked for",
	  { .spec = { .processor = "epyc", .cores = 64 }, .pipeline = "lab" },
	  "lab/CounterOnly/XgboostFitTrainer_0" },
	{ "a machine that resembles it goes before others",
	  { .spec = { .processor = "epyc", .cores = 64, .frequency_mhz = 2600 } },
	  "alt/CounterOnly/SGDRegressorTrainer_0" },
	{ "one that hardly does goes before none",
	  { .spec = { .processor = "sparc", .cores = 64 } },
	  "lab/CounterOnly/XgboostFitTrainer_0" },
	{ "a processor alone is a machine as far as it is known",
	  { .spec = { .processor = "epyc" } },
	  "alt/CounterOnly/SGDRegressorTrainer_0" },
	{ "a number goes before the machine",
	  { .node_type = 15, .spec = { .processor = "epyc", .cores = 64 } },
	  "lab/CounterOnly/SGDRegressorTrainer_15" },
	{ "but the machine before all others if there is no such number",
	  { .node_type = 77, .spec = { .processor = "epyc", .cores = 64 } },
	  "alt/CounterOnly/SGDRegressorTrainer_0" },
	{ "a client of single rows gets the least error alone",
	  { .source = "hwmon" },
	  "alt/BPFOnly/SGDRegressorTrainer_0" },
	{ "a client of series gets the least error as a series",
	  { .source = "hwmon", .ensembles = true },
	  "alt/CounterOnly/AutoTrainer_0" },
	{ "weights never of trees unless asked for",
	  { .weight = true },
	  "lab/CounterOnly/SGDRegressorTrainer_0" },
	{ "weights of trees by name, for a client that reads them (fault 43)",
	  { .weight = true, .trainer = "XgboostFitTrainer", .trees = true },
	  "lab/CounterOnly/XgboostFitTrainer_0" },
	{ "weights for old clients",
	  { .weight = true, .client = TW_CLIENT_0_7, .metrics = BPF },
	  "lab/BPFOnly/LinearRegressionTrainer_0" },
	{ "totals",
	  { .weight = true, .client = TW_CLIENT_0_5_TOTAL, .source = "acpi" },
	  "alt/BPFOnly/SGDRegressorTrainer_1" },
	{ "filter (fault 1)",
	  { .filter = "mae:10" },
	  "lab/CounterOnly/XgboostFitTrainer_0" },
	{ "equal is at most",
	  { .filter = "mae:1" },
	  "lab/CounterOnly/XgboostFitTrainer_0" },
	{ "r2 is at least",
	  { .filter = "r2:0.9" },
	  "lab/CounterOnly/SGDRegressorTrainer_5" },
	{ "corr is at least",
	  { .filter = "abs_max_corr:0.8" },
	  "lab/CounterOnly/SGDRegressorTrainer_15" },
	{ "every part, blanks and empty parts",
	  { .filter = " ; rmse : 6 ;\tr2: 0.1;" },
	  "lab/CounterOnly/SGDRegressorTrainer_5" },
	{ "a figure that only an undefined model has",
	  { .filter = "rmse:2" },
	  "alt/CounterOnly/OtherTrainer_0" },
	{ "the worst component counts",
	  { .source = "redfish", .filter = "r2:0.7;p95:3" },
	  "alt/BPFOnly/SGDRegressorTrainer_0" },
	{ "weights that give power at zero use are preferred",
	  { .source = "redfish", .weight = true },
	  "alt/BPFOnly/SGDRegressorTrainer_7" },
	{ "but not to those of the very machine",
	  { .source = "redfish", .weight = true, .node_type = -2 },
	  "alt/BPFOnly/SGDRegressorTrainer_0" },
	{ "and not in zips",
	  { .source = "redfish" },
	  "alt/BPFOnly/SGDRegressorTrainer_0" },
	{ "weights of a curve where its metric is the first",
	  { .source = "hmc", .metrics = BPF, .weight = true },
	  "alt/BPFOnly/LogarithmicRegressionTrainer_0" },
	{ "and of another model where it is not",
	  { .source = "hmc",
	    .metrics = "bpf_page_cache_hit,bpf_cpu_time_ms",
	    .weight = true },
	  "alt/BPFOnly/SGDRegressorTrainer_7" },
	{ "and for clients that cannot use curves",
	  { .source = "hmc", .metrics = BPF, .weight = true, .client = TW_CLIENT_0_7 },
	  "alt/BPFOnly/SGDRegressorTrainer_7" },
	{ "whose zips are for everybody",
	  { .source = "hmc", .metrics = "bpf_page_cache_hit,bpf_cpu_time_ms" },
	  "alt/BPFOnly/LogarithmicRegressionTrainer_0" },
	{ "an ensemble for who reads it",
	  { .source = "psys", .ensembles = true, .metrics = BPF },
	  "alt/BPFOnly/AutoTrainer_0" },
	{ "or names the trainer",
	  { .source = "psys", .trainer = "AutoTrainer", .metrics = BPF },
	  "alt/BPFOnly/AutoTrainer_0" },
	{ "but not for others",
	  { .source = "psys" },
	  "alt/BPFOnly/SGDRegressorTrainer_0" },
	{ "nor as weights",
	  { .source = "psys", .ensembles = true, .weight = true },
	  "alt/BPFOnly/SGDRegressorTrainer_0" },
	{ "trees for a client that does not say what it reads",
	  { .metrics = COUNTERS, .node_type = 5, .no_classes = true },
	  "lab/CounterOnly/XgboostFitTrainer_0" },
	{ "and other models where there are no trees",
	  { .metrics = BPF, .no_classes = true },
	  "lab/BPFOnly/LinearRegressionTrainer_0" },
	{ "and what it names",
	  { .trainer = "SGDRegressorTrainer", .no_classes = true },
	  "lab/CounterOnly/SGDRegressorTrainer_0" },
	{ "a machine with half the cores gets a model whose shares add up",
	  { .source = "fake", .metrics = COUNTERS, .spec = { .cores = 16 } },
	  "alt/CounterOnly/SGDRegressorTrainer_9" },
	{ "one with more does not",
	  { .source = "fake", .metrics = COUNTERS, .spec = { .cores = 17 } },
	  "alt/CounterOnly/XgboostFitTrainer_9" },
	{ "one that does not say how many neither",
	  { .source = "fake", .metrics = COUNTERS },
	  "alt/CounterOnly/XgboostFitTrainer_9" },
	{ "nor one that names the trainer",
	  { .source = "fake",
	    .metrics = COUNTERS,
	    .trainer = "XgboostFitTrainer",
	    .spec = { .cores = 2 } },
	  "alt/CounterOnly/XgboostFitTrainer_9" },
	{ "not even if another of this trainer's adds up",
	  { .source = "ipmi",
	    .metrics = COUNTERS "," BPF,
	    .trainer = "XgboostFitTrainer",
	    .spec = { .cores = 2 } },
	  "alt/CounterOnly/XgboostFitTrainer_9" },
	{ "as one that names no trainer gets",
	  { .source = "ipmi", .metrics = COUNTERS "," BPF, .spec = { .cores = 2 } },
	  "alt/BPFOnly/XgboostFitTrainer_9" },
	{ "trees whose certificate says that shares add up roughly",
	  { .source = "fake", .metrics = BPF, .spec = { .cores = 2 } },
	  "alt/BPFOnly/XgboostFitTrainer_9" },
	{ "weights are of a model whose shares add up anyway",
	  { .source = "fake",
	    .metrics = COUNTERS,
	    .weight = true,
	    .spec = { .cores = 2 } },
	  "alt/CounterOnly/SGDRegressorTrainer_9" },
	{ "a zip of unfit dynamic power for who names the trainer",
	  { .source = "fake",
	    .metrics = COUNTERS,
	    .output = TW_DYN_POWER,
	    .trainer = "SGDRegressorTrainer" },
	  "alt/CounterOnly/SGDRegressorTrainer_9" },
	{ "features",
	  { .filter = "features:bpf_cpu_time_ms, bpf_page_cache_hit, x" },
	  "lab/BPFOnly/LinearRegressionTrainer_0" },
};

static void each_request_gets_the_expected_model(void **state)
{
	for (size_t i = 0; i < TW_COUNT(answers); i++) {
		const struct tw_index_entry *e = NULL;
		struct tw_err err = { 0 };
		char got[256];

		if (choosing_ask(*state, &answers[i].q, &e, &err) < 0)
			fail_msg("%s: %s", answers[i].why, err.text);
		snprintf(got, sizeof(got), "%s/%s/%s", e->pipeline, e->group->name,
			 e->name);
		if (strcmp(got, answers[i].want) != 0)
			fail_msg("%s: got %s, want %s", answers[i].why, got,
				 answers[i].want);
	}
}

static void the_best_model_of_a_group_is_found(void **state)
{
	const struct tw_energy_source *rapl = tw_energy_source_find("rapl-sysfs");
	const struct tw_feature_group *counters = tw_feature_group_find("CounterOnly");
	const struct tw_feature_group *full = tw_feature_group_find("Full");
	struct tw_filter any = { 0 }, rmse = { 0 };
	const struct tw_index_entry *e;
	struct tw_err err = { 0 };

	e = tw_choose_best(*state, rapl, TW_ABS_POWER, counters, -1, &any);
	assert_string_equal(e->name, "XgboostFitTrainer_0");
	e = tw_choose_best(*state, rapl, TW_ABS_POWER, counters, 5, &any);
	assert_string_equal(e->name, "SGDRegressorTrainer_5");
	assert_int_equal(tw_filter_parse("rmse:2", &rmse, &err), 0);
	e = tw_choose_best(*state, rapl, TW_ABS_POWER, counters, -1, &rmse);
	assert_string_equal(e->name, "OtherTrainer_0");
	assert_null(tw_choose_best(*state, rapl, TW_ABS_POWER, counters, 5, &rmse));
	assert_null(tw_choose_best(*state, rapl, TW_ABS_POWER, full, -1, &any));
	tw_filter_release(&rmse);
}

/* Counters that nobody has proven do not choose a model; other features still do. */
static void unproven_counters_are_ignored(void **state)
{
	struct tw_wanted w = { .source = tw_energy_source_find("rapl-sysfs"),
			       .node_type = -1 };
	struct tw_choice choice = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_strs_split(&w.metrics, COUNTERS "," BPF, &err), 0);
	assert_int_equal(tw_choose(*state, &w, &choice, &err), 0);
	assert_string_equal(choice.entry->group->name, "CounterOnly");
	w.counters_unproven = true;
	choice = (struct tw_choice){ 0 };
	assert_int_equal(tw_choose(*state, &w, &choice, &err), 0);
	assert_string_equal(choice.entry->group->name, "BPFOnly");
	tw_wanted_release(&w);
}

/* The model of the named trainer includes idle power. */
static void a_zip_for_a_default_trainer_is_a_model_whose_weights_kepler_gets(void **state)
{
	static const struct sample both[] = {
		{ .trainer = "LinearRegressionTrainer", .output = TW_DYN_POWER },
		{ .trainer = "SGDRegressorTrainer",
		  .output = TW_DYN_POWER,
		  .metadata = "{\"isolator\":\"NoneIsolator\"}" },
	};
	struct choosing q = { .trainer = "SGDRegressorTrainer", .output = TW_DYN_POWER };
	const struct tw_index_entry *e = NULL;
	char *db = scratch_new();
	struct tw_index *x;
	struct refused r;
	struct tw_err err = { 0 };

	(void)state;
	sample_publish(db, "p", both, TW_COUNT(both));
	x = load_index(db, &r);
	assert_int_equal(choosing_ask(x, &q, &e, &err), 0);
	assert_string_equal(e->name, "SGDRegressorTrainer_0");
	q.default_trainer = true;
	assert_int_equal(choosing_ask(x, &q, &e, &err), 0);
	assert_string_equal(e->name, "LinearRegressionTrainer_0");
	tw_index_unref(x);
	scratch_free(db);
}

/* Kepler names a trainer; a database without its models has weights for it, too. */
static void linear_weights_of_a_trainer_that_kepler_does_not_name_serve_it(void **state)
{
	static const struct sample only = { .trainer = "LinearRegressionTrainer" };
	struct choosing q = { .trainer = "SGDRegressorTrainer",
			      .weight = true,
			      .no_classes = true };
	const struct tw_index_entry *e = NULL;
	char *db = scratch_new();
	struct tw_index *x;
	struct refused r;
	struct tw_err err = { 0 };

	(void)state;
	sample_publish(db, "p", &only, 1);
	x = load_index(db, &r);
	if (choosing_ask(x, &q, &e, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(e->name, "LinearRegressionTrainer_0");
	/* The reason of a refusal is that of the trainer that was named. */
	q.filter = "mae:1";
	assert_int_equal(choosing_ask(x, &q, &e, &err), -1);
	assert_non_null(strstr(err.text, "no 'SGDRegressorTrainer' model"));
	tw_index_unref(x);
	scratch_free(db);
}

static void every_failed_allocation_is_reported(void **state)
{
	const struct choosing q = { .filter = "mae:10;features:" COUNTERS };
	struct tw_wanted w = { .source = tw_energy_source_find("rapl-sysfs"),
			       .node_type = -1 };
	struct tw_err ours = { 0 };
	int failures = 0;

	assert_int_equal(tw_strs_split(&w.metrics, COUNTERS, &ours), 0);
	w.filter = strdup(q.filter);
	for (int n = 1;; n++, failures++) {
		struct tw_choice choice = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_choose(*state, &w, &choice, &err);
		if (!fail_alloc_told(rc, &err))
			break;
		assert_null(choice.entry);
	}
	assert_true(failures > 3);
	tw_wanted_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_gets_the_expected_model),
		cmocka_unit_test(the_best_model_of_a_group_is_found),
		cmocka_unit_test(unproven_counters_are_ignored),
		cmocka_unit_test(
			a_zip_for_a_default_trainer_is_a_model_whose_weights_kepler_gets),
		cmocka_unit_test(
			linear_weights_of_a_trainer_that_kepler_does_not_name_serve_it),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, choosing_set_up, choosing_tear_down);
}
