/* SPDX-License-Identifier: Apache-2.0 */
/* Each reason of trainer/train_refusal.h at its limit, by scores that are made by hand.
 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "isolator/isolator.h"
#include "model-db/fitness.h"
#include "trainer/fit/rest.h"
#include "trainer/train_job.h"
#include "trainer/train_machines.h"
#include "trainer/train_refusal.h"
#include "trainer/train_scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROWS 200
#define COLS 2
#define PARTS 2

/* A machine of four CPUs: 20 W at rest, and 30 W for each busy CPU, up to two of them. */
struct training {
	struct tw_train_job job;
	struct tw_isolator isolator;
	struct tw_train_machine machine;
	struct tw_profile_power at_rest; /* of the package */
	struct tw_train_data data;
	struct tw_train_scores scores;
	struct tw_rest rest[PARTS];
	const char *feature[COLS];
	int64_t time_ms[ROWS];
	double x[ROWS][COLS], y[PARTS][ROWS], predicted[PARTS][ROWS];
};

static double mean_of(const double *y)
{
	double sum = 0;

	for (size_t i = 0; i < ROWS; i++)
		sum += y[i] / ROWS;
	return sum;
}

/* The power of a row: of the package, and of dram. */
static double package_at(double ms)
{
	return 20 + 0.03 * ms;
}

static void set_up(struct training *t)
{
	memset(t, 0, sizeof(*t));
	t->machine.spec.cores = 4;
	t->job.isolator = &t->isolator;
	t->feature[0] = "bpf_cpu_time_ms";
	t->feature[1] = "cache_miss";
	t->data = (struct tw_train_data){ .job = &t->job,
					  .source = tw_energy_source_find("rapl-sysfs"),
					  .output = TW_ABS_POWER,
					  .machine = &t->machine,
					  .rows = ROWS,
					  .feature = t->feature,
					  .cols = COLS,
					  .component = { TW_PACKAGE, TW_DRAM },
					  .components = PARTS,
					  .x = t->x[0],
					  .y = t->y[0],
					  .rest = t->rest };
	t->data.d.rows = ROWS;
	t->data.d.time_ms = t->time_ms;
	t->scores.data = &t->data;
	t->scores.predicted = t->predicted[0];
	for (size_t i = 0; i < ROWS; i++) {
		t->time_ms[i] = (int64_t)(1700000000 + 3 * i) * 1000;
		t->x[i][0] = (double)(i * 37 % ROWS) * 10;
		t->x[i][1] = 1000;
		t->y[0][i] = t->predicted[0][i] = package_at(t->x[i][0]);
		t->y[1][i] = t->predicted[1][i] = 2 + 0.001 * t->x[i][0];
	}
	for (size_t c = 0; c < PARTS; c++) {
		t->rest[c].shown = true;
		t->scores.score[0][c].mean = mean_of(t->y[c]);
		t->scores.score[0][c].mape = 5;
	}
}

static const char *reason(struct training *t)
{
	const char *why = "none was found";
	struct tw_err err = { 0 };

	assert_int_equal(tw_train_refusal_find(&t->scores, t->rest, &why, &err), 0);
	return why;
}

static void expect(struct training *t, const char *wanted)
{
	const char *why = reason(t);

	if ((why == NULL) != (wanted == NULL) ||
	    (why != NULL && strcmp(why, wanted) != 0))
		fail_msg("'%s', want '%s'", why != NULL ? why : "certified",
			 wanted != NULL ? wanted : "certified");
}

static void a_sound_recording_has_no_reason(void **state)
{
	struct training t;

	(void)state;
	set_up(&t);
	expect(&t, NULL);
}

/* Three times the power that all but 1 % of the rows have, in 20 rows or more. */
static void power_has_a_limit(void **state)
{
	struct training t;

	(void)state;
	for (size_t row = 0; row < ROWS; row += ROWS - 1)
		for (int above = 0; above < 2; above++) {
			set_up(&t);
			t.y[0][row] = 3 * package_at(1970) + (above ? 1 : -1);
			expect(&t, above ? TW_REFUSED_POWER : NULL);
		}
	set_up(&t);
	t.y[0][7] = 3 * package_at(1970) + 1;
	t.data.rows = t.data.d.rows = 19;
	expect(&t, NULL);
	t.data.rows = t.data.d.rows = 20;
	expect(&t, TW_REFUSED_POWER);
}

/* The package's power above 20 W at rest. */
static void set_up_dynamic(struct training *t)
{
	set_up(t);
	t->at_rest = (struct tw_profile_power){ .source = t->data.source,
						.component = TW_PACKAGE,
						.median_w = 20 };
	t->data.profile = (struct tw_profile){ .power = &t->at_rest, .powers = 1 };
	t->data.output = TW_DYN_POWER;
	t->data.components = 1;
	for (size_t i = 0; i < ROWS; i++) {
		t->y[0][i] -= 20;
		t->predicted[0][i] -= 20;
	}
	t->scores.score[0][0].mean -= 20;
}

/* A power of three times the dynamic power is a smaller multiple of the whole. */
static void limits_of_dynamic_power_are_those_of_the_whole(void **state)
{
	struct training t;

	(void)state;
	for (int above = 0; above < 2; above++) {
		set_up_dynamic(&t);
		t.y[0][7] = 3 * package_at(1970) - 20 + (above ? 1 : -1);
		expect(&t, above ? TW_REFUSED_POWER : NULL);
	}
	/* 300 W above 19.8 kW are no machine's; a board adds 18 mW to 0.4 W. */
	set_up_dynamic(&t);
	t.at_rest.median_w = 19800;
	for (size_t i = 0; i < ROWS; i++)
		t.y[0][i] *= 10;
	expect(&t, TW_REFUSED_UNIT);
	set_up_dynamic(&t);
	t.at_rest.median_w = 0.4;
	for (size_t i = 0; i < ROWS; i++)
		t.y[0][i] *= 0.0004;
	t.scores.score[0][0].mean *= 0.0004;
	expect(&t, NULL);
	/* Its line is that of energy, and begins at 0 W. */
	set_up_dynamic(&t);
	t.data.by_readings = true;
	for (size_t i = 0; i < ROWS; i++)
		t.predicted[0][i] += i % 2 == 0 ? 15 : -15;
	expect(&t, NULL);
	/* Of the whole power, 49.85 W, whatever the percentage of its rows. */
	t.scores.score[0][0].mape = 500;
	t.scores.score[0][0].mae = 24.5;
	expect(&t, NULL);
	t.scores.score[0][0].mae = 25.5;
	expect(&t, TW_REFUSED_ERROR);
	t.scores.score[0][0].mae = 1;
	t.scores.score[0][0].bias = 7.4;
	expect(&t, NULL);
	t.scores.score[0][0].bias = 7.6;
	expect(&t, TW_REFUSED_BIAS);
}

/* A twentieth of the rows may have more than 1.25 times the time of all CPUs. */
static void load_has_a_limit(void **state)
{
	struct training t;

	(void)state;
	for (int threads = 1; threads <= 2; threads++)
		for (size_t rows = 10; rows <= 11; rows++) {
			set_up(&t);
			t.machine.spec.threads_per_core = (uint32_t)threads;
			for (size_t i = 0; i < rows; i++) {
				t.x[i][0] = 1.25 * 4000 * threads + 1;
				t.y[0][i] = t.predicted[0][i] = package_at(t.x[i][0]);
			}
			expect(&t, rows > 10 ? TW_REFUSED_LOAD : NULL);
			for (size_t i = 0; i < rows; i++)
				t.x[i][0] -= 2;
			expect(&t, NULL);
		}
	/* The number of CPUs is not known; or the load is no time of theirs. */
	for (size_t i = 0; i < 100; i++)
		t.x[i][0] *= 10;
	t.machine.spec.cores = 0;
	expect(&t, NULL);
	t.machine.spec.cores = 4;
	t.feature[0] = "cpu_cycles";
	expect(&t, NULL);
}

/* Multiply the package's power, and what is known of it. */
static void scale(struct training *t, double by)
{
	set_up(t);
	for (size_t i = 0; i < ROWS; i++) {
		t->y[0][i] *= by;
		t->predicted[0][i] *= by;
	}
	t->scores.score[0][0].mean *= by;
}

/* 30 W a CPU become 990 and 1,010 W; 72 W of 1.8 CPUs 0.08 and 0.1 W. */
static void watts_of_a_cpu_have_limits(void **state)
{
	struct training t;

	(void)state;
	scale(&t, 33);
	expect(&t, NULL);
	scale(&t, 33.7);
	expect(&t, TW_REFUSED_UNIT);
	t.data.component[0] = TW_PLATFORM;
	expect(&t, NULL);
	t.data.component[0] = TW_CORE;
	expect(&t, TW_REFUSED_UNIT);
	/* Power of memory follows other work. */
	t.data.component[0] = TW_DRAM;
	expect(&t, NULL);
	scale(&t, 0.0013);
	expect(&t, NULL);
	scale(&t, 0.0011);
	expect(&t, TW_REFUSED_UNIT);
}

/* Its mean over the fifth with the most load: 20 kW. */
static void no_machine_draws_more_than_20_kw(void **state)
{
	struct training t;

	(void)state;
	for (int above = 0; above < 2; above++) {
		set_up(&t);
		t.data.component[0] = TW_PLATFORM;
		for (size_t i = 0; i < ROWS; i++)
			t.y[0][i] = t.predicted[0][i] = package_at(t.x[i][0]) + 20000 -
							20 - 0.03 * 1795 +
							(above ? 1 : -1);
		t.scores.score[0][0].mean = mean_of(t.y[0]);
		expect(&t, above ? TW_REFUSED_UNIT : TW_REFUSED_NO_LOAD);
	}
}

/* CPU time by its modes: their sum is the load. */
static void modes_of_the_node_add_up(void **state)
{
	struct training t;

	(void)state;
	for (int both = 0; both < 2; both++) {
		scale(&t, 33.7);
		t.feature[0] = "node_cpu_user";
		t.feature[1] = both ? "node_cpu_system" : "cache_miss";
		for (size_t i = 0; i < ROWS; i++)
			t.x[i][1] = 0.1 * t.x[i][0];
		expect(&t, both ? NULL : TW_REFUSED_UNIT);
	}
	/* No CPU time: there is nothing to compare with, whatever the power. */
	scale(&t, 1000);
	t.feature[0] = "cpu_cycles";
	t.feature[1] = "cache_miss";
	expect(&t, NULL);
}

/* Between the fifths with the least and the most load: 2 % of the power, and more than
 * twice the standard error. */
static void power_must_follow_the_load(void **state)
{
	static const struct {
		double rise, noise; /* W, of 50 W */
		size_t from;        /* the rows with least load that do not rise */
		const char *wanted;
	} cases[] = {
		{ 1.1, 0, 100, NULL },
		{ -1.1, 0, 100, NULL },
		{ 0.9, 0, 100, TW_REFUSED_NO_LOAD },
		{ 1.1, 4, 100, TW_REFUSED_NO_LOAD },
		{ 2.2, 4, 100, NULL },
		{ 1.03, 0, 40, NULL },
		{ 1.03, 0, 39, TW_REFUSED_NO_LOAD },
		{ 1.02, 0, 160, NULL },
		{ 1.02, 0, 161, TW_REFUSED_NO_LOAD },
	};
	struct training t;

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		set_up(&t);
		for (size_t i = 0; i < ROWS; i++) {
			const size_t place = (size_t)(t.x[i][0] / 10);

			t.y[0][i] = 50 + (place < cases[k].from ? 0 : cases[k].rise) +
				    (place % 2 == 0 ? 1 : -1) * cases[k].noise;
			t.predicted[0][i] = t.y[0][i];
		}
		t.scores.score[0][0].mean = mean_of(t.y[0]);
		expect(&t, cases[k].wanted);
	}
	/* The load is the same in all rows, whether power is. */
	for (int rises = 0; rises < 2; rises++) {
		set_up(&t);
		for (size_t i = 0; i < ROWS; i++) {
			t.x[i][0] = 500;
			t.y[0][i] = 40 + (rises ? (double)i / 10 : 0);
			t.predicted[0][i] = t.y[0][i];
		}
		expect(&t, TW_REFUSED_NO_LOAD);
	}
}

/* Without load in the package there is none; that of dram may be constant. */
static void load_is_that_of_the_first_component(void **state)
{
	struct training t;

	(void)state;
	set_up(&t);
	for (size_t i = 0; i < ROWS; i++)
		t.y[1][i] = t.predicted[1][i] = 3;
	expect(&t, NULL);
	t.y[1][3] = 10;
	expect(&t, TW_REFUSED_POWER);
}

/* Of a mean of 49.85 W; the second component has its own. */
static void a_mean_error_is_a_share_of_its_limit(void **state)
{
	static const struct {
		double bias, low, high, drift; /* percent of the power */
		double share;
	} cases[] = {
		{ 0, 0, 0, 0, 0 },        { 7.5, 0, 0, 0, 0.5 },
		{ -15.3, 0, 0, 0, 1.02 }, { 0, 12.5, 0, 0, 0.5 },
		{ 0, -25.5, 1, 0, 1.02 }, { 0, 1, -25.5, 0, 1.02 },
		{ 0, 0, 24.5, 0, 0.98 },  { 0, 0, 0, 7.5, 0.5 },
		{ 0, 0, 0, -15.3, 1.02 },
	};
	struct training t;

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++)
		for (size_t c = 0; c < PARTS; c++) {
			struct tw_score *s;
			double w;

			set_up(&t);
			s = &t.scores.score[0][c];
			w = s->mean / 100;
			s->bias = cases[k].bias * w;
			s->bias_low = cases[k].low * w;
			s->bias_high = cases[k].high * w;
			s->bias_drift = cases[k].drift * w;
			assert_true(fabs(tw_train_bias(&t.scores) - cases[k].share) <
				    1e-9);
			expect(&t, cases[k].share > 1 ? TW_REFUSED_BIAS : NULL);
		}
}

/* 15 % of the mean power of its component. */
static void a_drift_has_a_limit(void **state)
{
	struct training t;

	(void)state;
	for (size_t c = 0; c < PARTS; c++)
		for (int sign = -1; sign <= 1; sign += 2) {
			set_up(&t);
			t.scores.drift[c].watts =
				sign * 0.149 * t.scores.score[0][c].mean;
			expect(&t, NULL);
			t.scores.drift[c].watts =
				sign * 0.151 * t.scores.score[0][c].mean;
			expect(&t, TW_REFUSED_DRIFT);
			/* An error that large is that of another time. */
			t.scores.score[0][c].mape = 60;
			expect(&t, TW_REFUSED_DRIFT);
		}
}

static void an_error_above_50_percent_is_too_large(void **state)
{
	struct training t;

	(void)state;
	for (size_t c = 0; c < PARTS; c++) {
		set_up(&t);
		t.scores.score[0][c].mape = 50;
		expect(&t, NULL);
		t.scores.score[0][c].mape = 51;
		expect(&t, TW_REFUSED_ERROR);
		/* Not known of one: the other's counts. */
		t.scores.score[0][1 - c].mape = NAN;
		expect(&t, TW_REFUSED_ERROR);
	}
}

/* A recording has several faults: the reason is the one that is earlier here. */
static void the_most_telling_reason_is_given(void **state)
{
	static const char *const order[] = {
		TW_REFUSED_POWER,   TW_REFUSED_ERROR,   TW_REFUSED_CPU_TIME,
		TW_REFUSED_BALANCE, TW_REFUSED_STEP,    TW_REFUSED_TIMES,
		TW_REFUSED_UNSEEN,  TW_REFUSED_NO_REST, TW_REFUSED_BIAS,
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(order); k++) {
		struct training t;

		set_up(&t);
		if (k == 0)
			t.y[0][7] = 500;
		t.scores.score[0][0].mape = k <= 1 ? 80 : 5;
		t.data.cpu_time_incomplete = k <= 2;
		t.data.unbalanced = k <= 3;
		t.data.step_uneven = k <= 4;
		t.data.times_differ = k <= 5;
		t.data.work_unseen = k <= 6;
		t.rest[1].shown = k > 7;
		t.scores.score[0][0].bias = 10;
		expect(&t, order[k]);
		assert_string_not_equal(tw_train_refusal_advice(order[k]), "train again");
		/* Without load an error, or CPU time that is missing or of others, says
		 * why. */
		if (k == 0)
			continue;
		for (size_t i = 0; i < ROWS; i++)
			t.x[i][0] = 500;
		expect(&t, k <= 3 ? order[k] : TW_REFUSED_NO_LOAD);
	}
	assert_string_equal(tw_train_refusal_advice("?"), "train again");
}

/* Ten rows of each of two loads: the line may be wrong by 2.5 standard errors of 1.2 %.
 */
static void few_readings_must_not_be_noisy(void **state)
{
	static const struct {
		double noise; /* W, in turns above and below */
		bool by_readings;
		const char *wanted;
	} cases[] = {
		{ 0.5, true, NULL },
		{ 9, true, TW_REFUSED_NOISE },
		/* Rows that have the energy of their work. */
		{ 9, false, NULL },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		struct training t;

		set_up(&t);
		t.data.rows = t.data.d.rows = 20;
		t.data.by_readings = cases[k].by_readings;
		for (size_t i = 0; i < 20; i++) {
			t.x[i][0] = i % 4 < 2 ? 0 : 2000;
			t.predicted[0][i] = package_at(t.x[i][0]);
			t.y[0][i] = t.predicted[0][i] +
				    (i % 2 == 0 ? 1 : -1) * cases[k].noise;
		}
		t.data.components = 1;
		t.scores.score[0][0].mean = 50;
		expect(&t, cases[k].wanted);
	}
}

/* ---- rows that show a reason ---- */

static void expect_rows(struct training *t, const char *why, const size_t *rows,
			size_t count)
{
	json_t *list = tw_train_refusal_rows(&t->scores, why);

	assert_int_equal(json_array_size(list), count);
	for (size_t k = 0; k < count; k++) {
		const size_t i = rows[k];
		char wanted[160];

		snprintf(wanted, sizeof(wanted),
			 ": %.1f W, predicted %.1f W, bpf_cpu_time_ms %.4g", t->y[0][i],
			 t->predicted[0][i], t->x[i][0]);
		if (strstr(json_string_value(json_array_get(list, k)), wanted) == NULL)
			fail_msg("row %zu: '%s', want '%s'", k,
				 json_string_value(json_array_get(list, k)), wanted);
	}
	json_decref(list);
}

static void five_rows_show_the_reason_best(void **state)
{
	static const size_t by_error[] = { 50, 10, 90, 30, 70 },
			    by_power[] = { 11, 13, 12, 27, 54 },
			    by_load[] = { 14, 16, 15, 27, 54 };
	struct training t;

	(void)state;
	set_up(&t);
	for (size_t k = 0; k < 5; k++)
		t.predicted[0][by_error[k]] += (k % 2 == 0 ? 1 : -1) * (30 - (double)k);
	expect_rows(&t, TW_REFUSED_ERROR, by_error, 5);
	t.y[0][11] = t.predicted[0][11] = 300;
	t.y[0][13] = t.predicted[0][13] = 200;
	t.y[0][12] = t.predicted[0][12] = 190;
	expect_rows(&t, TW_REFUSED_POWER, by_power, 5);
	t.x[14][0] = 9000;
	t.x[16][0] = 8000;
	t.x[15][0] = 7000;
	expect_rows(&t, TW_REFUSED_LOAD, by_load, 5);
	/* No row shows these. */
	expect_rows(&t, TW_REFUSED_DRIFT, NULL, 0);
	expect_rows(&t, TW_REFUSED_NO_LOAD, NULL, 0);
	/* There are no more rows. */
	t.data.rows = t.data.d.rows = 3;
	expect_rows(&t, TW_REFUSED_ERROR, (const size_t[]){ 0, 1, 2 }, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_recording_has_no_reason),
		cmocka_unit_test(power_has_a_limit),
		cmocka_unit_test(limits_of_dynamic_power_are_those_of_the_whole),
		cmocka_unit_test(load_has_a_limit),
		cmocka_unit_test(watts_of_a_cpu_have_limits),
		cmocka_unit_test(no_machine_draws_more_than_20_kw),
		cmocka_unit_test(modes_of_the_node_add_up),
		cmocka_unit_test(power_must_follow_the_load),
		cmocka_unit_test(load_is_that_of_the_first_component),
		cmocka_unit_test(a_mean_error_is_a_share_of_its_limit),
		cmocka_unit_test(a_drift_has_a_limit),
		cmocka_unit_test(an_error_above_50_percent_is_too_large),
		cmocka_unit_test(the_most_telling_reason_is_given),
		cmocka_unit_test(few_readings_must_not_be_noisy),
		cmocka_unit_test(five_rows_show_the_reason_best),
	};

	return cmocka_run_group_tests_name("refusal rules", tests, NULL, NULL);
}
