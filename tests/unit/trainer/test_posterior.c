/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/measured_machines.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/certificate.h"
#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "model-db/model.h"
#include "model-db/prior/prior_model.h"
#include "profiler/spec.h"
#include "trainer/machines/posterior.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LAST (TW_PRIOR_LOADS - 1)

/* ---- readings ---- */

static void wrong_readings_are_refused(void **state)
{
	static const struct {
		struct tw_power_reading r[5];
		size_t count;
		const char *why;
	} bad[] = {
		{ { { 0, 1, 0 } }, 0, "0 readings" },
		{ { { 0, 1, 0 }, { .2, 1, 0 }, { .4, 1, 0 }, { .6, 1, 0 }, { 1, 1, 0 } },
		  5,
		  "5 readings" },
		{ { { 1.1, 1, 0 } }, 1, "110 %" },
		{ { { 0.5, 0, 0 } }, 1, "0 W" },
		{ { { 0.5, NAN, 0 } }, 1, "nan W" },
		{ { { 0.5, 1, 0.6 } }, 1, "60 % error" },
		{ { { 0.52, 10, 0 }, { 0.5, 10, 0 } }, 2, "apart" },
		{ { { 1, 50, 0 }, { 0, 60, 0 } }, 2, "falls" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_power_reading r[5];
		struct tw_err err = { 0 };

		memcpy(r, bad[i].r, sizeof(r));
		assert_int_equal(tw_readings_check(r, bad[i].count, &err), -1);
		if (strstr(err.text, bad[i].why) == NULL)
			fail_msg("%s: want %s", err.text, bad[i].why);
	}
}

static void many_readings_become_few_that_rise(void **state)
{
	struct tw_power_reading r[1000];
	struct tw_err err = { 0 };
	size_t n;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		r[i] = (struct tw_power_reading){ .load = (double)(i * 7919 % 1000) / 999,
						  .error = 0.01 };
	for (size_t i = 0; i < 1000; i++) /* 50 W to 150 W, noise of 20 W */
		r[i].w = 50 + 100 * r[i].load + 20 * sin((double)i);
	n = tw_readings_reduce(r, 1000);
	assert_in_range(n, 2, TW_PRIOR_READINGS_MAX);
	assert_int_equal(tw_readings_check(r, n, &err), 0);
	for (size_t i = 0; i < n; i++)
		assert_true(fabs(r[i].w - 50 - 100 * r[i].load) < 5);
}

/* Wrong readings, wherever they are, change no reading by more than the noise. */
static void a_few_wrong_readings_change_little(void **state)
{
	static const double wrong_w[] = { 0.1, 9, 420, 942, 65000, 9e5 };
	static const double at[] = { 0, 0.1, 0.33, 0.5, 0.8, 1 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(wrong_w) * TW_COUNT(at); i++) {
		static struct tw_power_reading r[302];
		struct tw_err err = { 0 };
		size_t n;

		for (size_t k = 0; k < 302; k++) { /* four loads; 60 W to 200 W */
			r[k].load = (double)(k % 4) / 3;
			r[k].w = 60 + 140 * r[k].load + sin((double)k);
			r[k].error = 0.01;
		}
		r[17] = r[250] =
			(struct tw_power_reading){ at[i % 6], wrong_w[i / 6], 0.01 };
		n = tw_readings_reduce(r, 302);
		assert_int_equal(n, 4);
		assert_int_equal(tw_readings_check(r, n, &err), 0);
		for (size_t k = 0; k < n; k++)
			assert_true(fabs(r[k].w - 60 - 140 * r[k].load) < 2);
	}
}

static void one_reading_stays_as_it_is(void **state)
{
	struct tw_power_reading r[] = { { 0.5, 80, 0.02 } };

	(void)state;
	assert_int_equal(tw_readings_reduce(r, 1), 1);
	assert_true(r[0].load == 0.5 && r[0].w == 80 && r[0].error == 0.02);
}

/* ---- the posterior ---- */

static void answer(const struct tw_prior *p, struct tw_power_reading *r, size_t count,
		   struct tw_prior_curve *prior, struct tw_prior_curve *out)
{
	struct tw_posterior q = { 0 };
	struct tw_prior_machine m;
	struct tw_err err = { 0 };
	const struct tw_prior_view *v;

	measured_other(&m, 10, 102, 2);
	v = tw_prior_view_for(p, &m);
	assert_int_equal(tw_prior_answer(p, v, &m, prior, &err), 0);
	assert_int_equal(tw_readings_check(r, count, &err), 0);
	if (tw_posterior_learn(p, v, r, count, 1, &q, &err) < 0)
		fail_msg("%s", err.text);
	tw_posterior_answer(&q, &m, r, out);
	tw_posterior_release(&q);
}

/* All machines of the table have a straight line from a quarter of full power. */
static void half_load_tells_rest_and_full_load(void **state)
{
	/* Three times what the machine should draw: the reading counts, not the prior. */
	const double full = 3 * measured_full(102, 2);
	struct tw_power_reading r[] = { { 0.5, 0.625 * full, 0 } };
	struct tw_prior_curve prior, c;

	answer(*state, r, 1, &prior, &c);
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		const double want = full * (0.25 + 0.075 * (double)l);

		if (!(fabs(c.w[l] / want - 1) < 0.01))
			fail_msg("%zu: %g W, want %g", l, c.w[l], want);
		assert_true(c.low[l] <= c.w[l] && c.w[l] <= c.high[l]);
		assert_true(c.high[l] / c.low[l] < prior.high[l] / prior.low[l]);
	}
	assert_true(c.w[5] == r[0].w);
}

static void the_curve_meets_the_readings_and_rises(void **state)
{
	struct tw_power_reading r[] = { { 1, 300, 0.01 },
					{ 0, 20, 0.01 },
					{ 0.37, 250, 0.01 } };
	struct tw_prior_curve prior, c;

	answer(*state, r, 3, &prior, &c);
	assert_true(c.w[0] == 20 && c.w[LAST] == 300);
	assert_true(c.w[3] <= 250 && c.w[4] >= 250);
	for (size_t l = 1; l < TW_PRIOR_LOADS; l++)
		assert_true(c.w[l] >= c.w[l - 1] && c.w[l] <= 300);
	/* The error of the meter, and nothing else. */
	assert_true(fabs(log(c.high[0] / 20) - 1.645 * 0.01) < 1e-9);
}

#define ERAS 5

/* The table in four eras, each with a bend of its own, and three machines of another. */
static void make_eras(struct tw_prior *p)
{
	struct tw_strs *names = &p->names[TW_PRIOR_GENERATION];
	const size_t before = names->count;
	struct tw_err err = { 0 };
	char name[] = "era_0";

	for (; name[4] < '0' + ERAS; name[4]++)
		assert_int_equal(tw_strs_adds(names, name, &err), 0);
	assert_true(tw_resize(&p->after, names->count, sizeof(*p->after)));
	while (p->afters < names->count)
		p->after[p->afters++] = -1;
	for (size_t i = 0; i < p->rows; i++) {
		const size_t era = i < 3 ? ERAS - 1 : i * (ERAS - 1) / p->rows;
		double *w = p->row_w[i];

		p->row[i].category[TW_PRIOR_GENERATION] = (int)(before + era);
		for (size_t l = 1; l < LAST; l++)
			w[l] = w[0] + (w[LAST] - w[0]) * pow((double)l / LAST,
							     0.6 + 0.2 * (double)era);
	}
	assert_int_equal(tw_prior_find_lineage(p, &err), 0);
}

static double width_of(const struct tw_posterior *q, const char *generation, bool *later)
{
	struct tw_power_reading r[] = { { 0, 80, 0 }, { 1, 320, 0 } };
	struct tw_prior_machine m;
	struct tw_prior_curve c;

	measured_other(&m, 10, 102, 2);
	snprintf(m.category[TW_PRIOR_GENERATION], TW_PRIOR_TEXT, "%s", generation);
	tw_posterior_answer(q, &m, r, &c);
	*later = c.later;
	assert_true(c.low[0] == 80 && c.high[LAST] == 320);
	return log(c.high[5] / c.low[5]);
}

/* The bend of an era is known by its machines; that of another may be any of them. */
static void an_interval_is_wider_for_an_era_that_the_table_hardly_has(void **state)
{
	static const char *const others[] = { "era_4", "era_9", "" };
	struct tw_power_reading r[] = { { 0, 80, 0 }, { 1, 320, 0 } };
	struct tw_posterior q = { 0 };
	struct tw_prior p = { 0 };
	struct tw_err err = { 0 };
	bool later;
	double known;

	(void)state;
	measured_prior(&p);
	make_eras(&p);
	assert_int_equal(tw_posterior_learn(&p, &p.view[0], r, 2, 1, &q, &err), 0);
	known = width_of(&q, "era_1", &later);
	assert_false(later);
	for (size_t i = 0; i < TW_COUNT(others); i++) {
		assert_true(width_of(&q, others[i], &later) > 1.5 * known);
		assert_true(later);
	}
	tw_posterior_release(&q);
	tw_prior_release(&p);
}

/* ---- the curve's model ---- */

static double predict(const struct tw_power_model *p, double cpu_time_ms)
{
	const struct tw_rows in = { .x = &cpu_time_ms, .rows = 1, .stride = 1 };
	double w;

	tw_power_model_predict(p, 0, &in, &w);
	return w;
}

static void a_model_of_the_curve_predicts_it(void **state)
{
	const struct tw_machine_spec spec = { .processor = "intel_xeon_e5_2620v3",
					      .cores = 24,
					      .chips = 2,
					      .threads_per_core = 2 };
	struct tw_prior_estimate e = { .share = 1, .readings = 2 };
	struct tw_power_reading r[] = { { 0, 50, 0.01 }, { 1, 210, 0.01 } };
	struct tw_certificate certificate;
	struct tw_power_model *p = NULL;
	struct tw_prior_curve prior;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	answer(*state, r, 2, &prior, &e.curve);
	e.curve.view = prior.view;
	assert_int_equal(tw_prior_take_share(&e, &e, &err), 0);
	if (tw_prior_curve_model(&e, &spec, &m, &err) < 0 ||
	    tw_power_model_borrow(&m, &p, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		assert_true(fabs(predict(p, 2400.0 * (double)l) / e.curve.w[l] - 1) <
			    1e-6);
	assert_true(fabs(predict(p, 2400.0 * 4.5) * 2 / (e.curve.w[4] + e.curve.w[5]) -
			 1) < 1e-6);
	assert_int_equal(tw_certify(p, NULL, 0, NULL, &certificate, &err), 0);
	assert_true(certificate.rises && certificate.non_negative && certificate.no_jump);
	assert_string_equal(json_string_value(json_object_get(m.info.metadata, "match")),
			    TW_PRIOR_CALIBRATED);
	tw_power_model_free(p);
	tw_model_release(&m);
}

/* Power between two readings lies between them: a machine with little above rest misses
 * less. */
static void the_interval_grows_with_the_difference_of_the_readings(void **state)
{
	struct tw_power_reading near[] = { { 0, 100, 0 }, { 1, 130, 0 } };
	struct tw_power_reading far[] = { { 0, 100, 0 }, { 1, 500, 0 } };
	struct tw_prior_curve prior, of_near, of_far;

	answer(*state, near, 2, &prior, &of_near);
	answer(*state, far, 2, &prior, &of_far);
	for (size_t l = 1; l < LAST; l++) {
		const double load = (double)l / LAST;
		/* The roots of the differences over the line between the readings. */
		const double want =
			sqrt((400 / (100 + 400 * load)) / (30 / (100 + 30 * load)));
		const double got = log(of_far.high[l] / of_far.w[l]) /
				   log(of_near.high[l] / of_near.w[l]);

		assert_float_equal(got, want, 1e-3 * want);
		assert_float_equal((of_far.error[l] / of_far.w[l]) /
					   (of_near.error[l] / of_near.w[l]),
				   want, 1e-3 * want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_readings_are_refused),
		cmocka_unit_test(many_readings_become_few_that_rise),
		cmocka_unit_test(a_few_wrong_readings_change_little),
		cmocka_unit_test(one_reading_stays_as_it_is),
		cmocka_unit_test(half_load_tells_rest_and_full_load),
		cmocka_unit_test(the_curve_meets_the_readings_and_rises),
		cmocka_unit_test(
			an_interval_is_wider_for_an_era_that_the_table_hardly_has),
		cmocka_unit_test(a_model_of_the_curve_predicts_it),
		cmocka_unit_test(the_interval_grows_with_the_difference_of_the_readings),
	};

	return cmocka_run_group_tests(tests, measured_set_up, measured_tear_down);
}
