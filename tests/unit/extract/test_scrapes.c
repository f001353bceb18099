/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "trainer/extract/scrapes.h"

#include <math.h>

#define ROWS 200

/*
 * Rows of a query of this many seconds a step, of scrapes at odd times; seed: of a noise
 * of 3 % of power.
 */
static void query(struct tw_scraped_row row[ROWS], int64_t step_ms, int64_t scrape_ms,
		  bool by_gauge, unsigned int seed)
{
	const struct tw_scrape_times s = { .interval_ms = scrape_ms, .offset_ms = 700 };

	for (int64_t i = 0; i < ROWS; i++) {
		const int64_t from_ms = 1000000 + i * step_ms, to_ms = from_ms + step_ms;
		const double n = (double)tw_scrapes_within(&s, from_ms, to_ms);
		const double share = n * (double)scrape_ms / (double)step_ms;
		const double load = (double)(i / 17 % 3);
		const double noise =
			(double)(seed = seed * 69069 + 1) / 0xffffffffU - 0.5;
		const double watts = (30 + 20 * load) * (1 + 0.06 * noise);

		row[i] = (struct tw_scraped_row){ from_ms, to_ms, load * share,
						  by_gauge ? watts : watts * share };
	}
}

static void steps_that_do_not_divide_show_the_scrapes(void **state)
{
	static const struct {
		int64_t step_ms, scrape_ms;
		bool by_gauge;
	} cases[] = {
		{ 20000, 15000, false }, { 20000, 15000, true }, { 8000, 5000, false },
		{ 12000, 5000, true },   { 60000, 45000, true }, { 10000, 15000, true },
		{ 3000, 5000, true },    { 25000, 30000, true },
	};
	struct tw_scraped_row row[ROWS];

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		struct tw_scrape_times s;

		query(row, cases[k].step_ms, cases[k].scrape_ms, cases[k].by_gauge, 1);
		s = tw_scrapes_find(row, ROWS, cases[k].by_gauge);
		if (s.interval_ms != cases[k].scrape_ms || s.divides)
			fail_msg("case %zu: %lld ms", k, (long long)s.interval_ms);
	}
}

static void other_rows_show_none(void **state)
{
	static const int64_t step_ms[] = { 5000, 10000, 15000, 30000 };
	struct tw_scraped_row row[ROWS];

	(void)state;
	for (unsigned int k = 0; k < 8; k++) {
		query(row, step_ms[k % 4], 5000, k >= 4, k);
		assert_int_equal(tw_scrapes_find(row, ROWS, k >= 4).interval_ms, 0);
		/* A load of its own for each row, which power does not show. */
		for (size_t i = 0; i < ROWS; i++)
			row[i].load *= (double)(i * i % 11) / 5;
		assert_int_equal(tw_scrapes_find(row, ROWS, k >= 4).interval_ms, 0);
	}
	/* Samples as scraped have no grid. */
	query(row, 8000, 5000, true, 1);
	for (size_t i = 1; i < ROWS; i++)
		row[i].from_ms = row[i - 1].to_ms += (int64_t)(i * i % 7);
	assert_int_equal(tw_scrapes_find(row, ROWS, true).interval_ms, 0);
}

static void a_step_that_divides_is_told(void **state)
{
	struct tw_scraped_row row[ROWS];
	struct tw_scrape_times s;

	(void)state;
	query(row, 5000, 15000, true, 1);
	s = tw_scrapes_find(row, ROWS, true);
	assert_true(s.interval_ms == 15000 && s.divides);
	assert_int_equal(tw_scrapes_within(&s, row[0].from_ms, row[5].to_ms), 2);
}

static void few_rows_show_none(void **state)
{
	struct tw_scraped_row row[ROWS];

	(void)state;
	query(row, 8000, 5000, false, 1);
	assert_int_equal(tw_scrapes_find(row, 19, false).interval_ms, 0);
	assert_int_equal(tw_scrapes_find(row, 0, false).interval_ms, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_that_do_not_divide_show_the_scrapes),
		cmocka_unit_test(other_rows_show_none),
		cmocka_unit_test(a_step_that_divides_is_told),
		cmocka_unit_test(few_rows_show_none),
	};

	return cmocka_run_group_tests_name("scrapes", tests, NULL, NULL);
}
