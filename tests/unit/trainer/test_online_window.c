/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "trainer/online/models.h"
#include "trainer/online/window.h"

#include <math.h>
#include <string.h>

/* Add a segment of 10 rows with that load, in ms of CPU time a second. */
static void add(struct tw_segments *w, double load, bool held)
{
	const int64_t from_ms = w->count > 0 ? w->at[w->count - 1].to_ms : 0;
	const struct tw_segment g = { .from_ms = from_ms,
				      .to_ms = from_ms + 1000,
				      .rows = 10,
				      .bytes = 100,
				      .held = held,
				      .feature = { tw_feature_find("bpf_cpu_time_ms") },
				      .mean = { load },
				      .features = 1,
				      .load_low = load,
				      .load_high = load };
	struct tw_err err = { 0 };

	assert_int_equal(tw_segments_add(w, &g, &err), 0);
}

static void drop(struct tw_segments *w, size_t i)
{
	memmove(&w->at[i], &w->at[i + 1], (w->count - i - 1) * sizeof(w->at[0]));
	w->count--;
}

static size_t count_of(const struct tw_segments *w, double load)
{
	size_t n = 0;

	for (size_t i = 0; i < w->count; i++)
		n += w->at[i].mean[0] == load;
	return n;
}

static void rare_states_stay_when_more_of_the_same_comes(void **state)
{
	const struct tw_window_limits limits = { 100, 1 << 20 };
	struct tw_segments w = { 0 };

	(void)state;
	add(&w, 0, false);
	add(&w, 1000, false);
	add(&w, 720, false);
	for (int i = 0; i < 100; i++) {
		add(&w, 500 + i % 7, false);
		while (tw_window_full(&w, &limits))
			drop(&w, tw_window_surplus(&w));
	}
	assert_int_equal(w.count, 10);
	assert_int_equal(count_of(&w, 0), 1);
	assert_int_equal(count_of(&w, 1000), 1);
	assert_int_equal(count_of(&w, 720), 1);
	tw_segments_release(&w);
}

static void of_two_that_are_alike_the_older_goes(void **state)
{
	struct tw_segments w = { 0 };

	(void)state;
	add(&w, 100, false);
	add(&w, 500, false);
	add(&w, 900, false);
	add(&w, 501, false);
	assert_int_equal(tw_window_surplus(&w), 1);
	tw_segments_release(&w);
}

static void a_quarter_stays_held_out(void **state)
{
	const struct tw_window_limits limits = { 400, 1 << 20 };
	struct tw_segments w = { 0 };
	size_t held = 0;

	(void)state;
	for (int i = 0; i < 400; i++) {
		add(&w, (i * 37) % 1000, tw_window_holds_out(60000 * i, 60000 * (i + 1)));
		while (tw_window_full(&w, &limits))
			drop(&w, tw_window_surplus(&w));
	}
	for (int i = 0; i < 400; i += 4) {
		int of_four = 0;

		for (int k = i; k < i + 4; k++)
			of_four += tw_window_holds_out(1000 * k, 1000 * (k + 1));
		assert_int_equal(of_four, 1);
	}
	for (size_t i = 0; i < w.count; i++)
		held += w.at[i].held;
	assert_in_range(held, 8, 12);
	tw_segments_release(&w);
}

static void either_limit_counts_and_one_segment_always_stays(void **state)
{
	struct tw_segments w = { 0 };

	(void)state;
	add(&w, 1, false);
	assert_false(tw_window_full(&w, &(const struct tw_window_limits){ 1, 1 }));
	add(&w, 2, false);
	assert_true(tw_window_full(&w, &(const struct tw_window_limits){ 19, 1000 }));
	assert_true(tw_window_full(&w, &(const struct tw_window_limits){ 20, 199 }));
	assert_false(tw_window_full(&w, &(const struct tw_window_limits){ 20, 200 }));
	tw_segments_release(&w);
}

static void runs_end_at_gaps_and_at_glitches(void **state)
{
	static const size_t wanted[][2] = { { 0, 2 }, { 3, 3 }, { 5, 6 } };
	const struct tw_window_choice train = { 0 };
	struct tw_segments w = { 0 };
	struct tw_window_run run;
	size_t at = 0;

	(void)state;
	for (int i = 0; i < 7; i++)
		add(&w, i, i == 2);
	w.at[3].from_ms += 500;
	w.at[4].glitch = true;
	for (size_t i = 0; i < 3; i++) {
		assert_true(tw_window_next_run(&w, 0, &at, &run));
		assert_int_equal(run.first, wanted[i][0]);
		assert_int_equal(run.last, wanted[i][1]);
	}
	assert_false(tw_window_next_run(&w, 0, &at, &run));
	assert_int_equal(tw_window_rows(&w, train), 50);
	assert_int_equal(
		tw_window_rows(&w, (struct tw_window_choice){ .after_ms = 3000 }), 30);
	tw_segments_release(&w);
}

static void segments_cover_the_machine_from_rest_to_load(void **state)
{
	struct tw_segments w = { 0 };

	(void)state;
	add(&w, 0, false);
	add(&w, 1000, false);
	add(&w, 50, false);
	assert_false(tw_window_covers(&w, 2000));
	add(&w, 850, true);
	assert_true(tw_window_covers(&w, 2000));
	assert_false(tw_window_covers(&w, 3000));
	/* One spike in twenty is no range to reach. */
	for (int i = 0; i < 20; i++)
		add(&w, i % 2 == 0 ? 10 : 800, false);
	add(&w, 9000, false);
	add(&w, 0, false);
	add(&w, 790, false);
	assert_true(tw_window_covers(&w, 25000));
	tw_segments_release(&w);
}

static struct tw_live_interval interval(int64_t from_ms, double error_w)
{
	return (struct tw_live_interval){
		from_ms,
		{ .rows = 10, .error_sum_w = 10 * error_w, .bias_sum_w = 10 * error_w }
	};
}

static void a_live_error_is_of_the_last_intervals(void **state)
{
	struct tw_live l = { 0 };

	(void)state;
	assert_true(isnan(tw_live_mae_w(&l)));
	for (int i = 0; i < 20; i++)
		tw_live_add(&l, &(const struct tw_live_interval){ 0 });
	assert_int_equal(l.count, 0);
	for (int i = 0; i < 20; i++) {
		const struct tw_live_interval x = interval(i, i < 17 ? 0.5 : 2.0);

		tw_live_add(&l, &x);
	}
	assert_int_equal(l.count, TW_LIVE_INTERVALS);
	assert_true(fabs(tw_live_mae_w(&l) - 1.4) < 1e-12);
	assert_true(fabs(tw_live_drift(&l, 0.5) - 2.8) < 1e-12);
	assert_int_equal(tw_live_onset_ms(&l, 0.5), 17);
	/* The same interval again replaces the last. */
	tw_live_add(&l, &(const struct tw_live_interval){ 19, { 10, 5, 5, 0 } });
	assert_int_equal(l.count, TW_LIVE_INTERVALS);
	assert_true(fabs(tw_live_mae_w(&l) - 1.1) < 1e-12);
}

static void one_interval_is_no_drift(void **state)
{
	const struct tw_live_interval x = interval(0, 9);
	struct tw_live l = { 0 };

	(void)state;
	tw_live_add(&l, &x);
	assert_true(isnan(tw_live_drift(&l, 0.5)));
	assert_true(isnan(tw_live_drift(&l, NAN)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rare_states_stay_when_more_of_the_same_comes),
		cmocka_unit_test(of_two_that_are_alike_the_older_goes),
		cmocka_unit_test(a_quarter_stays_held_out),
		cmocka_unit_test(either_limit_counts_and_one_segment_always_stays),
		cmocka_unit_test(runs_end_at_gaps_and_at_glitches),
		cmocka_unit_test(segments_cover_the_machine_from_rest_to_load),
		cmocka_unit_test(a_live_error_is_of_the_last_intervals),
		cmocka_unit_test(one_interval_is_no_drift),
	};

	return cmocka_run_group_tests_name("online_window", tests, NULL, NULL);
}
