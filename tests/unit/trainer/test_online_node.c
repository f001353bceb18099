/* SPDX-License-Identifier: Apache-2.0 */
/* When a node type trains, on what, and what it records. The training is the test's. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/scratch.h"
#include "trainer/online/attempt.h"
#include "trainer/online/node.h"
#include "trainer/response/prom.h"
#include "trainer/response/prom_store.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESPONSE "tests/data/prom/simulated-0.7.json"
#define SPAN_MS 30000
#define START_MS INT64_C(1000000000)

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

/* ---- a training ---- */

static struct {
	struct tw_window_choice read[3];
	size_t reads, started, rows_min;
	bool done, fails, had_alone;
	struct tw_candidate *best; /* NULL: none could be trained */
} training;

int tw_runs_read(struct tw_store *s, const struct tw_segments *w,
		 struct tw_window_choice choice, const char *machine, const char *dir,
		 struct tw_runs *out, struct tw_err *err)
{
	(void)s;
	(void)w;
	(void)dir;
	(void)out;
	assert_string_equal(machine, "m");
	assert_true(training.reads < TW_COUNT(training.read));
	training.read[training.reads++] = choice;
	return training.fails ? tw_fail(err, TW_IO, "no runs") : 0;
}

void tw_runs_release(struct tw_runs *r)
{
	(void)r;
}

int tw_attempt_start(struct tw_attempt_inputs *in, struct tw_attempt **out,
		     struct tw_err *err)
{
	(void)err;
	assert_string_equal(in->pipeline, "own-m");
	training.rows_min = in->rows_min;
	training.started++;
	training.done = false;
	*out = (struct tw_attempt *)&training;
	return 0;
}

bool tw_attempt_done(const struct tw_attempt *a)
{
	(void)a;
	return training.done;
}

struct tw_candidate *tw_attempt_best(struct tw_attempt *a, struct tw_err *why)
{
	(void)a;
	if (training.best == NULL)
		tw_fail(why, TW_INVALID, "too few rows");
	return training.best;
}

bool tw_attempt_had_alone(const struct tw_attempt *a)
{
	(void)a;
	return training.had_alone;
}

void tw_attempt_free(struct tw_attempt *a)
{
	(void)a;
}

void tw_contest_drop_losers(const struct tw_contest *c,
			    const struct tw_online_models *candidates,
			    struct tw_fileset *pipeline)
{
	(void)c;
	(void)candidates;
	(void)pipeline;
}

/* ---- the fixture ---- */

struct fixture {
	char *dir, *path;
	struct tw_store *store;
	struct tw_online_rules rules;
	struct tw_online_node *node;
	struct tw_prom *samples, *none;
	int64_t to_ms;
	size_t rows; /* of the samples */
};

static void open_node(struct fixture *f)
{
	struct tw_err err = { 0 };

	if (tw_online_node_new(&f->rules, "m", &f->node, &err) < 0)
		fail_msg("%s", err.text);
}

static struct tw_online_figures figures(struct fixture *f)
{
	struct tw_online_figures out;
	struct tw_err err = { 0 };

	if (tw_online_node_figures(f->node, &out, &err) < 0)
		fail_msg("%s", err.text);
	return out;
}

static void take(struct fixture *f, const struct tw_prom *samples)
{
	struct tw_err err = { 0 };

	if (tw_online_node_take(f->node, samples, f->to_ms, f->to_ms + SPAN_MS, &err) < 0)
		fail_msg("%s", err.text);
	f->to_ms += SPAN_MS;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tw_err err = { 0 };

	assert_non_null(f);
	memset(&training, 0, sizeof(training));
	f->dir = scratch_new();
	f->path = scratch_path(f->dir, "online.sqlite");
	if (tw_store_open(f->path, &f->store, &err) < 0 ||
	    tw_prom_read(RESPONSE, &f->samples, &err) < 0)
		fail_msg("%s", err.text);
	f->none = tw_prom_new(&err);
	f->to_ms = START_MS;
	f->rules = (struct tw_online_rules){ .model_db = f->dir,
					     .name = "own",
					     .dir = f->dir,
					     .limits = { 1 << 30, 1 << 30 },
					     .rows_min = SIZE_MAX,
					     .margin = 0.05,
					     .rollback_ms = 600000,
					     .store = f->store };
	open_node(f);
	take(f, f->samples);
	f->rows = figures(f).rows + figures(f).held_rows;
	assert_true(f->rows > 5);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	tw_online_node_free(f->node);
	tw_store_close(f->store);
	tw_prom_free(f->samples);
	tw_prom_free(f->none);
	free(f->path);
	scratch_free(f->dir);
	free(f);
	return 0;
}

static void decide(struct fixture *f)
{
	struct tw_err err = { 0 };

	if (tw_online_node_decide(f->node, &err) < 0)
		fail_msg("%s", err.text);
}

static struct tw_standing standing(struct fixture *f)
{
	struct tw_standing s = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_store_standing(f->store, "m", &s, &err), 0);
	return s;
}

/* The node of a process that finds this standing. */
static void stand(struct fixture *f, const struct tw_standing *s)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_store_set_standing(f->store, "m", s, &err), 0);
	tw_online_node_free(f->node);
	open_node(f);
}

/* Take samples until the window has segments of both kinds, so many held ones. */
static void fill(struct fixture *f, size_t held)
{
	while (figures(f).held_rows < held * f->rows)
		take(f, f->samples);
}

/* The last verdict's reason. */
static char *reason(struct fixture *f)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *q = NULL;
	char *text;

	tw_online_node_free(f->node);
	tw_store_close(f->store);
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT why FROM verdict ORDER BY id DESC",
					    -1, &q, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	text = strdup((const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	sqlite3_close(db);
	f->store = NULL;
	f->node = NULL;
	return text;
}

/* ---- the window ---- */

static void samples_are_segments(void **state)
{
	struct fixture *f = *state;
	struct tw_online_figures g;
	size_t held = 0;

	tw_online_node_free(f->node);
	open_node(f);
	assert_int_equal(tw_online_node_taken_to(f->node), f->to_ms);
	for (int i = 1; i < 12; i++)
		take(f, f->samples);
	for (int64_t from = START_MS; from < f->to_ms; from += SPAN_MS)
		held += tw_window_holds_out(from, from + SPAN_MS);
	assert_true(held > 0 && held < 12);
	g = figures(f);
	assert_string_equal(g.machine, "m");
	assert_int_equal(g.segments, 12);
	assert_int_equal(g.held_rows, held * f->rows);
	assert_int_equal(g.rows, (12 - held) * f->rows);
	assert_true(g.bytes > 12 * 100 && g.bytes < 12 << 20 && g.glitches == 0);
	assert_true(!g.serving && isnan(g.expected_w) && !g.drifting);
	assert_int_equal(tw_online_node_taken_to(f->node), f->to_ms);
	/* An interval without a row between two is kept. */
	take(f, f->none);
	assert_int_equal(figures(f).segments, 13);
	/* Another process goes on. */
	tw_online_node_free(f->node);
	open_node(f);
	assert_int_equal(tw_online_node_taken_to(f->node), f->to_ms);
}

/* Before a machine has power, nothing is kept. */
static void intervals_before_the_first_row_are_none(void **state)
{
	struct fixture *f = *state;
	struct tw_err err = { 0 };

	tw_online_node_free(f->node);
	assert_int_equal(tw_store_forget(f->store, "m", INT64_MAX, &err), 0);
	open_node(f);
	take(f, f->none);
	assert_int_equal(figures(f).segments, 0);
	assert_int_equal(tw_online_node_taken_to(f->node), 0);
}

static void a_window_has_limits(void **state)
{
	struct fixture *f = *state;
	size_t rows;

	f->rules.limits.rows = 4 * f->rows;
	for (int i = 0; i < 12; i++) {
		take(f, f->samples);
		rows = figures(f).rows + figures(f).held_rows;
		assert_int_equal(rows, (i < 3 ? (size_t)i + 2 : 4) * f->rows);
	}
	assert_int_equal(tw_online_node_taken_to(f->node), f->to_ms);
}

/* Many at once, where the limit is a new one. */
static void a_window_may_be_far_too_large(void **state)
{
	struct fixture *f = *state;
	struct tw_segments w = { 0 };
	struct tw_err err = { 0 };

	for (int i = 0; i < 20; i++)
		take(f, f->samples);
	f->rules.limits.rows = 3 * f->rows;
	take(f, f->samples);
	assert_int_equal(tw_store_segments(f->store, "m", &w, &err), 0);
	assert_int_equal(w.count, 3);
	assert_int_equal(w.at[2].to_ms, f->to_ms);
	tw_segments_release(&w);
}

/* ---- trainings ---- */

static void a_training_begins_with_enough_rows(void **state)
{
	struct fixture *f = *state;
	bool done;

	fill(f, 1);
	while (figures(f).rows < 4 * f->rows)
		take(f, f->samples);
	f->rules.rows_min = figures(f).rows + 1;
	decide(f);
	assert_int_equal(training.started, 0);
	assert_false(tw_online_node_trains(f->node, &done));
	f->rules.rows_min = figures(f).rows;
	decide(f);
	assert_int_equal(training.started, 1);
	assert_true(tw_online_node_trains(f->node, &done) && !done);
	/* A sixteenth of them, and five at least, judge it. */
	assert_int_equal(training.rows_min,
			 f->rules.rows_min / 16 > 5 ? f->rules.rows_min / 16 : 5);
	assert_int_equal(training.reads, 2);
	assert_true(!training.read[0].held && training.read[0].after_ms == 0);
	assert_true(training.read[1].held && training.read[1].after_ms == 0);
	/* No second one beside it. */
	decide(f);
	assert_int_equal(training.started, 1);
	training.done = true;
	assert_true(tw_online_node_trains(f->node, &done) && done);
	decide(f);
	assert_false(tw_online_node_trains(f->node, &done));
	assert_int_equal(figures(f).verdicts[TW_NOT_TRAINED], 1);
	assert_int_equal(standing(f).tried_to_ms, f->to_ms);
	assert_int_equal(standing(f).trained_to_ms, 0);
	/* Only new rows are a reason for the next. */
	f->rules.rows_min = 2 * f->rows;
	decide(f);
	assert_int_equal(training.started, 1);
	training.reads = 0;
	for (size_t rows = figures(f).rows; figures(f).rows < rows + 2 * f->rows;)
		take(f, f->samples);
	decide(f);
	assert_int_equal(training.started, 2);
	{
		char *why;

		training.done = true;
		decide(f);
		why = reason(f);
		assert_string_equal(why, "too few rows");
		free(why);
	}
}

/* Rows that no model has seen must judge it. */
static void without_held_rows_nothing_is_trained(void **state)
{
	struct fixture *f = *state;

	f->rules.rows_min = 1;
	while (figures(f).held_rows > 0 || figures(f).rows == 0) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_store_forget(f->store, "m", f->to_ms, &err), 0);
		take(f, f->samples);
	}
	decide(f);
	assert_int_equal(training.started, 0);
	fill(f, 1);
	decide(f);
	assert_int_equal(training.started, 1);
}

static void a_training_that_cannot_begin_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct tw_err err = { 0 };
	bool done;

	fill(f, 1);
	f->rules.rows_min = 1;
	training.fails = true;
	assert_int_equal(tw_online_node_decide(f->node, &err), -1);
	assert_string_equal(err.text, "no runs");
	assert_false(tw_online_node_trains(f->node, &done));
}

/* In a drift a quarter of the rows is enough, and samples since then may train alone. */
static void a_drift_trains_sooner(void **state)
{
	struct fixture *f = *state;
	const struct tw_standing drifts = { .tried_to_ms = START_MS + SPAN_MS,
					    .onset_ms = START_MS + SPAN_MS };
	size_t fresh;

	fill(f, 2);
	while (figures(f).rows < 9 * f->rows)
		take(f, f->samples);
	stand(f, &drifts);
	assert_true(figures(f).drifting);
	fresh = figures(f).rows -
		(tw_window_holds_out(START_MS, START_MS + SPAN_MS) ? 0 : f->rows);
	f->rules.rows_min = 4 * fresh + 4;
	decide(f);
	assert_int_equal(training.started, 0);
	f->rules.rows_min = fresh;
	decide(f);
	assert_int_equal(training.started, 1);
	assert_int_equal(training.read[1].after_ms, drifts.onset_ms);
	/* The load since then is that of the window, so that they may train alone. */
	assert_int_equal(training.reads, 3);
	assert_int_equal(training.read[2].after_ms, drifts.onset_ms);
	assert_false(training.read[2].held);
}

static void reject(struct fixture *f, struct tw_candidate *c, enum tw_verdict verdict,
		   const char *wanted)
{
	char *why;

	fill(f, 1);
	f->rules.rows_min = 1;
	decide(f);
	assert_int_equal(training.started, 1);
	training.best = c;
	training.done = true;
	decide(f);
	assert_int_equal(figures(f).verdicts[verdict], 1);
	assert_false(figures(f).serving);
	why = reason(f);
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
	struct fixture *f = *state;
	const struct tw_standing seen = { .trained_to_ms = INT64_C(1) << 50 };

	fill(f, 1);
	f->rules.rows_min = 1;
	/* Without serving models the held segments judge all the same. */
	stand(f, &seen);
	for (size_t i = 0; i < TW_COUNT(refused); i++) {
		struct tw_err err = { 0 };
		sqlite3 *db = NULL;
		char sql[160];

		tw_online_node_free(f->node);
		tw_store_close(f->store);
		assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
		snprintf(sql, sizeof(sql),
			 "DROP TRIGGER IF EXISTS t; CREATE TRIGGER t BEFORE %s BEGIN "
			 "SELECT RAISE(ABORT, 'full'); END",
			 refused[i]);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
		sqlite3_close(db);
		assert_int_equal(tw_store_open(f->path, &f->store, &err), 0);
		f->rules.store = f->store;
		open_node(f);
		training.reads = 0;
		decide(f);
		assert_int_equal(training.started, i + 1);
		training.done = true;
		assert_int_equal(tw_online_node_decide(f->node, &err), -1);
		assert_non_null(strstr(err.text, "full"));
		assert_int_equal(figures(f).verdicts[TW_NOT_TRAINED], 0);
		assert_int_equal(standing(f).tried_to_ms, 0);
	}
}

/* ---- clocks ---- */

/* A clock that was ahead has left times that nobody can have seen. */
static void times_of_the_future_are_forgotten(void **state)
{
	struct fixture *f = *state;
	struct tw_err err = { 0 };
	struct tw_standing s, far;
	bool found = false;
	int64_t now_ms;

	take(f, f->samples);
	now_ms = f->to_ms;
	take(f, f->samples);
	/* Nothing is ahead. */
	assert_int_equal(tw_online_node_leave_future(f->node, f->to_ms, &found, &err), 0);
	assert_false(found);
	assert_int_equal(figures(f).segments, 3);
	/* A segment is. */
	assert_int_equal(tw_online_node_leave_future(f->node, now_ms, &found, &err), 0);
	assert_true(found);
	assert_int_equal(figures(f).segments, 2);
	assert_int_equal(tw_online_node_taken_to(f->node), now_ms);
	/* Or only what is known of trainings. */
	far = (struct tw_standing){ .trained_to_ms = now_ms + 1,
				    .tried_to_ms = now_ms,
				    .published_ms = now_ms + 2,
				    .onset_ms = now_ms - 5,
				    .worse_since_ms = now_ms + 3,
				    .error_w = 1.5 };
	stand(f, &far);
	found = false;
	assert_int_equal(tw_online_node_leave_future(f->node, now_ms, &found, &err), 0);
	assert_true(found);
	s = standing(f);
	assert_int_equal(s.trained_to_ms, now_ms);
	assert_int_equal(s.tried_to_ms, now_ms);
	assert_int_equal(s.published_ms, now_ms);
	assert_int_equal(s.onset_ms, now_ms - 5);
	assert_int_equal(s.worse_since_ms, now_ms);
	assert_true(s.error_w == 1.5);
	assert_int_equal(figures(f).published_ms, now_ms);
	assert_int_equal(figures(f).trained_to_ms, now_ms);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_are_segments),
		TEST(intervals_before_the_first_row_are_none),
		TEST(a_window_has_limits),
		TEST(a_window_may_be_far_too_large),
		TEST(a_training_begins_with_enough_rows),
		TEST(without_held_rows_nothing_is_trained),
		TEST(a_training_that_cannot_begin_is_an_error),
		TEST(a_drift_trains_sooner),
		TEST(a_candidate_that_is_not_better_is_not_published),
		TEST(a_candidate_without_a_certificate_is_not_published),
		TEST(a_certificate_may_be_untested),
		TEST(a_verdict_that_cannot_be_stored_is_an_error),
		TEST(times_of_the_future_are_forgotten),
	};

	return cmocka_run_group_tests_name("online_node", tests, NULL, NULL);
}
