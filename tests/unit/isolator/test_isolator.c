/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/power_model.h"
#include "isolator/isolator.h"
#include "isolator/workload_name.h"
#include "lib/core/err.h"
#include "profiler/profile.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/read_csv.h"
#include "tests/unit/sample_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tw_isolator_args no_args;

static const char table[] = "timestamp,id,cpu_cycles,platform_power,node_type\n"
			    "10,a,1,50,0\n"
			    "10,b,2,50,0\n"
			    "13,a,5,40,0\n";

static void the_registry_is_sorted_complete_and_searchable(void **state)
{
	(void)state;
	assert_true(tw_isolator_count() >= 2);
	for (size_t i = 0; i < tw_isolator_count(); i++) {
		const struct tw_isolator *it = tw_isolator_at(i);

		assert_non_null(it->name);
		assert_non_null(it->summary);
		assert_true(it->fit != NULL && it->apply != NULL);
		assert_ptr_equal(tw_isolator_find(it->name), it);
		if (i > 0)
			assert_true(strcmp(tw_isolator_at(i - 1)->name, it->name) < 0);
	}
	assert_null(tw_isolator_find("minidleisolator"));
	assert_null(tw_isolator_find(""));
}

static void columns_of_the_node_are_known_by_name(void **state)
{
	static const struct {
		const char *name;
		bool share, of_node;
	} cases[] = {
		{ TW_RATIO_PREFIX, true, true },
		{ TW_RATIO_PREFIX "0", true, true },
		{ "packge_ratio-0", false, false },
		{ "packge", false, false },
		{ "node_type", false, true },
		{ "node_types", false, false },
		{ "a_power", false, true },
		{ "_power", false, false },
		{ "power", false, false },
		{ "a_powers", false, false },
		{ "", false, false },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		if (tw_isolate_is_share(cases[i].name) != cases[i].share ||
		    tw_isolate_is_of_node(cases[i].name) != cases[i].of_node)
			fail_msg("%s", cases[i].name);
	}
}

/* Meters differ within a time: the mean of 10, 20 and 60 W is 30 W, that of 1 and 3 W is
 * 2 W. */
static void the_mean_is_of_the_workloads_of_one_time(void **state)
{
	struct tw_dataset d = { 0 }, all = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv("timestamp,id,platform_power,x\n"
		 "10,a,10,1\n10,b,20,2\n10,c,60,4\n13,a,1,8\n13,b,3,16\n16,a,7,32\n",
		 &d);
	assert_int_equal(tw_isolate_aggregate(&d, &all, &err), 0);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(all.time_ms[r], 10000 + 3000 * (int)r);
		assert_float_equal(tw_dataset_find(&all, "platform_power")[r],
				   r == 0   ? 30
				   : r == 1 ? 2
					    : 7,
				   1e-12);
		assert_true(tw_dataset_find(&all, "x")[r] == (r == 0   ? 7
							      : r == 1 ? 24
								       : 32));
	}
	tw_dataset_release(&all);
	tw_dataset_release(&d);
}

static void aggregation_sums_features_and_averages_power(void **state)
{
	struct tw_dataset d = { 0 }, all = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv(table, &d);
	assert_int_equal(tw_isolate_aggregate(&d, &all, &err), 0);
	assert_int_equal(all.rows, 2);
	assert_string_equal(all.ids.at[all.id[1]], "all containers");
	assert_true(tw_dataset_find(&all, "cpu_cycles")[0] == 3);
	assert_true(tw_dataset_find(&all, "platform_power")[0] == 50);
	assert_true(tw_dataset_find(&all, "platform_power")[1] == 40);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
}

static void shares_without_usage_are_averaged_without_weights(void **state)
{
	struct tw_dataset d = { 0 }, all = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv("timestamp,id,package_usage,packge_ratio_package\n"
		 "1,a,1,0.2\n1,b,3,0.4\n4,a,0,0.2\n4,b,0,0.4\n7,a,-1,0.2\n7,b,-3,0.4\n"
		 "10,a,1,0.2\n10,b,-3,0.4\n13,a,-1,0.2\n13,b,-3,0.4\n",
		 &d);
	assert_int_equal(tw_isolate_aggregate(&d, &all, &err), 0);
	assert_int_equal(all.rows, 5);
	for (size_t r = 0; r < 5; r++)
		assert_float_equal(tw_dataset_find(&all, "packge_ratio_package")[r],
				   r == 0 ? 0.35 : 0.3, 1e-12);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
	/* One time, and usage whose square is not a number. */
	read_csv("timestamp,id,package_usage,packge_ratio_package\n"
		 "1,a,1e308,0.2\n1,b,3e307,0.4\n",
		 &d);
	assert_int_equal(tw_isolate_aggregate(&d, &all, &err), 0);
	assert_float_equal(tw_dataset_find(&all, "packge_ratio_package")[0], 0.32 / 1.3,
			   1e-12);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
	/* Usage whose sum is not a number weighs nothing. */
	read_csv("timestamp,id,package_usage,packge_ratio_package\n"
		 "1,a,1.7e308,1\n1,b,1.7e308,1\n",
		 &d);
	assert_int_equal(tw_isolate_aggregate(&d, &all, &err), 0);
	assert_true(tw_dataset_find(&all, "packge_ratio_package")[0] == 1);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
}

static void node_level_rows_are_aggregated_to_themselves(void **state)
{
	struct tw_dataset d = { 0 }, all = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv("timestamp,x,core_power,packge_ratio_package\n1,2,3,1\n2,4,5,1\n", &d);
	assert_int_equal(tw_isolate_aggregate(&d, &all, &err), 0);
	assert_int_equal(all.rows, 2);
	assert_non_null(all.id);
	assert_true(tw_dataset_find(&all, "x")[1] == 4);
	assert_true(tw_dataset_find(&all, "packge_ratio_package")[1] == 1);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
}

/* Leave addresses on the stack that are of no column. */
static void spoil_the_stack(void)
{
	volatile unsigned char byte[4096];

	for (size_t i = 0; i < sizeof(byte); i++)
		byte[i] = 1;
}

static void min_idle_subtracts_the_fitted_minimum_from_any_rows(void **state)
{
	const struct tw_isolator *min = tw_isolator_find("MinIdleIsolator");
	struct tw_dataset d = { 0 }, other = { 0 };
	struct tw_err err = { 0 };
	void *fitted = NULL;

	(void)state;
	read_csv(table, &d);
	read_csv("timestamp,platform_power\n20,45\n23,30\n", &other);
	spoil_the_stack();
	assert_int_equal(
		min->fit(&no_args, &d, tw_energy_source_find("acpi"), &fitted, &err), 0);
	spoil_the_stack();
	assert_int_equal(min->apply(fitted, &d, &err), 0);
	assert_true(tw_dataset_find(&d, "platform_power")[0] == 10);
	assert_true(tw_dataset_find(&d, "platform_power")[2] == 0);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[2] == 5);
	assert_int_equal(min->apply(fitted, &other, &err), 0);
	assert_true(tw_dataset_find(&other, "platform_power")[0] == 5);
	assert_true(tw_dataset_find(&other, "platform_power")[1] == -10);
	free(fitted);
	tw_dataset_release(&other);
	tw_dataset_release(&d);
}

static void min_idle_subtracts_from_the_existing_components(void **state)
{
	const struct tw_isolator *min = tw_isolator_find("MinIdleIsolator");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	void *fitted = NULL;

	(void)state;
	read_csv("timestamp,package_power,dram_power\n1,20,3\n4,15,5\n", &d);
	assert_int_equal(min->fit(&no_args, &d, tw_energy_source_find("rapl-sysfs"),
				  &fitted, &err),
			 0);
	assert_int_equal(min->apply(fitted, &d, &err), 0);
	assert_true(tw_dataset_find(&d, "package_power")[0] == 5);
	assert_true(tw_dataset_find(&d, "dram_power")[1] == 2);
	tw_dataset_release(&d);
	read_csv(table, &d);
	assert_int_equal(min->apply(fitted, &d, &err), -1);
	assert_string_equal(err.text, "no column 'package_power'");
	free(fitted);
	tw_dataset_release(&d);
}

static void min_idle_names_missing_columns(void **state)
{
	const struct tw_isolator *min = tw_isolator_find("MinIdleIsolator");
	struct tw_err err = { 0 }, rows = { 0 };
	struct tw_dataset d = { 0 }, empty = { 0 };
	void *fitted = NULL;

	(void)state;
	read_csv(table, &d);
	assert_int_equal(min->fit(&no_args, &d, tw_energy_source_find("rapl-sysfs"),
				  &fitted, &err),
			 -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text, "no column 'package_power'");
	read_csv("timestamp,platform_power\n", &empty);
	assert_int_equal(
		min->fit(&no_args, &empty, tw_energy_source_find("acpi"), &fitted, &rows),
		-1);
	assert_int_equal(rows.code, TW_INVALID);
	assert_string_equal(rows.text, "no rows to find idle power in");
	assert_null(fitted);
	tw_dataset_release(&empty);
	tw_dataset_release(&d);
}

static void the_none_isolator_changes_nothing(void **state)
{
	const struct tw_isolator *none = tw_isolator_find("NoneIsolator");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	void *fitted = NULL;

	(void)state;
	read_csv(table, &d);
	assert_int_equal(
		none->fit(&no_args, &d, tw_energy_source_find("acpi"), &fitted, &err), 0);
	assert_int_equal(none->apply(fitted, &d, &err), 0);
	assert_true(tw_dataset_find(&d, "platform_power")[0] == 50);
	free(fitted);
	tw_dataset_release(&d);
}

static void power_without_idle_power_starts_from_zero(void **state)
{
	(void)state;
	for (size_t i = 0; i < tw_isolator_count(); i++) {
		const struct tw_isolator *it = tw_isolator_at(i);

		assert_int_equal(it->from_zero, it != &tw_isolator_none);
	}
}

static bool matches(const char *id, const char *hint)
{
	return tw_workload_matches(id, hint);
}

static void a_workload_has_the_name_of_its_container(void **state)
{
	(void)state;
	assert_true(matches("aa/pod/web-1/prod", "web"));
	assert_false(matches("web/web/db/web", "web"));
	assert_true(matches("aa/web/pod//", "we"));
	/* A process of the host has no name: the whole id counts. */
	assert_true(matches("////4711", "4711"));
	assert_true(matches("b", "b"));
	assert_false(matches("b", "bb"));
	assert_true(matches("", ""));
}

/* Background b draws 10 W and 1 W a unit; the target a 3 W a unit. */
static const char shared_node[] =
	"timestamp,id,cache_miss,cpu_cycles,cpu_instructions,platform_power\n"
	"10,1/p/a/n,0,1,1,17\n"
	"10,2/p/b/n,0,4,4,17\n"
	"13,1/p/a/n,0,5,5,25\n"
	"16,1/p/a/n,0,2,2,20\n"
	"16,2/p/b/n,0,4,4,20\n"
	"19,2/p/b/n,0,4,4,14\n";

/* A model of platform power: bias and a slope of each of CounterOnly's features. */
static struct tw_power_model *make_model(double mae, double bias, double slope)
{
	char text[512];
	struct tw_model model = { 0 };
	struct tw_power_model *p = NULL;
	struct tw_err err = { 0 };

	snprintf(text, sizeof(text),
		 "{\"All_Weights\":{\"Bias_Weight\":%g,\"Categorical_Variables\":{},"
		 "\"Numerical_Variables\":{\"cache_miss\":{\"scale\":1,\"mean\":0,"
		 "\"variance\":1,\"weight\":0},\"cpu_cycles\":{\"scale\":1,\"mean\":0,"
		 "\"variance\":1,\"weight\":%g},\"cpu_instructions\":{\"scale\":1,"
		 "\"mean\":0,\"variance\":1,\"weight\":0}}}}",
		 bias, slope);
	sample_model(&(struct sample){ .source = "acpi", .mae_w = mae, .text = text },
		     &model);
	if (tw_power_model_new(&model, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static void train_isolator_subtracts_the_backgrounds_power(void **state)
{
	const struct tw_isolator *it = tw_isolator_find("TrainIsolator");
	const struct tw_energy_source *acpi = tw_energy_source_find("acpi");
	/* The last model leaves no power that correlates with the target. */
	struct tw_power_model *model[] = { make_model(3, 9, 1), make_model(2, 10, 1),
					   make_model(1, 100, 1) };
	struct tw_isolator_args args = { .model = model, .models = 3 };
	struct tw_dataset d = { 0 }, all = { 0 };
	struct tw_err err = { 0 };
	json_t *told = json_object();
	const double *watts;
	void *fitted = NULL;

	(void)state;
	read_csv(shared_node, &d);
	assert_int_equal(tw_strs_adds(&args.bg_hints, "b", &err), 0);
	assert_int_equal(tw_isolate_prepare(it, &args, &d, &all, &err), 0);
	/* The target's times; the background's features do not add to its features. */
	assert_int_equal(all.rows, 3);
	assert_true(tw_dataset_find(&all, "cpu_cycles")[2] == 2);
	assert_true(tw_dataset_find(&all, "background/cpu_cycles")[2] == 4);
	assert_true(tw_dataset_find(&all, "background/cpu_cycles")[1] == 0);
	assert_null(tw_dataset_find(&all, "background/platform_power"));
	if (it->fit(&args, &all, acpi, &fitted, &err) < 0 ||
	    it->apply(fitted, &all, &err) < 0)
		fail_msg("%s", err.text);
	watts = tw_dataset_find(&all, "platform_power");
	assert_true(fabs(watts[0] - 3) < 1e-9 && fabs(watts[1] - 15) < 1e-9 &&
		    fabs(watts[2] - 6) < 1e-9);
	assert_int_equal(it->describe(fitted, told, &err), 0);
	assert_string_equal(json_string_value(json_object_get(told, "background_group")),
			    "CounterOnly");
	assert_true(json_number_value(json_object_get(told, "background_correlation")) >
		    0.99);
	json_decref(told);
	free(fitted);
	for (size_t i = 0; i < 3; i++)
		tw_power_model_free(model[i]);
	tw_strs_clear(&args.bg_hints);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
}

/* The background b runs before, between and after the times of the target a. */
static const char two_workloads[] =
	"timestamp,id,x,platform_power,package_usage,packge_ratio_0\n"
	"4,2/p/b/n,40,10,1,1\n"
	"7,1/p/a/n,1,10,1,1\n"
	"10,1/p/a/n,2,10,1,1\n"
	"10,2/p/b/n,10,10,1,1\n"
	"13,1/p/a/n,3,10,1,1\n"
	"16,1/p/a/n,4,10,1,1\n"
	"16,2/p/b/n,20,10,1,1\n"
	"19,2/p/b/n,30,10,1,1\n"
	"22,1/p/a/n,5,10,1,1\n"
	"25,2/p/b/n,50,10,1,1\n";

static void the_background_stands_beside_the_target_of_its_time(void **state)
{
	static const double want[] = { 0, 10, 0, 20, 0 };
	struct tw_isolator_args args = { 0 };
	struct tw_dataset d = { 0 }, all = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	read_csv(two_workloads, &d);
	assert_int_equal(tw_strs_adds(&args.bg_hints, "b", &err), 0);
	assert_int_equal(tw_isolate_prepare(tw_isolator_find("TrainIsolator"), &args, &d,
					    &all, &err),
			 0);
	assert_int_equal(all.rows, 5);
	for (size_t r = 0; r < 5; r++) {
		assert_true(tw_dataset_find(&all, "x")[r] == (double)(r + 1));
		assert_true(tw_dataset_find(&all, "background/x")[r] == want[r]);
	}
	tw_dataset_release(&all);
	tw_strs_clear(&args.bg_hints);
	tw_dataset_release(&d);
	/* One row of a target is enough. */
	read_csv("timestamp,id,x\n4,2/p/b/n,3\n4,1/p/a/n,2\n4,3/p/b/n,5\n", &d);
	assert_int_equal(tw_strs_adds(&args.target_hints, "a", &err), 0);
	assert_int_equal(tw_isolate_prepare(tw_isolator_find("TrainIsolator"), &args, &d,
					    &all, &err),
			 0);
	assert_int_equal(all.rows, 1);
	assert_true(tw_dataset_find(&all, "background/x")[0] == 8);
	tw_dataset_release(&all);
	tw_strs_clear(&args.target_hints);
	tw_dataset_release(&d);
}

static void preparing_without_memory_is_an_error(void **state)
{
	struct tw_isolator_args args = { 0 };
	struct tw_dataset d = { 0 };
	struct tw_err setup = { 0 };

	(void)state;
	read_csv(two_workloads, &d);
	assert_int_equal(tw_strs_adds(&args.bg_hints, "b", &setup), 0);
	for (int n = 1;; n++) {
		struct tw_dataset all = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_isolate_prepare(tw_isolator_find("TrainIsolator"), &args, &d,
					&all, &err);
		tw_dataset_release(&all);
		if (!fail_alloc_told(rc, &err))
			break;
	}
	tw_strs_clear(&args.bg_hints);
	tw_dataset_release(&d);
}

static void target_hints_take_precedence_over_background_hints(void **state)
{
	const struct tw_isolator *it = tw_isolator_find("TrainIsolator");
	struct tw_isolator_args args = { 0 };
	struct tw_dataset d = { 0 }, all = { 0 }, whole = { 0 };
	struct tw_err err = { 0 }, none = { 0 }, node = { 0 }, models = { 0 };
	void *fitted = NULL;

	(void)state;
	read_csv(shared_node, &d);
	/* Without a hint all are targets, as in kepler-model-server. */
	assert_int_equal(tw_isolate_prepare(it, &args, &d, &whole, &err), 0);
	assert_int_equal(whole.rows, 4);
	assert_int_equal(tw_strs_adds(&args.bg_hints, "a", &err), 0);
	assert_int_equal(tw_strs_adds(&args.target_hints, "a", &err), 0);
	assert_int_equal(tw_isolate_prepare(it, &args, &d, &all, &err), 0);
	assert_true(tw_dataset_find(&all, "cpu_cycles")[0] == 1);
	assert_int_equal(
		it->fit(&args, &all, tw_energy_source_find("acpi"), &fitted, &models),
		-1);
	assert_string_equal(models.text, "no AbsPower model of acpi");
	tw_dataset_release(&all);
	tw_strs_clear(&args.target_hints);
	assert_int_equal(tw_strs_adds(&args.target_hints, "x", &err), 0);
	assert_int_equal(tw_isolate_prepare(it, &args, &d, &all, &none), -1);
	assert_int_equal(none.code, TW_INVALID);
	assert_string_equal(none.text,
			    "TrainIsolator: all 2 workloads are background, none is "
			    "a target");
	assert_int_equal(tw_isolate_prepare(it, &args, &whole, &all, &node), -1);
	tw_dataset_release(&whole);
	read_csv("timestamp,cpu_cycles,platform_power\n1,2,3\n", &whole);
	node = (struct tw_err){ 0 };
	assert_int_equal(tw_isolate_prepare(it, &args, &whole, &all, &node), -1);
	assert_string_equal(node.text,
			    "TrainIsolator needs container-level data, and this is "
			    "node-level");
	tw_strs_clear(&args.target_hints);
	tw_strs_clear(&args.bg_hints);
	tw_dataset_release(&whole);
	tw_dataset_release(&d);
}

static void profile_isolator_subtracts_the_mean_of_the_limits_at_rest(void **state)
{
	static const double rest[] = { 8, 9, 14 };
	const struct tw_isolator *it = tw_isolator_find("ProfileBackgroundIsolator");
	const struct tw_energy_source *acpi = tw_energy_source_find("acpi");
	struct tw_profile profile = { 0 };
	struct tw_isolator_args args = { .profile = &profile, .node_type = 4 };
	struct tw_dataset d = { 0 }, all = { 0 };
	struct tw_err err = { 0 }, none = { 0 };
	void *fitted = NULL;

	(void)state;
	read_csv(shared_node, &d);
	assert_int_equal(tw_profile_add_background(&profile, 4, "b", &err), 0);
	assert_int_equal(tw_isolate_prepare(it, &args, &d, &all, &err), 0);
	assert_int_equal(all.rows, 3);
	assert_null(tw_dataset_find(&all, "background/cpu_cycles"));
	assert_int_equal(it->fit(&args, &all, acpi, &fitted, &none), -1);
	assert_int_equal(none.code, TW_NOTFOUND);
	assert_string_equal(none.text,
			    "the profile has no platform of acpi for node type 4");
	assert_int_equal(
		tw_profile_add_power(&profile, acpi, TW_PLATFORM, 4, rest, 3, &err), 0);
	assert_int_equal(it->fit(&args, &all, acpi, &fitted, &err), 0);
	assert_int_equal(it->apply(fitted, &all, &err), 0);
	assert_true(tw_dataset_find(&all, "platform_power")[0] == 17 - 11);
	free(fitted);
	tw_profile_release(&profile);
	tw_dataset_release(&all);
	tw_dataset_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_registry_is_sorted_complete_and_searchable),
		cmocka_unit_test(columns_of_the_node_are_known_by_name),
		cmocka_unit_test(the_mean_is_of_the_workloads_of_one_time),
		cmocka_unit_test(aggregation_sums_features_and_averages_power),
		cmocka_unit_test(shares_without_usage_are_averaged_without_weights),
		cmocka_unit_test(node_level_rows_are_aggregated_to_themselves),
		cmocka_unit_test(min_idle_subtracts_the_fitted_minimum_from_any_rows),
		cmocka_unit_test(min_idle_subtracts_from_the_existing_components),
		cmocka_unit_test(min_idle_names_missing_columns),
		cmocka_unit_test(power_without_idle_power_starts_from_zero),
		cmocka_unit_test(the_none_isolator_changes_nothing),
		cmocka_unit_test(a_workload_has_the_name_of_its_container),
		cmocka_unit_test(train_isolator_subtracts_the_backgrounds_power),
		cmocka_unit_test(the_background_stands_beside_the_target_of_its_time),
		cmocka_unit_test(preparing_without_memory_is_an_error),
		cmocka_unit_test(target_hints_take_precedence_over_background_hints),
		cmocka_unit_test(
			profile_isolator_subtracts_the_mean_of_the_limits_at_rest),
	};

	return cmocka_run_group_tests_name("isolator", tests, NULL, NULL);
}
