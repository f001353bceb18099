/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "prometheus": a user's own meter, which a Prometheus server knows: a PDU, a
 * smart plug, an exporter of IPMI.
 */
#include "collector/ask/access.h"
#include "collector/ask/own_job.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000
/* An answer has one sample, or the server's error. */
#define ANSWER_MAX ((size_t)1 << 20)

struct job {
	struct tw_own_job own;
	const char *url, *query;
	struct tw_access access;
	char *call_url;
};

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_OWN_JOB_FIELDS(struct job),
	{ "url", TW_FIELD_BORROWED, AT(url) },
	{ "query", TW_FIELD_BORROWED, AT(query) },
	{ "ca", TW_FIELD_BORROWED, AT(access.http.ca_file), .optional = true },
	{ "login", TW_FIELD_BORROWED, AT(access.login_file), .optional = true },
	{ "token", TW_FIELD_BORROWED, AT(access.token_file), .optional = true },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

static void close_job(void *state)
{
	struct job *j = state;

	free(j->call_url);
	tw_access_close(&j->access);
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

	return tw_access_read(&j->access, err) < 0 ? -1 : make_url(j, err);
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
	struct tw_http_call call = { .url = j->call_url,
				     .accept = "application/json",
				     .timeout_ms = TIMEOUT_MS,
				     .answer_max = ANSWER_MAX,
				     .access = &j->access.http };
	struct tw_http_answer answer = { 0 };
	int rc;

	if (tw_access_read(&j->access, err) < 0 ||
	    tw_ask_call(&j->own.state, &call, &answer, err) < 0)
		return -1;
	rc = read_answer(j, &answer, out, err);
	tw_http_answer_release(&answer);
	return rc;
}

static int poll_query(void *state, struct tw_err *err)
{
	struct job *j = state;
	struct tw_value v = { 0 };

	if (get(j, &v, err) < 0)
		return -1;
	tw_own_job_send(&j->own, &v);
	return 0;
}

const struct tw_ask_job tw_ask_prometheus = {
	.name = "prometheus",
	.settings = &settings,
	.net = true,
	.open = open_job,
	.poll = poll_query,
	.report = tw_own_job_report,
	.close = close_job,
};
