/* SPDX-License-Identifier: Apache-2.0 */
/* The job "series": a value that an exporter has at /metrics. */
#include "collector/ask/own_job.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/exposition.h"
#include "lib/field/rate.h"
#include "lib/http/client/http.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000
#define ANSWER_MAX ((size_t)16 << 20)

struct job {
	struct tw_own_job own;
	const char *url, *series;
};

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_OWN_JOB_FIELDS(struct job),
	{ "url", TW_FIELD_BORROWED, AT(url) },
	{ "series", TW_FIELD_BORROWED, AT(series) },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

/* The search in an answer for the sample of a series. */
struct search {
	const struct tw_exposition_sample *wanted;
	const char *answer;
	size_t len, found;
	bool openmetrics;
	double value;
};

static int compare(void *arg, struct tw_exposition_sample *s, struct tw_err *err)
{
	struct search *q = arg;
	const struct tw_exposition_label *l = q->wanted->label;
	bool same = strcmp(s->name, q->wanted->name) == 0;

	(void)err;
	for (size_t i = 0; same && i < q->wanted->labels; i++)
		same = strcmp(tw_exposition_value(s, l[i].name), l[i].value) == 0;
	q->found += same;
	if (same)
		q->value = s->value;
	return 0;
}

static int search(void *arg, struct tw_exposition_sample *s, struct tw_err *err)
{
	struct search *q = arg;

	q->wanted = s;
	return tw_exposition_parse(q->answer, q->len, q->openmetrics, compare, q, err);
}

/* The series is written as a sample is: name{label="value"}. */
static int find(const struct job *j, struct search *q, struct tw_err *err)
{
	struct tw_buf line = { 0 };
	int rc;

	tw_buf_addf(&line, "%s 0\n", j->series);
	rc = tw_buf_failed(&line)
		     ? tw_fail(err, TW_NOMEM, "series")
		     : tw_exposition_parse(line.data, line.len, false, search, q, err);
	tw_buf_clear(&line);
	if (rc < 0)
		return -1;
	if (q->found != 1)
		return tw_fail(err, TW_NOTFOUND, "it has %zu series '%.48s'", q->found,
			       j->series);
	return q->value >= 0 && q->value <= TW_RATE_MAX
		       ? 0
		       : tw_fail(err, TW_INVALID, "%g is not from 0 to %g", q->value,
				 TW_RATE_MAX);
}

static int get(struct job *j, double *out, struct tw_err *err)
{
	struct tw_http_call call = {
		.url = j->url,
		.accept = "application/openmetrics-text;version=1.0.0,"
			  "text/plain;version=0.0.4;q=0.5",
		.timeout_ms = TIMEOUT_MS,
		.answer_max = ANSWER_MAX,
	};
	struct tw_http_answer a = { 0 };
	struct search q = { 0 };
	int rc;

	if (tw_ask_call(&j->own.state, &call, &a, err) < 0)
		return -1;
	q.answer = a.body;
	q.len = a.len;
	q.openmetrics = strcmp(a.content_type, "application/openmetrics-text") == 0;
	rc = a.status == 200 ? find(j, &q, err)
			     : tw_fail(err, TW_IO, "it answers %u", a.status);
	tw_http_answer_release(&a);
	*out = q.value;
	return rc;
}

static int poll_series(void *state, struct tw_err *err)
{
	struct job *j = state;
	struct tw_value v = { 0 };

	if (get(j, &v.power_w, err) < 0)
		return -1;
	tw_own_job_send(&j->own, &v);
	return 0;
}

const struct tw_ask_job tw_ask_series = {
	.name = "series",
	.settings = &settings,
	.net = true,
	.poll = poll_series,
	.report = tw_own_job_report,
};
