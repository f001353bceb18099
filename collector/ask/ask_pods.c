/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "pods": the names of this machine's pods, from its kubelet or the API server.
 */
#include "collector/ask/access.h"
#include "collector/ask/ask_job.h"
#include "collector/ask/pods_parse.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"

#define TIMEOUT_MS 30000
#define ANSWER_MAX ((size_t)256 << 20)

/* Shortest time between two requests, however many containers are new. */
#define LEAST_MS 10000

struct job {
	struct tw_ask_state state;
	const char *url;
	struct tw_access access;
};

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_ASK_INTERVAL(struct job),
	{ "url", TW_FIELD_BORROWED, AT(url) },
	{ "token", TW_FIELD_BORROWED, AT(access.token_file), .optional = true },
	{ "ca", TW_FIELD_BORROWED, AT(access.http.ca_file), .optional = true },
	{ "insecure", TW_FIELD_BOOL, AT(access.http.insecure) },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

static void close_job(void *state)
{
	struct job *j = state;

	tw_access_close(&j->access);
}

/* Read the token before dropping root. */
static int open_job(void *state, struct tw_err *err)
{
	struct job *j = state;
	struct tw_err later = { 0 };

	(void)err;
	tw_access_read(&j->access, &later);
	return 0;
}

static int get(struct job *j, struct tw_pods_parser *parser, struct tw_err *err)
{
	struct tw_http_call call = { .url = j->url,
				     .accept = "application/json",
				     .timeout_ms = TIMEOUT_MS,
				     .answer_max = ANSWER_MAX,
				     .access = &j->access.http,
				     .sink = tw_pods_parser_feed,
				     .sink_arg = parser };
	struct tw_http_answer answer = { 0 };
	int rc = -1;

	if (tw_ask_call(&j->state, &call, &answer, err) < 0)
		return -1;
	if (answer.status == 200)
		rc = tw_pods_parser_end(parser, err);
	else
		tw_fail(err, TW_IO, "'%.64s' answers %u: %.64s", j->url, answer.status,
			answer.len > 0 ? answer.body : "");
	tw_http_answer_release(&answer);
	return rc;
}

/* Read the token before each request: it expires after an hour. */
static int poll_pods(void *state, struct tw_err *err)
{
	struct job *j = state;
	const struct tw_ask_message all = tw_ask_message(TW_ASK_ALL_NAMES);
	struct tw_pods_parser *parser = NULL;
	int rc = -1;

	if (tw_access_read(&j->access, err) < 0 ||
	    tw_pods_parser_new(tw_ask_send_names, &j->state, &parser, err) < 0 ||
	    get(j, parser, err) < 0)
		goto out;
	tw_ask_send(j->state.fd, &all);

	rc = 0;
out:
	tw_pods_parser_free(parser);
	return rc;
}

const struct tw_ask_job tw_ask_pods = {
	.name = "pods",
	.settings = &settings,
	.least_ms = LEAST_MS,
	.net = true,
	.open = open_job,
	.poll = poll_pods,
	.retry_min_ms = 5000,
	.retry_max_ms = 300000,
	.close = close_job,
};
