/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/top_screen.h"
#include "cli/top_view.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/http.h"
#include "lib/json/json.h"
#include "lib/program/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define URL_MAX 1024
#define CALL_MS 5000
#define INTERVAL_MIN_MS 100

struct config {
	char *url;
	unsigned level, by;
	bool reverse, batch, once, json;
	uint32_t iterations; /* 0: no limit */
	uint32_t rows;       /* 0: all rows */
	uint64_t interval_ms;
};

/* A level and its key. */
static const char *const level_names[] = { "process", "cgroup", "container",
					   "pod",     "vm",     NULL };
static const char level_keys[] = "pgcov";

static const struct tw_opt options[] = {
	{ .name = "url",
	  .env = "TW_COLLECTOR_URL",
	  .type = TW_OPT_TEXT,
	  .offset = offsetof(struct config, url),
	  .fallback = "http://127.0.0.1:8103",
	  .arg = "URL",
	  .help = "URL of a running tw-collector" },
	{ .name = "level",
	  .letter = 'l',
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct config, level),
	  .fallback = "process",
	  .arg = "LEVEL",
	  .help = "level: process, cgroup, container, pod or vm",
	  .choices = level_names },
	{ .name = "sort",
	  .letter = 'o',
	  .type = TW_OPT_CHOICE,
	  .offset = offsetof(struct config, by),
	  .fallback = "watts",
	  .arg = "COLUMN",
	  .help = "order: watts, cpu, joules, time or name",
	  .choices = tw_top_sort_names },
	{ .name = "reverse",
	  .letter = 'r',
	  .type = TW_OPT_BOOL,
	  .offset = offsetof(struct config, reverse),
	  .help = "reverse the order" },
	{ .name = "delay",
	  .letter = 'd',
	  .type = TW_OPT_DURATION_MS,
	  .offset = offsetof(struct config, interval_ms),
	  .fallback = "3s",
	  .arg = "TIME",
	  .help = "interval of updates: seconds, or as 500ms" },
	{ .name = "batch",
	  .letter = 'b',
	  .type = TW_OPT_BOOL,
	  .offset = offsetof(struct config, batch),
	  .help = "plain text, no keys; also where stdout is no terminal" },
	{ .name = "once",
	  .type = TW_OPT_BOOL,
	  .offset = offsetof(struct config, once),
	  .help = "print one picture as plain text; as -b -n 1" },
	{ .name = "json",
	  .type = TW_OPT_BOOL,
	  .offset = offsetof(struct config, json),
	  .help = "print a line of JSON at each update: the collector's answers" },
	{ .name = "iterations",
	  .letter = 'n',
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct config, iterations),
	  .fallback = "0",
	  .arg = "N",
	  .help = "number of updates; 0: no limit" },
	{ .name = "rows",
	  .type = TW_OPT_U32,
	  .offset = offsetof(struct config, rows),
	  .fallback = "0",
	  .arg = "N",
	  .help = "number of rows with --batch; 0: all" },
};

static const struct tw_opts opts = {
	.program = "tallywatt top",
	.summary = "Show the power of the workloads of a machine, live.",
	.opt = options,
	.count = sizeof(options) / sizeof(options[0]),
};

static int check_use(void *config, struct tw_err *err)
{
	const struct config *c = config;

	if (strlen(c->url) > URL_MAX)
		return tw_fail(err, TW_INVALID, "--url: more than %d bytes", URL_MAX);
	return c->interval_ms >= INTERVAL_MIN_MS
		       ? 0
		       : tw_fail(err, TW_INVALID, "--delay: want 100ms or more");
}

/* The state of the display. */
struct top {
	const struct config *c;
	struct tw_http *session;
	struct tw_top_view view;
	char *node;
	struct tw_top_rows rows;
	unsigned level;
	uint64_t at_ms;       /* time of the last rows; 0: none yet */
	struct tw_err failed; /* time of the last attempt */
};

/* ---- asking ---- */

static int get(struct top *t, const char *level, struct tw_http_answer *out,
	       struct tw_err *err)
{
	struct tw_buf url = { 0 };
	size_t len = strlen(t->c->url);
	struct tw_http_call call = { .timeout_ms = CALL_MS, .session = t->session };
	int rc = -1;

	while (len > 0 && t->c->url[len - 1] == '/')
		len--;
	tw_buf_add(&url, t->c->url, len);
	tw_buf_addf(&url, "/api/v1/power?level=%s", level);
	if (tw_buf_failed(&url)) {
		tw_fail(err, TW_NOMEM, "URL");
		goto out;
	}
	call.url = url.data;
	if (tw_http_call(&call, out, err) < 0)
		goto out;
	if (out->status != 200) {
		tw_fail(err, TW_IO, "'%s' answers %u", url.data, out->status);
		tw_http_answer_release(out);
		goto out;
	}
	rc = 0;
out:
	tw_buf_clear(&url);
	return rc;
}

static int ask_node(struct top *t, struct tw_err *err)
{
	struct tw_http_answer a = { 0 };
	char *line = NULL;
	int rc = -1;

	if (get(t, "node", &a, err) < 0)
		return -1;
	if (tw_top_node_line(a.body, a.len, &line, err) < 0) {
		tw_err_wrap(err, "'%s'", t->c->url);
		goto out;
	}
	free(t->node);
	t->node = line;
	rc = 0;
out:
	tw_http_answer_release(&a);
	return rc;
}

/* After a change of level there are no rows to compare with. */
static int ask_rows(struct top *t, bool same_level, struct tw_err *err)
{
	struct tw_http_answer a = { 0 };
	struct tw_top_rows fresh = { .count = 0 };
	const uint64_t asked_ms = tw_now_ms();
	int rc = -1;

	if (get(t, level_names[t->level], &a, err) < 0)
		return -1;
	if (tw_top_rows_read(a.body, a.len, &fresh, err) < 0) {
		tw_err_wrap(err, "'%s'", t->c->url);
		goto out;
	}
	if (same_level && t->at_ms != 0)
		tw_top_rows_compare(&fresh, &t->rows,
				    (double)(asked_ms - t->at_ms) / 1e3);
	tw_top_rows_release(&t->rows);
	t->rows = fresh;
	t->at_ms = asked_ms;
	rc = 0;
out:
	tw_http_answer_release(&a);
	return rc;
}

static int ask(struct top *t, bool same_level, struct tw_err *err)
{
	return ask_node(t, err) < 0 || ask_rows(t, same_level, err) < 0 ? -1 : 0;
}

static void draw(struct top *t, struct tw_buf *b)
{
	t->view.node = t->node != NULL ? t->node : "";
	t->view.level = level_names[t->level];
	t->view.message = t->failed.code != TW_OK ? t->failed.text : NULL;
	tw_top_rows_sort(&t->rows, t->view.by, t->view.reverse);
	tw_top_draw(&t->view, &t->rows, b);
}

/* ---- in a pipe ---- */

static void pause_ms(uint64_t ms)
{
	const struct timespec time = { .tv_sec = (time_t)(ms / 1000),
				       .tv_nsec = (long)(ms % 1000 * 1000000) };

	nanosleep(&time, NULL);
}

static int add_answer(struct top *t, const char *level, const char *key, json_t *to,
		      struct tw_err *err)
{
	struct tw_http_answer a = { 0 };
	json_t *value = NULL;
	int rc = -1;

	if (get(t, level, &a, err) < 0)
		return -1;
	if (tw_json_parse(a.body, a.len, level, &value, err) < 0) {
		tw_err_wrap(err, "'%s'", t->c->url);
		goto out;
	}
	if (json_object_set_new(to, key, value) < 0) {
		tw_fail(err, TW_NOMEM, "answer");
		goto out;
	}
	rc = 0;
out:
	tw_http_answer_release(&a);
	return rc;
}

/* One line: {"node":..,"workloads":..}, each as the collector answers. */
static int add_json(struct top *t, struct tw_buf *b, struct tw_err *err)
{
	json_t *both = json_object();
	int rc = -1;

	if (add_answer(t, "node", "node", both, err) < 0 ||
	    add_answer(t, level_names[t->level], "workloads", both, err) < 0)
		goto out;
	tw_buf_add_json(b, both);
	tw_buf_adds(b, "\n");
	rc = 0;
out:
	json_decref(both);
	return rc;
}

static int add_picture(struct top *t, bool first, struct tw_buf *b, struct tw_err *err)
{
	if (t->c->json)
		return add_json(t, b, err);
	if (ask(t, !first, err) < 0)
		return -1;
	tw_buf_adds(b, first ? "" : "\n");
	draw(t, b);
	return 0;
}

static int run_batch(struct top *t, struct tw_err *err)
{
	const uint32_t updates = t->c->once ? 1 : t->c->iterations;

	t->view.lines = t->c->rows > 0 ? t->c->rows + TW_TOP_HEAD : 0;
	for (uint32_t i = 0; updates == 0 || i < updates; i++) {
		struct tw_buf b = { 0 };
		int failed;

		if (i > 0)
			pause_ms(t->c->interval_ms);
		failed = add_picture(t, i == 0, &b, err);
		if (failed == 0)
			failed = tw_command_print(&b, "picture", err);
		tw_buf_clear(&b);
		if (failed < 0)
			return -1;
		/* Flush for readers of a pipe. A failure ends the program. */
		if (fflush(stdout) != 0)
			return tw_fail(err, TW_IO, "cannot write");
	}
	return 0;
}

/* ---- on a terminal ---- */

static void scroll(struct top *t, ptrdiff_t by)
{
	const size_t last = t->rows.count > 0 ? t->rows.count - 1 : 0;
	const ptrdiff_t to = (ptrdiff_t)t->view.from + by;

	t->view.from = to < 0 ? 0 : (size_t)to > last ? last : (size_t)to;
}

/* Return true if the key selects another level. */
static bool choose_level(struct top *t, int key)
{
	const char *at = key > 0 && key < 128 ? strchr(level_keys, key) : NULL;

	if (at == NULL)
		return false;
	t->level = (unsigned)(at - level_keys);
	t->view.from = 0;
	return true;
}

/* Return false to quit. *again: request new rows at once. */
static bool take_key(struct top *t, int key, bool *again)
{
	const ptrdiff_t page =
		t->view.lines > TW_TOP_HEAD ? (ptrdiff_t)t->view.lines - TW_TOP_HEAD : 1;

	*again = key == ' ' || choose_level(t, key);
	if (key == 's')
		t->view.by = (t->view.by + 1) % TW_TOP_SORTS;
	else if (key == 'r')
		t->view.reverse = !t->view.reverse;
	else if (key == 'j' || key == TW_KEY_DOWN)
		scroll(t, 1);
	else if (key == 'k' || key == TW_KEY_UP)
		scroll(t, -1);
	else if (key == TW_KEY_PAGE_DOWN)
		scroll(t, page);
	else if (key == TW_KEY_PAGE_UP)
		scroll(t, -page);
	return key != 'q' && key != 'Q';
}

/* Show an error above the last rows, and try again later. */
static void ask_again(struct top *t, bool same_level)
{
	struct tw_err err = { 0 };

	if (ask(t, same_level, &err) < 0 && !same_level)
		tw_top_rows_release(&t->rows);
	t->failed = err;
}

static int show(struct top *t, struct tw_screen *s, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	int rc;

	tw_screen_size(s, &t->view.columns, &t->view.lines);
	draw(t, &b);
	rc = tw_buf_failed(&b) ? tw_fail(err, TW_NOMEM, "screen")
			       : tw_screen_draw(s, &b, err);
	tw_buf_clear(&b);
	return rc;
}

static int run_screen(struct top *t, struct tw_screen *s, struct tw_err *err)
{
	uint64_t due_ms = tw_now_ms() + t->c->interval_ms;
	uint32_t shown = 1;

	if (show(t, s, err) < 0)
		return -1;
	while (t->c->iterations == 0 || shown < t->c->iterations) {
		const uint64_t now = tw_now_ms();
		const unsigned level = t->level;
		bool again = false;
		int key = 0;
		const enum tw_screen_event what =
			tw_screen_wait(s, now < due_ms ? due_ms - now : 0, &key);

		if (what == TW_SCREEN_END ||
		    (what == TW_SCREEN_KEY && !take_key(t, key, &again)))
			return 0;
		if (what == TW_SCREEN_TIMEOUT || again) {
			ask_again(t, level == t->level);
			due_ms = tw_now_ms() + t->c->interval_ms;
			shown++;
		}
		if (show(t, s, err) < 0)
			return -1;
	}
	return 0;
}

static int show_on_screen(struct top *t, struct tw_err *err)
{
	struct tw_screen *s = NULL;
	int rc;

	/* Report a wrong URL before the screen is cleared. */
	if (ask(t, false, err) < 0 || tw_screen_open(&s, err) < 0)
		return -1;
	t->view.color = true;
	rc = run_screen(t, s, err);
	tw_screen_close(s);
	return rc;
}

static int top(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct top t = { .c = c,
			 .level = c->level,
			 .view = { .by = (enum tw_top_sort)c->by,
				   .reverse = c->reverse } };
	int rc = -1;

	if (tw_http_init(err) < 0 || tw_http_open(&t.session, err) < 0)
		goto out;
	if ((c->batch || c->once || c->json || !isatty(STDOUT_FILENO)
		     ? run_batch(&t, err)
		     : show_on_screen(&t, err)) < 0)
		goto out;
	rc = 0;
out:
	tw_top_rows_release(&t.rows);
	free(t.node);
	tw_http_close(t.session);
	return rc;
}

const struct tw_command tw_command_top = {
	.name = "top",
	.summary = "show the power of workloads, live",
	.opts = &opts,
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = top,
};
