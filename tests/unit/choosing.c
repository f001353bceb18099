/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/choosing.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "model-db/index/choose.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"

#include <math.h>
#include <string.h>

#define CURVE(name, weights)                                                     \
	"{\"curve\":\"" name "\",\"All_Weights\":{\"CurveFit_Weights\":" weights \
	",\"Numerical_Variables\":{\"bpf_cpu_time_ms\":{\"scale\":1000}}}}"

static const struct sample lab[] = {
	{ .trainer = "SGDRegressorTrainer",
	  .mae_w = 5,
	  .metadata = "{\"r2\":0.5,\"package_mape\":-1}",
	  .spec = { .processor = "xeon", .cores = 8, .chips = 2, .memory_gib = 16 } },
	{ .node_type = 5, .mae_w = 4, .metadata = "{\"r2\":0.9,\"rmse\":6}" },
	{ .node_type = 15, .mae_w = 3, .metadata = "{\"abs_max_corr\":0.8}" },
	{ .trainer = "XgboostFitTrainer", .predictor = "xgboost", .mae_w = 1 },
	{ .trainer = "LinearRegressionTrainer", .group = "BPFOnly", .mae_w = 8 },
	{ .trainer = "KNeighborsRegressorTrainer",
	  .predictor = "knn",
	  .group = "Basic",
	  .mae_w = 2 },
};

static const struct sample alt[] = {
	{ .trainer = "SGDRegressorTrainer",
	  .mae_w = 5,
	  .spec = { .processor = "epyc", .cores = 64 } },
	{ .trainer = "OtherTrainer", .mae_w = NAN, .metadata = "{\"rmse\":1}" },
	{ .trainer = "OtherTrainer", .output = TW_DYN_POWER, .mae_w = NAN },
	{ .source = "redfish",
	  .group = "BPFOnly",
	  .mae_w = 1,
	  .text = "{\"All_Weights\":{\"Bias_Weight\":0,\"Numerical_Variables\":{"
		  "\"bpf_cpu_time_ms\":{\"scale\":1000,\"weight\":1}}}}",
	  .metadata = "{\"package_r2\":0.9,\"package_p95\":2,"
		      "\"dram_r2\":0.7,\"dram_p95\":3,\"core_r2\":null}" },
	{ .source = "redfish", .group = "BPFOnly", .mae_w = 2, .node_type = 7 },
	{ .source = "acpi", .group = "BPFOnly", .mae_w = 20, .node_type = 1 },
	{ .source = "hmc",
	  .trainer = "LogarithmicRegressionTrainer",
	  .predictor = "curvefit",
	  .group = "BPFOnly",
	  .mae_w = 1,
	  .text = CURVE("logarithmic", "[3,4,7]") },
	{ .source = "hmc", .group = "BPFOnly", .mae_w = 2, .node_type = 7 },
	{ .source = "hmc",
	  .trainer = "ExponentialRegressionTrainer",
	  .predictor = "curvefit",
	  .group = "Basic",
	  .mae_w = 0.5,
	  .text = CURVE("logarithmic", "[3,4,7]") },
	{ .source = "psys",
	  .trainer = "AutoTrainer",
	  .predictor = "ensemble",
	  .group = "BPFOnly",
	  .mae_w = 1 },
	{ .source = "psys", .group = "BPFOnly", .mae_w = 2 },
	{ .source = "psys",
	  .trainer = "AutoTrainer",
	  .predictor = "ensemble",
	  .mae_w = 1 },
	/* A machine of 32 cores: trees first, whose shares may add up or not. */
	{ .source = "fake",
	  .trainer = "XgboostFitTrainer",
	  .predictor = "xgboost",
	  .node_type = 9,
	  .mae_w = 1,
	  .metadata = "{\"certificate_rises\":true,\"certificate_share_deviation\":2}",
	  .spec = { .cores = 32 } },
	{ .source = "fake", .node_type = 9, .mae_w = 5, .spec = { .cores = 32 } },
	{ .source = "fake",
	  .trainer = "XgboostFitTrainer",
	  .predictor = "xgboost",
	  .group = "BPFOnly",
	  .node_type = 9,
	  .mae_w = 1,
	  .metadata = "{\"certificate_rises\":true,\"certificate_share_deviation\":0.5}",
	  .spec = { .cores = 32 } },
	/* Trees of one trainer: the worse add up. */
	{ .source = "ipmi",
	  .trainer = "XgboostFitTrainer",
	  .predictor = "xgboost",
	  .node_type = 9,
	  .mae_w = 1,
	  .metadata = "{\"certificate_rises\":true,\"certificate_share_deviation\":2}",
	  .spec = { .cores = 32 } },
	{ .source = "ipmi",
	  .trainer = "XgboostFitTrainer",
	  .predictor = "xgboost",
	  .group = "BPFOnly",
	  .node_type = 9,
	  .mae_w = 50,
	  .metadata = "{\"certificate_rises\":true,\"certificate_share_deviation\":0.5}",
	  .spec = { .cores = 32 } },
	/* Better alone, and better as a series. */
	{ .source = "hwmon",
	  .group = "BPFOnly",
	  .mae_w = 4,
	  .metadata = "{\"platform_mae\":4}" },
	{ .source = "hwmon",
	  .trainer = "AutoTrainer",
	  .predictor = "ensemble",
	  .mae_w = 5,
	  .metadata = "{\"certificate_rises\":true,\"platform_mae\":5,"
		      "\"platform_idle_bias\":1,\"platform_series_mae\":3,"
		      "\"platform_series_idle_bias\":0.5}" },
	{ .source = "fake",
	  .output = TW_DYN_POWER,
	  .node_type = 9,
	  .metadata = "{\"isolator\":\"NoneIsolator\"}",
	  .spec = { .cores = 32 } },
	{ .source = "fake",
	  .output = TW_DYN_POWER,
	  .group = "BPFOnly",
	  .node_type = 9,
	  .text = "{\"All_Weights\":{\"Bias_Weight\":62.8,\"Numerical_Variables\":{"
		  "\"bpf_cpu_time_ms\":{\"scale\":1000,\"weight\":1},"
		  "\"bpf_page_cache_hit\":{\"scale\":1000,\"weight\":1}}}}",
	  .spec = { .cores = 32 } },
};

int choosing_set_up(void **state)
{
	char *db = scratch_new();
	struct tw_index *x = NULL;
	struct tw_strs pipelines = { 0 };
	const struct tw_index_preference prefer = { .pipelines = &pipelines };
	struct tw_err err = { 0 };

	sample_publish(db, "lab", lab, TW_COUNT(lab));
	sample_publish(db, "alt", alt, TW_COUNT(alt));
	assert_int_equal(tw_strs_adds(&pipelines, "lab", &err), 0);
	if (tw_index_load_preferring(db, &prefer, NULL, NULL, &x, &err) < 0)
		fail_msg("%s", err.text);
	tw_strs_clear(&pipelines);
	assert_int_equal(tw_index_count(x), TW_COUNT(lab) + TW_COUNT(alt));
	scratch_free(db);
	*state = x;
	return 0;
}

int choosing_tear_down(void **state)
{
	tw_index_unref(*state);
	return 0;
}

static char *copy(const char *text)
{
	return text != NULL ? strdup(text) : NULL;
}

int choosing_ask(const struct tw_index *x, const struct choosing *q,
		 const struct tw_index_entry **out, struct tw_err *err)
{
	struct tw_choice choice = { 0 };
	struct tw_wanted w = {
		.source = tw_energy_source_wanted(q->source),
		.output = q->output,
		.trainer = copy(q->trainer),
		.default_trainer =
			q->default_trainer ||
			(q->weight && q->no_classes && tw_trainer_is_default(q->trainer)),
		.pipeline = copy(q->pipeline),
		.filter = copy(q->filter),
		.node_type = q->node_type == 0    ? -1
			     : q->node_type == -2 ? 0
						  : q->node_type,
		.loose_node_type = !q->strict,
		.spec = q->spec,
		.weight = q->weight,
		.classes = !q->no_classes,
		.ensembles = q->ensembles,
		.trees = q->trees,
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
