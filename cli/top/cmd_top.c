/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/memory.h"
#include "cli/top/top_collector.h"
#include "cli/top/top_process.h"
#include "cli/top/top_screen.h"
#include "cli/top/top_view.h"
#include "collector/workloads/workload.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define URL_MAX 1024
#define URLS_MAX 256
#define CALL_MS 5000

struct config {
	struct tw_strs urls;
	unsigned level, by;
	bool reverse, batch, once, json;
	uint32_t iterations; /* 0: no limit */
	uint32_t rows;       /* 0: all rows */
	uint64_t interval_ms;
};

/* The key of each level. */
static const char level_keys[] = "pgcovbt";

static const struct tw_opt options[] = {
	{ TW_ROW(LIST, "url", urls, "URL,...",
		 "URLs of running tw-collectors; may be repeated"),
	  .env = "TW_COLLECTOR_URL", .fallback = "http://127.0.0.1:8103" },
	{ TW_ROW(CHOICE, "level", level, "LEVEL",
		 "level: process, cgroup, container, pod, vm, job or step"),
	  .fallback = "process", .choices = tw_level_names, .letter = 'l' },
	{ TW_ROW(CHOICE, "sort", by, "COLUMN", "order: watts, cpu, joules, time or name"),
	  .fallback = "watts", .choices = tw_top_sort_names, .letter = 'o' },
	{ TW_ROW(BOOL, "reverse", reverse, NULL, "reverse the order"), .letter = 'r' },
	{ TW_ROW(DURATION_MS, "delay", interval_ms, "TIME", "interval of updates"),
	  .fallback = "3s", .min = 100, .letter = 'd' },
	{ TW_ROW(BOOL, "batch", batch, NULL,
		 "plain text, no keys; also where stdout is not a terminal"),
	  .letter = 'b' },
	{ TW_ROW(BOOL, "once", once, NULL,
		 "print one picture as plain text; as -b -n 1") },
	{ TW_ROW(BOOL, "json", json, NULL,
		 "print a line of JSON at each update: the collector's answers") },
	{ TW_ROW(U32, "iterations", iterations, "N", "number of updates; 0: no limit"),
	  .fallback = "0", .letter = 'n' },
	{ TW_ROW(U32, "rows", rows, "N", "number of rows with --batch; 0: all"),
	  .fallback = "0" },
};

static int check_use(void *config, struct tw_err *err)
{
	const struct config *c = config;

	if (c->urls.count == 0 || c->urls.count > URLS_MAX)
		return tw_fail(err, TW_INVALID, "--url: want 1 to %d URLs", URLS_MAX);
	for (size_t i = 0; i < c->urls.count; i++)
		if (strlen(c->urls.at[i]) > URL_MAX)
			return tw_fail(err, TW_INVALID, "--url: more than %d bytes",
				       URL_MAX);
	return 0;
}

/* The state of the display. */
struct top {
	const struct config *c;
	struct tw_http_many *http;
	struct tw_top_view view;
	struct tw_top_collector *collector;
	struct tw_top_node *node; /* those that have answered */
	size_t nodes;
	struct tw_top_course course;
	struct tw_top_rows rows;
	unsigned level;
	uint64_t at_ms;       /* time of the last rows; 0: none yet */
	struct tw_err failed; /* of the last attempt */
};

/* ---- asking ---- */

static void release_nodes(struct tw_top_node *node, size_t count)
{
	for (size_t i = 0; i < count; i++)
		tw_top_node_release(&node[i]);
	free(node);
}

/* A collector that fails must not delay the others for long. */
static uint64_t patience_ms(const struct config *c)
{
	return c->urls.count == 1 || c->interval_ms > CALL_MS ? CALL_MS
	       : c->interval_ms < 1000                        ? 1000
							      : c->interval_ms;
}

static int send_requests(struct top *t, struct tw_err *err)
{
	return tw_top_ask(t->http, t->collector, t->c->urls.count,
			  tw_level_names[t->level], patience_ms(t->c), err);
}

/* False: it has no answer, *why says why, or it is one that has answered already. */
static bool read_node(const struct tw_top_collector *c, struct tw_top_node *node,
		      size_t nodes, struct tw_err *why)
{
	if (c->node == NULL || c->rows == NULL) {
		tw_fail(why, c->failed.code, "%s", c->failed.text);
		return false;
	}
	if (tw_top_node_read(c->node, strlen(c->node), &node[nodes], why) < 0) {
		tw_err_wrap(why, "'%s'", c->url);
		return false;
	}
	for (size_t i = 0; i < nodes; i++)
		if (node[i].instance[0] != '\0' &&
		    strcmp(node[i].instance, node[nodes].instance) == 0) {
			tw_fail(why, TW_INVALID, "'%s' is the collector of another --url",
				c->url);
			tw_top_node_release(&node[nodes]);
			return false;
		}
	return true;
}

/* Nodes whose rows cannot be read leave. Returns the number of the others. */
static size_t read_rows(struct top *t, const struct tw_top_collector *const *of,
			struct tw_top_node *node, size_t nodes, bool several,
			struct tw_top_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < nodes; i++) {
		struct tw_err why = { 0 };

		if (tw_top_rows_add(rows, of[i]->rows, strlen(of[i]->rows),
				    several ? node[i].name : NULL, &why) == 0) {
			node[kept++] = node[i];
			continue;
		}
		tw_err_wrap(&why, "'%s'", of[i]->url);
		t->failed = why;
		tw_top_node_release(&node[i]);
	}
	return kept;
}

static void add_course(struct top *t, uint64_t now_ms)
{
	double watts = NAN;

	for (size_t i = 0; i < t->nodes; i++)
		if (!isnan(t->node[i].watts))
			watts = isnan(watts) ? t->node[i].watts
					     : watts + t->node[i].watts;
	tw_top_course_add(&t->course, watts, (double)(now_ms - t->at_ms) / 1e3);
}

/*
 * Show the collectors that answer; t->failed names the last that does not. After a change
 * of level there are no rows to compare with. Fails if none answers.
 */
static int ask(struct top *t, bool same_level, struct tw_err *err)
{
	const size_t count = t->c->urls.count;
	struct tw_top_node *node = tw_must(calloc(count, sizeof(*node)));
	struct tw_top_rows fresh = { .count = 0 };
	const uint64_t asked_ms = tw_now_ms();
	const struct tw_top_collector **of = tw_must(calloc(count, sizeof(*of)));
	size_t nodes = 0;

	tw_err_clear(&t->failed);
	if (send_requests(t, err) < 0) {
		free(node);
		free(of);
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		struct tw_err why = { 0 };

		of[nodes] = &t->collector[i];
		if (read_node(&t->collector[i], node, nodes, &why))
			nodes++;
		else
			t->failed = why;
	}
	tw_top_nodes_tell_apart(node, nodes);
	nodes = read_rows(t, of, node, nodes, count > 1, &fresh);
	free(of);
	if (nodes == 0) {
		tw_top_rows_release(&fresh);
		free(node);
		return tw_fail(err, t->failed.code, "%s", t->failed.text);
	}
	if (same_level && t->at_ms != 0)
		tw_top_rows_compare(&fresh, &t->rows,
				    (double)(asked_ms - t->at_ms) / 1e3);
	tw_top_rows_release(&t->rows);
	release_nodes(t->node, t->nodes);
	t->rows = fresh;
	t->node = node;
	t->nodes = nodes;
	add_course(t, asked_ms);
	t->at_ms = asked_ms;
	return 0;
}

static void draw(struct top *t, struct tw_buf *b)
{
	t->view.node = t->node;
	t->view.nodes = t->nodes;
	t->view.course = &t->course;
	t->view.level = tw_level_names[t->level];
	t->view.proc = t->level == 0 && t->c->urls.count == 1 &&
				       tw_top_is_here(t->c->urls.at[0], t->node[0].name)
			       ? "/proc"
			       : NULL;
	t->view.message = t->failed.code != TW_OK ? t->failed.text : NULL;
	tw_top_rows_sort(&t->rows, t->view.by, t->view.reverse);
	tw_top_draw(&t->view, &t->rows, b);
}

static bool is_starting(const struct top *t)
{
	for (size_t i = 0; i < t->nodes; i++)
		if (t->node[i].starting)
			return true;
	return false;
}

/* Like ask(); a collector that was just started gets time to answer and to tick. */
static int ask_first(struct top *t, struct tw_err *err)
{
	const uint64_t since_ms = tw_now_ms();

	for (;;) {
		struct tw_err why = { 0 };

		t->at_ms = 0;
		t->course = (struct tw_top_course){ .count = 0 };
		if (ask(t, false, &why) == 0) {
			if (!is_starting(t) ||
			    !tw_command_wait(since_ms, TW_COMMAND_POWER_MS))
				return 0;
		} else if (why.code != TW_IO ||
			   !tw_command_wait(since_ms, TW_COMMAND_START_MS)) {
			return tw_fail(err, why.code, "%s", why.text);
		}
	}
}

/* ---- in a pipe ---- */

static void pause_ms(uint64_t ms)
{
	const struct timespec time = { .tv_sec = (time_t)(ms / 1000),
				       .tv_nsec = (long)(ms % 1000 * 1000000) };

	nanosleep(&time, NULL);
}

/* {"node":..,"workloads":..}, each as the collector answers: members of an object. */
static int add_answers(const struct tw_top_collector *c, struct tw_buf *b,
		       struct tw_err *err)
{
	json_t *node = NULL, *rows = NULL;
	int rc = -1;

	if (c->node == NULL || c->rows == NULL)
		return tw_fail(err, c->failed.code, "%s", c->failed.text);
	if (tw_json_parse(c->node, strlen(c->node), "node", &node, err) < 0 ||
	    tw_json_parse(c->rows, strlen(c->rows), "workloads", &rows, err) < 0) {
		tw_err_wrap(err, "'%s'", c->url);
		goto out;
	}
	tw_json_add_value(b, "node", node);
	tw_json_add_value(b, "workloads", rows);
	rc = 0;
out:
	json_decref(node);
	json_decref(rows);
	return rc;
}

/* Of several collectors: {"collectors":[{"url":..,"node":..,"workloads":..},..]}. */
static int add_collectors(const struct top *t, struct tw_buf *b, struct tw_err *err)
{
	size_t answered = 0;

	tw_json_add_array(b, "collectors");
	for (size_t i = 0; i < t->c->urls.count; i++) {
		const struct tw_top_collector *c = &t->collector[i];
		struct tw_err why = { 0 };

		tw_json_add_object(b, NULL);
		tw_json_add_text(b, "url", c->url);
		if (add_answers(c, b, &why) == 0)
			answered++;
		else
			tw_json_add_text(b, "error", why.text);
		tw_json_end_object(b);
	}
	tw_json_end_array(b);
	return answered > 0 ? 0
			    : tw_fail(err, t->collector[0].failed.code, "%s",
				      t->collector[0].failed.text);
}

static int add_json(struct top *t, struct tw_buf *b, struct tw_err *err)
{
	if (send_requests(t, err) < 0)
		return -1;
	tw_json_add_object(b, NULL);
	if ((t->c->urls.count == 1 ? add_answers(&t->collector[0], b, err)
				   : add_collectors(t, b, err)) < 0)
		return -1;
	tw_buf_adds(b, "}\n");
	return 0;
}

static int add_picture(struct top *t, bool first, struct tw_buf *b, struct tw_err *err)
{
	if (first && ask_first(t, err) < 0)
		return -1;
	if (t->c->json)
		return add_json(t, b, err);
	if (!first && ask(t, true, err) < 0)
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

		if (i > 0)
			pause_ms(t->c->interval_ms);
		if (add_picture(t, i == 0, &b, err) < 0) {
			tw_buf_clear(&b);
			return -1;
		}
		tw_command_print(&b);
		/* Flush for readers of a pipe. A failure ends the program. */
		if (fflush(stdout) != 0)
			return tw_command_is_heard() ? tw_fail(err, TW_IO, "cannot write")
						     : 0;
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
	/* Any key ends the help. */
	t->view.help = key == '?' && !t->view.help;
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

	if (ask(t, same_level, &err) == 0)
		return;
	if (!same_level)
		tw_top_rows_release(&t->rows);
	t->failed = err;
}

static int show(struct top *t, struct tw_screen *s, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	int rc;

	tw_screen_size(s, &t->view.columns, &t->view.lines);
	draw(t, &b);
	rc = tw_screen_draw(s, &b, err);
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

/* https://no-color.org, and terminals that know no attributes. */
static bool wants_color(void)
{
	const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return (no == NULL || no[0] == '\0') &&
	       (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

static int show_on_screen(struct top *t, struct tw_err *err)
{
	struct tw_screen *s = NULL;
	int rc;

	/* Report a wrong URL before the screen is cleared. */
	if (ask_first(t, err) < 0 || tw_screen_open(&s, err) < 0)
		return -1;
	t->view.screen = true;
	t->view.color = wants_color();
	rc = run_screen(t, s, err);
	tw_screen_close(s);
	return rc;
}

static int open_collectors(struct top *t, struct tw_err *err)
{
	t->collector = tw_must(calloc(t->c->urls.count, sizeof(*t->collector)));
	for (size_t i = 0; i < t->c->urls.count; i++)
		t->collector[i].url = t->c->urls.at[i];
	return tw_http_init(err) < 0 ? -1 : tw_http_many_open(&t->http, err);
}

static void close_collectors(struct top *t)
{
	tw_http_many_close(t->http);
	for (size_t i = 0; i < t->c->urls.count; i++)
		tw_top_collector_clear(&t->collector[i]);
	free(t->collector);
}

static int top(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct top t = { .c = c,
			 .level = c->level,
			 .view = { .by = (enum tw_top_sort)c->by,
				   .reverse = c->reverse } };
	int rc = -1;

	/* Numbers stay as in the C locale. */
	setlocale(LC_CTYPE, "");
	t.view.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	if (open_collectors(&t, err) < 0)
		goto out;
	if ((c->batch || c->once || c->json || !isatty(STDOUT_FILENO)
		     ? run_batch(&t, err)
		     : show_on_screen(&t, err)) < 0)
		goto out;
	rc = 0;
out:
	tw_top_rows_release(&t.rows);
	release_nodes(t.node, t.nodes);
	close_collectors(&t);
	return rc;
}

const struct tw_command tw_command_top = {
	.opts = TW_COMMAND_OPTS("top", NULL,
				"Show the power of the workloads of machines, live."),
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = top,
};
