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

/* The first machines. */
static void fill(struct table *t, size_t count)
{
	size_t n = 0;

	*t = (struct table){ .d = { .categories = 1u << TW_PRIOR_GENERATION,
				    .radial = true,
				    .spread = 0.1 } };
	for (size_t i = 0; i < count; i++) {
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

/* The prediction of a process of the machines before. */
static double solved_before(const struct tw_process_stranger *s)
{
	double weight[ROWS], constant = 0, sum;
	struct tw_err err = { 0 };
	struct table t;

	fill(&t, s->from);
	assert_int_equal(tw_process_solve(&t.d, &kernel, weight, &constant, &err), 0);
	sum = constant;
	for (size_t i = 0; i < t.d.rows; i++)
		sum += weight[i] * tw_prior_covariance(&kernel, t.d.categories, &s->as,
						       s->z, t.at[i], t.z[i]);
	return sum;
}

static void later_machines_are_as_if_they_never_were(void **state)
{
	enum { FROM = 5 };
	static const size_t from[FROM] = { 5, 5, 8, ROWS - 1, 1 };
	struct tw_process_stranger s[FROM] = { { 0 } };
	double held_out[FROM];
	struct tw_err err = { 0 };
	struct table t;

	(void)state;
	for (size_t k = 0; k < TW_PRIOR_NUMBERS; k++)
		kernel.length[k] = 2;
	fill(&t, ROWS);
	for (size_t i = 0; i < FROM; i++) {
		s[i] = (struct tw_process_stranger){ .row = from[i] + (i == 1),
						     .from = from[i] };
		s[i].as = t.row[s[i].row];
		/* It counts as the era before, with other numbers. */
		s[i].as.category[TW_PRIOR_GENERATION] = (int)(i + 2) % ERAS;
		memcpy(s[i].z, t.z[s[i].row], sizeof(s[i].z));
		s[i].z[TDP] = 0.25;
	}
	assert_int_equal(
		tw_process_predict_forward(&t.d, &kernel, s, FROM, held_out, &err), 0);
	for (size_t i = 0; i < FROM; i++)
		assert_float_equal(held_out[i], solved_before(&s[i]), 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(later_machines_are_as_if_they_never_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
