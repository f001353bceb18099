/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "isolator/isolator.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/fit/trainer.h"
#include "trainer/names.h"

#include <string.h>

static void entries_are_complete_sorted_and_findable(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	assert_true(tw_trainer_count() >= 2);
	for (size_t i = 0; i < tw_trainer_count(); i++) {
		const struct tw_trainer *t = tw_trainer_at(i);

		assert_non_null(t->summary);
		assert_non_null(t->fit);
		assert_true(t->min_rows >= 2);
		assert_ptr_equal(tw_trainer_find(t->name), t);
		/* What it writes can be read, and its name can be part of a path. */
		assert_non_null(tw_predictor_find(t->predictor));
		assert_int_equal(tw_name_check("trainer", t->name, strlen(t->name), &err),
				 0);
		if (i > 0)
			assert_true(strcmp(tw_trainer_at(i - 1)->name, t->name) < 0);
	}
	assert_null(tw_trainer_find("no-such-trainer"));
	assert_null(tw_trainer_find(""));
}

static void known_names_are_found(void **state)
{
	const struct tw_trainer *t;
	const struct tw_isolator *s;
	const struct tw_feature_group *g;
	const struct tw_energy_source *e;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_names_trainer("SGDRegressorTrainer", &t, &err), 0);
	assert_string_equal(t->name, "SGDRegressorTrainer");
	assert_int_equal(tw_names_isolator(TW_ISOLATOR_DEFAULT, &s, &err), 0);
	assert_string_equal(s->name, TW_ISOLATOR_DEFAULT);
	assert_int_equal(tw_names_group("BPFOnly", &g, &err), 0);
	assert_string_equal(g->name, "BPFOnly");
	assert_int_equal(tw_names_source("intel_rapl", &e, &err), 0);
	assert_string_equal(e->name, "rapl-sysfs");
	assert_int_equal(tw_names_source(NULL, &e, &err), 0);
	assert_string_equal(e->name, "rapl-sysfs");
	assert_int_equal(tw_names_source("", &e, &err), 0);
	assert_string_equal(e->name, "rapl-sysfs");
	/* A trainer needs to know which registers were read; a client of models does not.
	 */
	assert_int_equal(tw_names_source("rapl-msr", &e, &err), 0);
	assert_string_equal(e->name, "rapl-msr");
	assert_int_equal(tw_names_source("my-pdu", &e, &err), 0);
	assert_string_equal(e->name, "my-pdu");
	assert_true(tw_energy_source_is_own(e));
}

static void an_unknown_name_is_refused_with_those_that_are_known(void **state)
{
	const struct tw_trainer *t;
	const struct tw_isolator *s;
	const struct tw_feature_group *g;
	const struct tw_energy_source *e;
	struct tw_err a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };

	(void)state;
	/* Of many names the nearest are told, and how many there are besides. */
	assert_int_equal(tw_names_trainer("SDGRegresorTrainer", &t, &a), -1);
	assert_int_equal(a.code, TW_INVALID);
	assert_non_null(strstr(
		a.text,
		"no trainer 'SDGRegresorTrainer'; there are SGDRegressorTrainer, "));
	assert_string_equal(a.text + strlen(a.text) - 5, " more");
	assert_true(strlen(a.text) < 220);
	assert_int_equal(tw_names_isolator("", &s, &b), -1);
	assert_non_null(
		strstr(b.text, "no isolator ''; there are IdleRegressionIsolator, "));
	assert_int_equal(tw_names_group("basic", &g, &c), -1);
	assert_non_null(strstr(c.text, "no feature group 'basic'; there are "));
	assert_int_equal(tw_names_source("the sun", &e, &d), -1);
	assert_non_null(strstr(d.text, "energy source 'the sun': want 1 to 63 letters"));
}

static void names_without_memory_are_an_error(void **state)
{
	const struct tw_trainer *t;
	struct tw_err err = { 0 };

	(void)state;
	fail_alloc_at(1);
	assert_int_equal(tw_names_trainer("x", &t, &err), -1);
	assert_true(fail_alloc_hit());
	assert_int_equal(err.code, TW_NOMEM);
}

static void load_is_measured_by_the_usual_feature(void **state)
{
	static const char *const all[] = { "bpf_cpu_time_ms", "bpf_page_cache_hit",
					   "cache_miss", "cpu_instructions" };
	static const char *const node[] = { "node_cpu_system_ms", "node_cpu_user_ms",
					    "node_page_faults" };
	static const char *const none[] = { "x", "y" };

	(void)state;
	assert_int_equal(tw_main_feature(node, 3, TW_PACKAGE), 1);
	assert_int_equal(tw_main_feature(node, 3, TW_DRAM), 2);
	assert_int_equal(tw_main_feature(all, 4, TW_PACKAGE), 3);
	assert_int_equal(tw_main_feature(all, 4, TW_PLATFORM), 3);
	assert_int_equal(tw_main_feature(all, 4, TW_DRAM), 2);
	assert_int_equal(tw_main_feature(all, 2, TW_PACKAGE), 0);
	assert_int_equal(tw_main_feature(all, 2, TW_DRAM), 1);
	assert_int_equal(tw_main_feature(none, 2, TW_DRAM), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_complete_sorted_and_findable),
		cmocka_unit_test(known_names_are_found),
		cmocka_unit_test(an_unknown_name_is_refused_with_those_that_are_known),
		cmocka_unit_test(names_without_memory_are_an_error),
		cmocka_unit_test(load_is_measured_by_the_usual_feature),
	};

	return cmocka_run_group_tests_name("trainers", tests, NULL, NULL);
}
