/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "prometheus": a user's own meter, which a Prometheus server knows: a PDU, a
 * smart plug, an exporter of IPMI.
 */
#include "collector/ask/own_job.h"
#include "collector/system/credentials.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000
/* An answer has one sample, or the server's error. */
#define ANSWER_MAX ((size_t)1 << 20)
#define TOKEN_MAX 16384

struct job {
	struct tw_own_job own;
	const char *url, *query, *ca_file;
	const char *login_file, *token_file; /* NULL: none */
	struct tw_login login;
	char token[TOKEN_MAX];
	char *call_url;
};

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_OWN_JOB_FIELDS(struct job),
	{ "url", TW_FIELD_BORROWED, AT(url) },
	{ "query", TW_FIELD_BORROWED, AT(query) },
	{ "ca", TW_FIELD_BORROWED, AT(ca_file), .optional = true },
	{ "login", TW_FIELD_BORROWED, AT(login_file), .optional = true },
	{ "token", TW_FIELD_BORROWED, AT(token_file), .optional = true },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

static void close_job(void *state)
{
	struct job *j = state;

	free(j->call_url);
	explicit_bzero(j->token, sizeof(j->token));
	explicit_bzero(&j->login, sizeof(j->login));
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
static int open_job(void *state, struct tw_err *err)
{
	struct job *j = state;

	return read_secrets(j, err) < 0 ? -1 : make_url(j, err);
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
					   .session = j->own.state.http,
					   .stopped = tw_ask_is_closed,
					   .stopped_arg = &j->own.state.fd };
	struct tw_http_answer answer = { 0 };
	int rc;

	if (read_secrets(j, err) < 0 || tw_http_call(&call, &answer, err) < 0)
		return -1;
	rc = read_answer(j, &answer, out, err);
	tw_http_answer_release(&answer);
	return rc;
}

static uint64_t poll_query(void *state)
{
	struct job *j = state;
	struct tw_err err = { 0 };
	struct tw_value v = { 0 };
	const bool got = get(j, &v, &err) == 0;

	return tw_own_job_end_round(&j->own, got ? &v : NULL, &err);
}

const struct tw_ask_job tw_ask_prometheus = {
	.name = "prometheus",
	.settings = &settings,
	.net = true,
	.open = open_job,
	.poll = poll_query,
	.close = close_job,
};
