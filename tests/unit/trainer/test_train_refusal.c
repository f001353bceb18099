/* SPDX-License-Identifier: Apache-2.0 */
/* See also test_train: the reasons that need no recording. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "model-db/fitness.h"
#include "tests/unit/train_fixture.h"
#include "trainer/response/prom.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

#define METADATA "acpi/AbsPower/BPFOnly/LinearRegressionTrainer_0/metadata.json"

/* Rows of 10 s of a load, and the gauge's power: watts and a share of noise. */
struct load {
	size_t rows;
	double cpus, watts, noise;
	size_t held; /* rows of one reading */
};

/* Uniform in [-1, 1): xorshift64 (G. Marsaglia, 2003). */
static double draw(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return (double)(*s >> 11) / 4503599627370496.0 - 1;
}

/* A drift of the power from the begin on. */
struct drift {
	double watts_per_hour;
	double hours; /* then the power stays */
};

/* The loads in turn, `times` times, while the power drifts; the gauge shows whole watts.
 */
static struct tw_prom *record(const struct load *l, size_t loads, size_t times,
			      struct drift d)
{
	struct tw_buf cpu = { 0 }, watts = { 0 };
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };
	uint64_t seed = 1;
	double seconds = 0, reading = 0;
	size_t t = 1000;

	tw_buf_adds(&cpu, "{\"kepler_container_cpu_seconds_total\":[{\"metric\":{},"
			  "\"values\":[[1000,\"0\"]");
	for (size_t k = 0; k < loads * times; k++) {
		const struct load *a = &l[k % loads];

		for (size_t i = 0; i < a->rows; i++) {
			if (i % a->held == 0)
				reading = round(
					a->watts * (1 + a->noise * draw(&seed)) +
					d.watts_per_hour *
						fmin((double)(t - 1000) / 3600, d.hours));
			t += 10;
			seconds += 10 * a->cpus;
			tw_buf_addf(&cpu, ",[%zu,\"%.3f\"]", t, seconds);
			tw_buf_addf(&watts, ",[%zu,\"%.0f\"]", t, reading);
		}
	}
	tw_buf_adds(&cpu, "]}],\"kepler_platform_watts\":[{\"metric\":{\"source\":"
			  "\"acpi\"},\"values\":[[1000,\"101\"]");
	tw_buf_add(&cpu, watts.data, watts.len);
	tw_buf_adds(&cpu, "]}]}");
	if (tw_prom_parse(cpu.data, cpu.len, &p, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&watts);
	tw_buf_clear(&cpu);
	return p;
}

/* The metadata of a line; *quality (may be NULL) gets the lines for people. */
static json_t *train_drift(const struct load *l, size_t loads, size_t times,
			   struct drift d, struct tw_buf *quality)
{
	struct tw_prom *p = record(l, loads, times, d);
	struct tw_train_job job = train_make_job(NULL);
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };
	json_t *m;

	job.table_count = 0;
	train_set_response(&job, p);
	job.source = tw_energy_source_find("acpi");
	job.group = tw_feature_group_find("BPFOnly");
	assert_int_equal(tw_strs_adds(&job.abs_trainers, "LinearRegressionTrainer", &err),
			 0);
	if (tw_train(&job, &r, &err) < 0)
		fail_msg("%s", err.text);
	m = train_parse_file(&r, METADATA);
	if (quality != NULL)
		tw_buf_add(quality, r.quality.data, r.quality.len);
	tw_train_result_release(&r);
	tw_prom_free(p);
	train_release_job(&job);
	return m;
}

static json_t *train(const struct load *l, size_t loads, size_t times,
		     double watts_per_hour, struct tw_buf *quality)
{
	return train_drift(l, loads, times,
			   (struct drift){ watts_per_hour, (double)INFINITY }, quality);
}

/* wanted: why a model gets no certificate, or NULL. */
static void expect(const struct load *l, size_t loads, size_t times, const char *wanted)
{
	json_t *m = train(l, loads, times, 0, NULL);
	const char *why = json_string_value(json_object_get(m, TW_CERTIFICATE_REFUSED));

	if ((why == NULL) != (wanted == NULL) ||
	    (why != NULL && strcmp(why, wanted) != 0))
		fail_msg("%s", why != NULL ? why : "certified");
	assert_null(json_object_get(m, "platform_drift"));
	json_decref(m);
}

/* A day at rest, where the gauge shows the same watts, and ten minutes of each load. */
static void equal_readings_at_rest_are_no_noise_under_load(void **state)
{
	static const struct load loads[] = {
		{ 4000, 0.01, 101, 0.0005, 1 },
		{ 60, 2, 205, 0.035, 1 },
		{ 4580, 0.01, 101, 0.0005, 1 },
		{ 60, 3, 250, 0.035, 1 },
	};

	(void)state;
	expect(loads, 4, 1, NULL);
}

/* Each reading lasts six rows: 240 rows are 40 readings. */
static void a_reading_that_lasts_counts_once(void **state)
{
	for (size_t held = 1; held <= 6; held += 5) {
		const struct load loads[] = {
			{ 6, 0, 50, 0.12, held },
			{ 6, 3, 200, 0.12, held },
		};

		expect(loads, 2, 20, held > 1 ? TW_REFUSED_NOISE : NULL);
	}
	(void)state;
}

/* The same noise, at loads from which the line has to reach rest. */
static void noise_without_rest_makes_rest_uncertain(void **state)
{
	static const struct load loads[] = {
		{ 6, 1, 100, 0.12, 1 },
		{ 6, 3, 200, 0.12, 1 },
	};

	(void)state;
	expect(loads, 2, 20, TW_REFUSED_NOISE);
}

/* Loads from which the lines have to reach rest: the package is certain, and 10 % of the
 * power of dram is 1 % of the whole. */
static void noise_of_a_small_component_is_small(void **state)
{
	struct tw_train_result r = { 0 };
	struct tw_err err = { 0 };
	struct training t;
	uint64_t seed = 1;
	json_t *m;

	(void)state;
	train_set_up(&t, 60);
	for (size_t i = 0; i < t.d.rows; i++) {
		const double load = 1 + (double)(i * 17 % 40) / 20;

		tw_dataset_find(&t.d, "cpu_cycles")[i] = 1e9 * load;
		tw_dataset_find(&t.d, "package_power")[i] = 20 + 3 * load;
		tw_dataset_find(&t.d, "dram_power")[i] =
			(1 + 0.2 * load) * (1 + 0.1 * draw(&seed));
	}
	assert_int_equal(
		tw_strs_adds(&t.job.abs_trainers, "LinearRegressionTrainer", &err), 0);
	if (tw_train(&t.job, &r, &err) < 0)
		fail_msg("%s", err.text);
	m = train_parse_file(&r, "rapl-sysfs/AbsPower/CounterOnly/"
				 "LinearRegressionTrainer_0/metadata.json");
	if (json_object_get(m, TW_CERTIFICATE_REFUSED) != NULL)
		fail_msg("%s",
			 json_string_value(json_object_get(m, TW_CERTIFICATE_REFUSED)));
	json_decref(m);
	tw_train_result_release(&r);
	train_tear_down(&t);
}

/* CPUs that feed eight accelerators of 700 W. In milliwatts a machine has kilowatts, and
 * a CPU has them if its time is that of seconds.
 */
static void a_unit_is_wrong_beyond_what_a_machine_draws(void **state)
{
	static const struct {
		double cpus, rest, busy;
		const char *wanted;
	} cases[] = {
		{ 4, 2000, 8000, NULL },
		{ 0.004, 50, 80, TW_REFUSED_UNIT },
		{ 4, 50000, 80000, TW_REFUSED_UNIT },
		{ 8, 1.2, 2, NULL },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct load loads[] = {
			{ 20, 0, cases[i].rest, 0.001, 1 },
			{ 20, cases[i].cpus, cases[i].busy, 0.001, 1 },
		};

		expect(loads, 2, 8, cases[i].wanted);
	}
}

/* The watts that a load adds are noise divided by next to nothing. */
static void a_load_that_never_changes_is_no_wrong_unit(void **state)
{
	static const struct load loads[] = { { 100, 0.5, 2000, 0.005, 1 },
					     { 100, 0.5, 2010, 0.005, 1 } };

	(void)state;
	expect(loads, 2, 1, TW_REFUSED_NO_LOAD);
}

static double number(const json_t *m, const char *key)
{
	const json_t *v = json_object_get(m, key);

	assert_true(json_is_number(v));
	return json_number_value(v);
}

static const struct load steady[] = { { 6, 0, 50, 0.02, 1 }, { 6, 3, 200, 0.02, 1 } };

/* 40 minutes: the next recording has 4 W more. */
static void a_drift_is_part_of_the_claims(void **state)
{
	json_t *still = train(steady, 2, 20, 0, NULL);
	json_t *drifting = train(steady, 2, 20, 6, NULL);

	(void)state;
	assert_null(json_object_get(still, "platform_drift"));
	assert_null(json_object_get(drifting, TW_CERTIFICATE_REFUSED));
	assert_in_range((int)round(number(drifting, "platform_drift")), 5, 7);
	assert_true(number(drifting, "platform_bias") < -3);
	assert_true(number(drifting, "platform_mae") > number(still, "platform_mae") + 2);
	assert_true(number(drifting, TW_CERTIFICATE_BIAS) >
		    number(still, TW_CERTIFICATE_BIAS));
	json_decref(still);
	json_decref(drifting);
}

static void a_large_drift_costs_the_certificate(void **state)
{
	struct tw_buf quality = { 0 };
	json_t *m = train(steady, 2, 20, 45, &quality);

	(void)state;
	assert_string_equal(json_string_value(json_object_get(m, TW_CERTIFICATE_REFUSED)),
			    TW_REFUSED_DRIFT);
	tw_buf_add(&quality, "", 1);
	if (strstr(quality.data, TW_REFUSED_DRIFT "; record again") == NULL ||
	    strstr(quality.data, "; drift of platform: 4") == NULL ||
	    strstr(quality.data, " W an hour\n") == NULL)
		fail_msg("%s", quality.data);
	tw_buf_clear(&quality);
	json_decref(m);
}

/*
 * 40 minutes of a drift that costs the certificate, and four hours and a half without
 * one: an online training whose window has so much is published again.
 */
static void a_drift_that_has_ended_is_forgiven(void **state)
{
	static const struct drift d = { 45, 40.0 / 60 };
	json_t *during = train_drift(steady, 2, 20, d, NULL);
	json_t *after = train_drift(steady, 2, 160, d, NULL);

	(void)state;
	assert_string_equal(
		json_string_value(json_object_get(during, TW_CERTIFICATE_REFUSED)),
		TW_REFUSED_DRIFT);
	assert_null(json_object_get(after, TW_CERTIFICATE_REFUSED));
	json_decref(during);
	json_decref(after);
}

/* The next recording has less than nothing at rest. */
static void errors_by_a_drift_are_no_wrong_step(void **state)
{
	static const struct load falling[] = { { 6, 0, 80, 0.02, 1 },
					       { 6, 3, 250, 0.02, 1 } };
	json_t *m = train(falling, 2, 20, -100, NULL);

	(void)state;
	assert_true(number(m, "platform_mape") > 50);
	assert_string_equal(json_string_value(json_object_get(m, TW_CERTIFICATE_REFUSED)),
			    TW_REFUSED_DRIFT);
	json_decref(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_readings_at_rest_are_no_noise_under_load),
		cmocka_unit_test(a_reading_that_lasts_counts_once),
		cmocka_unit_test(noise_without_rest_makes_rest_uncertain),
		cmocka_unit_test(noise_of_a_small_component_is_small),
		cmocka_unit_test(a_unit_is_wrong_beyond_what_a_machine_draws),
		cmocka_unit_test(a_load_that_never_changes_is_no_wrong_unit),
		cmocka_unit_test(a_drift_is_part_of_the_claims),
		cmocka_unit_test(a_large_drift_costs_the_certificate),
		cmocka_unit_test(a_drift_that_has_ended_is_forgiven),
		cmocka_unit_test(errors_by_a_drift_are_no_wrong_step),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("train_refusal", tests, NULL, NULL);
}
