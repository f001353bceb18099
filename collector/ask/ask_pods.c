/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "pods": the names of this machine's pods, from its kubelet or the API server.
 */
#include "collector/ask/ask_job.h"
#include "collector/ask/pods_parse.h"
#include "collector/system/credentials.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"
#include "lib/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 30000
#define ANSWER_MAX ((size_t)256 << 20)
#define TOKEN_MAX 16384

/* Shortest time between two requests, however many containers are new. */
#define LEAST_MS 10000

#define RETRY_MIN_MS 5000
#define RETRY_MAX_MS 300000

struct job {
	const char *url, *ca_file;
	const char *token_file; /* NULL: none */
	char token[TOKEN_MAX];  /* "": none */
	bool insecure;
	uint64_t interval_ms;
	struct tw_http *http;
	int fd;
	unsigned failures;
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

static int read_settings(const json_t *settings, struct job *j, struct tw_err *err)
{
	long long interval_ms;

	if (tw_json_text(settings, "settings", "url", false, &j->url, err) < 0 ||
	    tw_json_text(settings, "settings", "token", true, &j->token_file, err) < 0 ||
	    tw_json_text(settings, "settings", "ca", true, &j->ca_file, err) < 0 ||
	    tw_json_bool(settings, "settings", "insecure", false, &j->insecure, err) <
		    0 ||
	    tw_json_int(settings, "settings", "interval_ms", false, 1, INT32_MAX,
			&interval_ms, err) < 0)
		return -1;
	j->interval_ms = (uint64_t)interval_ms;
	return 0;
}

static void close_job(void *state)
{
	struct job *j = state;

	if (j == NULL)
		return;
	explicit_bzero(j->token, sizeof(j->token));
	free(j);
}

/* Read the token before dropping root. */
static int open_job(const json_t *settings, void **state, struct tw_err *err)
{
	struct job *j = calloc(1, sizeof(*j));
	struct tw_err later = { 0 };

	if (j == NULL)
		return tw_fail(err, TW_NOMEM, "pods");
	if (read_settings(settings, j, err) < 0) {
		close_job(j);
		return -1;
	}
	read_token(j, &later);
	*state = j;
	return 0;
}

static int send_names(void *arg, const struct tw_ask_names *names, struct tw_err *err)
{
	const struct job *j = arg;
	struct tw_ask_message m = tw_ask_message(TW_ASK_NAMES);

	m.of.names = *names;
	return tw_ask_send(j->fd, &m) ? 0 : tw_fail(err, TW_IO, "stopped");
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
					   .session = j->http,
					   .sink = tw_pods_parser_feed,
					   .sink_arg = parser,
					   .stopped = tw_ask_is_closed,
					   .stopped_arg = &j->fd };
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
	tw_ask_send(j->fd, &all);

	rc = 0;
out:
	tw_pods_parser_free(parser);
	return rc;
}

static uint64_t poll_and_send(struct job *j)
{
	struct tw_err err = { 0 };

	if (ask(j, &err) == 0) {
		j->failures = 0;
		return j->interval_ms;
	}
	j->failures++;
	tw_ask_send_failure(j->fd, &err, false);
	return tw_ask_backoff_ms(j->failures,
				 j->interval_ms < RETRY_MIN_MS ? j->interval_ms
							       : RETRY_MIN_MS,
				 RETRY_MAX_MS);
}

static void run_job(void *state, int fd)
{
	struct job *j = state;
	struct tw_err err = { 0 };

	j->fd = fd;
	if (tw_http_init(&err) < 0 || tw_http_open(&j->http, &err) < 0) {
		tw_ask_send_failure(fd, &err, false);
		return;
	}
	while (tw_ask_pause(fd, poll_and_send(j), LEAST_MS))
		;
	tw_http_close(j->http);
}

const struct tw_ask_job tw_ask_pods = {
	.name = "pods",
	.net = true,
	.open = open_job,
	.run = run_job,
	.close = close_job,
};
