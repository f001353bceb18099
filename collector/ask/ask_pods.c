/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "pods": the names of this machine's pods, from its kubelet or the API server.
 */
#include "collector/ask/ask_job.h"
#include "collector/ask/pods_parse.h"
#include "collector/system/credentials.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"

#include <string.h>

#define TIMEOUT_MS 30000
#define ANSWER_MAX ((size_t)256 << 20)
#define TOKEN_MAX 16384

/* Shortest time between two requests, however many containers are new. */
#define LEAST_MS 10000

#define RETRY_MIN_MS 5000
#define RETRY_MAX_MS 300000

struct job {
	struct tw_ask_state state;
	const char *url, *ca_file;
	const char *token_file; /* NULL: none */
	char token[TOKEN_MAX];  /* "": none */
	bool insecure;
};

/*
 * Read the token before each request: it expires after an hour. If the file is
 * unreadable, keep the old token until the server rejects it.
 */
static int read_token(struct job *j, struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (j->token_file == NULL ||
	    tw_token_read(j->token_file, j->token, sizeof(j->token), &why) == 0 ||
	    j->token[0] != '\0')
		return 0;
	return tw_fail(err, why.code, "%s", why.text);
}

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_ASK_INTERVAL(struct job),
	{ "url", TW_FIELD_BORROWED, AT(url) },
	{ "token", TW_FIELD_BORROWED, AT(token_file), .optional = true },
	{ "ca", TW_FIELD_BORROWED, AT(ca_file), .optional = true },
	{ "insecure", TW_FIELD_BOOL, AT(insecure) },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

static void close_job(void *state)
{
	struct job *j = state;

	explicit_bzero(j->token, sizeof(j->token));
}

/* Read the token before dropping root. */
static int open_job(void *state, struct tw_err *err)
{
	struct tw_err later = { 0 };

	(void)err;
	read_token(state, &later);
	return 0;
}

static int send_names(void *arg, const struct tw_ask_names *names, struct tw_err *err)
{
	const struct job *j = arg;
	struct tw_ask_message m = tw_ask_message(TW_ASK_NAMES);

	m.of.names = *names;
	return tw_ask_send(j->state.fd, &m) ? 0 : tw_fail(err, TW_IO, "stopped");
}

static int get(struct job *j, struct tw_pods_parser *parser, struct tw_err *err)
{
	const struct tw_http_access access = { .token = j->token[0] != '\0' ? j->token
									    : NULL,
					       .ca_file = j->ca_file,
					       .insecure = j->insecure };
	const struct tw_http_call call = { .url = j->url,
					   .accept = "application/json",
					   .timeout_ms = TIMEOUT_MS,
					   .answer_max = ANSWER_MAX,
					   .access = &access,
					   .session = j->state.http,
					   .sink = tw_pods_parser_feed,
					   .sink_arg = parser,
					   .stopped = tw_ask_is_closed,
					   .stopped_arg = &j->state.fd };
	struct tw_http_answer answer = { 0 };
	int rc = -1;

	if (tw_http_call(&call, &answer, err) < 0)
		return -1;
	if (answer.status == 200)
		rc = tw_pods_parser_end(parser, err);
	else
		tw_fail(err, TW_IO, "'%.64s' answers %u: %.64s", j->url, answer.status,
			answer.len > 0 ? answer.body : "");
	tw_http_answer_release(&answer);
	return rc;
}

static int ask(struct job *j, struct tw_err *err)
{
	const struct tw_ask_message all = tw_ask_message(TW_ASK_ALL_NAMES);
	struct tw_pods_parser *parser = NULL;
	int rc = -1;

	if (read_token(j, err) < 0 ||
	    tw_pods_parser_new(send_names, j, &parser, err) < 0 ||
	    get(j, parser, err) < 0)
		goto out;
	tw_ask_send(j->state.fd, &all);

	rc = 0;
out:
	tw_pods_parser_free(parser);
	return rc;
}

static uint64_t poll_pods(void *state)
{
	struct job *j = state;
	struct tw_ask_state *s = &j->state;
	struct tw_err err = { 0 };

	if (ask(j, &err) == 0) {
		s->failures = 0;
		return s->interval_ms;
	}
	s->failures++;
	tw_ask_send_failure(s->fd, &err, false);
	return tw_ask_backoff_ms(s->failures,
				 s->interval_ms < RETRY_MIN_MS ? s->interval_ms
							       : RETRY_MIN_MS,
				 RETRY_MAX_MS);
}

const struct tw_ask_job tw_ask_pods = {
	.name = "pods",
	.settings = &settings,
	.least_ms = LEAST_MS,
	.net = true,
	.open = open_job,
	.poll = poll_pods,
	.close = close_job,
};
