/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "tests/unit/extract/rows_fixture.h"
#include "trainer/extract/outliers.h"

#include <string.h>

/* A letter for each fate. */
static const char fates[] = {
	[TW_ROW_KEPT] = '.', [TW_ROW_OUTLIER] = 'o', [TW_ROW_STANDING] = 's'
};

/* The rows from `from` on have these fates, and the others are kept. */
static void expect(struct rows_fixture *f, size_t k, size_t from, const char *want)
{
	char got[ROWS + 1] = "";

	for (size_t i = 0; i < f->j.count; i++)
		got[i] = fates[f->j.fate[i]];
	for (size_t i = 0; i < f->j.count; i++)
		if (got[i] !=
		    (i >= from && i < from + strlen(want) ? want[i - from] : '.'))
			fail_msg("case %zu: %s, not %s at %zu", k, got, want, from);
	tw_judged_close(&f->j);
}

/* ---- outside of physics ---- */

/* Usual are 2 CPUs and 70 W. */
static void power_has_a_limit_at_each_load(void **state)
{
	static const struct {
		double cpus, watts;
		const char *want;
	} cases[] = {
		{ 2, 3 * 70, "." }, { 2, 3 * 70 + 1, "o" }, { 0, 3 * 70 + 1, "o" },
		{ 4, 6 * 70, "." }, { 4, 6 * 70 + 1, "o" }, { 2, -1, "." },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++)
		for (size_t row = 0; row < ROWS; row += ROWS - 1) {
			static struct rows_fixture f;

			rows_write(&f);
			rows_set(&f, row, cases[k].cpus);
			f.watts[0][row] = cases[k].watts;
			rows_judge(&f);
			tw_outliers_mark_impossible(&f.j);
			expect(&f, k, row, cases[k].want);
		}
}

/* Each component has its own limit, unless it is too small for a usual power. */
static void each_component_has_a_limit(void **state)
{
	static const struct {
		double usual, watts;
		const char *want;
	} cases[] = {
		{ 5, 15, "." }, { 5, 16, "o" }, { 0.71, 3, "o" }, { 0.69, 3, "." }
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		static struct rows_fixture f;

		rows_write(&f);
		for (size_t i = 0; i < ROWS; i++)
			f.watts[1][i] = cases[k].usual;
		f.watts[1][10] = cases[k].watts;
		rows_judge(&f);
		tw_outliers_mark_impossible(&f.j);
		expect(&f, k, 10, cases[k].want);
	}
}

/* Of a load that is rare there is no usual power, only of rest. */
static void a_rare_load_may_have_any_power(void **state)
{
	static struct rows_fixture f;

	(void)state;
	rows_write(&f);
	for (size_t i = 0; i < ROWS; i++)
		rows_set(&f, i, 0);
	f.watts[0][5] = 3 * REST_W;
	f.watts[0][6] = 3 * REST_W + 1;
	rows_set(&f, 7, 1);
	f.watts[0][7] = 500;
	rows_judge(&f);
	tw_outliers_mark_impossible(&f.j);
	expect(&f, 0, 6, "o");
}

static void processors_have_five_times_tdp_at_most(void **state)
{
	static const struct {
		enum tw_component component;
		double tdp_w, watts;
		const char *want;
	} cases[] = {
		{ TW_PACKAGE, 50, 250, "." }, { TW_PACKAGE, 50, 251, "o" },
		{ TW_CORE, 0.5, 3, "o" },     { TW_CORE, 50, 251, "o" },
		{ TW_DRAM, 50, 251, "." },    { TW_PLATFORM, 50, 251, "." },
		{ TW_PACKAGE, 0, 1e9, "." },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++)
		for (size_t row = 0; row < ROWS; row += ROWS - 1)
			for (size_t p = 0; p < 2; p++) {
				static struct rows_fixture f;

				rows_write(&f);
				for (size_t i = 0; i < ROWS; i++)
					f.watts[0][i] = f.watts[1][i] = 1;
				f.column[p].component = cases[k].component;
				f.column[1 - p].component = TW_UNCORE;
				f.watts[p][row] = cases[k].watts;
				rows_judge(&f);
				tw_outliers_mark_beyond_tdp(&f.j, cases[k].tdp_w);
				expect(&f, k, row, cases[k].want);
			}
}

/* ---- glitches ---- */

/* The usual power is 70 W, so a glitch is 14 W off. Rows 30 to 35 have 2 CPUs. */
static void a_glitch_has_one_or_two_rows(void **state)
{
	static const struct {
		size_t from, count;
		double more_w;
		const char *want;
	} cases[] = {
		{ 34, 1, 15, "o" },
		{ 34, 1, 13, "." },
		{ 34, 1, -15, "o" },
		{ 34, 1, -13, "." },
		{ 33, 2, 100, "oo" },
		{ 33, 3, 100, "..." },
		/* At the ends a neighbour is missing. */
		{ 0, 1, 100, "." },
		{ 0, 2, 100, ".." },
		{ 1, 1, 100, "o" },
		{ 59, 1, 100, "." },
		{ 58, 2, 100, ".." },
		{ 58, 1, 100, "o" },
		/* A load of three rows before, or of the row after, explains less. */
		{ 33, 1, -15, "o" },
		{ 32, 1, -15, "." },
		{ 35, 1, -15, "." },
		{ 30, 1, 15, "o" },
		{ 35, 1, 15, "o" },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		static struct rows_fixture f;

		rows_write(&f);
		for (size_t i = 0; i < cases[k].count; i++)
			f.watts[0][cases[k].from + i] += cases[k].more_w;
		rows_judge(&f);
		tw_outliers_mark_glitches(&f.j);
		expect(&f, k, cases[k].from, cases[k].want);
	}
}

/* Of a meter with noise, a glitch is eight deviations off. */
static void noise_is_no_glitch(void **state)
{
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		static struct rows_fixture f;

		rows_write(&f);
		for (size_t i = 0; i < ROWS; i++)
			f.watts[0][i] += 3 * ((double)(i % 3) - 1);
		f.watts[0][33] += k == 0 ? 8 * 1.4826 * 3 - 4 : 8 * 1.4826 * 3 + 4;
		rows_judge(&f);
		assert_true(f.j.deviation > 4.4 && f.j.deviation < 4.5);
		tw_outliers_mark_glitches(&f.j);
		expect(&f, k, 33, k == 0 ? "." : "o");
	}
}

/* Work that no power shows near its row: of a process that was there before. */
static void work_without_power_is_a_glitch(void **state)
{
	static const struct {
		size_t row;
		double cpus;
		const char *want;
	} cases[] = {
		{ 32, 3, "o" },
		{ 32, 2.5, "." },
		{ 32, 1, "o" },
		/* Within three rows after it, or a row before it, power has that load. */
		{ 27, 2, "." },
		{ 26, 2, "o" },
		{ 36, 2, "." },
		{ 37, 2, "o" },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		static struct rows_fixture f;

		rows_write(&f);
		f.cpu_ms[cases[k].row] = 1000 * cases[k].cpus;
		rows_judge(&f);
		tw_outliers_mark_glitches(&f.j);
		expect(&f, k, cases[k].row, cases[k].want);
	}
}

/* A meter that shows power up to three rows late is not wrong in any row. */
static void a_lag_is_no_glitch(void **state)
{
	(void)state;
	for (size_t lag = 1; lag <= 3; lag++) {
		static struct rows_fixture f;

		rows_write(&f);
		memmove(f.watts[0] + lag, f.watts[0],
			(ROWS - lag) * sizeof(f.watts[0][0]));
		rows_judge(&f);
		tw_outliers_mark_glitches(&f.j);
		expect(&f, lag, 0, "");
	}
}

/* Impossible rows are no part of a glitch beside them. */
static void rows_that_are_judged_already_stay(void **state)
{
	static struct rows_fixture f;

	(void)state;
	rows_write(&f);
	for (size_t i = 32; i < 36; i++)
		f.watts[0][i] = i % 2 == 0 ? 1000 : 150;
	rows_judge(&f);
	tw_outliers_mark_impossible(&f.j);
	tw_outliers_mark_glitches(&f.j);
	expect(&f, 0, 32, "oooo");
}

/* ---- a side that stands still ---- */

/* Rows without work, among rows of 0, 2, 1 and 0.5 CPUs; what is 7 W off the line shows.
 */
static void features_stand_still(void **state)
{
	static const struct {
		size_t from, count;
		double watts;        /* of these rows; 0: as before */
		double after_cpus;   /* of the row after them; 0: as before */
		bool after_is_wrong; /* it is an outlier */
		const char *want;
	} cases[] = {
		/* Power of a load, and nothing near them has one. */
		{ 36, 6, 0, 0, false, "sssssss" },
		{ 36, 6, 0, 13, true, "sssssso" },
		{ 48, 12, 0, 0, false, "ssssssssssss" },
		/* A meter may show a load three rows later. */
		{ 37, 3, 0, 0, false, "..." },
		{ 37, 5, 0, 0, false, "ssssss" },
		/* A wrong row after them may have their work. */
		{ 37, 1, 0, 0, true, "so" },
		{ 37, 1, REST_W + 6, 0, true, ".o" },
		{ 37, 1, REST_W + 8, 0, true, "so" },
		{ 37, 2, 0, 0, true, "sso" },
		/* Rest. */
		{ 24, 6, 0, 0, false, "......" },
		{ 24, 6, REST_W - 6, 0, false, "......" },
		{ 24, 6, REST_W - 8, 0, false, "sssssss" },
		/* Rows that bend the line are a tenth of all. The row after them has more
		 * work than power, and no more than they can have had. */
		{ 24, 6, 0, 2.3, true, "......o" },
		{ 24, 6, 0, 2.4, true, "sssssso" },
		{ 24, 6, 0, 14, true, "sssssso" },
		{ 24, 6, 0, 14.1, true, "......o" },
		{ 24, 6, 0, 2.4, false, "......." },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		const size_t from = cases[k].from, end = from + cases[k].count;
		static struct rows_fixture f;

		rows_write(&f);
		for (size_t i = from; i < end; i++) {
			f.cpu_ms[i] = f.feature[0][i] = 0;
			if (cases[k].watts != 0)
				f.watts[0][i] = cases[k].watts;
		}
		if (cases[k].after_cpus != 0)
			f.cpu_ms[end] = 1000 * cases[k].after_cpus;
		rows_judge(&f);
		if (cases[k].after_is_wrong)
			f.j.fate[end] = TW_ROW_OUTLIER;
		tw_outliers_mark_still(&f.j);
		expect(&f, k, from, cases[k].want);
	}
}

/* Five rows of rest among sixty do not bend the line. */
static void a_short_rest_is_no_stillness(void **state)
{
	static struct rows_fixture f;

	(void)state;
	rows_write(&f);
	rows_set(&f, 24, 0.5);
	f.cpu_ms[30] = 5000;
	rows_judge(&f);
	f.j.fate[30] = TW_ROW_OUTLIER;
	tw_outliers_mark_still(&f.j);
	expect(&f, 0, 30, "o");
}

/* A row of rest whose power is impossible tells nothing of the rows of rest after it. */
static void wrong_rows_show_no_stillness(void **state)
{
	static struct rows_fixture f;

	(void)state;
	rows_write(&f);
	rows_set(&f, 24, 0.5);
	rows_set(&f, 28, 0.5);
	f.watts[0][25] = 5000;
	rows_judge(&f);
	f.j.fate[25] = f.j.fate[28] = TW_ROW_OUTLIER;
	tw_outliers_mark_still(&f.j);
	expect(&f, 0, 25, "o..o");
}

/* A row is still if it has counters, and none of them moved. */
static void only_counters_stand_still(void **state)
{
	(void)state;
	for (size_t counters = 0; counters <= 2; counters++) {
		static struct rows_fixture f;

		rows_write(&f);
		for (size_t i = 36; i < 42; i++)
			f.cpu_ms[i] = f.feature[0][i] = 0;
		for (size_t c = 0; c < 2; c++)
			f.metric[c].kind =
				c < counters ? TW_METRIC_FEATURE : TW_METRIC_LEVEL;
		rows_judge(&f);
		tw_outliers_mark_still(&f.j);
		expect(&f, counters, 36, counters == 1 ? "sssssss" : "");
	}
}

/* A gauge shows the 40 W of row 18 up to a row. Of loads of 0 and 2 CPUs that is wrong,
 * but for three rows after a change, and one before. */
static void a_gauge_stands_still(void **state)
{
	static const struct {
		size_t end;
		double grown_j;   /* 0: a gauge */
		size_t wrong;     /* a row that is an outlier; 0: none */
		const char *want; /* from row 19 on */
	} cases[] = {
		{ 36, 0, 0, "sssssssssssssssss" },
		{ 36, 1e6, 0, "" },
		{ 34, 0, 0, "sssssssssssssss" },
		/* Two rows that no load explains are chance. */
		{ 33, 0, 0, "" },
		{ 34, 0, 28, ".........o" },
		{ 36, 0, 28, "sssssssssosssssss" },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		static struct rows_fixture f;

		rows_write(&f);
		f.metric[1].kind = TW_METRIC_FEATURE; /* which moves */
		for (size_t i = 19; i < cases[k].end; i++)
			f.watts[0][i] = f.watts[0][18];
		f.power.grown_j = cases[k].grown_j;
		rows_judge(&f);
		if (cases[k].wrong != 0)
			f.j.fate[cases[k].wrong] = TW_ROW_OUTLIER;
		tw_outliers_mark_still(&f.j);
		expect(&f, k, 19, cases[k].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(power_has_a_limit_at_each_load),
		cmocka_unit_test(each_component_has_a_limit),
		cmocka_unit_test(a_rare_load_may_have_any_power),
		cmocka_unit_test(processors_have_five_times_tdp_at_most),
		cmocka_unit_test(a_glitch_has_one_or_two_rows),
		cmocka_unit_test(noise_is_no_glitch),
		cmocka_unit_test(work_without_power_is_a_glitch),
		cmocka_unit_test(a_lag_is_no_glitch),
		cmocka_unit_test(rows_that_are_judged_already_stay),
		cmocka_unit_test(features_stand_still),
		cmocka_unit_test(a_short_rest_is_no_stillness),
		cmocka_unit_test(wrong_rows_show_no_stillness),
		cmocka_unit_test(only_counters_stand_still),
		cmocka_unit_test(a_gauge_stands_still),
	};

	return cmocka_run_group_tests_name("outliers", tests, NULL, NULL);
}
