/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "trainer/machines/process.h"

#include <math.h>
#include <string.h>

#define ROWS 14
#define ERAS 3
#define CORES TW_PRIOR_CORES
#define TDP TW_PRIOR_TDP

/* Machines of three eras, and what the process knows of them. */
struct table {
	struct tw_prior_row row[ROWS];
	const struct tw_prior_row *at[ROWS];
	double z[ROWS][TW_PRIOR_NUMBERS], y[ROWS];
	size_t group[ROWS];
	struct tw_process_data d;
};

static struct tw_prior_kernel kernel = { .linear = 0.02,
					 .square = 0.001,
					 .radial = 0.05,
					 .noise = 0.002,
					 .category = { [TW_PRIOR_GENERATION] = 0.03 } };

/* The machines whose era is not this one; ERAS: all. */
static void fill(struct table *t, size_t without)
{
	size_t n = 0;

	*t = (struct table){ .d = { .categories = 1u << TW_PRIOR_GENERATION,
				    .radial = true,
				    .spread = 0.1 } };
	for (size_t i = 0; i < ROWS; i++) {
		if (i % ERAS == without)
			continue;
		for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
			t->row[n].category[c] = -1;
		t->row[n].category[TW_PRIOR_GENERATION] = (int)(i % ERAS);
		t->z[n][CORES] = sin((double)i);
		t->z[n][TDP] = cos(3 * (double)i);
		t->y[n] = 0.1 * t->z[n][CORES] + 0.02 * cos(7 * (double)i) +
			  0.05 * (double)(i % ERAS) - 0.05;
		t->group[n] = i;
		t->at[n] = &t->row[n];
		n++;
	}
	t->d.rows = n;
	t->d.row = t->at;
	t->d.z = (const double(*)[TW_PRIOR_NUMBERS])t->z;
	t->d.y = t->y;
	t->d.group = t->group;
}

/* The prediction of a process that was solved without the era. */
static double solved_without(size_t era, const struct tw_process_stranger *s)
{
	double weight[ROWS], constant = 0, sum;
	struct tw_err err = { 0 };
	struct table t;

	fill(&t, era);
	assert_int_equal(tw_process_solve(&t.d, &kernel, weight, &constant, &err), 0);
	sum = constant;
	for (size_t i = 0; i < t.d.rows; i++)
		sum += weight[i] * tw_prior_covariance(&kernel, t.d.categories, &s->as,
						       s->z, t.at[i], t.z[i]);
	return sum;
}

static void an_era_left_out_is_as_one_that_never_was(void **state)
{
	struct tw_process_stranger s[ROWS] = { { 0 } };
	double held_out[ROWS];
	struct tw_err err = { 0 };
	struct table t;
	size_t n = 0;

	(void)state;
	for (size_t k = 0; k < TW_PRIOR_NUMBERS; k++)
		kernel.length[k] = 2;
	fill(&t, ERAS);
	for (size_t era = 0; era < ERAS; era++)
		for (size_t i = era; i < ROWS; i += ERAS) {
			s[n] = (struct tw_process_stranger){ .row = i,
							     .era = era,
							     .as = t.row[i] };
			/* It counts as the era before, with other numbers. */
			s[n].as.category[TW_PRIOR_GENERATION] = ((int)era + 2) % 3;
			memcpy(s[n].z, t.z[i], sizeof(s[n].z));
			s[n++].z[TDP] = 0.25;
		}
	assert_int_equal(tw_process_leave_eras_out(&t.d, &kernel, s, n, held_out, &err),
			 0);
	for (size_t i = 0; i < n; i++)
		assert_float_equal(held_out[i], solved_without(s[i].era, &s[i]), 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_era_left_out_is_as_one_that_never_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
