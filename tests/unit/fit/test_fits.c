/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/pool.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/fit/fits.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/trainer.h"

#include <stdatomic.h>
#include <time.h>

/* A trainer that counts its fits and writes the sum of the power. */
static atomic_size_t fitted;
/* Fits take a millisecond, so that another thread waits for the text. */
static bool slowly;

static int fit_sum(const struct tw_trainer *self, const struct tw_samples *s,
		   uint64_t seed, struct tw_buf *text, struct tw_err *err)
{
	double sum = 0;

	(void)self;
	(void)seed;
	atomic_fetch_add(&fitted, 1);
	if (slowly)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	for (size_t r = 0; r < s->rows; r++)
		sum += s->y[r];
	if (sum < 0)
		return tw_fail(err, TW_INVALID, "power below 0 W");
	tw_buf_addf(text, "%g;", sum);
	return 0;
}

static const struct tw_trainer sum = { .name = "Sum", .fit = fit_sum },
			       other = { .name = "Other", .fit = fit_sum };
static const char *const names[] = { "a" }, *const others[] = { "b" };
static const double x[] = { 1, 2, 3 }, x2[] = { 1, 2, 4 }, y[] = { 10, 20, 30 },
		    y2[] = { 10, 20, 31 }, negative[] = { -1, 0, 0 };

static struct tw_samples samples(void)
{
	return (struct tw_samples){
		.rows = 3, .cols = 1, .x = x, .y = y, .features = names
	};
}

static void fit(struct tw_fits *f, const struct tw_trainer *t, const struct tw_samples *s,
		uint64_t seed, const char *text, size_t fits)
{
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };

	tw_buf_adds(&b, "before ");
	assert_int_equal(tw_fits_fit(f, t, s, seed, &b, &err), 0);
	assert_string_equal(b.data, text);
	assert_int_equal(atomic_load(&fitted), fits);
	tw_buf_clear(&b);
}

static void every_second_fit_is_spared(void **state)
{
	struct tw_fits *f = tw_fits_new();
	const struct tw_samples s = samples();

	(void)state;
	atomic_store(&fitted, 0);
	fit(f, &sum, &s, 1, "before 60;", 1);
	fit(f, &sum, &s, 1, "before 60;", 1);
	fit(f, &sum, &s, 1, "before 60;", 2);
	assert_int_equal(tw_fits_shared(f), 1);
	fit(NULL, &sum, &s, 1, "before 60;", 3);
	tw_fits_free(f);
	tw_fits_free(NULL);
}

static void any_other_content_is_another_fit(void **state)
{
	static const bool work[] = { true };
	static const struct tw_rest rest = { .watts = 5 },
				    shown = { .watts = 5, .shown = true };
	struct tw_fits *f = tw_fits_new();
	struct tw_samples s[10];

	(void)state;
	for (size_t i = 0; i < 10; i++)
		s[i] = samples();
	s[1].x = x2;
	s[2].y = y2;
	s[3].features = others;
	s[4].component = TW_DRAM;
	s[5].from_zero = true;
	s[6].unconstrained = true;
	s[7].rest = &rest;
	s[8].rest = &shown;
	s[9].work = work;
	atomic_store(&fitted, 0);
	for (size_t i = 0; i < 10; i++)
		fit(f, &sum, &s[i], 1, i == 2 ? "before 61;" : "before 60;", i + 1);
	fit(f, &sum, &s[0], 2, "before 60;", 11);
	fit(f, &other, &s[0], 1, "before 60;", 12);
	assert_int_equal(tw_fits_shared(f), 0);
	tw_fits_free(f);
}

static void a_fit_that_fails_is_tried_again(void **state)
{
	struct tw_fits *f = tw_fits_new();
	struct tw_samples s = samples();

	(void)state;
	s.y = negative;
	atomic_store(&fitted, 0);
	for (size_t i = 1; i < 3; i++) {
		struct tw_buf b = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_fits_fit(f, &sum, &s, 1, &b, &err), -1);
		assert_string_equal(err.text, "power below 0 W");
		assert_int_equal(atomic_load(&fitted), i);
		tw_buf_clear(&b);
	}
	tw_fits_free(f);
}

static void fit_of_thread(void *arg, size_t i)
{
	const struct tw_samples s = samples();
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_fits_fit(arg, &sum, &s, i / 2, &b, &err), 0);
	assert_string_equal(b.data, "60;");
	tw_buf_clear(&b);
}

static void threads_share_fits(void **state)
{
	struct tw_fits *f = tw_fits_new();

	(void)state;
	atomic_store(&fitted, 0);
	slowly = true;
	tw_pool_run(200, 4, fit_of_thread, f);
	slowly = false;
	assert_int_equal(atomic_load(&fitted), 100);
	assert_int_equal(tw_fits_shared(f), 100);
	tw_fits_free(f);
}

static void without_memory_nothing_is_shared_or_an_error_is_told(void **state)
{
	const struct tw_samples s = samples();

	(void)state;
	for (int n = 1;; n++) {
		struct tw_fits *f = tw_fits_new();
		struct tw_buf b = { 0 };
		struct tw_err err = { 0 };
		int rc;
		bool hit;

		fail_alloc_at(n);
		rc = tw_fits_fit(f, &sum, &s, 1, &b, &err);
		hit = fail_alloc_hit();
		assert_true(rc == 0 ? !tw_buf_failed(&b) : hit && err.code == TW_NOMEM);
		tw_buf_clear(&b);
		tw_fits_free(f);
		if (!hit)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_second_fit_is_spared),
		cmocka_unit_test(any_other_content_is_another_fit),
		cmocka_unit_test(a_fit_that_fails_is_tried_again),
		cmocka_unit_test(threads_share_fits),
		cmocka_unit_test(without_memory_nothing_is_shared_or_an_error_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
