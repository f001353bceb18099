/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/quick.h"
#include "tests/unit/simulated_service.h"
#include "trainer/unit/unit_fit.h"

#include <math.h>
#include <string.h>

static int fit(const struct simulated_law *law, uint64_t block_ms,
	       struct tw_unit_fit *out, struct tw_err *err)
{
	struct simulated_service s;
	struct tw_unit_blocks b = { 0 };
	int rc = -1;

	simulated_service_make(&s, law);
	s.in.block_ms = block_ms;
	if (tw_unit_blocks_make(&s.in, &b, err) == 0 && tw_unit_fit(&b, out, err) == 0)
		rc = 0;
	tw_unit_blocks_release(&b);
	simulated_service_release(&s);
	return rc;
}

static void expect_joules(const char *what, const struct tw_unit_value *v, double truth,
			  double share)
{
	if (!(fabs(v->at / truth - 1) <= share))
		fail_msg("%s: %.6g, not %.6g", what, v->at, truth);
	assert_true(v->low <= v->at && v->at <= v->high);
}

/* Without noise only the samples' times and whole units are in the way. */
static void a_law_is_found(void **state)
{
	struct simulated_law law = simulated_law_make(6 * 3600);
	struct tw_unit_fit f = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	law.noise_w = 0;
	if (fit(&law, 0, &f, &err) < 0)
		fail_msg("%s", err.text);
	expect_joules("standing", &f.standing_w, law.standing_w, 0.01);
	expect_joules("a", &f.work[0].joules, law.unit_j[0], 0.01);
	expect_joules("b", &f.work[1].joules, law.unit_j[1], 0.01);
	assert_true(f.r2 > 0.99 && f.work[0].vif < 1.5);
	tw_unit_fit_release(&f);
}

/* Loads of 5 s against samples each 15 s: least squares without instruments finds 8 % too
 * few joules. */
static void loads_shorter_than_a_scrape_cost_no_joules(void **state)
{
	struct simulated_law law = simulated_law_make(6 * 3600);
	struct tw_unit_fit f = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	law.noise_w = 0;
	law.seconds = 24 * 3600;
	law.memory_s[0] = law.memory_s[1] = 5;
	if (fit(&law, 0, &f, &err) < 0)
		fail_msg("%s", err.text);
	expect_joules("standing", &f.standing_w, law.standing_w, 0.03);
	expect_joules("a", &f.work[0].joules, law.unit_j[0], 0.03);
	expect_joules("b", &f.work[1].joules, law.unit_j[1], 0.03);
	tw_unit_fit_release(&f);
}

static void work_without_energy_has_no_joules(void **state)
{
	struct simulated_law law = simulated_law_make(6 * 3600);
	struct tw_unit_fit f = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	law.unit_j[1] = 0;
	if (fit(&law, 0, &f, &err) < 0)
		fail_msg("%s", err.text);
	expect_joules("a", &f.work[0].joules, law.unit_j[0], 0.05);
	assert_true(f.work[1].joules.low <= 0 && f.work[1].joules.high > 0);
	assert_true(f.work[1].joules.high < 1e-3 && !f.work[1].joules.falls);
	tw_unit_fit_release(&f);
}

/* Power that falls with work: 0 J, and said. */
static void work_that_takes_energy_away_is_named(void **state)
{
	struct simulated_law law = simulated_law_make(6 * 3600);
	struct tw_unit_fit f = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	law.standing_w = 60;
	law.unit_j[1] = -0.02;
	if (fit(&law, 0, &f, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(f.work[1].joules.falls && !f.work[0].joules.falls);
	assert_true(f.work[1].joules.at <= 0 && f.work[1].joules.high <= 0);
	tw_unit_fit_release(&f);
}

/* By their definitions, of the blocks; the noise is known. */
static void the_figures_of_a_fit_add_up(void **state)
{
	struct simulated_law law = simulated_law_make(6 * 3600);
	struct simulated_service s;
	struct tw_unit_blocks b = { 0 };
	struct tw_unit_fit f = { 0 };
	struct tw_err err = { 0 };
	double seconds = 0, energy_j = 0, idle_j = 0, units[2] = { 0 }, wrong = 0,
	       varies = 0;

	(void)state;
	simulated_service_make(&s, &law);
	if (tw_unit_blocks_make(&s.in, &b, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < b.count; i++)
		b.idle_j[i] = 5 + (double)i;
	if (tw_unit_fit(&b, &f, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < b.count; i++) {
		double predicted_j = f.standing_w.at * tw_unit_block_s(&b, i);

		seconds += tw_unit_block_s(&b, i);
		energy_j += b.energy_j[i];
		idle_j += b.idle_j[i];
		for (size_t k = 0; k < 2; k++) {
			units[k] += b.work[2 * i + k];
			predicted_j += f.work[k].joules.at * b.work[2 * i + k];
		}
		assert_float_equal(f.predicted_j[i], predicted_j, 1e-6);
	}
	for (size_t i = 0; i < b.count; i++) {
		const double s_i = tw_unit_block_s(&b, i),
			     wrong_w = (b.energy_j[i] - f.predicted_j[i]) / s_i,
			     off_w = b.energy_j[i] / s_i - energy_j / seconds;

		wrong += wrong_w * wrong_w * s_i;
		varies += off_w * off_w * s_i;
	}
	assert_float_equal(f.seconds, seconds, 1e-6);
	assert_float_equal(f.energy_j, energy_j, 1e-3);
	assert_float_equal(f.idle_j, idle_j, 1e-3);
	assert_true(f.energy_j > 0 && f.seconds > law.seconds * 0.9);
	for (size_t k = 0; k < 2; k++) {
		assert_float_equal(f.work[k].units, units[k], 1e-3);
		assert_float_equal(f.work[k].share,
				   f.work[k].joules.at * units[k] / energy_j, 1e-9);
	}
	assert_float_equal(f.residual_w, sqrt(wrong / seconds), 1e-6);
	assert_float_equal(f.r2, 1 - wrong / varies, 1e-9);
	assert_true(f.residual_w > law.noise_w * 0.7 && f.residual_w < law.noise_w * 1.3);
	tw_unit_fit_release(&f);
	tw_unit_blocks_release(&b);
	simulated_service_release(&s);
}

/* The same law of a machine of another size. */
static void scale(struct simulated_law *law, double by)
{
	law->standing_w *= by;
	law->noise_w *= by;
	for (size_t k = 0; k < law->works; k++)
		law->unit_j[k] *= by;
}

/* A service of milliwatts is as well known as one of kilowatts. */
static void a_law_has_any_scale(void **state)
{
	static const double scales[] = { 1e-5, 1e5 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(scales); i++) {
		struct simulated_law law = simulated_law_make(6 * 3600);
		struct tw_unit_fit f = { 0 };
		struct tw_err err = { 0 };

		law.noise_w = 0;
		scale(&law, scales[i]);
		if (fit(&law, 0, &f, &err) < 0)
			fail_msg("%s", err.text);
		expect_joules("standing", &f.standing_w, law.standing_w, 0.01);
		expect_joules("a", &f.work[0].joules, law.unit_j[0], 0.01);
		expect_joules("b", &f.work[1].joules, law.unit_j[1], 0.01);
		assert_true(f.r2 > 0.99);
		tw_unit_fit_release(&f);
	}
}

/* ---- blocks of an exact law ---- */

#define BLOCKS 24
#define BLOCK_S 64
#define WORKS 3

static const double joules[WORKS] = { 0.5, 0.02, 3 };

struct made {
	int64_t bound_ms[BLOCKS + 1];
	double energy_j[BLOCKS], idle_j[BLOCKS], work[BLOCKS * WORKS],
		inner_work[BLOCKS * WORKS];
	struct tw_unit_blocks b;
};

/* The k-th of patterns of -1 and 1 that are independent of each other and have no mean.
 */
static double pattern(size_t k, size_t block)
{
	return (block >> k & 1) != 0 ? 1 : -1;
}

/* Work is 100 units and 10 times a mix of the patterns, and so is that without ends. */
static void make_blocks(struct made *m, const double work[WORKS][WORKS],
			const double inner[WORKS][WORKS])
{
	m->b = (struct tw_unit_blocks){ .count = BLOCKS,
					.works = WORKS,
					.name = { "a", "b", "c" },
					.bound_ms = m->bound_ms,
					.energy_j = m->energy_j,
					.idle_j = m->idle_j,
					.work = m->work,
					.inner_work = m->inner_work };
	m->bound_ms[0] = 0;
	for (size_t i = 0; i < BLOCKS; i++) {
		m->bound_ms[i + 1] = m->bound_ms[i] + BLOCK_S * 1000;
		m->energy_j[i] = 6 * BLOCK_S;
		m->idle_j[i] = 0;
		for (size_t k = 0; k < WORKS; k++) {
			double *w = &m->work[i * WORKS + k];
			double *z = &m->inner_work[i * WORKS + k];

			*w = *z = 100;
			for (size_t of = 0; of < WORKS; of++) {
				*w += 10 * work[k][of] * pattern(of, i);
				*z += 10 * inner[k][of] * pattern(of, i);
			}
			m->energy_j[i] += joules[k] * *w;
		}
	}
}

static const double apart[WORKS][WORKS] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };

/* Also where the first instrument and its counter do not correlate by themselves. */
static void an_exact_law_is_found_by_any_instruments(void **state)
{
	static const double mixed[WORKS][WORKS] = { { 0, 1, 1 },
						    { 1, -0.5, -1 },
						    { 1, -1, -0.5 } };
	struct tw_unit_fit f = { 0 };
	struct tw_err err = { 0 };
	struct made m;

	(void)state;
	for (int i = 0; i < 2; i++) {
		make_blocks(&m, apart, i == 0 ? apart : mixed);
		if (tw_unit_fit(&m.b, &f, &err) < 0)
			fail_msg("%s", err.text);
		expect_joules("standing", &f.standing_w, 6, 1e-9);
		for (size_t k = 0; k < WORKS; k++)
			expect_joules(m.b.name[k], &f.work[k].joules, joules[k], 1e-9);
		assert_float_equal(f.work[2].vif, 1, 1e-9);
		assert_float_equal(f.r2, 1, 1e-9);
		tw_unit_fit_release(&f);
	}
}

/* The partner of a counter is of those before and behind it, with either sign. */
static void the_partner_moves_most_alike(void **state)
{
	static const double work[WORKS][WORKS] = { { 1, 0, 0 },
						   { 0.3, 1, 0 },
						   { -0.9, 0, 0.4 } };
	struct tw_unit_fit f = { 0 };
	struct tw_err err = { 0 };
	struct made m;

	(void)state;
	make_blocks(&m, work, work);
	if (tw_unit_fit(&m.b, &f, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(f.work[0].partner, 2);
	assert_float_equal(f.work[0].correlation, -0.9 / sqrt(0.97), 1e-9);
	assert_int_equal(f.work[1].partner, 0);
	assert_float_equal(f.work[1].correlation, 0.3 / sqrt(1.09), 1e-9);
	assert_int_equal(f.work[2].partner, 0);
	tw_unit_fit_release(&f);
	/* Alone, a counter has none. */
	m.b.works = 1;
	if (tw_unit_fit(&m.b, &f, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(f.work[0].partner == SIZE_MAX);
	tw_unit_fit_release(&f);
}

static void constant_power_explains_nothing(void **state)
{
	struct tw_unit_fit f = { 0 };
	struct tw_err err = { 0 };
	struct made m;

	(void)state;
	for (int w = 1; w < 16; w++) {
		make_blocks(&m, apart, apart);
		for (size_t i = 0; i < BLOCKS; i++)
			m.energy_j[i] = w * BLOCK_S;
		if (tw_unit_fit(&m.b, &f, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(isnan(f.r2));
		expect_joules("standing", &f.standing_w, w, 1e-9);
		tw_unit_fit_release(&f);
	}
}

static void work_at_the_ends_alone_is_refused(void **state)
{
	struct tw_unit_fit f = { 0 };
	struct tw_err err = { 0 };
	struct made m;

	(void)state;
	make_blocks(&m, apart, apart);
	for (size_t i = 0; i < BLOCKS; i++)
		m.inner_work[i * WORKS + 2] = 0;
	assert_int_equal(tw_unit_fit(&m.b, &f, &err), -1);
	assert_string_equal(err.text, "c grows by 2400, too little: record longer");
}

/* ---- refusals ---- */

static void refuse(const struct simulated_law *law, const char *begin)
{
	struct tw_unit_fit f = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(fit(law, 0, &f, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	if (strncmp(err.text, begin, strlen(begin)) != 0)
		fail_msg("%s", err.text);
}

static void counters_that_move_together_are_refused(void **state)
{
	struct simulated_law law = simulated_law_make(6 * 3600);

	(void)state;
	/* In proportion; the samples of each have their own times and whole units. */
	law.mixed = 1;
	refuse(&law, "a_total moves together with b_total (correlation 1.0000");
	law.jitter_s = 10;
	refuse(&law, "a_total moves together with b_total (correlation 0.99");
	/* What differs is more than the noise of the samples, and less than that of
	 * power. */
	law = simulated_law_make(6 * 3600);
	law.mixed = 0.97;
	refuse(&law, "a_total moves together with b_total (correlation 0.99");
	scale(&law, 1e-4);
	refuse(&law, "a_total moves together with b_total (correlation 0.99");
}

/* The same counters are told apart where power has no noise: what differs is enough. */
static void counters_that_nearly_move_together_are_told_apart(void **state)
{
	struct simulated_law law = simulated_law_make(6 * 3600);
	struct tw_unit_fit f = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	law.mixed = 0.8;
	law.noise_w = 0.01;
	for (int i = 0; i < 2; i++) {
		if (fit(&law, 0, &f, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(f.work[0].vif > TW_UNIT_VIF_MAX);
		assert_int_equal(f.work[0].partner, 1);
		expect_joules("a", &f.work[0].joules, law.unit_j[0], 0.05);
		expect_joules("b", &f.work[1].joules, law.unit_j[1], 0.05);
		tw_unit_fit_release(&f);
		scale(&law, 1e4);
	}
}

static void a_constant_load_is_refused(void **state)
{
	struct simulated_law law = simulated_law_make(6 * 3600);

	(void)state;
	law.memory_s[0] = 0;
	refuse(&law, "a_total changes by 0.");
}

static void too_little_is_refused(void **state)
{
	struct simulated_law law = simulated_law_make(6 * 3600);

	(void)state;
	law.seconds = 1200;
	refuse(&law, "19 blocks of 60");
	law = simulated_law_make(6 * 3600);
	law.rate[1] = 0;
	refuse(&law, "b_total does not grow: no work");
	law = simulated_law_make(6 * 3600);
	law.standing_w = law.unit_j[0] = law.unit_j[1] = law.noise_w = 0;
	refuse(&law, "the energy does not grow");
}

static void every_failed_allocation_is_reported(void **state)
{
	struct simulated_law law = simulated_law_make(6 * 3600);
	struct tw_unit_blocks b = { 0 };
	struct simulated_service s;
	struct tw_err err = { 0 };

	(void)state;
	law.seconds = 3600;
	simulated_service_make(&s, &law);
	if (tw_unit_blocks_make(&s.in, &b, &err) < 0)
		fail_msg("%s", err.text);
	for (int n = 1;; n++) {
		struct tw_unit_fit f = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_unit_fit(&b, &f, &err);
		tw_unit_fit_release(&f);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 4);
			break;
		}
		tw_err_clear(&err);
	}
	tw_unit_blocks_release(&b);
	simulated_service_release(&s);
}

/* ---- intervals ---- */

#define RECORDINGS 100

struct coverage {
	int held;
	double bias, half; /* means, as shares of the value */
};

static void count(struct coverage *c, const struct tw_unit_value *v, double truth)
{
	c->held += v->low <= truth && truth <= v->high;
	c->bias += (v->at / truth - 1) / RECORDINGS;
	c->half += (v->high - v->low) / 2 / truth / RECORDINGS;
}

/* 85 to 95 of 100 recordings with the value in its interval, and no bias to speak of. */
static void cover(const char *what, struct simulated_law law)
{
	static const char *const names[] = { "standing", "a", "b" };
	struct coverage c[3] = { { 0 } };

	for (int i = 0; i < RECORDINGS; i++) {
		struct tw_unit_fit f = { 0 };
		struct tw_err err = { 0 };

		law.seed = (uint64_t)i + 1;
		if (fit(&law, 0, &f, &err) < 0)
			fail_msg("%s: %s", what, err.text);
		count(&c[0], &f.standing_w, law.standing_w);
		for (size_t k = 0; k < law.works; k++)
			count(&c[1 + k], &f.work[k].joules, law.unit_j[k]);
		tw_unit_fit_release(&f);
	}
	for (size_t k = 0; k < TW_COUNT(c); k++) {
		print_message("%s: %s: %d of %d intervals hold, half %.2f %%, bias %+.2f "
			      "%%\n",
			      what, names[k], c[k].held, RECORDINGS, 100 * c[k].half,
			      100 * c[k].bias);
		assert_in_range(c[k].held, 85, 95);
		assert_true(fabs(c[k].bias) < 0.01);
	}
}

static void intervals_hold_the_value_in_nine_of_ten_recordings(void **state)
{
	struct simulated_law law = simulated_law_make(6 * 3600);

	(void)state;
	cover("samples each 15 s", law);
	if (quick())
		return;
	law.energy_scrape_s = 5;
	law.work_scrape_s = 30;
	cover("samples each 5 s and 30 s", law);
	law = simulated_law_make(6 * 3600);
	law.memory_s[0] = law.memory_s[1] = 5;
	cover("loads of 5 s", law);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_law_is_found),
		cmocka_unit_test(loads_shorter_than_a_scrape_cost_no_joules),
		cmocka_unit_test(work_without_energy_has_no_joules),
		cmocka_unit_test(work_that_takes_energy_away_is_named),
		cmocka_unit_test(the_figures_of_a_fit_add_up),
		cmocka_unit_test(a_law_has_any_scale),
		cmocka_unit_test(an_exact_law_is_found_by_any_instruments),
		cmocka_unit_test(the_partner_moves_most_alike),
		cmocka_unit_test(constant_power_explains_nothing),
		cmocka_unit_test(work_at_the_ends_alone_is_refused),
		cmocka_unit_test(counters_that_move_together_are_refused),
		cmocka_unit_test(counters_that_nearly_move_together_are_told_apart),
		cmocka_unit_test(a_constant_load_is_refused),
		cmocka_unit_test(too_little_is_refused),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(intervals_hold_the_value_in_nine_of_ten_recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
