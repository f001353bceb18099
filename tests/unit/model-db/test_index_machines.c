/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"
#include "tests/unit/loaded_index.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

/* Rows, relative error, then mae: the watts of different machines are not comparable. */
static void machines_are_ordered_before_their_models(void **state)
{
	static const struct sample small[] = { { .mae_w = 1,
						 .metadata = "{\"data_rows\":187}" } };
	static const struct sample large[] = {
		{ .mae_w = 20, .metadata = "{\"data_rows\":2202}" },
		{ .mae_w = 10,
		  .trainer = "LinearRegressionTrainer",
		  .metadata = "{\"data_rows\":2202}" },
		{ .mae_w = 5, .node_type = 1, .metadata = "{\"data_rows\":3000}" }
	};
	static const char *const want[][4] = {
		{ "SGDRegressorTrainer_1", "LinearRegressionTrainer_0",
		  "SGDRegressorTrainer_0", "SGDRegressorTrainer_0" },
		{ "SGDRegressorTrainer_0", "SGDRegressorTrainer_1",
		  "LinearRegressionTrainer_0", "SGDRegressorTrainer_0" },
	};
	char *db = scratch_new();
	struct tw_strs pipelines = { 0 };
	const struct tw_index_preference prefer = { .pipelines = &pipelines };
	struct tw_err err = { 0 };
	struct refused r = { 0 };

	(void)state;
	sample_publish(db, "a-few", small, 1);
	sample_publish(db, "many", large, 3);
	for (int preferred = 0; preferred < 2; preferred++) {
		struct tw_index *x = NULL;

		if (preferred)
			assert_int_equal(tw_strs_adds(&pipelines, "a-few", &err), 0);
		assert_int_equal(
			tw_index_load_preferring(db, &prefer, note_refused, &r, &x, &err),
			0);
		for (size_t i = 0; i < tw_index_count(x); i++)
			assert_string_equal(tw_index_at(x, i)->name,
					    want[preferred][tw_index_at(x, i)->rank]);
		tw_index_unref(x);
	}
	tw_strs_clear(&pipelines);
	scratch_free(db);
}

/* With idle power in its target, a model has a low relative error. */
static void unfit_models_do_not_rank_their_machine(void **state)
{
	static const struct sample samples[] = {
		{ .output = TW_DYN_POWER,
		  .mape_percent = 2,
		  .metadata = "{\"isolator\":\"NoneIsolator\"}" },
		{ .output = TW_DYN_POWER,
		  .mape_percent = 30,
		  .trainer = "LinearRegressionTrainer",
		  .metadata = "{}" },
		{ .output = TW_DYN_POWER,
		  .mape_percent = 20,
		  .node_type = 1,
		  .metadata = "{}" },
	};
	char *db = scratch_new();
	struct tw_index *x = NULL;
	struct tw_err err = { 0 };
	struct refused r = { 0 };

	(void)state;
	sample_publish(db, "p", samples, 3);
	assert_int_equal(tw_index_load(db, note_refused, &r, &x, &err), 0);
	assert_int_equal(tw_index_count(x), 3);
	for (size_t i = 0; i < tw_index_count(x); i++)
		if (tw_index_at(x, i)->rank == 0)
			assert_int_equal(tw_index_at(x, i)->node_type, 1);
	tw_index_unref(x);
	scratch_free(db);
}

static void models_of_a_machine_are_compared_by_the_figure_that_is_wanted(void **state)
{
	static const struct sample both[] = {
		{ .mae_w = 1, .metadata = "{\"mse\":9,\"r2\":0.5}" },
		{ .mae_w = 2,
		  .trainer = "LinearRegressionTrainer",
		  .metadata = "{\"mse\":4,\"r2\":0.9}" },
	};
	static const struct {
		const char *key, *first;
	} cases[] = {
		{ NULL, "SGDRegressorTrainer_0" },
		{ "mae", "SGDRegressorTrainer_0" },
		{ "mse", "LinearRegressionTrainer_0" },
		{ "r2", "LinearRegressionTrainer_0" },
		/* Nobody has it: by what comes next, their names. */
		{ "other", "LinearRegressionTrainer_0" },
	};
	char *db = scratch_new();

	(void)state;
	sample_publish(db, "p", both, 2);
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_index_preference prefer = { .error = cases[i].key };
		struct tw_index *x = NULL;
		struct tw_err err = { 0 };

		assert_int_equal(
			tw_index_load_preferring(db, &prefer, NULL, NULL, &x, &err), 0);
		assert_string_equal(tw_index_error_key(x, false),
				    cases[i].key != NULL ? cases[i].key : "mae+rest");
		assert_string_equal(tw_index_error_key(x, true),
				    cases[i].key != NULL ? cases[i].key : "mae");
		for (size_t k = 0; k < tw_index_count(x); k++)
			if (tw_index_at(x, k)->rank == 0)
				assert_string_equal(tw_index_at(x, k)->name,
						    cases[i].first);
		tw_index_unref(x);
	}
	scratch_free(db);
}

/* The names of the models of a database in order of rank. */
static void ranks(const struct sample *s, size_t count, const char *const *want)
{
	char *db = scratch_new();
	struct tw_index *x = NULL;
	struct tw_err err = { 0 };

	sample_publish(db, "p", s, count);
	assert_int_equal(tw_index_load(db, NULL, NULL, &x, &err), 0);
	assert_int_equal(tw_index_count(x), count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(tw_index_at(x, i)->trainer,
				    want[tw_index_at(x, i)->rank]);
	tw_index_unref(x);
	scratch_free(db);
}

static void the_error_at_rest_counts_with_the_error_under_load(void **state)
{
	/* Of the worst component: 2 + 1.5, 1 + 3 and 3.8 W. */
	static const struct sample s[] = {
		{ .trainer = "SGDRegressorTrainer",
		  .mae_w = 2,
		  .metadata = "{\"package_mae\":2,\"package_idle_bias\":-1.5,"
			      "\"dram_mae\":-1,\"dram_idle_bias\":50}" },
		{ .trainer = "LinearRegressionTrainer",
		  .mae_w = 1,
		  .metadata = "{\"package_mae\":0.5,\"dram_mae\":1,"
			      "\"dram_idle_bias\":3}" },
		{ .trainer = "XgboostFitTrainer",
		  .predictor = "xgboost",
		  .mae_w = 3.8,
		  .metadata = "{\"certificate_rises\":true}" },
	};
	static const char *const want[] = { "SGDRegressorTrainer", "XgboostFitTrainer",
					    "LinearRegressionTrainer" };

	(void)state;
	ranks(s, 3, want);
}

static void of_equal_errors_the_model_of_fewer_features_is_first(void **state)
{
	/* Up to 2 % above the least: 22.4 to 22.848 W. */
	static const struct sample s[] = {
		{ .trainer = "SGDRegressorTrainer", .group = "BPFOnly", .mae_w = 22.9 },
		{ .trainer = "LinearRegressionTrainer",
		  .group = "BPFOnly",
		  .mae_w = 22.8 },
		{ .trainer = "KNeighborsRegressorTrainer", .mae_w = 22.4 },
	};
	static const char *const want[] = { "LinearRegressionTrainer",
					    "KNeighborsRegressorTrainer",
					    "SGDRegressorTrainer" };

	(void)state;
	ranks(s, 3, want);
}

static void a_model_without_certificate_comes_last(void **state)
{
	static const struct sample s[] = {
		{ .trainer = "XgboostFitTrainer",
		  .predictor = "xgboost",
		  .mae_w = 1,
		  .metadata = "{\"certificate_rises\":false}" },
		{ .trainer = "LinearRegressionTrainer", .mae_w = 9 },
	};
	static const char *const want[] = { "LinearRegressionTrainer",
					    "XgboostFitTrainer" };

	(void)state;
	ranks(s, 2, want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_are_ordered_before_their_models),
		cmocka_unit_test(unfit_models_do_not_rank_their_machine),
		cmocka_unit_test(
			models_of_a_machine_are_compared_by_the_figure_that_is_wanted),
		cmocka_unit_test(the_error_at_rest_counts_with_the_error_under_load),
		cmocka_unit_test(of_equal_errors_the_model_of_fewer_features_is_first),
		cmocka_unit_test(a_model_without_certificate_comes_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
