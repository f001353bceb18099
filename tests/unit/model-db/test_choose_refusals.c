/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "model-db/index/filter.h"
#include "model-db/index/index.h"
#include "tests/unit/choosing.h"
#include "tests/unit/loaded_index.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

#include <string.h>

static const struct {
	struct choosing q;
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
	  "no model of AbsPower for rapl-sysfs: BPFOnly: no 'Regress' model; "
	  "Basic: no 'Regress' model; CounterOnly: no 'Regress' model; "
	  "no models in AcceleratorOnly, BPFIRQ, CounterIRQCombined, Full, "
	  "WorkloadOnly" },
	{ { .output = TW_DYN_POWER, .pipeline = "nope" },
	  TW_NOTFOUND,
	  "no model of DynPower for rapl-sysfs: CounterOnly: no model in pipeline "
	  "'nope'; "
	  "no models in AcceleratorOnly, BPFIRQ, BPFOnly, Basic, CounterIRQCombined, "
	  "Full, "
	  "WorkloadOnly" },
	{ { .output = TW_DYN_POWER, .node_type = 1, .strict = true },
	  TW_NOTFOUND,
	  "no model of DynPower for rapl-sysfs: CounterOnly: no model for node type 1; "
	  "no models in AcceleratorOnly, BPFIRQ, BPFOnly, Basic, CounterIRQCombined, "
	  "Full, "
	  "WorkloadOnly" },
	{ { .source = "acpi", .node_type = -2, .strict = true },
	  TW_NOTFOUND,
	  "no model of AbsPower for acpi: BPFOnly: no model for node type 0; no models "
	  "in" },
	{ { .output = TW_DYN_POWER,
	    .spec = { .processor = "sparc", .cores = 4 },
	    .strict = true },
	  TW_NOTFOUND,
	  "no model of DynPower for rapl-sysfs: CounterOnly: no model for this machine; "
	  "no "
	  "models in" },
	{ { .source = "psys", .metrics = COUNTERS },
	  TW_NOTFOUND,
	  "no model of AbsPower for psys: CounterOnly: only ensembles, which this client "
	  "does not read; no models in" },
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
	  "no model of AbsPower for hmc: BPFOnly: no weights for this client; Basic: no "
	  "'LogarithmicRegressionTrainer' model; no models in" },
	/* Its curve is not what clients compute by the trainer's name. */
	{ { .source = "hmc",
	    .weight = true,
	    .metrics = BPF "," COUNTERS,
	    .trainer = "ExponentialRegressionTrainer" },
	  TW_NOTFOUND,
	  "no model of AbsPower for hmc: BPFOnly: no "
	  "'ExponentialRegressionTrainer' model; Basic: no weights for this client; " },
	{ { .weight = true, .trainer = "XgboostFitTrainer" },
	  TW_NOTFOUND,
	  "no model of AbsPower for rapl-sysfs: BPFOnly: no "
	  "'XgboostFitTrainer' model; Basic: no 'XgboostFitTrainer' model; "
	  "CounterOnly: "
	  "no weights for this client; " },
	{ { .source = "fake", .output = TW_DYN_POWER },
	  TW_NOTFOUND,
	  "no model of DynPower for fake: BPFOnly: power of the parts is not that of the "
	  "whole; CounterOnly: idle power is in its target; no models in" },
	/* No client gets them as weights, because Kepler itself computes with them. */
	{ { .source = "fake",
	    .output = TW_DYN_POWER,
	    .metrics = COUNTERS,
	    .weight = true,
	    .trainer = "SGDRegressorTrainer" },
	  TW_NOTFOUND,
	  "no model of DynPower for fake: CounterOnly: idle power is in its target; no "
	  "models in" },
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

static void an_error_names_the_reason_for_each_group(void **state)
{
	for (size_t i = 0; i < TW_COUNT(refusals); i++) {
		const struct tw_index_entry *e = NULL;
		struct tw_err err = { 0 };

		assert_int_equal(choosing_ask(*state, &refusals[i].q, &e, &err), -1);
		assert_null(e);
		/* A long list of groups is cut at the end of the error's text. */
		if (strncmp(err.text, refusals[i].want,
			    strnlen(refusals[i].want, TW_ERR_TEXT - 1)) != 0)
			fail_msg("got  %s\nwant %s", err.text, refusals[i].want);
		assert_int_equal(err.code, refusals[i].code);
	}
}

static void each_group_with_models_has_a_reason(void **state)
{
	static const struct sample groups[] = {
		{ .group = "AcceleratorOnly" },
		{ .group = "WorkloadOnly" },
	};
	const struct choosing q = { .trainer = "T", .metrics = "accelerator_intel_qat" };
	const struct tw_index_entry *e;
	char *db = scratch_new();
	struct tw_index *x;
	struct refused r;
	struct tw_err err = { 0 };

	(void)state;
	sample_publish(db, "p", groups, TW_COUNT(groups));
	x = load_index(db, &r);
	assert_int_equal(choosing_ask(x, &q, &e, &err), -1);
	assert_non_null(
		strstr(err.text, "AcceleratorOnly: no 'T' model; WorkloadOnly: "));
	tw_index_unref(x);
	scratch_free(db);
}

static void an_error_of_minus_one_passes_no_filter(void **state)
{
	const struct choosing q = { .filter = "package_mape:100" };
	const struct tw_index_entry *e;
	struct tw_err err = { 0 };

	assert_int_equal(choosing_ask(*state, &q, &e, &err), -1);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_names_the_reason_for_each_group),
		cmocka_unit_test(each_group_with_models_has_a_reason),
		cmocka_unit_test(an_error_of_minus_one_passes_no_filter),
		cmocka_unit_test(a_filter_has_a_limit),
	};

	return cmocka_run_group_tests(tests, choosing_set_up, choosing_tear_down);
}
