/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "tests/unit/predictor_load.h"

#include <math.h>
#include <string.h>

/* a < 8: 10 W; a < 12: 30 W; else 20 W, and 3 W more for b >= 1. */
#define MODEL                                                   \
	"{\"trees\":{\"base\":0,\"forest\":["                   \
	"{\"split\":[0,-1,0,-1,-1],\"value\":[8,10,12,30,20]}," \
	"{\"split\":[1,-1,-1],\"value\":[1,0,3]}]}}"
#define FILE_OF(load, work, rest, grid, model)                                \
	"{\"isotonic\":{\"load\":" load ",\"work\":[" work "],\"rest\":" rest \
	",\"grid\":[" grid "],\"model\":" model "}}"
#define KEEPS_B FILE_OF("0", "1,0", "4", "5,10,15,20", MODEL)

static const struct tw_predictor *isotonic(void)
{
	return tw_predictor_find("isotonic");
}

static void predict(const char *text, const double *x, size_t rows, double *watts)
{
	struct tw_err err = { 0 };
	void *model = NULL;

	if (predictor_load("isotonic", "a,b", text, &model, &err) < 0)
		fail_msg("%s", err.text);
	isotonic()->predict(model, &(struct tw_rows){ .x = x, .rows = rows, .stride = 2 },
			    watts);
	tw_predictor_free(isotonic(), model);
}

/* The trees predict 10, 30, 20, 20 W at the grid: 30, 20, 20 become their mean. */
static void falling_powers_are_pooled(void **state)
{
	static const double x[] = { 5, 0, 7.5, 0, 10, 0, 11, 0, 99, 0, 2, 0, 10, 1 };
	const double mean = 70.0 / 3,
		     want[] = { 10, (10 + mean) / 2, mean, mean, mean, 10, mean + 3 };
	double watts[7];

	(void)state;
	predict(KEEPS_B, x, 7, watts);
	for (size_t i = 0; i < 7; i++)
		if (!(fabs(watts[i] - want[i]) < 1e-9))
			fail_msg("row %zu: %g is not %g", i, watts[i], want[i]);
}

/* At load 5 the ray to (20, 2) has b = 0.5, at load 10 b = 1. */
static void features_of_work_shrink_along_the_ray(void **state)
{
	static const double x[] = { 20, 2, 5, 0.5, 10, 1 };
	const double mean = (33.0 + 23 + 23) / 3;
	double watts[3];

	(void)state;
	predict(FILE_OF("0", "1,1", "4", "5,10,15,20", MODEL), x, 3, watts);
	assert_true(fabs(watts[0] - mean) < 1e-9);
	assert_true(fabs(watts[1] - 10) < 1e-9);
	assert_true(fabs(watts[2] - mean) < 1e-9);
}

static void power_is_at_least_that_at_rest(void **state)
{
	static const double x[] = { 0, 0, NAN, 0, -1, 0, 5, 0 };
	double watts[4];

	(void)state;
	predict(FILE_OF("0", "1,0", "25", "5,10,15,20", MODEL), x, 4, watts);
	for (size_t i = 0; i < 4; i++)
		assert_true(watts[i] == 25);
}

static void power_never_falls_on_a_ray(void **state)
{
	enum { STEPS = 200 };
	double x[2 * STEPS], watts[STEPS];

	(void)state;
	for (int to = 0; to < 5; to++) {
		for (size_t i = 0; i < STEPS; i++) {
			x[2 * i] = (double)i * 0.15;
			x[2 * i + 1] = x[2 * i] * 0.05 * to;
		}
		predict(FILE_OF("0", "1,1", "4", "1,3,5,8,10,12,15,20", MODEL), x, STEPS,
			watts);
		for (size_t i = 1; i < STEPS; i++)
			assert_true(watts[i] >= watts[i - 1] - 1e-9);
		assert_true(watts[STEPS - 1] > watts[0]);
	}
}

static void bad_files_are_rejected(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "{}", ".isotonic: missing" },
		{ FILE_OF("2", "1,0", "4", "5", MODEL), "isotonic.load" },
		{ FILE_OF("0", "1", "4", "5", MODEL), "isotonic.work" },
		{ FILE_OF("0", "1,2", "4", "5", MODEL),
		  "isotonic.work[1]: 2, expected 0 or 1" },
		{ FILE_OF("0", "1,0", "\"x\"", "5", MODEL), "isotonic.rest" },
		{ FILE_OF("0", "1,0", "4", "", MODEL),
		  "isotonic.grid: 0 loads, expected 1 to 256" },
		{ FILE_OF("0", "1,0", "4", "0,1", MODEL),
		  "isotonic.grid[0]: 0, expected rising loads above 0" },
		{ FILE_OF("0", "1,0", "4", "2,2", MODEL),
		  "isotonic.grid[1]: 2, expected rising loads above 0" },
		{ FILE_OF("0", "1,0", "4", "5", "{}"),
		  "isotonic.model: .trees: missing" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		void *model = NULL;

		if (predictor_load("isotonic", "a,b", cases[i].text, &model, &err) == 0)
			fail_msg("taken: %s", cases[i].text);
		if (strncmp(err.text, cases[i].want, strlen(cases[i].want)) != 0)
			fail_msg("'%s' does not begin with '%s'", err.text,
				 cases[i].want);
	}
}

static void running_out_of_memory_is_reported(void **state)
{
	(void)state;
	predictor_check_memory("isotonic", "a,b", KEEPS_B);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(falling_powers_are_pooled),
		cmocka_unit_test(features_of_work_shrink_along_the_ray),
		cmocka_unit_test(power_is_at_least_that_at_rest),
		cmocka_unit_test(power_never_falls_on_a_ray),
		cmocka_unit_test(bad_files_are_rejected),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests_name("predict_isotonic", tests, NULL, NULL);
}
