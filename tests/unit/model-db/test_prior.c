/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/measured_machines.h"
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "model-db/prior/prior.h"
#include "model-db/prior/prior_file.h"
#include "model-db/prior/prior_model.h"
#include "profiler/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAST (TW_PRIOR_LOADS - 1)

static void answer(const struct tw_prior *p, const struct tw_prior_view *v,
		   const struct tw_prior_machine *m, struct tw_prior_curve *out)
{
	struct tw_err err = { 0 };

	if (tw_prior_answer(p, v, m, out, &err) < 0)
		fail_msg("%s", err.text);
}

static void an_unseen_processor_is_near_its_law(void **state)
{
	const struct tw_prior *p = *state;
	struct tw_prior_machine m;
	struct tw_prior_curve c;

	measured_other(&m, 10, 102, 2);
	answer(p, tw_prior_view_for(p, &m), &m, &c);
	assert_string_equal(c.view->name, "host");
	/* Within the noise. */
	assert_true(fabs(c.w[LAST] / measured_full(102, 2) - 1) < 0.1);
	assert_true(fabs(c.w[0] / (0.25 * measured_full(102, 2)) - 1) < 0.1);
	assert_true(fabs(c.w[5] / (0.625 * measured_full(102, 2)) - 1) < 0.1);
}

static void power_never_falls_and_intervals_hold_it(void **state)
{
	const struct tw_prior *p = *state;

	for (size_t v = 0; v < p->views; v++) {
		struct tw_prior_machine m;
		struct tw_prior_curve c;

		/* Far outside of the table, too. */
		measured_other(&m, v % 2 == 0 ? 2 : 512, v % 2 == 0 ? 10 : 2000, 8);
		answer(p, &p->view[v], &m, &c);
		assert_true(c.w[0] > 0);
		for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
			assert_true(l == 0 || c.w[l] >= c.w[l - 1]);
			assert_true(c.low[l] <= c.w[l] && c.w[l] <= c.high[l]);
		}
	}
}

/* The prior knows less of what its table lacks, and answers lower. */
static void an_interval_is_wider_far_from_the_table(void **state)
{
	const struct tw_prior *p = *state;
	struct tw_prior_machine m;
	struct tw_prior_curve near, far;

	measured_other(&m, 10, 102, 2);
	answer(p, tw_prior_view_for(p, &m), &m, &near);
	snprintf(m.category[TW_PRIOR_GENERATION], TW_PRIOR_TEXT, "granite_rapids");
	m.number[TW_PRIOR_CORES] = 100;
	answer(p, tw_prior_view_for(p, &m), &m, &far);
	assert_false(near.later);
	assert_true(far.later);
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		assert_true(far.high[l] / far.low[l] > near.high[l] / near.low[l]);
		assert_true(far.error[l] / far.w[l] > near.error[l] / near.w[l]);
	}
}

/* All machines of the table are Haswells with DDR4. */
static void a_level_that_the_prior_lacks_counts_as_its_ancestor(void **state)
{
	static const struct {
		const char *memory, *generation, *as_memory, *as_generation;
	} cases[] = {
		{ "ddr4", "haswell_ep", "ddr4", "haswell_ep" },
		{ "ddr5", "broadwell_ep", "ddr4", "haswell_ep" },
		{ "lpddr5", "emerald_rapids", "ddr4", "haswell_ep" },
		{ "ddr3", "ivy_bridge_ep", NULL, "ivy_bridge_ep" }, /* before all */
		{ "", "haswell", NULL, "haswell_ep" },              /* an architecture */
		{ "", "", NULL, NULL },
		{ "ddr9", "of the future", NULL, NULL },
	};
	const enum tw_prior_category of[] = { TW_PRIOR_MEMORY_TYPE, TW_PRIOR_GENERATION };
	const struct tw_prior *p = *state;
	struct tw_prior_machine m;
	struct tw_prior_row r;

	measured_other(&m, 10, 102, 2);
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		snprintf(m.category[TW_PRIOR_MEMORY_TYPE], TW_PRIOR_TEXT, "%s",
			 cases[i].memory);
		snprintf(m.category[TW_PRIOR_GENERATION], TW_PRIOR_TEXT, "%s",
			 cases[i].generation);
		assert_int_equal(tw_prior_locate(p, &p->view[0], &m, &r), i > 0);
		for (size_t k = 0; k < TW_COUNT(of); k++) {
			const char *as =
				k == 0 ? cases[i].as_memory : cases[i].as_generation;
			const int at = r.category[of[k]];

			if (as == NULL)
				assert_int_equal(at, -1);
			else
				assert_string_equal(p->names[of[k]].at[at], as);
		}
	}
}

/* The variance of the difference of two rows, in steps. */
static double steps_between(const struct tw_prior_row *a, const struct tw_prior_row *b)
{
	return TW_LINEAGE_STEPS *
	       (a->own_like + b->own_like - 2 * tw_prior_like(a, b, TW_PRIOR_GENERATION));
}

/* Machines of the first and the third of four generations in a line, and of a stranger.
 */
static void generations_differ_by_the_steps_between_them(void **state)
{
	enum { FIRST, SECOND, THIRD, FOURTH, STRANGER, GENERATIONS };
	static const char *const names[] = { "westmere_ep", "sandy_bridge_ep",
					     "ivy_bridge_ep", "haswell_ep", "stranger" };
	int after[GENERATIONS] = { -1, FIRST, SECOND, THIRD, -1 };
	struct tw_prior_row row[3] = { { .number = { 0 } } }, r[GENERATIONS], later;
	struct tw_prior p = {
		.row = row, .rows = 3, .after = after, .afters = GENERATIONS
	};
	struct tw_err err = { 0 };
	struct tw_prior_machine m = { 0 };
	double sum = 0;

	(void)state;
	for (size_t i = 0; i < GENERATIONS; i++)
		assert_int_equal(
			tw_strs_adds(&p.names[TW_PRIOR_GENERATION], names[i], &err), 0);
	row[1].category[TW_PRIOR_GENERATION] = THIRD;
	row[2].category[TW_PRIOR_GENERATION] = STRANGER;
	assert_int_equal(tw_prior_find_lineage(&p, &err), 0);
	for (int g = 0; g < GENERATIONS; g++) {
		r[g] = (struct tw_prior_row){ .category[TW_PRIOR_GENERATION] = g };
		tw_prior_set_lineage(&p, &r[g], 0);
		assert_float_equal(steps_between(&r[g], &r[FIRST]), g < STRANGER ? g : 2,
				   1e-9);
	}
	/* The table's mean is no power of its own. */
	for (size_t i = 0; i < p.rows; i++)
		sum += tw_prior_like(&r[SECOND], &row[i], TW_PRIOR_GENERATION);
	assert_float_equal(sum, 0, 1e-9);
	/* Three generations after the last of the list. */
	snprintf(m.category[TW_PRIOR_GENERATION], TW_PRIOR_TEXT, "cascade_lake_sp");
	assert_true(tw_prior_locate(&p, NULL, &m, &later));
	assert_float_equal(steps_between(&later, &r[FOURTH]), 3, 1e-9);
	assert_float_equal(steps_between(&later, &r[FIRST]), 6, 1e-9);
	/* An unknown machine is a step further from the mean than those of the table. */
	m.category[TW_PRIOR_GENERATION][0] = '\0';
	assert_true(tw_prior_locate(&p, NULL, &m, &later));
	assert_float_equal(later.own_like,
			   (row[0].own_like + row[1].own_like + row[2].own_like) / 3 +
				   1.0 / TW_LINEAGE_STEPS,
			   1e-9);
	assert_float_equal(tw_prior_like(&later, &r[FIRST], TW_PRIOR_GENERATION), 0,
			   1e-9);
	tw_strs_clear(&p.names[TW_PRIOR_GENERATION]);
	tw_lineage_clear(&p.lineage);
}

static void a_view_needs_no_more_than_is_known(void **state)
{
	const struct tw_prior *p = *state;
	static const struct {
		enum tw_prior_number lost;
		const char *view;
	} steps[] = { { TW_PRIOR_MEMORY, "name" },
		      { TW_PRIOR_TDP, "name" },
		      { TW_PRIOR_CHIPS, "chip-name" },
		      { TW_PRIOR_CORES, "core" } };
	struct tw_prior_machine m;

	measured_other(&m, 10, 100, 2);
	for (size_t i = 0; i < TW_COUNT(steps); i++) {
		m.number[steps[i].lost] = NAN;
		assert_string_equal(tw_prior_view_for(p, &m)->name, steps[i].view);
	}
}

static void a_view_of_a_system_is_for_vendors_of_the_table(void **state)
{
	static const struct {
		const char *vendor, *view;
	} cases[] = {
		{ "ACME Inc.", "system" },
		{ "", "host" },
		{ "QEMU", "host" },
	};
	const struct tw_prior *one = *state;
	struct tw_prior p = *one;
	struct tw_prior_machine m;

	p.views = 2;
	p.view[1] = p.view[0];
	snprintf(p.view[0].name, sizeof(p.view[0].name), "system");
	p.view[0].categories |= 1u << TW_PRIOR_SYSTEM;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		measured_other(&m, 10, 100, 2);
		tw_prior_machine_set_system(&m, cases[i].vendor);
		assert_string_equal(tw_prior_view_for(&p, &m)->name, cases[i].view);
	}
}

/* The second view tells of more power, by the factor e^0.2. */
static void an_answer_is_the_mean_with_the_view_beside(void **state)
{
	const struct tw_prior *one = *state;
	struct tw_prior p = *one;
	struct tw_prior_curve alone, both;
	struct tw_prior_machine m;

	p.views = 2;
	p.view[1] = p.view[0];
	p.view[1].member[0].target[0].mean += 0.2;
	p.view[1].member[0].target[1].mean += 0.2;
	p.view[1].member[1].target[0].mean += 0.2;
	p.view[1].member[1].target[1].mean += 0.2;
	measured_other(&m, 10, 102, 2);
	answer(&p, &p.view[0], &m, &alone);
	p.view[0].beside = 1;
	answer(&p, &p.view[0], &m, &both);
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		assert_float_equal(both.w[l] / alone.w[l], exp(0.1), 1e-9);
		assert_float_equal(both.high[l] / both.low[l],
				   alone.high[l] / alone.low[l], 1e-9);
	}
}

static void a_vendor_has_one_name(void **state)
{
	static const char *const names[][2] = {
		{ "Dell Inc.", "dell" },
		{ "HPE", "hewlett" },
		{ "Hewlett-Packard Company", "hewlett" },
		{ "Super Micro Computer, Inc.", "supermicro" },
		{ "New H3C Technologies Co., Ltd.", "h3c" },
		{ "GIGA-BYTE TECHNOLOGY CO., LTD.", "gigabyte" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(names); i++) {
		struct tw_machine_spec s = { .processor = "amd_epyc_7763" };
		struct tw_prior_machine m;

		snprintf(s.system_vendor, sizeof(s.system_vendor), "%s", names[i][0]);
		tw_prior_machine_of_spec(&s, &m);
		assert_string_equal(m.category[TW_PRIOR_SYSTEM], names[i][1]);
	}
}

/* Brands that were sold for several generations, none of them old. */
static void a_brand_alone_counts_as_one_of_its_middle(void **state)
{
	static const struct {
		const char *name, *before, *memory;
		double process_nm;
	} brands[] = {
		{ "AMD EPYC Processor", "milan", "ddr4", 7 },
		{ "Intel(R) Xeon(R) Platinum Processor", "ice_lake_sp", "ddr4", 10 },
		{ "Intel(R) Xeon(R) Gold", "ice_lake_sp", "ddr4", 10 },
		{ "AMD EPYC 7543 32-Core Processor", "rome", "ddr4", 7 }, /* a Milan */
	};
	struct tw_prior_machine m;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(brands); i++) {
		tw_prior_machine_of_name(brands[i].name, &m);
		assert_string_equal(m.category[TW_PRIOR_MEMORY_TYPE], brands[i].memory);
		assert_float_equal(m.number[TW_PRIOR_PROCESS], brands[i].process_nm, 0);
		assert_true(tw_prior_generation_before(&m));
		assert_string_equal(m.category[TW_PRIOR_GENERATION], brands[i].before);
	}
	tw_prior_machine_of_name("Intel(R) Xeon(R) Processor", &m);
	assert_string_equal(m.category[TW_PRIOR_GENERATION], "");
	assert_true(isnan(m.number[TW_PRIOR_PROCESS]));
}

static void broken_files_are_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "[]", "expected an object, got a list" },
		{ "{\"prior\":1}", "prior" },
		{ "{\"prior\":2}", "prior" },
		{ "{\"prior\":3,\"categories\":[]}",
		  "categories: 0 entries, want at least 7" },
		{ "{\"prior\":3,\"categories\":[[],[],[],[],[],[],[1]]}",
		  "categories[6][0]: expected a string, got a number" },
		{ "{\"prior\":3,\"categories\":[[],[],[],[],[],[],[]],\"after\":[],"
		  "\"machines\":[[1,1,1,1,1,1,1,1,0,0,0,0,0,0,0,"
		  "1,2,3,4,5,6,7,8,9,10,11]],\"views\":[]}",
		  "no category" },
		{ "{\"prior\":3,\"categories\":[[],[],[],[],[],[],[]],\"after\":[],"
		  "\"machines\":[[1,1,1,1,1,1,1,1,-1,-1,-1,-1,-1,-1,-1,"
		  "9,2,3,4,5,6,7,8,9,10,9]],\"views\":[]}",
		  "full power is not above" },
		{ "{\"prior\":3,\"categories\":[[],[],[],[],[],[],[]],\"after\":[],"
		  "\"machines\":[],\"nearest_error\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
		  "0,0,0,0],\"views\":[{}]}",
		  "views[0]" },
#define TWO_GENERATIONS                                                                  \
	"{\"prior\":3,\"categories\":[[],[\"a\",\"b\"],[],[],[],[],[]],\"machines\":[]," \
	"\"nearest_error\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\"views\":[],"
		{ TWO_GENERATIONS "\"after\":[-1]}",
		  "after: 1 entries of 2 generations" },
		{ TWO_GENERATIONS "\"after\":[1,-1]}", "after[0]: 1 is not before it" },
		{ TWO_GENERATIONS "\"after\":[-1,-2]}", "after[1]" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_prior p = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(
			tw_prior_read(bad[i].text, strlen(bad[i].text), &p, &err), -1);
		if (strstr(err.text, bad[i].why) == NULL)
			fail_msg("%s: %s", bad[i].text, err.text);
		assert_null(p.row);
	}
}

/* Noise that no file may have makes the covariance singular. */
static void a_singular_view_is_refused_when_it_is_asked(void **state)
{
	struct tw_prior_machine m;
	struct tw_prior_curve c;
	struct tw_prior p = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	measured_prior(&p);
	measured_other(&m, 10, 102, 2);
	for (size_t t = 0; t < TW_PRIOR_TARGETS; t++)
		p.view[0].member[0].target[t].kernel.noise = -1e6;
	assert_int_equal(tw_prior_answer(&p, &p.view[0], &m, &c, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, "view 'host': the covariance"));
	/* The others answer. */
	answer(&p, &p.view[1], &m, &c);
	tw_prior_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unseen_processor_is_near_its_law),
		cmocka_unit_test(power_never_falls_and_intervals_hold_it),
		cmocka_unit_test(an_interval_is_wider_far_from_the_table),
		cmocka_unit_test(a_level_that_the_prior_lacks_counts_as_its_ancestor),
		cmocka_unit_test(generations_differ_by_the_steps_between_them),
		cmocka_unit_test(a_view_needs_no_more_than_is_known),
		cmocka_unit_test(a_view_of_a_system_is_for_vendors_of_the_table),
		cmocka_unit_test(an_answer_is_the_mean_with_the_view_beside),
		cmocka_unit_test(a_vendor_has_one_name),
		cmocka_unit_test(a_brand_alone_counts_as_one_of_its_middle),
		cmocka_unit_test(broken_files_are_refused),
		cmocka_unit_test(a_singular_view_is_refused_when_it_is_asked),
	};

	return cmocka_run_group_tests(tests, measured_set_up, measured_tear_down);
}
