/* SPDX-License-Identifier: Apache-2.0 */
/* When a node type trains, on what, and what it records. The training is the test's. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "model-db/pipeline.h"
#include "model-db/publish.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"
#include "trainer/online/attempt.h"
#include "trainer/online/node.h"
#include "trainer/response/prom.h"
#include "trainer/response/prom_store.h"

#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESPONSE "tests/data/prom/simulated-0.7.json"
#define SPAN_MS 30000
#define START_MS INT64_C(1000000000)
#define CYCLES "kepler_container_cpu_cycles_total"
#define NO_WEIGHT "{\"scale\":1,\"mean\":0,\"variance\":1,\"weight\":0}"

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
	size_t reads, started, rows_min, drops;
	bool done, fails, waits, had_alone;
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

bool tw_attempt_waits(const struct tw_attempt *a)
{
	(void)a;
	return training.waits;
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
	training.drops++;
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

	if (tw_online_node_decide(f->node, true, &err) < 0)
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

/* Let the store fail at such a statement, as with a full disk. */
static void make_full(struct fixture *f, const char *statement)
{
	struct tw_err err = { 0 };
	sqlite3 *db = NULL;
	char sql[160];

	tw_online_node_free(f->node);
	tw_store_close(f->store);
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	snprintf(sql, sizeof(sql),
		 "DROP TRIGGER IF EXISTS t; CREATE TRIGGER t BEFORE %s BEGIN "
		 "SELECT RAISE(ABORT, 'full'); END",
		 statement);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(tw_store_open(f->path, &f->store, &err), 0);
	f->rules.store = f->store;
	open_node(f);
}

/* What is logged from now on goes to a file. Returns the standard error output. */
static int begin_log(struct fixture *f)
{
	char *path = scratch_path(f->dir, "log");
	const int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	const int saved = dup(STDERR_FILENO);

	assert_true(fd >= 0 && saved >= 0);
	dup2(fd, STDERR_FILENO);
	close(fd);
	free(path);
	return saved;
}

/* End that, and assert that the file has these lines, or parts of them, alone. */
static void end_log(struct fixture *f, int saved, const char *const *want, size_t count)
{
	char *path = scratch_path(f->dir, "log"), *text, *at;
	struct tw_err err = { 0 };
	size_t len, lines = 0;

	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_int_equal(tw_file_read(path, 1 << 16, &text, &len, &err), 0);
	at = text;
	for (size_t i = 0; i < count; i++) {
		const char *found = strstr(at, want[i]);

		if (found == NULL)
			fail_msg("%s\nhas no '%s'", text, want[i]);
		at = strchr(found, '\n');
	}
	for (const char *c = text; *c != '\0'; c++)
		lines += *c == '\n';
	if (lines != count)
		fail_msg("%zu lines, not %zu: %s", lines, count, text);
	free(text);
	free(path);
}

/* ---- the window ---- */

static void samples_are_segments(void **state)
{
	struct fixture *f = *state;
	struct tw_online_figures g;
	const size_t bytes = figures(f).bytes;
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
	assert_true(bytes > 100 && g.bytes == 12 * bytes && g.glitches == 0);
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

/* A machine without rows is named once, if the scrapes are too far apart for any. */
static void why_nothing_is_trained_is_said_once(void **state)
{
	static const char *const none[] = { "level=warn program=tallywatt msg=\"m: not "
					    "trained on: an interval of 30 s has one "
					    "sample of a series at most" };
	static const char two_samples[] =
		"{\"" CYCLES "\":[{\"metric\":{\"__name__\":\"" CYCLES
		"\"},\"values\":[[1,\"1\"],[2,\"2\"]]}]}";
	struct fixture *f = *state;
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
	saved = begin_log(f);
	take(f, two);
	end_log(f, saved, none, 0);
	tw_online_node_free(f->node);
	assert_int_equal(tw_online_node_new(&f->rules, "m", &f->node, &err), 0);
	/* A machine with rows is not: it may have an interval without. */
	saved = begin_log(f);
	take(f, f->none);
	end_log(f, saved, none, 0);
	tw_online_node_free(f->node);
	assert_int_equal(tw_store_forget(f->store, "m", INT64_MAX, &err), 0);
	assert_int_equal(tw_online_node_new(&f->rules, "m", &f->node, &err), 0);
	saved = begin_log(f);
	for (int i = 0; i < 3; i++)
		take(f, f->none);
	end_log(f, saved, none, 1);
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
	struct fixture *f = *state;
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
	saved = begin_log(f);
	take(f, f->samples);
	take(f, samples);
	take(f, samples);
	end_log(f, saved, named, 1);
	tw_prom_free(samples);
	free(text);
	free(path);
}

/* The client reads the interval again. */
static void samples_that_cannot_be_stored_are_not_taken(void **state)
{
	static const char *const refused[] = { "INSERT ON segment", "DELETE ON segment" };
	struct fixture *f = *state;
	const int64_t to_ms = f->to_ms;

	f->rules.limits.bytes = figures(f).bytes;
	for (size_t i = 0; i < TW_COUNT(refused); i++) {
		struct tw_err err = { 0 };

		make_full(f, refused[i]);
		assert_int_equal(tw_online_node_take(f->node, f->samples, to_ms,
						     to_ms + SPAN_MS, &err),
				 -1);
		assert_non_null(strstr(err.text, "full"));
		assert_int_equal(tw_online_node_taken_to(f->node), to_ms);
	}
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

/* It is no verdict, and the machine is tried again as soon as there is room. */
static void a_training_without_room_is_put_off(void **state)
{
	struct fixture *f = *state;
	struct tw_err err = { 0 };
	bool done;

	fill(f, 1);
	f->rules.rows_min = 1;
	assert_int_equal(tw_online_node_decide(f->node, false, &err), 0);
	assert_int_equal(training.started, 0);
	decide(f);
	assert_int_equal(training.started, 1);
	training.waits = training.done = true;
	assert_int_equal(tw_online_node_decide(f->node, false, &err), 0);
	assert_false(tw_online_node_trains(f->node, &done));
	assert_int_equal(standing(f).tried_to_ms, 0);
	for (size_t v = 0; v < TW_VERDICTS; v++)
		assert_int_equal(figures(f).verdicts[v], 0);
	training.reads = 0;
	decide(f);
	assert_int_equal(training.started, 2);
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
	assert_int_equal(tw_online_node_decide(f->node, true, &err), -1);
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

		make_full(f, refused[i]);
		training.reads = 0;
		decide(f);
		assert_int_equal(training.started, i + 1);
		training.done = true;
		assert_int_equal(tw_online_node_decide(f->node, true, &err), -1);
		assert_non_null(strstr(err.text, "full"));
		assert_int_equal(figures(f).verdicts[TW_NOT_TRAINED], 0);
		assert_int_equal(standing(f).tried_to_ms, 0);
	}
}

/* ---- models ---- */

/* A pipeline of a model of so many watts at any load, with that error of validation. */
static void make_pipeline(double watts, double mae_w, struct tw_fileset *out)
{
	char text[512];
	const struct sample s = { .mae_w = mae_w, .text = text };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	json_t *none = json_object();

	snprintf(text, sizeof(text),
		 "{\"All_Weights\":{\"Bias_Weight\":%g,\"Categorical_Variables\":{},"
		 "\"Numerical_Variables\":{\"cpu_cycles\":" NO_WEIGHT
		 ",\"cpu_instructions\":" NO_WEIGHT ",\"cache_miss\":" NO_WEIGHT "}}}",
		 watts);
	sample_model(&s, &m);
	if (tw_pipeline_add_model(out, &m, &err) < 0 ||
	    tw_pipeline_add_summary(out, none, &m, 1, &err) < 0)
		fail_msg("%s", err.text);
	tw_model_release(&m);
	json_decref(none);
}

static void serve(struct fixture *f, double watts, double mae_w)
{
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };

	make_pipeline(watts, mae_w, &files);
	if (tw_pipeline_publish(f->dir, "own-m", &files, &err) < 0)
		fail_msg("%s", err.text);
	tw_fileset_clear(&files);
}

/* The live error of 1000 W on the samples. */
static double error_of_1000_w(struct fixture *f)
{
	const struct tw_standing none = { 0 };

	serve(f, 1000, 1);
	stand(f, &none);
	take(f, f->samples);
	return figures(f).live_w;
}

/* A pipeline is found by the machine's name, with '_' for what no file name may have. */
static void a_machine_has_a_pipeline(void **state)
{
	struct fixture *f = *state;
	const struct sample s = { 0 };
	struct tw_err err = { 0 };

	sample_publish(f->dir, "own-a_b_c-1:@", &s, 1);
	tw_online_node_free(f->node);
	assert_int_equal(tw_online_node_new(&f->rules, "a/b c-1:@", &f->node, &err), 0);
	assert_true(figures(f).serving);
	assert_string_equal(figures(f).machine, "a/b c-1:@");
	assert_int_equal(tw_online_node_taken_to(f->node), 0);
}

/* A process may have ended between a publication and its record. */
static void published_data_was_trained_on(void **state)
{
	struct fixture *f = *state;
	const struct sample s = { .metadata =
					  "{\"data_last\":\"2026-03-01T00:00:00Z\"}" };
	struct tw_standing before = { .trained_to_ms = INT64_C(1772323200000) - 1 };

	sample_publish(f->dir, "own-m", &s, 1);
	stand(f, &before);
	assert_int_equal(figures(f).trained_to_ms, before.trained_to_ms + 1);
	before.trained_to_ms += 2;
	stand(f, &before);
	assert_int_equal(figures(f).trained_to_ms, before.trained_to_ms);
}

/* A drift is of two intervals at least, and of more than twice the expected error. */
static void a_drift_begins_and_ends(void **state)
{
	struct fixture *f = *state;
	struct tw_standing s = { .onset_ms = 5 };
	const double live_w = error_of_1000_w(f);
	int64_t first_ms;

	/* The error of the contest is expected where it is larger than the validation's.
	 */
	s.error_w = live_w / 2;
	stand(f, &s);
	assert_true(figures(f).expected_w == live_w / 2);
	take(f, f->samples);
	assert_true(isnan(figures(f).drift));
	assert_true(figures(f).drifting);
	take(f, f->samples);
	assert_true(figures(f).drift == 2);
	assert_false(figures(f).drifting);
	assert_int_equal(standing(f).onset_ms, 0);
	serve(f, 1000, live_w / 2.001);
	s = (struct tw_standing){ .error_w = 1 };
	stand(f, &s);
	assert_true(figures(f).expected_w > live_w / 2.002);
	first_ms = f->to_ms;
	take(f, f->samples);
	assert_false(figures(f).drifting);
	take(f, f->samples);
	assert_true(figures(f).drifting);
	assert_int_equal(standing(f).onset_ms, first_ms);
	for (int i = 0; i < 6; i++)
		take(f, f->samples);
	assert_int_equal(standing(f).onset_ms, first_ms);
}

/* ---- roll-backs ---- */

/* Serve 1000 W, and 500 W before. Returns the ratio of the live errors. */
static double serve_worse(struct fixture *f)
{
	const struct tw_standing s = { .published_ms = 1, .error_w = 1e6 };
	double ratio;

	serve(f, 500, 1);
	serve(f, 1000, 1);
	stand(f, &s);
	take(f, f->samples);
	ratio = figures(f).live_w / figures(f).previous_w;
	assert_true(ratio > 1.1);
	stand(f, &s);
	return ratio;
}

/* Whether the previous model is better by the margin, and since when, is of five. */
static void a_previous_model_is_better_by_a_margin(void **state)
{
	struct fixture *f = *state;
	const double ratio = serve_worse(f);

	f->rules.margin = ratio - 1 - 1e-9;
	for (int i = 0; i < 4; i++)
		take(f, f->samples);
	assert_int_equal(standing(f).worse_since_ms, 0);
	take(f, f->samples);
	assert_int_equal(standing(f).worse_since_ms, f->to_ms);
	take(f, f->samples);
	assert_int_equal(standing(f).worse_since_ms, f->to_ms - SPAN_MS);
	f->rules.margin = ratio - 1 + 1e-9;
	take(f, f->samples);
	assert_int_equal(standing(f).worse_since_ms, 0);
}

static void a_model_that_stays_worse_is_rolled_back(void **state)
{
	struct fixture *f = *state;
	struct tw_online_figures was;
	char want[256], *why;

	serve_worse(f);
	f->rules.rollback_ms = 2 * SPAN_MS;
	for (int i = 0; i < 6; i++)
		take(f, f->samples);
	decide(f);
	assert_int_equal(figures(f).verdicts[TW_ROLLED_BACK], 0);
	take(f, f->samples);
	was = figures(f);
	decide(f);
	assert_int_equal(figures(f).verdicts[TW_ROLLED_BACK], 1);
	assert_int_equal(figures(f).published_ms, 0);
	assert_true(isnan(figures(f).live_w) && isnan(figures(f).previous_w));
	assert_true(figures(f).expected_w == 1);
	assert_int_equal(standing(f).worse_since_ms, 0);
	take(f, f->samples);
	assert_true(figures(f).live_w == was.previous_w);
	snprintf(want, sizeof(want),
		 "live error %.3f W, that of the previous model %.3f W, for 60 s",
		 was.live_w, was.previous_w);
	why = reason(f);
	assert_string_equal(why, want);
	free(why);
}

/* Of models that nobody published here, or without a model before, none returns. */
static void only_a_publication_is_rolled_back(void **state)
{
	struct fixture *f = *state;
	struct tw_standing s = { .worse_since_ms = 1 };

	f->rules.rollback_ms = 1;
	serve(f, 1000, 1);
	s.published_ms = 1;
	stand(f, &s);
	decide(f);
	serve(f, 500, 1);
	s.published_ms = 0;
	stand(f, &s);
	decide(f);
	assert_int_equal(figures(f).verdicts[TW_ROLLED_BACK], 0);
	assert_true(figures(f).serving);
}

/* ---- publications ---- */

static void make_candidate(struct tw_candidate *c, double candidate_w)
{
	make_pipeline(700, 1, &c->result.pipeline);
	c->contest.wins = 1;
	c->contest.rows = 60;
	c->contest.candidate_w = candidate_w;
	c->contest.serving_w = 9;
}

/* Train with that winner in a standing; whether it is published. */
static bool is_published(struct fixture *f, const struct tw_standing *s,
			 double candidate_w, bool had_alone)
{
	struct tw_candidate c = { 0 };
	const uint64_t before = figures(f).verdicts[TW_PUBLISHED];
	bool published;

	/* A publication releases held segments. */
	fill(f, 1);
	serve(f, 1000, 2);
	stand(f, s);
	make_candidate(&c, candidate_w);
	training.reads = 0;
	decide(f);
	training.best = &c;
	training.had_alone = had_alone;
	training.done = true;
	decide(f);
	tw_fileset_clear(&c.result.pipeline);
	published = figures(f).verdicts[TW_PUBLISHED] > before;
	assert_int_equal(standing(f).published_ms, published ? f->to_ms : 0);
	assert_true(standing(f).error_w == (published ? candidate_w : 0));
	assert_int_equal(standing(f).tried_to_ms, f->to_ms);
	return published;
}

/* Better, but for the drift: that takes an error within twice the expected one. */
static void a_candidate_has_to_end_the_drift(void **state)
{
	struct fixture *f = *state;
	const struct tw_standing calm = { 0 }, drifts = { .onset_ms = START_MS };
	char *why;

	f->rules.rows_min = 1;
	assert_true(is_published(f, &drifts, 4, false));
	assert_true(is_published(f, &drifts, 4.001, true));
	assert_true(is_published(f, &calm, 4.001, false));
	assert_false(is_published(f, &drifts, 4.001, false));
	assert_int_equal(figures(f).verdicts[TW_NOT_BETTER], 1);
	assert_int_equal(training.drops, 3);
	why = reason(f);
	assert_string_equal(why, "error 4.001 W, that of the serving model 9.000 W, on "
				 "60 held-out rows: it would still drift");
	free(why);
}

/* Models of the samples since a drift began make those before useless. */
static void a_publication_is_of_some_samples(void **state)
{
	static const char *const told[] = {
		"level=info program=tallywatt msg=\"m: published: 'own-m' on samples"
	};
	struct fixture *f = *state;
	int saved;
	struct tw_candidate c = { 0 };
	char *why;

	fill(f, 1);
	f->rules.rows_min = 1;
	make_candidate(&c, 1.25);
	saved = begin_log(f);
	decide(f);
	training.best = &c;
	training.done = true;
	c.alone = true;
	assert_true(figures(f).segments > 1);
	decide(f);
	end_log(f, saved, told, TW_COUNT(told));
	tw_fileset_clear(&c.result.pipeline);
	/* No model served: every model of the candidate stays. */
	assert_int_equal(training.drops, 0);
	assert_true(figures(f).serving);
	assert_int_equal(figures(f).trained_to_ms, f->to_ms);
	assert_int_equal(figures(f).held_rows, 0);
	why = reason(f);
	assert_string_equal(why, "'own-m' on samples since the drift began: error 1.250 "
				 "W, that of the mean 9.000 W, on 60 held-out rows");
	free(why);
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
		TEST(why_nothing_is_trained_is_said_once),
		TEST(a_virtual_meter_is_named_once),
		TEST(samples_that_cannot_be_stored_are_not_taken),
		TEST(a_window_has_limits),
		TEST(a_window_may_be_far_too_large),
		TEST(a_training_begins_with_enough_rows),
		TEST(a_training_without_room_is_put_off),
		TEST(without_held_rows_nothing_is_trained),
		TEST(a_training_that_cannot_begin_is_an_error),
		TEST(a_drift_trains_sooner),
		TEST(a_candidate_that_is_not_better_is_not_published),
		TEST(a_candidate_without_a_certificate_is_not_published),
		TEST(a_certificate_may_be_untested),
		TEST(a_verdict_that_cannot_be_stored_is_an_error),
		TEST(a_machine_has_a_pipeline),
		TEST(published_data_was_trained_on),
		TEST(a_drift_begins_and_ends),
		TEST(a_previous_model_is_better_by_a_margin),
		TEST(a_model_that_stays_worse_is_rolled_back),
		TEST(only_a_publication_is_rolled_back),
		TEST(a_candidate_has_to_end_the_drift),
		TEST(a_publication_is_of_some_samples),
		TEST(times_of_the_future_are_forgotten),
	};

	return cmocka_run_group_tests_name("online_node", tests, NULL, NULL);
}
