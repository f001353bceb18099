/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choices between the few models of a pipeline "p" and of a pipeline "q". Their ranks
 * follow their errors, so a model with a lower mae_w is preferred among equal fits.
 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "model-db/index/choose.h"
#include "model-db/index/filter.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "model-db/index/matcher.h"
#include "tests/unit/choosing.h"
#include "tests/unit/loaded_index.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SGD "SGDRegressorTrainer"
#define LINEAR "LinearRegressionTrainer"
/* Weights that give no power at zero use. */
#define NO_IDLE                                                         \
	"{\"All_Weights\":{\"Bias_Weight\":0,\"Numerical_Variables\":{" \
	"\"cpu_cycles\":{\"scale\":1000,\"weight\":1}}}}"
#define CURVE                                                                       \
	"{\"curve\":\"logarithmic\",\"All_Weights\":{\"CurveFit_Weights\":[3,4,7]," \
	"\"Numerical_Variables\":{\"bpf_cpu_time_ms\":{\"scale\":1000}}}}"
#define SHARES_DEVIATE "{\"certificate_rises\":true,\"certificate_share_deviation\":2}"
/* Above a third of the limits of a mean error, and just that. */
#define BIASED "{\"certificate_bias\":0.4}"
#define BIASED_BY(w) "{\"certificate_bias\":0.4,\"package_mae\":5,\"package_bias\":" w "}"
#define NOT_BIASED "{\"certificate_bias\":0.3333}"
#define XEON                                    \
	{                                       \
		.processor = "xeon", .cores = 8 \
	}
#define EPYC                                     \
	{                                        \
		.processor = "epyc", .cores = 64 \
	}

/* The index of both pipelines; yours. */
static struct tw_index *load_pairs(const struct sample *p, size_t ps,
				   const struct sample *q, size_t qs)
{
	char *db = scratch_new();
	struct tw_index *x;
	struct refused r;

	sample_publish(db, "p", p, ps);
	if (qs > 0)
		sample_publish(db, "q", q, qs);
	x = load_index(db, &r);
	assert_int_equal(tw_index_count(x), ps + qs);
	scratch_free(db);
	return x;
}

static const struct {
	const char *why;
	struct sample p, q;
	struct choosing ask;
	const char *want; /* "pipeline/name" */
	bool one_machine; /* q is of pipeline "p", too */
} pairs[] = {
	{ "of one node type the lower error, though the other is the very machine",
	  { .trainer = LINEAR, .text = NO_IDLE, .mae_w = 1, .spec = XEON },
	  { .trainer = LINEAR, .text = NO_IDLE, .mae_w = 2, .spec = EPYC },
	  { .weight = true, .node_type = -2, .spec = EPYC },
	  "p/" LINEAR "_0",
	  false },
	{ "of one node type power at zero use, though the other is the very machine",
	  { .trainer = LINEAR, .text = NO_IDLE, .mae_w = 1, .spec = EPYC },
	  { .trainer = SGD, .mae_w = 2, .spec = XEON },
	  { .weight = true, .node_type = -2, .spec = EPYC },
	  "q/" SGD "_0",
	  false },
	{ "the lower error where neither gives power at zero use",
	  { .trainer = LINEAR, .text = NO_IDLE, .mae_w = 1 },
	  { .trainer = LINEAR, .text = NO_IDLE, .mae_w = 2 },
	  { .weight = true },
	  "p/" LINEAR "_0",
	  false },
	{ "and of one machine",
	  { .trainer = LINEAR, .text = NO_IDLE, .mae_w = 1 },
	  { .trainer = "T", .text = NO_IDLE, .mae_w = 2 },
	  { .weight = true },
	  "p/" LINEAR "_0",
	  true },
	{ "a model whose shares add up for a machine of one core",
	  { .trainer = "XgboostFitTrainer",
	    .predictor = "xgboost",
	    .mae_w = 1,
	    .metadata = SHARES_DEVIATE,
	    .spec = { .cores = 32 } },
	  { .trainer = SGD, .mae_w = 5, .spec = { .cores = 32 } },
	  { .spec = { .cores = 1 } },
	  "p/" SGD "_0",
	  true },
	{ "any model of dynamic power for it",
	  { .trainer = "XgboostFitTrainer",
	    .predictor = "xgboost",
	    .output = TW_DYN_POWER,
	    .mae_w = 1,
	    .metadata = "{\"certificate_additive\":true,"
			"\"certificate_share_deviation\":2}",
	    .spec = { .cores = 32 } },
	  { .trainer = SGD, .output = TW_DYN_POWER, .mae_w = 5, .spec = { .cores = 32 } },
	  { .output = TW_DYN_POWER, .spec = { .cores = 1 } },
	  "p/XgboostFitTrainer_0",
	  true },
	{ "a nearer machine's linear weights for the name of any",
	  { .trainer = SGD, .mae_w = 1, .spec = XEON },
	  { .trainer = LINEAR, .mae_w = 2, .spec = EPYC },
	  { .weight = true, .no_classes = true, .trainer = SGD, .spec = EPYC },
	  "q/" LINEAR "_0",
	  false },
	{ "the named trainer's where both are of the machine",
	  { .trainer = LINEAR, .mae_w = 1, .spec = EPYC },
	  { .trainer = SGD, .mae_w = 2, .spec = EPYC },
	  { .weight = true, .no_classes = true, .trainer = SGD, .spec = EPYC },
	  "q/" SGD "_0",
	  false },
	{ "the named trainer's where neither is",
	  { .trainer = LINEAR, .mae_w = 1, .spec = XEON },
	  { .trainer = SGD, .mae_w = 2, .spec = XEON },
	  { .weight = true, .no_classes = true, .trainer = SGD },
	  "q/" SGD "_0",
	  false },
	{ "of a curve not, though it is of a nearer machine",
	  { .trainer = SGD, .group = "BPFOnly", .mae_w = 2, .spec = XEON },
	  { .trainer = "LogarithmicRegressionTrainer",
	    .predictor = "curvefit",
	    .group = "BPFOnly",
	    .mae_w = 1,
	    .text = CURVE,
	    .spec = EPYC },
	  { .weight = true,
	    .no_classes = true,
	    .trainer = SGD,
	    .metrics = BPF,
	    .spec = EPYC },
	  "p/" SGD "_0",
	  false },
	{ "no trees before others for who names the trainer of both",
	  { .trainer = "T", .mae_w = 1 },
	  { .trainer = "T",
	    .predictor = "xgboost",
	    .group = "BPFOnly",
	    .node_type = 1,
	    .mae_w = 2 },
	  { .no_classes = true, .trainer = "T" },
	  "p/T_0",
	  false },
	{ "the first name, of errors that differ by less than 2 %",
	  { .trainer = SGD, .mae_w = 2.74 },
	  { .trainer = LINEAR, .mae_w = 2.75 },
	  { .weight = true },
	  "p/" LINEAR "_0",
	  true },
	{ "the lower one of errors that differ by more",
	  { .trainer = SGD, .mae_w = 2.74 },
	  { .trainer = LINEAR, .mae_w = 2.80 },
	  { .weight = true },
	  "p/" SGD "_0",
	  true },
	{ "a model without bias though its error is higher",
	  { .trainer = SGD, .mae_w = 1.82, .metadata = BIASED },
	  { .trainer = LINEAR, .mae_w = 2, .metadata = NOT_BIASED },
	  { .weight = true },
	  "p/" LINEAR "_0",
	  true },
	{ "a bias with a clearly lower error",
	  { .trainer = SGD, .mae_w = 1.78, .metadata = BIASED },
	  { .trainer = LINEAR, .mae_w = 2, .metadata = NOT_BIASED },
	  { .weight = true },
	  "p/" SGD "_0",
	  true },
	{ "an error and a bias that are clearly lower together",
	  { .trainer = SGD, .mae_w = 5, .metadata = BIASED_BY("-3") },
	  { .trainer = LINEAR, .mae_w = 9, .metadata = NOT_BIASED },
	  { .weight = true },
	  "p/" SGD "_0",
	  true },
	{ "no bias as large as the error that it saves",
	  { .trainer = SGD, .mae_w = 5, .metadata = BIASED_BY("-4") },
	  { .trainer = LINEAR, .mae_w = 9, .metadata = NOT_BIASED },
	  { .weight = true },
	  "p/" LINEAR "_0",
	  true },
	{ "that of a later machine, where neither is near",
	  { .trainer = SGD, .mae_w = 1, .metadata = BIASED },
	  { .trainer = SGD, .mae_w = 2 },
	  { .node_type = 0 },
	  "q/" SGD "_0",
	  false },
	{ "no bias for a client of series, too",
	  { .trainer = SGD, .mae_w = 1.82, .metadata = BIASED },
	  { .trainer = LINEAR, .mae_w = 2 },
	  { .ensembles = true },
	  "p/" LINEAR "_0",
	  true },
	{ "a bias with a clearly lower error of series",
	  { .trainer = SGD,
	    .mae_w = 3,
	    .metadata = "{\"certificate_bias\":0.4,\"package_series_mae\":1}" },
	  { .trainer = LINEAR, .mae_w = 2 },
	  { .ensembles = true },
	  "p/" SGD "_0",
	  true },
	{ "the very machine's, with a bias",
	  { .trainer = SGD, .mae_w = 2, .metadata = BIASED, .spec = EPYC },
	  { .trainer = SGD, .mae_w = 1, .spec = XEON },
	  { .spec = EPYC },
	  "p/" SGD "_0",
	  false },
	{ "a bias before no power at zero use",
	  { .trainer = SGD, .mae_w = 2, .metadata = BIASED },
	  { .trainer = LINEAR, .text = NO_IDLE, .mae_w = 1 },
	  { .weight = true },
	  "p/" SGD "_0",
	  true },
	{ "a bias where no other model serves",
	  { .trainer = SGD, .mae_w = 2, .metadata = BIASED },
	  { .trainer = SGD, .group = "BPFOnly", .mae_w = 1 },
	  { .weight = true, .metrics = COUNTERS },
	  "p/" SGD "_0",
	  true },
	{ "no trees first for who says what it reads",
	  { .trainer = "T", .mae_w = 1 },
	  { .trainer = "U", .predictor = "xgboost", .node_type = 1, .mae_w = 2 },
	  { 0 },
	  "p/T_0",
	  false },
};

static void a_pair_has_the_expected_winner(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(pairs); i++) {
		const struct sample both[] = { pairs[i].p, pairs[i].q };
		struct tw_index *x = pairs[i].one_machine
					     ? load_pairs(both, 2, NULL, 0)
					     : load_pairs(both, 1, both + 1, 1);
		const struct tw_index_entry *e = NULL;
		struct tw_err err = { 0 };
		char got[256];

		if (choosing_ask(x, &pairs[i].ask, &e, &err) < 0)
			fail_msg("%s: %s", pairs[i].why, err.text);
		snprintf(got, sizeof(got), "%s/%s", e->pipeline, e->name);
		if (strcmp(got, pairs[i].want) != 0)
			fail_msg("%s: got %s, want %s", pairs[i].why, got, pairs[i].want);
		tw_index_unref(x);
	}
}

/* A matcher checks other models after the choice, as for GET /explain. */
/*
 * The code of tw_choose_prior() beside a model of a similar machine, whose expected error
 * is less than the prior's.
 */
static enum tw_code ask_prior(const char *metadata)
{
	const struct sample near = {
		.group = "BPFOnly",
		.metadata = metadata,
		.spec = { .processor = "intel_xeon_6980p", .cores = 512, .chips = 2 }
	};
	struct tw_wanted w = {
		.source = tw_energy_source_wanted(NULL),
		.node_type = -1,
		.loose_node_type = true,
		.classes = true,
		.weight = true,
		.spec = { .processor = "intel_xeon_6979p", .cores = 512, .chips = 2 }
	};
	struct tw_choice choice = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	char *db = scratch_new(), *prior, path[512];
	struct tw_index *x;
	struct refused r;
	size_t len;

	sample_publish(db, "p", &near, 1);
	assert_int_equal(tw_file_read("model-db/models/machines/prior.json", 1 << 24,
				      &prior, &len, &err),
			 0);
	snprintf(path, sizeof(path), "%s/machines", db);
	assert_int_equal(tw_dir_make(path, &err), 0);
	snprintf(path, sizeof(path), "%s/machines/prior.json", db);
	assert_int_equal(tw_file_create(path, prior, len, &err), 0);
	free(prior);
	x = load_index(db, &r);
	scratch_free(db);
	assert_int_equal(tw_strs_split(&w.metrics, BPF, &err), 0);
	assert_int_equal(tw_choose(x, &w, &choice, &err), 0);
	assert_int_equal(choice.match, TW_MATCH_SIMILAR);
	tw_choose_prior(x, &w, &choice, &m, &err);
	tw_model_release(&m);
	tw_wanted_release(&w);
	tw_index_unref(x);
	return err.code;
}

static void a_biased_model_does_not_go_before_the_prior(void **state)
{
	(void)state;
	assert_int_equal(ask_prior(NOT_BIASED), TW_NOTFOUND);
	assert_int_equal(ask_prior(BIASED), TW_OK);
}

static void a_choice_leaves_no_condition_in_the_matcher(void **state)
{
	static const struct sample p[] = {
		{ .trainer = "XgboostFitTrainer",
		  .predictor = "xgboost",
		  .mae_w = 1,
		  .metadata = SHARES_DEVIATE,
		  .spec = { .cores = 32 } },
		{ .trainer = SGD, .mae_w = 5, .spec = { .cores = 32 } },
	};
	struct tw_wanted w = { .source = tw_energy_source_find("rapl-sysfs"),
			       .node_type = -1,
			       .loose_node_type = true,
			       .spec = { .cores = 2 } };
	struct tw_index *x = load_pairs(p, TW_COUNT(p), NULL, 0);
	struct tw_matcher m = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_strs_split(&w.metrics, COUNTERS, &err), 0);
	assert_int_equal(tw_matcher_begin(&m, x, &w, &err), 0);
	for (int round = 0; round < 2; round++) {
		struct tw_choice choice;

		/* Without model_classes only trees are looked at. */
		w.classes = round == 0;
		tw_choose_matching(&m, &choice);
		assert_string_equal(choice.entry->name,
				    w.classes ? SGD "_0" : "XgboostFitTrainer_0");
		assert_null(m.shares_of);
		assert_false(m.only_trees);
		assert_false(m.any_linear);
		for (size_t i = 0; i < tw_index_count(x); i++) {
			const char *detail;

			assert_int_equal(tw_matcher_check(&m, tw_index_at(x, i), &detail),
					 TW_MATCHES);
		}
	}
	assert_int_equal(tw_choose_not_found(&m, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	tw_matcher_release(&m);
	tw_wanted_release(&w);
	tw_index_unref(x);
}

/* Both models of the group fail the same check. */
static void the_reason_of_a_group_is_that_of_its_preferred_model(void **state)
{
	const struct sample idle = { .output = TW_DYN_POWER,
				     .metadata = "{\"isolator\":\"NoneIsolator\"}" };
	const struct sample constant = {
		.output = TW_DYN_POWER,
		.text = "{\"All_Weights\":{\"Bias_Weight\":5,\"Numerical_Variables\":{}}}"
	};
	const struct choosing q = { .output = TW_DYN_POWER };

	(void)state;
	for (int idle_first = 0; idle_first < 2; idle_first++) {
		struct sample p = idle_first ? idle : constant;
		struct sample worse = idle_first ? constant : idle;
		const struct tw_index_entry *e;
		struct tw_index *x;
		struct tw_err err = { 0 };

		p.mae_w = 1;
		worse.mae_w = 2;
		x = load_pairs(&p, 1, &worse, 1);
		assert_int_equal(choosing_ask(x, &q, &e, &err), -1);
		assert_non_null(strstr(
			err.text,
			idle_first ? "idle power is in its target"
				   : "power of the parts is not that of the whole"));
		tw_index_unref(x);
	}
}

static const struct tw_index_entry *best_of(const struct tw_index *x, const char *source,
					    enum tw_output output, const char *group,
					    long long node_type, const char *filter)
{
	const struct tw_index_entry *e;
	struct tw_filter f = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_filter_parse(filter, &f, &err), 0);
	e = tw_choose_best(x, tw_energy_source_find(source), output,
			   tw_feature_group_find(group), node_type, &f);
	tw_filter_release(&f);
	return e;
}

/* The models of a machine are neighbours of another's in memory. */
static void the_best_of_a_group_is_of_its_source_output_and_machine(void **state)
{
	static const struct sample p[] = {
		{ .mae_w = 1, .node_type = 0 },
		{ .mae_w = 2, .node_type = 1, .group = "BPFOnly" },
		{ .mae_w = 3, .node_type = 2, .group = "Basic" },
		{ .mae_w = 0.5, .source = "acpi", .group = "BPFOnly" },
		{ .mae_w = 0.5, .group = "BPFOnly", .output = TW_DYN_POWER },
	};
	struct tw_index *x = load_pairs(p, TW_COUNT(p), NULL, 0);
	const struct tw_index_entry *e;

	(void)state;
	e = best_of(x, "rapl-sysfs", TW_ABS_POWER, "BPFOnly", -1, NULL);
	assert_string_equal(e->name, SGD "_1");
	assert_int_equal(e->output, TW_ABS_POWER);
	e = best_of(x, "acpi", TW_ABS_POWER, "BPFOnly", -1, NULL);
	assert_string_equal(e->source->name, "acpi");
	e = best_of(x, "rapl-sysfs", TW_DYN_POWER, "BPFOnly", -1, NULL);
	assert_int_equal(e->output, TW_DYN_POWER);
	assert_null(best_of(x, "rapl-sysfs", TW_ABS_POWER, "BPFOnly", 0, NULL));
	assert_null(best_of(x, "rapl-sysfs", TW_ABS_POWER, "Basic", 1, NULL));
	assert_null(best_of(x, "rapl-sysfs", TW_ABS_POWER, "CounterOnly", 2, NULL));
	assert_null(best_of(x, "acpi", TW_ABS_POWER, "BPFOnly", 1, NULL));
	assert_null(best_of(x, "acpi", TW_ABS_POWER, "BPFOnly", -1, "mae:0.4"));
	e = best_of(x, "acpi", TW_ABS_POWER, "BPFOnly", -1, "mae:0.5");
	tw_index_give_up_default(x, e);
	assert_null(best_of(x, "acpi", TW_ABS_POWER, "BPFOnly", -1, NULL));
	tw_index_unref(x);
}

static void the_best_of_rapl_may_be_of_its_substitute(void **state)
{
	static const struct sample p = { .source = "rapl-msr" };
	struct tw_index *x = load_pairs(&p, 1, NULL, 0);
	const struct tw_index_entry *e =
		best_of(x, "rapl-sysfs", TW_ABS_POWER, "CounterOnly", -1, NULL);

	(void)state;
	assert_non_null(e);
	assert_string_equal(e->source->name, "rapl-msr");
	tw_index_unref(x);
}

/* Families behind the end of an index are not read. */
static void an_index_ends_with_its_last_family(void **state)
{
	static const struct sample p[] = {
		{ .mae_w = 1, .node_type = 0 },
		{ .mae_w = 2, .node_type = 1, .group = "BPFOnly" },
	};
	struct choosing q = { .metrics = BPF };
	struct tw_index *x = load_pairs(p, TW_COUNT(p), NULL, 0);
	const struct tw_index_entry *e = NULL;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(x->family_count, 2);
	assert_int_equal(choosing_ask(x, &q, &e, &err), 0);
	assert_int_equal(e->node_type, 1);
	x->family_count--;
	assert_int_equal(choosing_ask(x, &q, &e, &err), -1);
	assert_null(strstr(err.text, "BPFOnly: "));
	assert_null(best_of(x, "rapl-sysfs", TW_ABS_POWER, "BPFOnly", -1, NULL));
	x->family_count++;
	tw_index_unref(x);
}

/* Groups of nodes and of old exporters are named only to who measures them. */
static void missing_groups_are_named_to_those_who_could_use_them(void **state)
{
	static const struct sample p = { .trainer = "T" };
	static const struct {
		const char *metrics;
		bool kubelet, node;
	} cases[] = {
		{ COUNTERS, false, false },
		{ COUNTERS ",kubelet_memory_bytes,kubelet_cpu_usage", true, false },
		{ COUNTERS ",node_context_switches,node_cpu_irq_ms,node_cpu_nice_ms,"
			   "node_cpu_softirq_ms,node_cpu_system_ms,node_cpu_user_ms,"
			   "node_interrupts,node_page_faults",
		  false, true },
	};
	struct tw_index *x = load_pairs(&p, 1, NULL, 0);

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct choosing q = { .trainer = "U", .metrics = cases[i].metrics };
		const struct tw_index_entry *e;
		struct tw_err err = { 0 };

		assert_int_equal(choosing_ask(x, &q, &e, &err), -1);
		assert_int_equal(strstr(err.text, "KubeletOnly") != NULL,
				 cases[i].kubelet);
		assert_int_equal(strstr(err.text, "NodeCPU") != NULL, cases[i].node);
		assert_null(strstr(err.text, "CgroupOnly"));
		assert_null(strstr(err.text, "ThirdParty"));
	}
	tw_index_unref(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_has_the_expected_winner),
		cmocka_unit_test(a_biased_model_does_not_go_before_the_prior),
		cmocka_unit_test(a_choice_leaves_no_condition_in_the_matcher),
		cmocka_unit_test(the_reason_of_a_group_is_that_of_its_preferred_model),
		cmocka_unit_test(the_best_of_a_group_is_of_its_source_output_and_machine),
		cmocka_unit_test(the_best_of_rapl_may_be_of_its_substitute),
		cmocka_unit_test(an_index_ends_with_its_last_family),
		cmocka_unit_test(missing_groups_are_named_to_those_who_could_use_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
