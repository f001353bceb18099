/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/err.h"
#include "lib/fileset.h"
#include "model-db/choose.h"
#include "model-db/filter.h"
#include "model-db/index.h"
#include "model-db/pipeline.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- the database that the cases ask ---- */

#define CURVE(name, weights)                                                     \
	"{\"curve\":\"" name "\",\"All_Weights\":{\"CurveFit_Weights\":" weights \
	",\"Numerical_Variables\":{\"bpf_cpu_time_ms\":{\"scale\":1000}}}}"

static const struct {
	const char *pipeline;
	struct sample model;
} database[] = {
	{ "lab",
	  { .trainer = "SGDRegressorTrainer",
	    .mae_w = 5,
	    .metadata = "{\"r2\":0.5,\"package_mape\":-1}",
	    .spec = { .processor = "xeon", .cores = 8, .chips = 2, .memory_gib = 16 } } },
	{ "lab", { .node_type = 5, .mae_w = 4, .metadata = "{\"r2\":0.9,\"rmse\":6}" } },
	{ "lab", { .node_type = 15, .mae_w = 3, .metadata = "{\"abs_max_corr\":0.8}" } },
	{ "lab", { .trainer = "XgboostFitTrainer", .predictor = "xgboost", .mae_w = 1 } },
	{ "lab",
	  { .trainer = "LinearRegressionTrainer", .group = "BPFOnly", .mae_w = 8 } },
	{ "lab",
	  { .trainer = "KNeighborsRegressorTrainer",
	    .predictor = "knn",
	    .group = "Basic",
	    .mae_w = 2 } },
	{ "alt",
	  { .trainer = "SGDRegressorTrainer",
	    .mae_w = 5,
	    .spec = { .processor = "epyc", .cores = 64 } } },
	{ "alt",
	  { .trainer = "OtherTrainer", .mae_w = NAN, .metadata = "{\"rmse\":1}" } },
	{ "alt", { .trainer = "OtherTrainer", .output = TW_DYN_POWER, .mae_w = NAN } },
	{ "alt",
	  { .source = "redfish",
	    .group = "BPFOnly",
	    .mae_w = 1,
	    .text = "{\"All_Weights\":{\"Bias_Weight\":0,\"Numerical_Variables\":{}}}",
	    .metadata = "{\"package_r2\":0.9,\"package_p95\":2,"
			"\"dram_r2\":0.7,\"dram_p95\":3,\"core_r2\":null}" } },
	{ "alt",
	  { .source = "redfish", .group = "BPFOnly", .mae_w = 2, .node_type = 7 } },
	{ "alt", { .source = "acpi", .group = "BPFOnly", .mae_w = 20, .node_type = 1 } },
	{ "alt",
	  { .source = "hmc",
	    .trainer = "LogarithmicRegressionTrainer",
	    .predictor = "curvefit",
	    .group = "BPFOnly",
	    .mae_w = 1,
	    .text = CURVE("logarithmic", "[3,4,7]") } },
	{ "alt", { .source = "hmc", .group = "BPFOnly", .mae_w = 2, .node_type = 7 } },
	{ "alt",
	  { .source = "hmc",
	    .trainer = "ExponentialRegressionTrainer",
	    .predictor = "curvefit",
	    .group = "Basic",
	    .mae_w = 0.5,
	    .text = CURVE("logarithmic", "[3,4,7]") } },
	{ "alt",
	  { .source = "psys",
	    .trainer = "AutoTrainer",
	    .predictor = "ensemble",
	    .group = "BPFOnly",
	    .mae_w = 1 } },
	{ "alt", { .source = "psys", .group = "BPFOnly", .mae_w = 2 } },
	{ "alt",
	  { .source = "psys",
	    .trainer = "AutoTrainer",
	    .predictor = "ensemble",
	    .mae_w = 1 } },
};

static void publish(const char *db, const char *pipeline)
{
	struct tw_fileset p = { 0 };
	struct tw_err err = { 0 };

	for (size_t i = 0; i < COUNT(database); i++) {
		struct tw_model m = { 0 };

		if (strcmp(database[i].pipeline, pipeline) != 0)
			continue;
		sample_model(&database[i].model, &m);
		if (tw_pipeline_add_model(&p, &m, &err) < 0)
			fail_msg("%s", err.text);
		tw_model_release(&m);
	}
	if (tw_pipeline_publish(db, pipeline, &p, &err) < 0)
		fail_msg("%s", err.text);
	tw_fileset_clear(&p);
}

static int load_database(void **state)
{
	char *db = scratch_new();
	struct tw_index *x = NULL;
	struct tw_strs pipelines = { 0 };
	const struct tw_index_preference prefer = { .pipelines = &pipelines };
	struct tw_err err = { 0 };

	publish(db, "lab");
	publish(db, "alt");
	assert_int_equal(tw_strs_adds(&pipelines, "lab", &err), 0);
	if (tw_index_load_preferring(db, &prefer, NULL, NULL, &x, &err) < 0)
		fail_msg("%s", err.text);
	tw_strs_clear(&pipelines);
	assert_int_equal(tw_index_count(x), COUNT(database));
	scratch_free(db);
	*state = x;
	return 0;
}

static int drop_database(void **state)
{
	tw_index_unref(*state);
	return 0;
}

/* ---- requests ---- */

#define COUNTERS "cache_miss,cpu_cycles,cpu_instructions"
#define BPF "bpf_cpu_time_ms,bpf_page_cache_hit"

struct request {
	const char *metrics; /* NULL: counters and BPF */
	const char *source;  /* NULL: rapl-sysfs */
	const char *trainer, *pipeline, *filter;
	enum tw_output output;
	long long node_type; /* 0 stands for any, -2 for node type 0 */
	bool strict;
	bool weight;
	bool ensembles;
	enum tw_client client;
	struct tw_machine_spec spec;
};

static char *copy(const char *text)
{
	return text != NULL ? strdup(text) : NULL;
}

static int ask(const struct tw_index *x, const struct request *q,
	       const struct tw_index_entry **out, struct tw_err *err)
{
	struct tw_choice choice = { 0 };
	struct tw_wanted w = {
		.source = tw_energy_source_wanted(q->source),
		.output = q->output,
		.trainer = copy(q->trainer),
		.pipeline = copy(q->pipeline),
		.filter = copy(q->filter),
		.node_type = q->node_type == 0    ? -1
			     : q->node_type == -2 ? 0
						  : q->node_type,
		.loose_node_type = !q->strict,
		.spec = q->spec,
		.weight = q->weight,
		.ensembles = q->ensembles,
		.client = q->client,
	};
	struct tw_err ours = { 0 };
	int rc;

	assert_int_equal(tw_strs_split(&w.metrics,
				       q->metrics != NULL ? q->metrics : COUNTERS "," BPF,
				       &ours),
			 0);
	rc = tw_choose(x, &w, &choice, err);
	*out = choice.entry;
	tw_wanted_release(&w);
	assert_null(w.trainer);
	return rc;
}

/* The answer: "pipeline/group/name". */
static const struct {
	const char *why;
	struct request q;
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
	{ "weights never of trees unless asked for",
	  { .weight = true },
	  "lab/CounterOnly/SGDRegressorTrainer_0" },
	{ "weights of trees by name (fault 43)",
	  { .weight = true, .trainer = "XgboostFitTrainer" },
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
	{ "features",
	  { .filter = "features:bpf_cpu_time_ms, bpf_page_cache_hit, x" },
	  "lab/BPFOnly/LinearRegressionTrainer_0" },
};

static void requests_get_the_model_that_is_right_for_them(void **state)
{
	for (size_t i = 0; i < COUNT(answers); i++) {
		const struct tw_index_entry *e = NULL;
		struct tw_err err = { 0 };
		char got[256];

		if (ask(*state, &answers[i].q, &e, &err) < 0)
			fail_msg("%s: %s", answers[i].why, err.text);
		snprintf(got, sizeof(got), "%s/%s/%s", e->pipeline, e->group->name,
			 e->name);
		if (strcmp(got, answers[i].want) != 0)
			fail_msg("%s: got %s, want %s", answers[i].why, got,
				 answers[i].want);
	}
}

static const struct {
	struct request q;
	enum tw_code code;
	const char *want;
} refusals[] = {
	{ { .source = "hmc", .output = TW_DYN_POWER },
	  TW_NOTFOUND,
	  "no model of DynPower for hmc: there are none of this source" },
	{ { .metrics = "cpu_cycles,bpf_cpu_time_ms" },
	  TW_NOTFOUND,
	  "no model of AbsPower for rapl-sysfs: BPFOnly: needs metric "
	  "'bpf_page_cache_hit'; "
	  "Basic: needs metric 'bpf_page_cache_hit'; CounterOnly: needs metric "
	  "'cache_miss'; "
	  "no models in AcceleratorOnly, BPFIRQ, CounterIRQCombined, Full, "
	  "WorkloadOnly" },
	{ { .metrics = COUNTERS, .trainer = "Regress" },
	  TW_NOTFOUND,
	  "no model of AbsPower for rapl-sysfs: BPFOnly: needs metric 'bpf_cpu_time_ms'; "
	  "Basic: needs metric 'bpf_cpu_time_ms'; CounterOnly: none of trainer "
	  "'Regress'; "
	  "no models in AcceleratorOnly, BPFIRQ, CounterIRQCombined, Full, "
	  "WorkloadOnly" },
	{ { .output = TW_DYN_POWER, .pipeline = "nope" },
	  TW_NOTFOUND,
	  "no model of DynPower for rapl-sysfs: CounterOnly: none in pipeline 'nope'; "
	  "no models in AcceleratorOnly, BPFIRQ, BPFOnly, Basic, CounterIRQCombined, "
	  "Full, "
	  "WorkloadOnly" },
	{ { .output = TW_DYN_POWER, .node_type = 1, .strict = true },
	  TW_NOTFOUND,
	  "no model of DynPower for rapl-sysfs: CounterOnly: none for node type 1; "
	  "no models in AcceleratorOnly, BPFIRQ, BPFOnly, Basic, CounterIRQCombined, "
	  "Full, "
	  "WorkloadOnly" },
	{ { .output = TW_DYN_POWER,
	    .spec = { .processor = "sparc", .cores = 4 },
	    .strict = true },
	  TW_NOTFOUND,
	  "no model of DynPower for rapl-sysfs: CounterOnly: none for this machine; no "
	  "models in" },
	{ { .source = "psys", .metrics = COUNTERS },
	  TW_NOTFOUND,
	  "no model of AbsPower for psys: BPFOnly: needs metric 'bpf_cpu_time_ms'; "
	  "CounterOnly: only ensembles, which this client does not read; no models in" },
	{ { .source = "acpi", .weight = true, .client = TW_CLIENT_0_5 },
	  TW_NOTFOUND,
	  "no model of AbsPower for acpi: BPFOnly: no weights for this client; no models "
	  "in "
	  "AcceleratorOnly, BPFIRQ, Basic, CounterIRQCombined, CounterOnly, Full, "
	  "WorkloadOnly" },
	{ { .source = "hmc",
	    .weight = true,
	    .metrics = "bpf_page_cache_hit,bpf_cpu_time_ms",
	    .trainer = "LogarithmicRegressionTrainer" },
	  TW_NOTFOUND,
	  "no model of AbsPower for hmc: BPFOnly: no weights for this client; Basic: "
	  "needs "
	  "metric 'cache_miss'; no models in" },
	/* Its curve is not what clients compute by the trainer's name. */
	{ { .source = "hmc",
	    .weight = true,
	    .metrics = BPF "," COUNTERS,
	    .trainer = "ExponentialRegressionTrainer" },
	  TW_NOTFOUND,
	  "no model of AbsPower for hmc: BPFOnly: none of trainer "
	  "'ExponentialRegressionTrainer'; Basic: no weights for this client; " },
	{ { .source = "acpi", .filter = "mae:19.9" },
	  TW_NOTFOUND,
	  "no model of AbsPower for acpi: BPFOnly: filter 'mae' not passed; no models in "
	  "AcceleratorOnly, BPFIRQ, Basic, CounterIRQCombined, CounterOnly, Full, "
	  "WorkloadOnly" },
	{ { .source = "acpi", .filter = "no_such_figure:1e9" },
	  TW_NOTFOUND,
	  "no model of AbsPower for acpi: BPFOnly: filter 'no_such_figure' not passed; "
	  "no models "
	  "in AcceleratorOnly, BPFIRQ, Basic, CounterIRQCombined, CounterOnly, Full, "
	  "WorkloadOnly" },
	{ { .output = TW_DYN_POWER, .filter = "mae:1e9" },
	  TW_NOTFOUND,
	  "no model of DynPower for rapl-sysfs: CounterOnly: filter 'mae' not passed; "
	  "no models in AcceleratorOnly, BPFIRQ, BPFOnly, Basic, CounterIRQCombined, "
	  "Full, "
	  "WorkloadOnly" },
	{ { .source = "redfish", .filter = "r2:0.71" },
	  TW_NOTFOUND,
	  "no model of AbsPower for redfish: BPFOnly: filter 'r2' not passed; no models "
	  "in "
	  "AcceleratorOnly, BPFIRQ, Basic, CounterIRQCombined, CounterOnly, Full, "
	  "WorkloadOnly" },
	{ { .filter = "mae" }, TW_INVALID, "filter 'mae': expected attribute:threshold" },
	{ { .filter = "r2:0.5; :3" },
	  TW_INVALID,
	  "filter ':3': no attribute before ':'" },
	{ { .filter = "mae:ten" },
	  TW_INVALID,
	  "filter 'mae:ten': the threshold is not a number" },
	{ { .filter = "mae:" },
	  TW_INVALID,
	  "filter 'mae:': the threshold is not a number" },
	{ { .filter = "mae:NaN" },
	  TW_INVALID,
	  "filter 'mae:NaN': the threshold is not a number" },
	{ { .filter = "features: , " },
	  TW_INVALID,
	  "filter 'features: ,': no features behind ':'" },
};

static void what_nothing_matches_is_told_group_by_group(void **state)
{
	for (size_t i = 0; i < COUNT(refusals); i++) {
		const struct tw_index_entry *e = NULL;
		struct tw_err err = { 0 };

		assert_int_equal(ask(*state, &refusals[i].q, &e, &err), -1);
		assert_null(e);
		/* A long list of groups is cut at the end of the error's text. */
		if (strncmp(err.text, refusals[i].want,
			    strnlen(refusals[i].want, TW_ERR_TEXT - 1)) != 0)
			fail_msg("got  %s\nwant %s", err.text, refusals[i].want);
		assert_int_equal(err.code, refusals[i].code);
	}
}

static void a_minus_one_of_the_old_programs_passes_no_filter(void **state)
{
	const struct request q = { .filter = "package_mape:100" };
	const struct tw_index_entry *e;
	struct tw_err err = { 0 };

	assert_int_equal(ask(*state, &q, &e, &err), -1);
	assert_non_null(
		strstr(err.text, "CounterOnly: filter 'package_mape' not passed"));
}

static void a_filter_has_a_limit(void **state)
{
	char text[33 * 6 + 1] = "";
	struct tw_filter f = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (int i = 0; i < 33; i++)
		strcat(text, "mae:1;");
	assert_int_equal(tw_filter_parse(text, &f, &err), -1);
	assert_string_equal(err.text, "filter: more than 32 parts");
	text[32 * 6] = '\0';
	assert_int_equal(tw_filter_parse(text, &f, &err), 0);
	assert_int_equal(f.count, 32);
	tw_filter_release(&f);
}

static void the_best_of_a_group_is_told(void **state)
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

static void every_failed_allocation_is_reported(void **state)
{
	const struct request q = { .filter = "mae:10;features:" COUNTERS };
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
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
		assert_null(choice.entry);
	}
	assert_true(failures > 3);
	tw_wanted_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_get_the_model_that_is_right_for_them),
		cmocka_unit_test(what_nothing_matches_is_told_group_by_group),
		cmocka_unit_test(a_minus_one_of_the_old_programs_passes_no_filter),
		cmocka_unit_test(a_filter_has_a_limit),
		cmocka_unit_test(the_best_of_a_group_is_told),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, load_database, drop_database);
}
