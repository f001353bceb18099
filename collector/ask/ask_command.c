/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "command": a user's own meter, a program that prints a value a line.
 *
 * The program is not trusted: it may print anything, print too much, hang or end at once.
 * A program that prints a value and ends well is started again for the next value.
 */
#include "collector/ask/own_job.h"
#include "collector/ask/runner.h"
#include "collector/system/aside.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/program/log.h"
#include "lib/program/words.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define CHUNK 4096
/* Output and errors of a second; more is a flood. */
#define FLOOD_BYTES 65536
#define BACKOFF_MIN_MS 1000
#define BACKOFF_MAX_MS 60000
/* A program that prints nothing for this many intervals, and for this long, hangs. */
#define SILENT_INTERVALS 3
#define SILENT_MIN_MS 10000
/* A program that has run for this long was well: the next back-off is the shortest. */
#define WELL_MS 60000
#define SAID_MAX 48

struct job {
	struct tw_own_job own;
	const char *command, *user; /* user NULL: that of this process */
	struct tw_strs words;
	struct tw_aside runner;
	/* The program that runs. */
	bool running, requested;
	int out, err; /* -1: closed */
	struct tw_lines lines, errors;
	uint64_t started_ns, heard_ns; /* heard: of the last value */
	uint64_t flood_ns;             /* begin of the second that is counted */
	size_t flood_bytes;
	uint64_t line; /* of its output, from 1 */
	uint64_t values;
	/* Values that were not sent yet: their mean, or the newest counter. */
	size_t unsent;
	double sum_w;
	struct tw_value newest;
	uint64_t sent_ns;
	/* Since the start. */
	uint64_t due_ns;     /* of the next start */
	bool well;           /* the collector still is there */
	char said[SAID_MAX]; /* begin of the last line of errors */
	struct tw_log_limit limit;
};

/* ---- what the program prints ---- */

static void close_output(struct job *j)
{
	if (j->out >= 0)
		close(j->out);
	if (j->err >= 0)
		close(j->err);
	j->out = j->err = -1;
}

static void send_missing(struct job *j, const struct tw_err *why)
{
	j->well = j->well && tw_own_job_send_missing(&j->own, why);
}

static void take_value(struct job *j, const struct tw_value *v)
{
	j->values++;
	j->heard_ns = tw_now_ns();
	j->sum_w += v->power_w;
	j->unsent++;
	j->newest = *v;
}

static bool is_empty(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isspace((unsigned char)line[i]))
			return false;
	return true;
}

/* Empty lines and comments are not values. */
static void take_line(void *arg, const char *line, size_t len, bool cut)
{
	struct job *j = arg;
	struct tw_err err = { 0 };
	struct tw_value v;

	j->line++;
	if (!cut && (is_empty(line, len) || line[0] == '#'))
		return;
	if (cut)
		tw_fail(&err, TW_PARSE, "longer than %d bytes", TW_LINE_MAX);
	else if (tw_value_parse(line, len, j->own.unit, &v, &err) == 0) {
		take_value(j, &v);
		return;
	}
	tw_err_wrap(&err, "line %llu of the command", (unsigned long long)j->line);
	send_missing(j, &err);
}

static void take_error(void *arg, const char *line, size_t len, bool cut)
{
	struct job *j = arg;
	size_t n = len < SAID_MAX - 1 ? len : SAID_MAX - 1;

	if (is_empty(line, len))
		return;
	for (size_t i = 0; i < n; i++)
		j->said[i] = line[i] >= 0x20 && line[i] < 0x7f ? line[i] : '?';
	j->said[n] = '\0';
	tw_log_warn_limited(&j->limit, "%s: %.*s%s", j->words.at[0], (int)len, line,
			    cut ? ".." : "");
}

/* Read once. False: it is the end, or there is nothing now. */
static bool read_some(struct job *j, int *fd, struct tw_lines *lines, tw_line_sink *sink)
{
	char data[CHUNK];
	ssize_t n;

	if (*fd < 0)
		return false;
	n = read(*fd, data, sizeof(data));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		tw_lines_end(lines, sink, j);
		close(*fd);
		*fd = -1;
		return false;
	}
	j->flood_bytes += (size_t)n;
	tw_lines_feed(lines, data, (size_t)n, sink, j);
	return true;
}

static bool read_output(struct job *j)
{
	return read_some(j, &j->out, &j->lines, take_line);
}

static bool read_errors(struct job *j)
{
	return read_some(j, &j->err, &j->errors, take_error);
}

/* Values that come faster than the interval are averaged. */
static void send_value(struct job *j, uint64_t now)
{
	struct tw_value v = j->newest;

	if (j->unsent == 0 || now - j->sent_ns < j->own.state.interval_ms * MS / 2)
		return;
	v.power_w = j->sum_w / (double)j->unsent;
	j->well = j->well && tw_own_job_send(&j->own, &v);
	j->sent_ns = now;
	j->unsent = 0;
	j->sum_w = 0;
}

/* ---- its starts and ends ---- */

static void start(struct job *j)
{
	tw_runner_run(&j->runner);
	j->requested = true;
}

static void begin(struct job *j, const struct tw_runner_event *e)
{
	close_output(j);
	j->running = true;
	j->requested = false;
	j->out = e->out;
	j->err = e->err;
	j->lines = j->errors = (struct tw_lines){ 0 };
	j->started_ns = j->heard_ns = j->flood_ns = tw_now_ns();
	j->flood_bytes = 0;
	j->line = j->values = 0;
	j->said[0] = '\0';
}

/* The zone has no value until the program runs again, and prints one. */
static void fail(struct job *j, const char *why)
{
	const uint64_t now = tw_now_ns();
	struct tw_err err = { 0 };

	if (j->running && j->values > 0 && now - j->started_ns > WELL_MS * MS)
		j->own.state.failures = 0;
	j->own.state.failures++;
	j->running = j->requested = false;
	j->unsent = 0;
	j->sum_w = 0;
	j->due_ns = now + tw_ask_backoff_ms(j->own.state.failures, BACKOFF_MIN_MS,
					    BACKOFF_MAX_MS) *
				  MS;
	tw_fail(&err, TW_IO, "the command %s", why);
	tw_log_warn_limited(&j->limit, "%s: %s", j->words.at[0], err.text);
	send_missing(j, &err);
}

/* End a program that misbehaves. */
static void end(struct job *j, const char *why)
{
	tw_runner_stop(&j->runner);
	close_output(j);
	fail(j, why);
}

static void take_end(struct job *j, int status)
{
	const bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	size_t chunks = FLOOD_BYTES / CHUNK;
	char why[SAID_MAX + 64];

	if (!j->running)
		return;
	while (chunks-- > 0 && (read_output(j) || read_errors(j)))
		;
	tw_lines_end(&j->lines, take_line, j);
	tw_lines_end(&j->errors, take_error, j);
	close_output(j);
	if (good && j->values > 0) {
		j->running = false;
		j->own.state.failures = 0;
		j->due_ns = j->started_ns + j->own.state.interval_ms * MS;
		send_value(j, tw_now_ns());
		return;
	}
	if (good)
		snprintf(why, sizeof(why), "ended without a value");
	else if (WIFEXITED(status))
		snprintf(why, sizeof(why), "exited with %d%s%s", WEXITSTATUS(status),
			 j->said[0] != '\0' ? ": " : "", j->said);
	else
		snprintf(why, sizeof(why), "died of signal %d", WTERMSIG(status));
	fail(j, why);
}

static void take_event(struct job *j, const struct tw_runner_event *e)
{
	char why[SAID_MAX + 64];

	switch (e->kind) {
	case TW_RUNNER_STARTED:
		begin(j, e);
		break;
	case TW_RUNNER_ENDED:
		take_end(j, e->status);
		break;
	case TW_RUNNER_FAILED:
		snprintf(why, sizeof(why), "cannot be started: %s", strerror(e->status));
		fail(j, why);
		break;
	case TW_RUNNER_GONE: {
		struct tw_err err = { 0 };

		tw_fail(&err, TW_IO, "the process that starts the command has ended");
		tw_ask_send_failure(j->own.state.fd, &err, true);
		j->well = false;
		break;
	}
	}
}

/* ---- the loop ---- */

static uint64_t silent_ms(const struct job *j)
{
	const uint64_t ms = SILENT_INTERVALS * j->own.state.interval_ms;

	return ms > SILENT_MIN_MS ? ms : SILENT_MIN_MS;
}

static void check_program(struct job *j, uint64_t now)
{
	char why[80];

	if (!j->running)
		return;
	if (j->flood_bytes > FLOOD_BYTES) {
		snprintf(why, sizeof(why), "printed more than %d bytes in a second",
			 FLOOD_BYTES);
		end(j, why);
	} else if (now - j->heard_ns > silent_ms(j) * MS) {
		snprintf(why, sizeof(why), "printed no value for %llu s",
			 (unsigned long long)silent_ms(j) / 1000);
		end(j, why);
	}
	if (now - j->flood_ns > 1000 * MS) {
		j->flood_ns = now;
		j->flood_bytes = 0;
	}
}

/* Time until something is due, at most a second. */
static int wait_ms(const struct job *j, uint64_t now)
{
	const uint64_t half_ns = j->own.state.interval_ms * MS / 2;
	uint64_t ms = 1000;

	if (!j->running && !j->requested && j->due_ns < now + ms * MS)
		ms = j->due_ns > now ? (j->due_ns - now) / MS + 1 : 0;
	if (j->unsent > 0 && j->sent_ns + half_ns < now + ms * MS)
		ms = j->sent_ns + half_ns > now ? (j->sent_ns + half_ns - now) / MS + 1
						: 0;
	return (int)ms;
}

/* False: the collector has closed its end. Its requests to poll soon are skipped. */
static bool take_collector(const struct job *j, short events)
{
	char request[16];

	if ((events & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0)
		return false;
	return (events & POLLIN) == 0 ||
	       recv(j->own.state.fd, request, sizeof(request), MSG_DONTWAIT) != 0;
}

static void turn(struct job *j)
{
	uint64_t now = tw_now_ns();
	struct pollfd p[] = { { .fd = j->own.state.fd, .events = POLLIN | POLLRDHUP },
			      { .fd = j->runner.fd, .events = POLLIN },
			      { .fd = j->out, .events = POLLIN },
			      { .fd = j->err, .events = POLLIN } };
	struct tw_runner_event e;

	if (!j->running && !j->requested && now >= j->due_ns)
		start(j);
	if (poll(p, 4, wait_ms(j, now)) < 0 && errno != EINTR) {
		j->well = false;
		return;
	}
	j->well = take_collector(j, p[0].revents);
	if (p[2].revents != 0)
		read_output(j);
	if (p[3].revents != 0)
		read_errors(j);
	while (j->well && tw_runner_next(&j->runner, &e))
		take_event(j, &e);
	now = tw_now_ns();
	send_value(j, now);
	check_program(j, now);
}

static void run_job(void *state)
{
	struct job *j = state;

	j->well = true;
	while (j->well)
		turn(j);
	close_output(j);
}

static void close_job(void *state)
{
	struct job *j = state;

	tw_aside_close(&j->runner);
	tw_strs_clear(&j->words);
}

static int open_job(void *state, struct tw_err *err)
{
	struct job *j = state;

	j->out = j->err = -1;
	return tw_words_split(j->command, &j->words, err) < 0
		       ? -1
		       : tw_runner_open(&j->words, j->user, &j->runner, err);
}

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_OWN_JOB_FIELDS(struct job),
	{ "command", TW_FIELD_BORROWED, AT(command) },
	{ "command_user", TW_FIELD_BORROWED, AT(user), .optional = true },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

const struct tw_ask_job tw_ask_command = {
	.name = "command",
	.settings = &settings,
	.open = open_job,
	.run = run_job,
	.close = close_job,
};
