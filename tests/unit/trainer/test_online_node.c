/* SPDX-License-Identifier: Apache-2.0 */
/* When a node trains, and on which samples. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/scratch.h"
#include "tests/unit/trainer/node_fixture.h"
#include "trainer/response/prom.h"
#include "trainer/response/prom_store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CYCLES "kepler_container_cpu_cycles_total"

/* Nothing here waits for the disk. */
int fsync(int fd)
{
	(void)fd;
	return 0;
}

int fdatasync(int fd)
{
	return fsync(fd);
}

/* ---- the window ---- */

static void samples_are_segments(void **state)
{
	struct node_fixture *f = *state;
	struct tw_online_figures g;
	const size_t bytes = node_figures(f).bytes;
	size_t held = 0;

	tw_online_node_free(f->node);
	node_open(f);
	assert_int_equal(tw_online_node_taken_to(f->node), f->to_ms);
	for (int i = 1; i < 12; i++)
		node_take(f, f->samples);
	for (int64_t from = START_MS; from < f->to_ms; from += SPAN_MS)
		held += tw_window_holds_out(from, from + SPAN_MS);
	assert_true(held > 0 && held < 12);
	g = node_figures(f);
	assert_string_equal(g.machine, "m");
	assert_int_equal(g.segments, 12);
	assert_int_equal(g.held_rows, held * f->rows);
	assert_int_equal(g.rows, (12 - held) * f->rows);
	assert_true(bytes > 100 && g.bytes == 12 * bytes && g.glitches == 0);
	assert_true(!g.serving && isnan(g.expected_w) && !g.drifting);
	assert_int_equal(tw_online_node_taken_to(f->node), f->to_ms);
	/* An interval without a row between two is kept. */
	node_take(f, f->none);
	assert_int_equal(node_figures(f).segments, 13);
	/* Another process goes on. */
	tw_online_node_free(f->node);
	node_open(f);
	assert_int_equal(tw_online_node_taken_to(f->node), f->to_ms);
}

/* Before a machine has power, nothing is kept. */
static void intervals_before_the_first_row_are_none(void **state)
{
	struct node_fixture *f = *state;
	struct tw_err err = { 0 };

	tw_online_node_free(f->node);
	assert_int_equal(tw_store_forget(f->store, "m", INT64_MAX, &err), 0);
	node_open(f);
	node_take(f, f->none);
	assert_int_equal(node_figures(f).segments, 0);
	assert_int_equal(tw_online_node_taken_to(f->node), 0);
}

/* A machine without rows is named once, if the scrapes are too far apart for any. */
static void why_nothing_is_trained_is_said_once(void **state)
{
	static const char *const none[] = { "level=warn program=tallywatt msg=\"m: not "
					    "trained on: an interval of 30 s has one "
					    "sample of a series at most" };
	static const char two_samples[] =
		"{\"" CYCLES "\":[{\"metric\":{\"__name__\":\"" CYCLES
		"\"},\"values\":[[1,\"1\"],[2,\"2\"]]}]}";
	struct node_fixture *f = *state;
	struct tw_prom *two = NULL;
	struct tw_err err = { 0 };
	char *path = scratch_path(f->dir, "two.json");
	int saved;

	assert_int_equal(tw_file_replace(path, two_samples, strlen(two_samples), &err),
			 0);
	if (tw_prom_read(path, &two, &err) < 0)
		fail_msg("%s", err.text);
	tw_online_node_free(f->node);
	assert_int_equal(tw_online_node_new(&f->rules, "m2", &f->node, &err), 0);
	saved = node_begin_log(f);
	node_take(f, two);
	node_end_log(f, saved, none, 0);
	tw_online_node_free(f->node);
	assert_int_equal(tw_online_node_new(&f->rules, "m", &f->node, &err), 0);
	/* A machine with rows is not: it may have an interval without. */
	saved = node_begin_log(f);
	node_take(f, f->none);
	node_end_log(f, saved, none, 0);
	tw_online_node_free(f->node);
	assert_int_equal(tw_store_forget(f->store, "m", INT64_MAX, &err), 0);
	assert_int_equal(tw_online_node_new(&f->rules, "m", &f->node, &err), 0);
	saved = node_begin_log(f);
	for (int i = 0; i < 3; i++)
		node_take(f, f->none);
	node_end_log(f, saved, none, 1);
	tw_prom_free(two);
	free(path);
}

/* Power that is written by another program is named once. */
static void a_virtual_meter_is_named_once(void **state)
{
	static const char *const named[] = {
		"level=warn program=tallywatt msg=\"m: the meter's path "
		"'/srv/class/powercap/intel-rapl:0' is not below /sys: a host or another "
		"program wrote it"
	};
	struct node_fixture *f = *state;
	char *path = scratch_path(f->dir, "virtual.json"), *text;
	struct tw_prom *samples = NULL;
	struct tw_err err = { 0 };
	size_t len;
	int saved;

	assert_int_equal(tw_file_read("tests/data/prom/simulated-0.10.json", 1 << 24,
				      &text, &len, &err),
			 0);
	for (char *at = text; (at = strstr(at, "/sys/")) != NULL;)
		memcpy(at, "/srv/", 5);
	assert_int_equal(tw_file_replace(path, text, len, &err), 0);
	if (tw_prom_read(path, &samples, &err) < 0)
		fail_msg("%s", err.text);
	saved = node_begin_log(f);
	node_take(f, f->samples);
	node_take(f, samples);
	node_take(f, samples);
	node_end_log(f, saved, named, 1);
	tw_prom_free(samples);
	free(text);
	free(path);
}

/* The client reads the interval again. */
static void samples_that_cannot_be_stored_are_not_taken(void **state)
{
	static const char *const refused[] = { "INSERT ON segment", "DELETE ON segment" };
	struct node_fixture *f = *state;
	const int64_t to_ms = f->to_ms;

	f->rules.limits.bytes = node_figures(f).bytes;
	for (size_t i = 0; i < TW_COUNT(refused); i++) {
		struct tw_err err = { 0 };

		node_make_full(f, refused[i]);
		assert_int_equal(tw_online_node_take(f->node, f->samples, to_ms,
						     to_ms + SPAN_MS, &err),
				 -1);
		assert_non_null(strstr(err.text, "full"));
		assert_int_equal(tw_online_node_taken_to(f->node), to_ms);
	}
}

static void a_window_has_limits(void **state)
{
	struct node_fixture *f = *state;
	size_t rows;

	f->rules.limits.rows = 4 * f->rows;
	for (int i = 0; i < 12; i++) {
		node_take(f, f->samples);
		rows = node_figures(f).rows + node_figures(f).held_rows;
		assert_int_equal(rows, (i < 3 ? (size_t)i + 2 : 4) * f->rows);
	}
	assert_int_equal(tw_online_node_taken_to(f->node), f->to_ms);
}

/* Many at once, where the limit is a new one. */
static void a_window_may_be_far_too_large(void **state)
{
	struct node_fixture *f = *state;
	struct tw_segments w = { 0 };
	struct tw_err err = { 0 };

	for (int i = 0; i < 20; i++)
		node_take(f, f->samples);
	f->rules.limits.rows = 3 * f->rows;
	node_take(f, f->samples);
	assert_int_equal(tw_store_segments(f->store, "m", &w, &err), 0);
	assert_int_equal(w.count, 3);
	assert_int_equal(w.at[2].to_ms, f->to_ms);
	tw_segments_release(&w);
}

/* ---- trainings ---- */

static void a_training_begins_with_enough_rows(void **state)
{
	struct node_fixture *f = *state;
	bool done;

	node_fill(f, 1);
	while (node_figures(f).rows < 4 * f->rows)
		node_take(f, f->samples);
	f->rules.rows_min = node_figures(f).rows + 1;
	node_decide(f);
	assert_int_equal(training.started, 0);
	assert_false(tw_online_node_trains(f->node, &done));
	f->rules.rows_min = node_figures(f).rows;
	node_decide(f);
	assert_int_equal(training.started, 1);
	assert_true(tw_online_node_trains(f->node, &done) && !done);
	/* A sixteenth of them, and five at least, judge it. */
	assert_int_equal(training.rows_min,
			 f->rules.rows_min / 16 > 5 ? f->rules.rows_min / 16 : 5);
	assert_int_equal(training.reads, 2);
	assert_true(!training.read[0].held && training.read[0].after_ms == 0);
	assert_true(training.read[1].held && training.read[1].after_ms == 0);
	/* No second one beside it. */
	node_decide(f);
	assert_int_equal(training.started, 1);
	training.done = true;
	assert_true(tw_online_node_trains(f->node, &done) && done);
	node_decide(f);
	assert_false(tw_online_node_trains(f->node, &done));
	assert_int_equal(node_figures(f).verdicts[TW_NOT_TRAINED], 1);
	assert_int_equal(node_standing(f).tried_to_ms, f->to_ms);
	assert_int_equal(node_standing(f).trained_to_ms, 0);
	/* Only new rows are a reason for the next. */
	f->rules.rows_min = 2 * f->rows;
	node_decide(f);
	assert_int_equal(training.started, 1);
	training.reads = 0;
	for (size_t rows = node_figures(f).rows;
	     node_figures(f).rows < rows + 2 * f->rows;)
		node_take(f, f->samples);
	node_decide(f);
	assert_int_equal(training.started, 2);
	{
		char *why;

		training.done = true;
		node_decide(f);
		why = node_reason(f);
		assert_string_equal(why, "too few rows");
		free(why);
	}
}

/* It is not a verdict, and the machine is tried again as soon as there is room. */
static void a_training_without_room_is_put_off(void **state)
{
	struct node_fixture *f = *state;
	struct tw_err err = { 0 };
	bool done;

	node_fill(f, 1);
	f->rules.rows_min = 1;
	assert_int_equal(tw_online_node_decide(f->node, false, &err), 0);
	assert_int_equal(training.started, 0);
	node_decide(f);
	assert_int_equal(training.started, 1);
	training.waits = training.done = true;
	assert_int_equal(tw_online_node_decide(f->node, false, &err), 0);
	assert_false(tw_online_node_trains(f->node, &done));
	assert_int_equal(node_standing(f).tried_to_ms, 0);
	for (size_t v = 0; v < TW_VERDICTS; v++)
		assert_int_equal(node_figures(f).verdicts[v], 0);
	training.reads = 0;
	node_decide(f);
	assert_int_equal(training.started, 2);
}

/* Rows that no model has seen must judge it. */
static void without_held_rows_nothing_is_trained(void **state)
{
	struct node_fixture *f = *state;

	f->rules.rows_min = 1;
	while (node_figures(f).held_rows > 0 || node_figures(f).rows == 0) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_store_forget(f->store, "m", f->to_ms, &err), 0);
		node_take(f, f->samples);
	}
	node_decide(f);
	assert_int_equal(training.started, 0);
	node_fill(f, 1);
	node_decide(f);
	assert_int_equal(training.started, 1);
}

static void a_training_that_cannot_begin_is_an_error(void **state)
{
	struct node_fixture *f = *state;
	struct tw_err err = { 0 };
	bool done;

	node_fill(f, 1);
	f->rules.rows_min = 1;
	training.fails = true;
	assert_int_equal(tw_online_node_decide(f->node, true, &err), -1);
	assert_string_equal(err.text, "no runs");
	assert_false(tw_online_node_trains(f->node, &done));
}

/* In a drift a quarter of the rows is enough, and samples since then may train alone. */
static void a_drift_trains_sooner(void **state)
{
	struct node_fixture *f = *state;
	const struct tw_standing drifts = { .tried_to_ms = START_MS + SPAN_MS,
					    .onset_ms = START_MS + SPAN_MS };
	size_t fresh;

	node_fill(f, 2);
	while (node_figures(f).rows < 9 * f->rows)
		node_take(f, f->samples);
	node_stand(f, &drifts);
	assert_true(node_figures(f).drifting);
	fresh = node_figures(f).rows -
		(tw_window_holds_out(START_MS, START_MS + SPAN_MS) ? 0 : f->rows);
	f->rules.rows_min = 4 * fresh + 4;
	node_decide(f);
	assert_int_equal(training.started, 0);
	f->rules.rows_min = fresh;
	node_decide(f);
	assert_int_equal(training.started, 1);
	assert_int_equal(training.read[1].after_ms, drifts.onset_ms);
	/* The load since then is that of the window, so that they may train alone. */
	assert_int_equal(training.reads, 3);
	assert_int_equal(training.read[2].after_ms, drifts.onset_ms);
	assert_false(training.read[2].held);
}

static void reject(struct node_fixture *f, struct tw_candidate *c,
		   enum tw_verdict verdict, const char *wanted)
{
	char *why;

	node_fill(f, 1);
	f->rules.rows_min = 1;
	node_decide(f);
	assert_int_equal(training.started, 1);
	training.best = c;
	training.done = true;
	node_decide(f);
	assert_int_equal(node_figures(f).verdicts[verdict], 1);
	assert_false(node_figures(f).serving);
	why = node_reason(f);
	assert_string_equal(why, wanted);
	free(why);
}

static void a_candidate_that_is_not_better_is_not_published(void **state)
{
	struct tw_candidate c = {
		.contest = { .rows = 60, .candidate_w = 1.25, .serving_w = 2 }
	};

	reject(*state, &c, TW_NOT_BETTER,
	       "error 1.250 W, that of the mean 2.000 W, on 60 held-out rows: not 5 % "
	       "better");
}

static void a_candidate_without_a_certificate_is_not_published(void **state)
{
	struct tw_candidate c = { .contest = { .uncertified = 1,
					       .rows = 60,
					       .candidate_w = 1.25,
					       .serving_w = 2,
					       .reason = "it falls" } };

	reject(*state, &c, TW_NOT_CERTIFIED,
	       "error 1.250 W, that of the mean 2.000 W, on 60 held-out rows, but no "
	       "certificate: it falls");
}

static void a_certificate_may_be_untested(void **state)
{
	struct tw_candidate c = { .contest = { .uncertified = 1, .rows = 1 } };

	reject(*state, &c, TW_NOT_CERTIFIED,
	       "error 0.000 W, that of the mean 0.000 W, on 1 held-out rows, but no "
	       "certificate: not tested");
}

/* All of it or nothing is recorded. */
static void a_verdict_that_cannot_be_stored_is_an_error(void **state)
{
	static const char *const refused[] = { "INSERT ON verdict", "INSERT ON standing",
					       "UPDATE ON segment" };
	struct node_fixture *f = *state;
	const struct tw_standing seen = { .trained_to_ms = INT64_C(1) << 50 };

	node_fill(f, 1);
	f->rules.rows_min = 1;
	/* Without serving models the held segments judge all the same. */
	node_stand(f, &seen);
	for (size_t i = 0; i < TW_COUNT(refused); i++) {
		struct tw_err err = { 0 };

		node_make_full(f, refused[i]);
		training.reads = 0;
		node_decide(f);
		assert_int_equal(training.started, i + 1);
		training.done = true;
		assert_int_equal(tw_online_node_decide(f->node, true, &err), -1);
		assert_non_null(strstr(err.text, "full"));
		assert_int_equal(node_figures(f).verdicts[TW_NOT_TRAINED], 0);
		assert_int_equal(node_standing(f).tried_to_ms, 0);
	}
}

/* ---- clocks ---- */

/* A clock that was ahead has left times that nobody can have seen. */
static void times_of_the_future_are_forgotten(void **state)
{
	struct node_fixture *f = *state;
	struct tw_err err = { 0 };
	struct tw_standing s, far;
	bool found = false;
	int64_t now_ms;

	node_take(f, f->samples);
	now_ms = f->to_ms;
	node_take(f, f->samples);
	/* Nothing is ahead. */
	assert_int_equal(tw_online_node_leave_future(f->node, f->to_ms, &found, &err), 0);
	assert_false(found);
	assert_int_equal(node_figures(f).segments, 3);
	/* A segment is. */
	assert_int_equal(tw_online_node_leave_future(f->node, now_ms, &found, &err), 0);
	assert_true(found);
	assert_int_equal(node_figures(f).segments, 2);
	assert_int_equal(tw_online_node_taken_to(f->node), now_ms);
	/* Or only what is known of trainings. */
	far = (struct tw_standing){ .trained_to_ms = now_ms + 1,
				    .tried_to_ms = now_ms,
				    .published_ms = now_ms + 2,
				    .onset_ms = now_ms - 5,
				    .worse_since_ms = now_ms + 3,
				    .error_w = 1.5 };
	node_stand(f, &far);
	found = false;
	assert_int_equal(tw_online_node_leave_future(f->node, now_ms, &found, &err), 0);
	assert_true(found);
	s = node_standing(f);
	assert_int_equal(s.trained_to_ms, now_ms);
	assert_int_equal(s.tried_to_ms, now_ms);
	assert_int_equal(s.published_ms, now_ms);
	assert_int_equal(s.onset_ms, now_ms - 5);
	assert_int_equal(s.worse_since_ms, now_ms);
	assert_true(s.error_w == 1.5);
	assert_int_equal(node_figures(f).published_ms, now_ms);
	assert_int_equal(node_figures(f).trained_to_ms, now_ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODE_TEST(samples_are_segments),
		NODE_TEST(intervals_before_the_first_row_are_none),
		NODE_TEST(why_nothing_is_trained_is_said_once),
		NODE_TEST(a_virtual_meter_is_named_once),
		NODE_TEST(samples_that_cannot_be_stored_are_not_taken),
		NODE_TEST(a_window_has_limits),
		NODE_TEST(a_window_may_be_far_too_large),
		NODE_TEST(a_training_begins_with_enough_rows),
		NODE_TEST(a_training_without_room_is_put_off),
		NODE_TEST(without_held_rows_nothing_is_trained),
		NODE_TEST(a_training_that_cannot_begin_is_an_error),
		NODE_TEST(a_drift_trains_sooner),
		NODE_TEST(a_candidate_that_is_not_better_is_not_published),
		NODE_TEST(a_candidate_without_a_certificate_is_not_published),
		NODE_TEST(a_certificate_may_be_untested),
		NODE_TEST(a_verdict_that_cannot_be_stored_is_an_error),
		NODE_TEST(times_of_the_future_are_forgotten),
	};

	return cmocka_run_group_tests_name("online_node", tests, NULL, NULL);
}
