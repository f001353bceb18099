/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "isolator/isolator.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/field/feature.h"
#include "model-db/fitness.h"
#include "model-db/model.h"
#include "tests/unit/shared.h"
#include "tests/unit/train_fixture.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/trainer.h"
#include "trainer/fit/validate.h"
#include "trainer/response/prom.h"
#include "trainer/train.h"
#include "trainer/train_data.h"
#include "trainer/train_machines.h"
#include "trainer/train_rows.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS 40
#define DIR "rapl-sysfs/AbsPower/CounterOnly/LinearRegressionTrainer_0/"
#define DYN_DIR "rapl-sysfs/DynPower/CounterOnly/LinearRegressionTrainer_0/"
#define AUTO_DIR "rapl-sysfs/AbsPower/CounterOnly/AutoTrainer_0/"

static double number(const json_t *v, const char *key)
{
	assert_true(json_is_number(json_object_get(v, key)));
	return json_number_value(json_object_get(v, key));
}

static void count_fits(void *arg, const struct tw_train_progress *at)
{
	size_t *fits = arg;

	fits[0] += strcmp(at->stage, "fit") == 0 && at->fits > 0;
	fits[1] = at->of;
	assert_true(at->fits <= at->of);
	assert_true(at->fraction >= 0.0 && at->fraction <= 1.0);
}

/* Ends the training at a task of this number. */
static bool count_down(void *arg)
{
	int *left = arg;

	return (*left)-- > 0;
}

static void a_training_ends_at_each_task_if_its_observer_says_so(void **state)
{
	struct training t;
	struct tw_train_result r = { 0 };
	int left, tasks = 0;

	(void)state;
	train_set_up(&t, ROWS);
	t.job.watch = &(const struct tw_train_watch){ .go_on = count_down, .arg = &left };
	t.job.threads = 1;
	assert_int_equal(tw_strs_adds(&t.job.abs_trainers, "LinearRegressionTrainer",
				      &(struct tw_err){ 0 }),
			 0);
	for (;; tasks++) {
		struct tw_err err = { 0 };

		left = tasks;
		if (tw_train(&t.job, &r, &err) == 0)
			break;
		assert_string_equal(err.text, "the training was cancelled");
		assert_int_equal(r.rows, 0);
	}
	/* Extract, isolate, 4 components of 5 folds and the whole, finish. */
	assert_int_equal(tasks, 27);
	tw_train_result_release(&r);
	train_tear_down(&t);
}

static void a_table_becomes_models_of_both_outputs(void **state)
{
	struct training t;
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };
	const char *key;
	json_t *m, *v;

	(void)state;
	train_set_up(&t, ROWS);
	train_add_all(&t.job.abs_trainers);
	train_add_all(&t.job.dyn_trainers);
	t.job.spec.cores = 8;
	if (tw_train(&t.job, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r.rows, 2 * tw_trainer_count());
	assert_int_equal(r.models, r.rows);
	assert_string_equal(r.row[0].source, "rapl-sysfs");
	assert_string_equal(r.row[0].output, "AbsPower");
	assert_string_equal(r.row[r.rows - 1].output, "DynPower");
	/* The law is linear: what is not the model's is rounding. */
	for (size_t i = 0; i < tw_trainer_count(); i++) {
		assert_string_equal(r.row[i].trainer, tw_trainer_at(i)->name);
		if (strcmp(r.row[i].trainer, "LinearRegressionTrainer") == 0)
			assert_true(r.row[i].mae_w < 1e-3);
	}

	m = train_parse_file(&r, DIR "metadata.json");
	assert_string_equal(json_string_value(json_object_get(m, "model_name")),
			    "LinearRegressionTrainer_0");
	assert_true(number(m, "mae") == number(m, "package_mae") ||
		    number(m, "mae") == number(m, "dram_mae"));
	assert_true(number(m, "core_mae") == 0.0);
	/* No power above the floor: a share of nothing is not 0. */
	assert_true(json_is_null(json_object_get(m, "core_mape")));
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(m, "machine_spec"), "cores")),
			 8);
	assert_string_equal(json_string_value(json_object_get(m, "validation_scheme")),
			    "blocked");
	assert_true(number(m, "validation_folds") == 5 && number(m, "data_rows") == ROWS);
	assert_true(number(m, "package_r2") > 0.999);
	assert_string_equal(json_string_value(json_object_get(m, "data_first")),
			    "2023-11-14T22:13:20.000Z");
	assert_true(number(m, "data_step_s") == 3);
	/* kepler-model-server's estimator refuses a model with an object but the spec. */
	json_object_foreach(m, key, v)
		assert_true(!json_is_object(v) || strcmp(key, "machine_spec") == 0);
	json_decref(m);

	m = train_parse_file(&r, "metadata.json");
	assert_string_equal(json_string_value(json_object_get(m, "name")), "p");
	assert_string_equal(json_string_value(json_object_get(m, "isolator")),
			    "MinIdleIsolator");
	assert_int_equal(json_array_size(json_object_get(m, "abs_trainers")),
			 tw_trainer_count());
	json_decref(m);

	tw_train_result_release(&r);
	train_tear_down(&t);
}

/* The constant of a linear model's component. */
static double find_bias(const struct tw_train_result *r, const char *output,
			const char *component)
{
	char name[128];
	double bias;
	json_t *v;

	snprintf(name, sizeof(name),
		 "rapl-sysfs/%s/CounterOnly/LinearRegressionTrainer_0/weight.json",
		 output);
	v = train_parse_file(r, name);
	bias = number(json_object_get(json_object_get(v, component), "All_Weights"),
		      "Bias_Weight");
	json_decref(v);
	return bias;
}

/* Core and uncore have no part in each other, nor AbsPower and DynPower. */
static void each_component_learns_its_own_power_of_its_own_output(void **state)
{
	static const char *const component[] = { "package", "core", "uncore", "dram" };
	static const double watts[] = { 20, 7, 3, 5 };
	struct tw_dataset d = { 0 }, before = { 0 };
	struct tw_train_table table = train_make_counters(&d);
	struct tw_train_job job = train_make_job(&table);
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	train_make_table(&d, ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		tw_dataset_find(&d, "core_power")[i] = 7;
		tw_dataset_find(&d, "uncore_power")[i] = 3;
	}
	assert_int_equal(tw_dataset_copy(&d, NULL, &before, &err), 0);
	assert_int_equal(tw_strs_adds(&job.abs_trainers, "LinearRegressionTrainer", &err),
			 0);
	assert_int_equal(tw_strs_adds(&job.dyn_trainers, "LinearRegressionTrainer", &err),
			 0);
	if (tw_train(&job, &r, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t c = 0; c < 4; c++) {
		assert_true(fabs(find_bias(&r, "AbsPower", component[c]) - watts[c]) <
			    1e-6);
		/* The least of each is taken away. */
		assert_true(fabs(find_bias(&r, "DynPower", component[c])) < 1e-6);
	}
	/* What was trained on is as it was. */
	for (size_t c = 0; c < d.cols; c++)
		assert_memory_equal(d.col[c].v, before.col[c].v, ROWS * sizeof(double));
	tw_train_result_release(&r);
	tw_dataset_release(&before);
	tw_dataset_release(&d);
	train_release_job(&job);
}

/* Not that of the last one. */
static void the_errors_of_a_model_are_its_worst_components(void **state)
{
	struct training t;
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };
	json_t *m;

	(void)state;
	train_set_up(&t, ROWS);
	for (size_t i = 0; i < ROWS; i++)
		tw_dataset_find(&t.d, "package_power")[i] =
			20 + 10 * (double)(i * 11 % 5);
	assert_int_equal(
		tw_strs_adds(&t.job.abs_trainers, "LinearRegressionTrainer", &err), 0);
	if (tw_train(&t.job, &r, &err) < 0)
		fail_msg("%s", err.text);
	m = train_parse_file(&r, DIR "metadata.json");
	assert_true(number(m, "package_mape") > 1 + number(m, "dram_mape"));
	assert_true(number(m, "mape") == number(m, "package_mape"));
	assert_true(number(m, "mae") == number(m, "package_mae"));
	assert_true(r.row[0].mape_percent == number(m, "package_mape"));
	json_decref(m);
	tw_train_result_release(&r);
	train_tear_down(&t);
}

/* Both outputs are refused a certificate, or none is. */
static void check_certificates(const struct tw_train_result *r, bool refused)
{
	static const char *const models[] = { DIR, DYN_DIR };

	for (size_t i = 0; i < 2; i++) {
		char name[128];
		const char *why;
		json_t *m;

		snprintf(name, sizeof(name), "%smetadata.json", models[i]);
		m = train_parse_file(r, name);
		why = json_string_value(json_object_get(m, TW_CERTIFICATE_REFUSED));
		if (refused)
			assert_string_equal(why, TW_REFUSED_POWER);
		else
			assert_null(why);
		json_decref(m);
	}
	assert_true((r->quality.data != NULL &&
		     strstr(r->quality.data,
			    "warning: 2 of 2 models get no certificate, first AbsPower "
			    "CounterOnly LinearRegressionTrainer: its recording has "
			    "power outside physics; look for a wrong step of the meter; "
			    "worst rows: 2023-11-14T22:14:23.000Z: ") != NULL) ==
		    refused);
}

static void a_wrong_step_of_the_meter_costs_the_certificate(void **state)
{
	/* Of a counter's range, of 9 kW; the law's own. */
	static const double step_w[] = { 52469, 9000, 100 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct training t;
		struct tw_train_result r = { 0 };
		struct tw_err err = { 0 };

		train_set_up(&t, ROWS);
		tw_dataset_find(&t.d, "package_power")[ROWS / 2 + 1] = step_w[i];
		assert_int_equal(tw_strs_adds(&t.job.abs_trainers,
					      "LinearRegressionTrainer", &err),
				 0);
		assert_int_equal(tw_strs_adds(&t.job.dyn_trainers,
					      "LinearRegressionTrainer", &err),
				 0);
		if (tw_train(&t.job, &r, &err) < 0)
			fail_msg("%s", err.text);
		check_certificates(&r, step_w[i] > 100);
		tw_train_result_release(&r);
		train_tear_down(&t);
	}
}

/* The load of a row, its power, and the reason that the models get. */
struct recorded {
	double (*load)(size_t row);
	double (*watts)(double load, size_t row);
	const char *refused;
};

static double varied(size_t row)
{
	return (double)(row * 17 % 40) / 40;
}

static double nothing(size_t row)
{
	(void)row;
	return 0;
}

static double noise(size_t row)
{
	return 0.004 + 0.001 * sin((double)(row * row));
}

static double by_law(double load, size_t row)
{
	(void)row;
	return 30 + 100 * load;
}

static double at_rest(double load, size_t row)
{
	(void)load;
	return 30 + 0.3 * cos((double)(row * row * row));
}

static double of_another_machine(double load, size_t row)
{
	(void)load;
	return 30 + 100 * varied(row * 3 + 7);
}

static double in_milliwatts(double load, size_t row)
{
	return 1e3 * by_law(load, row);
}

static double in_kilowatts(double load, size_t row)
{
	return 1e-3 * by_law(load, row);
}

static double half_drifted(double load, size_t row)
{
	return by_law(load, row) + (row >= ROWS / 2 ? 40 : 0);
}

/* A refused model is above the limit, a model with a certificate below it. */
static void check_bias(const json_t *bias, const char *refused)
{
	assert_true(json_is_number(bias));
	if (refused == NULL)
		assert_true(json_number_value(bias) < TW_BIAS_PREFERRED);
	else if (strcmp(refused, TW_REFUSED_BIAS) == 0)
		assert_true(json_number_value(bias) > 1);
}

static const char *refusal(const struct recorded *r, unsigned cores, const char *model)
{
	static const char *const known[] = { TW_REFUSED_NO_LOAD, TW_REFUSED_BIAS,
					     TW_REFUSED_LOAD, TW_REFUSED_ERROR,
					     TW_REFUSED_UNIT };
	struct training t;
	struct tw_train_result result = { 0 };
	struct tw_err err = { 0 };
	const char *why, *found = NULL;
	double *cpu;
	json_t *m;

	train_set_up(&t, ROWS);
	t.table.group = tw_feature_group_find("BPFOnly");
	t.job.spec.cores = cores;
	assert_int_equal(tw_dataset_add(&t.d, "bpf_cpu_time_ms", &cpu, &err), 0);
	for (size_t i = 0; i < ROWS; i++) {
		cpu[i] = 4000 * r->load(i);
		tw_dataset_find(&t.d, "cpu_cycles")[i] = 2e6 * cpu[i];
		tw_dataset_find(&t.d, "package_power")[i] = r->watts(r->load(i), i);
	}
	assert_int_equal(
		tw_strs_adds(&t.job.abs_trainers, "LinearRegressionTrainer", &err), 0);
	assert_int_equal(
		tw_strs_adds(&t.job.dyn_trainers, "LinearRegressionTrainer", &err), 0);
	if (tw_train(&t.job, &result, &err) < 0)
		fail_msg("%s", err.text);
	m = train_parse_file(&result, model);
	why = json_string_value(json_object_get(m, TW_CERTIFICATE_REFUSED));
	for (size_t i = 0; why != NULL && i < TW_COUNT(known); i++)
		found = strcmp(known[i], why) == 0 ? known[i] : found;
	if (why != NULL && found == NULL)
		fail_msg("%s", why);
	check_bias(json_object_get(m, TW_CERTIFICATE_BIAS), found);
	json_decref(m);
	tw_train_result_release(&result);
	train_tear_down(&t);
	return found;
}

static void a_recording_that_teaches_nothing_earns_no_certificate(void **state)
{
	static const struct recorded cases[] = {
		{ varied, by_law, NULL },
		{ nothing, at_rest, TW_REFUSED_NO_LOAD },
		{ nothing, of_another_machine, TW_REFUSED_NO_LOAD },
		{ noise, at_rest, TW_REFUSED_NO_LOAD },
		{ varied, half_drifted, TW_REFUSED_BIAS },
		{ varied, in_milliwatts, TW_REFUSED_UNIT },
		{ varied, in_kilowatts, TW_REFUSED_UNIT },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		static const char *const models[] = {
			"rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0/"
			"metadata.json",
			"rapl-sysfs/DynPower/BPFOnly/LinearRegressionTrainer_0/"
			"metadata.json"
		};

		for (size_t k = 0; k < 2; k++)
			assert_ptr_equal(refusal(&cases[i], 0, models[k]),
					 cases[i].refused);
		if (cases[i].refused != NULL)
			continue;
		/* Four busy CPUs of four, and of two. */
		assert_null(refusal(&cases[i], 4, models[0]));
		assert_string_equal(refusal(&cases[i], 2, models[0]), TW_REFUSED_LOAD);
	}
}

static void a_series_model_reports_both_errors_and_its_choice(void **state)
{
	struct training t;
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };
	size_t fits[2] = { 0 };
	json_t *m;

	(void)state;
	train_set_up(&t, ROWS);
	/* What a row draws is told by the row before it, and by nothing of its own. */
	for (size_t i = 0; i < ROWS; i++) {
		tw_dataset_find(&t.d, "cpu_cycles")[i] = 1e9 * (double)(i * i * i % 41);
		tw_dataset_find(&t.d, "package_power")[i] =
			20 +
			3e-9 * tw_dataset_find(&t.d, "cpu_cycles")[i > 0 ? i - 1 : 0];
	}
	assert_int_equal(tw_strs_adds(&t.job.abs_trainers, "AutoTrainer", &err), 0);
	t.job.watch =
		&(const struct tw_train_watch){ .progress = count_fits, .arg = fits };
	if (tw_train(&t.job, &r, &err) < 0)
		fail_msg("%s", err.text);
	m = train_parse_file(&r, AUTO_DIR "metadata.json");
	assert_string_equal(json_string_value(json_object_get(m, "model_class")),
			    "ensemble");
	/* What clients get is rows alone. */
	assert_true(number(m, "mae") == number(m, "package_mae"));
	assert_true(number(m, "package_series_mae") > 0);
	/* Random trees alone gain less. */
	assert_true(number(m, "package_series_mae") <
		    (tw_trainer_find("XgboostFitTrainer") != NULL ? 0.8 : 1.0) *
			    number(m, "package_mae"));
	/*
	 * A line for each trial of both forms, three learners each and two lines, and for
	 * the two choices; one learner needs XGBoost.
	 */
	assert_true(json_array_size(json_object_get(m, "package_choice")) >
		    (tw_trainer_find("XgboostFitTrainer") != NULL ? 9u : 7u));
	assert_true(number(m, "dram_series_mae") < 1e-5);
	/* Four components, five folds and the whole. */
	assert_int_equal(fits[0], 24);
	assert_int_equal(fits[1], 24);
	json_decref(m);
	tw_train_result_release(&r);
	train_tear_down(&t);
}

static void feature_ranges_are_those_of_the_data(void **state)
{
	struct training t;
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };
	json_t *parts;
	const json_t *package;

	(void)state;
	train_set_up(&t, ROWS);
	assert_int_equal(
		tw_strs_adds(&t.job.abs_trainers, "LinearRegressionTrainer", &err), 0);
	assert_int_equal(tw_train(&t.job, &r, &err), 0);
	parts = train_parse_file(&r, DIR "LinearRegressionTrainer_0.json");
	package = json_object_get(parts, "package");
	/* Sorted: cache_miss, cpu_cycles, cpu_instructions. */
	assert_true(json_number_value(json_array_get(
			    json_object_get(package, "feature_max"), 1)) == 39e9);
	assert_true(json_number_value(json_array_get(
			    json_object_get(package, "feature_min"), 0)) == 0.0);
	json_decref(parts);
	tw_train_result_release(&r);
	train_tear_down(&t);
}

static void threads_and_repeats_change_no_byte(void **state)
{
	struct tw_train_result r[2] = { 0 };
	struct tw_prom *response = NULL;
	struct tw_train_job job = { .name = "p", .seed = 7 };
	struct tw_err err = { 0 };
	size_t models;

	(void)state;
	job.isolator = tw_isolator_find("MinIdleIsolator");
	if (tw_prom_read("tests/data/prom/simulated-0.7.json", &response, &err) < 0)
		fail_msg("%s", err.text);
	train_set_response(&job, response);
	job.source = tw_energy_source_find("rapl-sysfs");
	job.group = tw_feature_group_find("BPFOnly");
	job.folds = 2;
	models = train_add_most(&job.abs_trainers);
	assert_int_equal(tw_strs_adds(&job.dyn_trainers, "LinearRegressionTrainer", &err),
			 0);
	models++;
	for (unsigned i = 0; i < 2; i++) {
		job.threads = 1 + 2 * i;
		if (tw_train(&job, &r[i], &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(r[i].models, models);
	}
	train_assert_same(&r[0], &r[1]);
	for (unsigned i = 0; i < 2; i++)
		tw_train_result_release(&r[i]);
	tw_prom_free(response);
	train_release_job(&job);
}

/* Each data by itself, each with its twin, several: as all at once. */
static void batches_change_no_byte(void **state)
{
	static const size_t cells[] = { 0, 1, 8000, 30000 };
	struct tw_train_result r[4] = { 0 };
	struct tw_prom *response = NULL;
	struct tw_train_job job = { .name = "p", .seed = 7, .threads = 2 };
	struct tw_err err = { 0 };

	(void)state;
	job.isolator = tw_isolator_find("MinIdleIsolator");
	if (tw_prom_read("tests/data/prom/simulated-0.7.json", &response, &err) < 0)
		fail_msg("%s", err.text);
	train_set_response(&job, response);
	assert_int_equal(tw_strs_adds(&job.abs_trainers, "LinearRegressionTrainer", &err),
			 0);
	assert_int_equal(tw_strs_adds(&job.dyn_trainers, "LinearRegressionTrainer", &err),
			 0);
	for (size_t i = 0; i < 4; i++) {
		job.batch_cells = cells[i];
		if (tw_train(&job, &r[i], &err) < 0)
			fail_msg("%s", err.text);
		assert_true(r[i].models > 10);
		train_assert_same(&r[0], &r[i]);
	}
	for (size_t i = 0; i < 4; i++)
		tw_train_result_release(&r[i]);
	tw_prom_free(response);
	train_release_job(&job);
}

static void the_isolator_does_not_see_the_rows_that_judge(void **state)
{
	struct training t;
	const struct tw_train_machine machine = { 0 };
	struct tw_train_data data;
	double *package;

	(void)state;
	train_set_up(&t, ROWS);
	data = (struct tw_train_data){ .job = &t.job,
				       .source = t.table.source,
				       .group = t.table.group,
				       .output = TW_DYN_POWER,
				       .machine = &machine,
				       .table = &t.table };
	package = tw_dataset_find(&t.d, "package_power");
	for (size_t r = 0; r < ROWS; r++)
		package[r] = 100 + (double)r; /* the least in the first block */
	tw_train_rows_extract(&data);
	tw_train_data_isolate(&data);
	assert_int_equal(data.err.code, TW_OK);
	assert_int_equal(data.folds, 5);
	for (size_t f = 0; f <= data.folds; f++) {
		const struct tw_samples s = tw_train_data_samples(&data, f, 0);
		/* Without the first block of eight rows the least is 108 W. */
		const double least = f == 0 ? 108 : 100;

		for (size_t r = 0; r < ROWS; r++)
			assert_true(s.y[r] == fmax(package[r] - least, 0.0) ||
				    s.y[r] == package[r] - least);
	}
	tw_train_data_release(&data);
	train_tear_down(&t);
}

static void the_power_at_rest_of_a_split_is_that_of_its_training_rows(void **state)
{
	const struct tw_train_machine machine = { 0 };
	struct training t;
	struct tw_train_data data;
	struct tw_err err = { 0 };
	double *package;

	(void)state;
	train_set_up(&t, ROWS);
	data = (struct tw_train_data){ .job = &t.job,
				       .source = t.table.source,
				       .group = t.table.group,
				       .output = TW_ABS_POWER,
				       .machine = &machine,
				       .table = &t.table };
	package = tw_dataset_find(&t.d, "package_power");
	for (size_t r = 0; r < ROWS; r++)
		package[r] += (double)(r % 7);
	tw_train_rows_extract(&data);
	tw_train_data_isolate(&data);
	for (size_t f = 0; f <= data.folds; f++) {
		const struct tw_samples s = tw_train_data_samples(&data, f, 0);
		const struct tw_fold out = f < data.folds
						   ? tw_fold_at(ROWS, data.folds, f)
						   : (struct tw_fold){ ROWS, ROWS };
		const size_t behind = ROWS - out.to;
		double x[ROWS * TW_MODEL_FEATURES_MAX], y[ROWS];
		struct tw_samples kept = s;
		struct tw_rest rest;

		memcpy(x, s.x, out.from * s.cols * sizeof(*x));
		memcpy(x + out.from * s.cols, s.x + out.to * s.cols,
		       behind * s.cols * sizeof(*x));
		memcpy(y, s.y, out.from * sizeof(*y));
		memcpy(y + out.from, s.y + out.to, behind * sizeof(*y));
		kept.x = x;
		kept.y = y;
		kept.rows = out.from + behind;
		kept.rest = NULL;
		assert_int_equal(tw_rest_find(&kept, &rest, &err), 0);
		assert_non_null(s.rest);
		assert_true(s.rest->watts == rest.watts && s.rest->low == rest.low &&
			    s.rest->high == rest.high &&
			    s.rest->low_load == rest.low_load &&
			    s.rest->low_watts == rest.low_watts);
	}
	tw_train_data_release(&data);
	train_tear_down(&t);
}

/* Power grows less steeply with more use: a line with a constant is far off at rest. */
static void idle_regression_leaves_nothing_at_zero_use(void **state)
{
	static const char name[] =
		"rapl-sysfs/DynPower/CounterOnly/LinearRegressionTrainer_0.json";
	struct training t;
	struct tw_err err = { 0 };
	double bias[2];

	(void)state;
	train_set_up(&t, ROWS);
	for (size_t r = 0; r < ROWS; r++) {
		const double use = (double)((r * 17) % 40);

		tw_dataset_find(&t.d, "cpu_instructions")[r] = 1e9 * use;
		tw_dataset_find(&t.d, "package_power")[r] = 30 + 10 * sqrt(use);
	}
	assert_int_equal(
		tw_strs_adds(&t.job.dyn_trainers, "LinearRegressionTrainer", &err), 0);
	for (size_t i = 0; i < 2; i++) {
		struct tw_train_result r = { 0 };
		json_t *m;

		t.job.isolator = tw_isolator_find(i == 0 ? "MinIdleIsolator"
							 : "IdleRegressionIsolator");
		t.job.unconstrained = i == 0;
		assert_int_equal(tw_train(&t.job, &r, &err), 0);
		m = train_parse_file(&r, name);
		bias[i] = json_number_value(json_object_get(
			json_object_get(json_object_get(m, "package"), "All_Weights"),
			"Bias_Weight"));
		json_decref(m);
		m = train_parse_file(&r, "rapl-sysfs/DynPower/CounterOnly/"
					 "LinearRegressionTrainer_0/metadata.json");
		assert_int_equal(json_object_get(m, "package_idle") != NULL, i);
		if (i == 1) {
			assert_true(fabs(number(m, "package_idle") - 30) < 25);
			assert_true(number(m, "package_idle_low") <=
				    number(m, "package_idle"));
			assert_true(number(m, "dram_idle") == 5);
		}
		json_decref(m);
		tw_train_result_release(&r);
	}
	assert_true(bias[0] > 10);
	assert_true(bias[1] == 0);
	train_tear_down(&t);
}

static void real_data_becomes_models(void **state)
{
	char path[4096];
	struct tw_prom *response = NULL;
	struct tw_train_job job = { .name = "p", .seed = 1 };
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };
	size_t trainers;

	(void)state;
	shared_path(path, sizeof(path), "data/prometheus/workload-0.6.json");
	if (tw_prom_read(path, &response, &err) < 0)
		fail_msg("%s", err.text);
	train_set_response(&job, response);
	job.source = tw_energy_source_find("rapl-sysfs");
	job.group = tw_feature_group_find("CounterOnly");
	job.isolator = tw_isolator_find("MinIdleIsolator");
	trainers = train_add_quick(&job.abs_trainers);
	train_add_quick(&job.dyn_trainers);
	if (tw_train(&job, &r, &err) < 0)
		fail_msg("%s", err.text);
	/*
	 * 50 to 150 W with more than 7 W of noise. A line through rest has 11 to 14 W,
	 * because power bends.
	 */
	assert_int_equal(r.rows, 2 * trainers);
	assert_int_equal(r.models, r.rows);
	for (size_t i = 0; i < r.rows; i++) {
		assert_int_equal(r.row[i].rows, 187);
		assert_true(r.row[i].mae_w > 1 && r.row[i].mae_w < 16);
	}
	tw_train_result_release(&r);
	tw_prom_free(response);
	train_release_job(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_becomes_models_of_both_outputs),
		cmocka_unit_test(each_component_learns_its_own_power_of_its_own_output),
		cmocka_unit_test(the_errors_of_a_model_are_its_worst_components),
		cmocka_unit_test(a_training_ends_at_each_task_if_its_observer_says_so),
		cmocka_unit_test(a_wrong_step_of_the_meter_costs_the_certificate),
		cmocka_unit_test(a_recording_that_teaches_nothing_earns_no_certificate),
		cmocka_unit_test(a_series_model_reports_both_errors_and_its_choice),
		cmocka_unit_test(feature_ranges_are_those_of_the_data),
		cmocka_unit_test(threads_and_repeats_change_no_byte),
		cmocka_unit_test(batches_change_no_byte),
		cmocka_unit_test(the_isolator_does_not_see_the_rows_that_judge),
		cmocka_unit_test(
			the_power_at_rest_of_a_split_is_that_of_its_training_rows),
		cmocka_unit_test(idle_regression_leaves_nothing_at_zero_use),
		cmocka_unit_test(real_data_becomes_models),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
