/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "agents": polls other collectors, all at a time, and looks up names of agents.
 */
#include "collector/ask/access.h"
#include "collector/ask/agent_lookup.h"
#include "collector/ask/agent_parse.h"
#include "collector/ask/ask_job.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"
#include "lib/core/strs.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"
#include "lib/program/daemon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX ((size_t)8 << 20)
/* How often due calls are started, and the results of lookups taken. */
#define STEP_MS 50
#define TARGETS_MAX 1024
/* Files besides the connections: modules of the resolver, pipes of libcurl. */
#define FILES_MORE 256

/* An agent. Its place in the table is the place of its messages. */
struct target {
	struct job *job;
	char *url, *connect_to, *call_url; /* url NULL: the place is free */
	ptrdiff_t lookup;                  /* -1: from --agents itself */
	uint64_t due_ms, began_ms;
	bool busy, gone;
	struct tw_http_call call;
};

struct job {
	struct tw_ask_state state;
	const char *query; /* path and query of the calls */
	struct tw_strs urls;
	uint64_t timeout_ms, refresh_ms;
	const char *access_path; /* NULL: none */
	struct tw_access access;
	struct tw_agent_lookup *lookup;
	struct target *target[TARGETS_MAX];
	struct tw_http_many *http;
	struct tw_agent_rows rows;
	bool closed;
};

/* ---- settings ---- */

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_ASK_INTERVAL(struct job),
	{ "timeout_ms", TW_FIELD_UINT, AT(timeout_ms), .min = 1, .max = INT32_MAX },
	{ "refresh_ms", TW_FIELD_UINT, AT(refresh_ms), .min = 1, .max = INT32_MAX },
	{ "query", TW_FIELD_BORROWED, AT(query) },
	{ "access", TW_FIELD_BORROWED, AT(access_path), .optional = true },
	{ "urls", TW_FIELD_STRS, AT(urls) },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

/* ---- targets ---- */

static void free_target(struct job *j, size_t place)
{
	struct target *t = j->target[place];

	if (t == NULL)
		return;
	free(t->url);
	free(t->connect_to);
	free(t->call_url);
	free(t);
	j->target[place] = NULL;
}

static char *add_path(const char *url, const char *path)
{
	struct tw_buf b = { 0 };
	size_t len = strlen(url);

	while (len > 0 && url[len - 1] == '/')
		len--;
	tw_buf_add(&b, url, len);
	tw_buf_adds(&b, path);
	return tw_buf_detach(&b, NULL);
}

static void send_message(struct job *j, const struct tw_ask_message *m)
{
	if (!j->closed && !tw_ask_send(j->state.fd, m))
		j->closed = true;
}

/* All agents are asked soon after the start. */
#define FIRST_MS 2000

static uint64_t phase_of(const char *text, uint64_t of_ms)
{
	return tw_hash(text, strlen(text)) % of_ms;
}

/* Then at a phase of their own, so that answers are spread over the interval. */
static void set_next(const struct job *j, struct target *t, uint64_t now_ms)
{
	const char *text = t->connect_to != NULL ? t->connect_to : t->url;

	if (t->began_ms == 0)
		t->due_ms = now_ms + 1 + phase_of(text, j->state.interval_ms);
	else /* rounds that were missed are skipped */
		t->due_ms += (1 + (now_ms - t->due_ms) / j->state.interval_ms) *
			     j->state.interval_ms;
}

static void add_target(struct job *j, const char *url, const char *connect_to,
		       ptrdiff_t lookup)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_AGENT);
	struct target *t;
	const uint64_t first_ms =
		j->state.interval_ms < FIRST_MS ? j->state.interval_ms : FIRST_MS;
	char shown[TW_URL_SHOWN];
	size_t place = 0;

	while (place < TARGETS_MAX && j->target[place] != NULL)
		place++;
	if (place == TARGETS_MAX)
		return;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return;
	j->target[place] = t;
	*t = (struct target){
		.job = j,
		.lookup = lookup,
		.url = strdup(url),
		.connect_to = connect_to != NULL ? strdup(connect_to) : NULL,
		.call_url = add_path(url, j->query),
		.due_ms = tw_now_ms() +
			  phase_of(connect_to != NULL ? connect_to : url, first_ms)
	};
	if (t->url == NULL || t->call_url == NULL ||
	    (connect_to != NULL && t->connect_to == NULL)) {
		free_target(j, place);
		return;
	}
	t->call = (struct tw_http_call){ .url = t->call_url,
					 .connect_to = t->connect_to,
					 .accept = "application/json",
					 .timeout_ms = j->timeout_ms,
					 .answer_max = ANSWER_MAX,
					 .access = &j->access.http };
	m.place = (uint32_t)place;
	snprintf(m.of.url, sizeof(m.of.url), "%s%s%s", tw_url_show(url, shown),
		 connect_to != NULL ? " at " : "",
		 connect_to != NULL ? connect_to + 2 : "");
	send_message(j, &m);
}

static void drop_target(struct job *j, size_t place)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_AGENT_GONE);

	m.place = (uint32_t)place;
	send_message(j, &m);
	free_target(j, place);
}

/* Compare the addresses of a name with its targets. */
static void take_addresses(void *arg, size_t lookup, const struct tw_agent_found *found)
{
	struct job *j = arg;
	struct tw_ask_message m = tw_ask_message(TW_ASK_LOOKUP);

	m.place = (uint32_t)lookup;
	snprintf(m.of.url, sizeof(m.of.url), "%s", found->name);
	snprintf(m.why, sizeof(m.why), "%s", found->why);
	send_message(j, &m);
	if (found->why[0] != '\0')
		return; /* keep the addresses of the last answer */
	for (size_t i = 0; i < TARGETS_MAX; i++) {
		struct target *t = j->target[i];

		if (t == NULL || t->lookup != (ptrdiff_t)lookup || t->gone ||
		    tw_strs_has(&found->connect_to, t->connect_to))
			continue;
		t->gone = true;
		if (!t->busy)
			drop_target(j, i);
	}
	for (size_t k = 0; k < found->connect_to.count; k++) {
		const char *to = found->connect_to.at[k];
		bool known = false;

		for (size_t i = 0; i < TARGETS_MAX && !known; i++) {
			struct target *t = j->target[i];

			known = t != NULL && t->lookup == (ptrdiff_t)lookup &&
				strcmp(t->connect_to, to) == 0;
			if (known)
				t->gone = false;
		}
		if (!known)
			add_target(j, found->url, to, (ptrdiff_t)lookup);
	}
}

/* ---- calls ---- */

static size_t place_of(const struct job *j, const struct target *t)
{
	size_t place = 0;

	while (j->target[place] != t)
		place++;
	return place;
}

static void send_failure(struct job *j, size_t place, const char *why, uint64_t took_ms)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_AGENT_FAILED);

	m.place = (uint32_t)place;
	m.of.answer.took_ms = took_ms;
	tw_ask_copy_reason(m.why, sizeof(m.why), why);
	send_message(j, &m);
}

static void send_rows(struct job *j, size_t place, uint64_t took_ms)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_AGENT_ROW);

	m.place = (uint32_t)place;
	for (size_t i = 0; i < j->rows.count && !j->closed; i++) {
		m.of.row = j->rows.at[i];
		send_message(j, &m);
	}
	m.kind = TW_ASK_AGENT_ANSWER;
	m.of.answer = j->rows.answer;
	m.of.answer.took_ms = took_ms;
	send_message(j, &m);
}

/* The reason without the method and URL before it, which the agent's label has. */
static const char *reason_of(const struct tw_err *why)
{
	const char *at =
		strncmp(why->text, "GET ", 4) == 0 ? strstr(why->text, ": ") : NULL;

	while (at != NULL && strncmp(at, "://", 3) == 0)
		at = strstr(at + 1, ": ");
	return at != NULL ? at + 2 : why->text;
}

static int read_rows(const struct tw_http_answer *answer, struct tw_agent_rows *out,
		     struct tw_err *err)
{
	if (answer->status != 200)
		return tw_fail(err, TW_IO, "it answers %u", answer->status);
	return tw_agent_parse(answer->body, answer->len, out, err);
}

static void end_call(void *arg, const struct tw_http_answer *answer,
		     const struct tw_err *failure)
{
	struct target *t = arg;
	struct job *j = t->job;
	const size_t place = place_of(j, t);
	const uint64_t took_ms = tw_now_ms() - t->began_ms;
	struct tw_err why = { 0 };

	t->busy = false;
	if (t->gone)
		drop_target(j, place);
	else if (answer == NULL)
		send_failure(j, place,
			     took_ms >= j->timeout_ms ? "timed out" : reason_of(failure),
			     took_ms);
	else if (read_rows(answer, &j->rows, &why) < 0)
		send_failure(j, place, why.text, took_ms);
	else
		send_rows(j, place, took_ms);
}

static void start_due(struct job *j)
{
	const uint64_t now_ms = tw_now_ms();

	tw_access_renew(&j->access, now_ms, j->state.interval_ms);
	for (size_t i = 0; i < TARGETS_MAX; i++) {
		struct target *t = j->target[i];
		struct tw_err err = { 0 };

		if (t == NULL || t->busy || t->due_ms > now_ms)
			continue;
		set_next(j, t, now_ms);
		t->began_ms = now_ms;
		if (tw_http_many_start(j->http, &t->call, end_call, t, &err) < 0)
			send_failure(j, i, err.text, 0);
		else
			t->busy = true;
	}
}

/* ---- the job ---- */

static void close_job(void *state)
{
	struct job *j = state;

	for (size_t i = 0; i < TARGETS_MAX; i++)
		free_target(j, i);
	tw_agent_rows_release(&j->rows);
	tw_access_close(&j->access);
}

static int open_job(void *state, struct tw_err *err)
{
	struct job *j = state;

	if (tw_access_open(&j->access, j->access_path, err) < 0)
		return -1;
	/* Each agent takes a connection. */
	tw_file_limit_raise(TARGETS_MAX + FILES_MORE);
	return 0;
}

static int begin(struct job *j, struct tw_err *err)
{
	if (tw_http_init(err) < 0 || tw_http_many_open(&j->http, err) < 0 ||
	    tw_agent_lookup_start(&j->urls, j->refresh_ms, &j->lookup, err) < 0)
		return -1;
	for (size_t i = 0; i < j->urls.count; i++)
		if (tw_url_is(j->urls.at[i]))
			add_target(j, j->urls.at[i], NULL, -1);
	return 0;
}

static void run_job(void *state)
{
	struct job *j = state;
	struct tw_err err = { 0 };

	if (begin(j, &err) < 0) {
		tw_ask_send_failure(j->state.fd, &err, false);
		return;
	}
	while (!j->closed && !tw_ask_is_closed(&j->state.fd)) {
		tw_agent_lookup_take(j->lookup, take_addresses, j);
		start_due(j);
		if (tw_http_many_run(j->http, j->state.fd, STEP_MS, &err) < 0) {
			tw_ask_send_failure(j->state.fd, &err, false);
			break;
		}
	}
	tw_http_many_close(j->http);
}

const struct tw_ask_job tw_ask_agents = {
	.name = "agents",
	.settings = &settings,
	.net = true,
	.open = open_job,
	.run = run_job,
	.close = close_job,
};
