/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/trainer/node_fixture.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"
#include "trainer/response/prom.h"
#include "trainer/response/prom_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESPONSE "tests/data/prom/simulated-0.7.json"

/* ---- the trainings ---- */

struct training training;

int __wrap_tw_runs_read(struct tw_store *s, const struct tw_segments *w,
			struct tw_window_choice choice, const char *machine,
			const char *dir, struct tw_runs *out, struct tw_err *err);
void __wrap_tw_runs_release(struct tw_runs *r);
int __wrap_tw_attempt_start(struct tw_attempt_inputs *in, struct tw_attempt **out,
			    struct tw_err *err);
bool __wrap_tw_attempt_done(const struct tw_attempt *a);
bool __wrap_tw_attempt_waits(const struct tw_attempt *a);
struct tw_candidate *__wrap_tw_attempt_best(struct tw_attempt *a, struct tw_err *why);
bool __wrap_tw_attempt_had_alone(const struct tw_attempt *a);
void __wrap_tw_attempt_free(struct tw_attempt *a);
void __wrap_tw_contest_drop_losers(const struct tw_contest *c,
				   const struct tw_online_models *candidates,
				   struct tw_fileset *pipeline);

int __wrap_tw_runs_read(struct tw_store *s, const struct tw_segments *w,
			struct tw_window_choice choice, const char *machine,
			const char *dir, struct tw_runs *out, struct tw_err *err)
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

void __wrap_tw_runs_release(struct tw_runs *r)
{
	(void)r;
}

int __wrap_tw_attempt_start(struct tw_attempt_inputs *in, struct tw_attempt **out,
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

bool __wrap_tw_attempt_done(const struct tw_attempt *a)
{
	(void)a;
	return training.done;
}

bool __wrap_tw_attempt_waits(const struct tw_attempt *a)
{
	(void)a;
	return training.waits;
}

struct tw_candidate *__wrap_tw_attempt_best(struct tw_attempt *a, struct tw_err *why)
{
	(void)a;
	if (training.best == NULL)
		tw_fail(why, TW_INVALID, "too few rows");
	return training.best;
}

bool __wrap_tw_attempt_had_alone(const struct tw_attempt *a)
{
	(void)a;
	return training.had_alone;
}

void __wrap_tw_attempt_free(struct tw_attempt *a)
{
	(void)a;
}

void __wrap_tw_contest_drop_losers(const struct tw_contest *c,
				   const struct tw_online_models *candidates,
				   struct tw_fileset *pipeline)
{
	(void)c;
	(void)candidates;
	(void)pipeline;
	training.drops++;
}

/* ---- the fixture ---- */

void node_open(struct node_fixture *f)
{
	struct tw_err err = { 0 };

	if (tw_online_node_new(&f->rules, "m", &f->node, &err) < 0)
		fail_msg("%s", err.text);
}

struct tw_online_figures node_figures(struct node_fixture *f)
{
	struct tw_online_figures out;
	struct tw_err err = { 0 };

	if (tw_online_node_figures(f->node, &out, &err) < 0)
		fail_msg("%s", err.text);
	return out;
}

void node_take(struct node_fixture *f, const struct tw_prom *samples)
{
	struct tw_err err = { 0 };

	if (tw_online_node_take(f->node, samples, f->to_ms, f->to_ms + SPAN_MS, &err) < 0)
		fail_msg("%s", err.text);
	f->to_ms += SPAN_MS;
}

int node_set_up(void **state)
{
	struct node_fixture *f = calloc(1, sizeof(*f));
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
	node_open(f);
	node_take(f, f->samples);
	f->rows = node_figures(f).rows + node_figures(f).held_rows;
	assert_true(f->rows > 5);
	*state = f;
	return 0;
}

int node_tear_down(void **state)
{
	struct node_fixture *f = *state;

	tw_online_node_free(f->node);
	tw_store_close(f->store);
	tw_prom_free(f->samples);
	tw_prom_free(f->none);
	free(f->path);
	scratch_free(f->dir);
	free(f);
	return 0;
}

void node_decide(struct node_fixture *f)
{
	struct tw_err err = { 0 };

	if (tw_online_node_decide(f->node, true, &err) < 0)
		fail_msg("%s", err.text);
}

struct tw_standing node_standing(struct node_fixture *f)
{
	struct tw_standing s = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_store_standing(f->store, "m", &s, &err), 0);
	return s;
}

void node_stand(struct node_fixture *f, const struct tw_standing *s)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_store_set_standing(f->store, "m", s, &err), 0);
	tw_online_node_free(f->node);
	node_open(f);
}

void node_fill(struct node_fixture *f, size_t held)
{
	while (node_figures(f).held_rows < held * f->rows)
		node_take(f, f->samples);
}

char *node_reason(struct node_fixture *f)
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

void node_make_full(struct node_fixture *f, const char *statement)
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
	node_open(f);
}

int node_begin_log(struct node_fixture *f)
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

void node_end_log(struct node_fixture *f, int saved, const char *const *want,
		  size_t count)
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
