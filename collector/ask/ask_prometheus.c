/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "prometheus": a user's own meter, which a Prometheus server knows: a PDU, a
 * smart plug, an exporter of IPMI.
 */
#include "collector/ask/ask_job.h"
#include "collector/ask/instant.h"
#include "collector/ask/own_job.h"
#include "collector/system/credentials.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"
#include "lib/json/json.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000
/* An answer has one sample, or the server's error. */
#define ANSWER_MAX ((size_t)1 << 20)
#define BACKOFF_MAX_MS 60000
#define TOKEN_MAX 16384

struct job {
	struct tw_own_job own;
	const char *url, *query, *ca_file;
	const char *login_file, *token_file; /* NULL: none */
	struct tw_login login;
	char token[TOKEN_MAX];
	char *call_url;
	struct tw_http *http;
	int fd;
	unsigned failures;
};

static void close_job(void *state)
{
	struct job *j = state;

	if (j == NULL)
		return;
	free(j->call_url);
	explicit_bzero(j->token, sizeof(j->token));
	explicit_bzero(&j->login, sizeof(j->login));
	free(j);
}

static int read_settings(const json_t *settings, struct job *j, struct tw_err *err)
{
	return tw_own_job_read(settings, &j->own, err) < 0 ||
			       tw_json_text(settings, "settings", "url", false, &j->url,
					    err) < 0 ||
			       tw_json_text(settings, "settings", "query", false,
					    &j->query, err) < 0 ||
			       tw_json_text(settings, "settings", "ca", true, &j->ca_file,
					    err) < 0 ||
			       tw_json_text(settings, "settings", "login", true,
					    &j->login_file, err) < 0 ||
			       tw_json_text(settings, "settings", "token", true,
					    &j->token_file, err) < 0
		       ? -1
		       : 0;
}

/* Read the secrets again, in case they have changed; keep the old ones if unreadable. */
static int read_secrets(struct job *j, struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (j->login_file != NULL && tw_login_read(j->login_file, &j->login, &why) < 0 &&
	    j->login.user[0] == '\0')
		return tw_fail(err, why.code, "%s", why.text);
	why = (struct tw_err){ 0 };
	if (j->token_file != NULL &&
	    tw_token_read(j->token_file, j->token, sizeof(j->token), &why) < 0 &&
	    j->token[0] == '\0')
		return tw_fail(err, why.code, "%s", why.text);
	return 0;
}

static int make_url(struct job *j, struct tw_err *err)
{
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, j->url);
	while (b.len > 0 && b.data[b.len - 1] == '/')
		b.len--;
	tw_buf_adds(&b, "/api/v1/query?query=");
	tw_url_escape(&b, j->query);
	j->call_url = tw_buf_detach(&b, NULL);
	return j->call_url != NULL ? 0 : tw_fail(err, TW_NOMEM, "URL");
}

/* Secrets are read before root is dropped. */
static int open_job(const json_t *settings, void **state, struct tw_err *err)
{
	struct job *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return tw_fail(err, TW_NOMEM, "prometheus");
	if (read_settings(settings, j, err) < 0 || read_secrets(j, err) < 0 ||
	    make_url(j, err) < 0) {
		close_job(j);
		return -1;
	}
	*state = j;
	return 0;
}

/* The answer of a refused query is JSON, too. */
static int read_answer(const struct job *j, const struct tw_http_answer *a,
		       struct tw_value *out, struct tw_err *err)
{
	char shown[TW_URL_SHOWN], text[TW_INSTANT_VALUE];

	if (a->status != 200 && a->status != 400 && a->status != 422)
		return tw_fail(
			err, a->status == 401 || a->status == 403 ? TW_DENIED : TW_IO,
			"'%.48s' answers %u", tw_url_show(j->url, shown), a->status);
	return tw_instant_parse(a->body, a->len, text, err) < 0
		       ? -1
		       : tw_value_parse(text, strlen(text), j->own.unit, out, err);
}

static int get(struct job *j, struct tw_value *out, struct tw_err *err)
{
	const struct tw_http_access access = {
		.user = j->login.user[0] != '\0' ? j->login.user : NULL,
		.password = j->login.user[0] != '\0' ? j->login.password : NULL,
		.token = j->token[0] != '\0' ? j->token : NULL,
		.ca_file = j->ca_file,
	};
	const struct tw_http_call call = { .url = j->call_url,
					   .accept = "application/json",
					   .timeout_ms = TIMEOUT_MS,
					   .answer_max = ANSWER_MAX,
					   .access = &access,
					   .session = j->http,
					   .stopped = tw_ask_is_closed,
					   .stopped_arg = &j->fd };
	struct tw_http_answer answer = { 0 };
	int rc;

	if (read_secrets(j, err) < 0 || tw_http_call(&call, &answer, err) < 0)
		return -1;
	rc = read_answer(j, &answer, out, err);
	tw_http_answer_release(&answer);
	return rc;
}

/* Poll once; returns the time until the next poll in ms, or 0: stop. */
static uint64_t ask(struct job *j)
{
	struct tw_err err = { 0 };
	struct tw_value v;

	if (get(j, &v, &err) == 0) {
		j->failures = 0;
		return tw_own_job_send(&j->own, j->fd, &v) ? j->own.interval_ms : 0;
	}
	j->failures++;
	if (!tw_own_job_send_missing(j->fd, &err))
		return 0;
	return tw_ask_backoff_ms(j->failures, j->own.interval_ms,
				 j->own.interval_ms > BACKOFF_MAX_MS ? j->own.interval_ms
								     : BACKOFF_MAX_MS);
}

static void run_job(void *state, int fd)
{
	struct job *j = state;
	struct tw_err err = { 0 };
	uint64_t wait_ms;

	j->fd = fd;
	if (tw_http_init(&err) < 0 || tw_http_open(&j->http, &err) < 0) {
		tw_ask_send_failure(fd, &err, false);
		return;
	}
	do
		wait_ms = ask(j);
	while (wait_ms > 0 && tw_ask_pause(fd, wait_ms, wait_ms));
	tw_http_close(j->http);
}

const struct tw_ask_job tw_ask_prometheus = {
	.name = "prometheus",
	.net = true,
	.open = open_job,
	.run = run_job,
	.close = close_job,
};
