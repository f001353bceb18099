/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/job_record.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/date.h"
#include "lib/core/file.h"
#include "lib/json/json.h"

#include <stdio.h>
#include <string.h>

static const char *const state_names[] = {
	[TW_JOB_WAITING] = "waiting",     [TW_JOB_RUNNING] = "running",
	[TW_JOB_DONE] = "done",           [TW_JOB_FAILED] = "failed",
	[TW_JOB_CANCELLED] = "cancelled", [TW_JOB_LOST] = "lost",
};

_Static_assert(TW_COUNT(state_names) == TW_JOB_STATES, "every state needs a name");

const char *tw_job_state_name(enum tw_job_state s)
{
	return state_names[s];
}

bool tw_job_state_ended(enum tw_job_state s)
{
	return s != TW_JOB_WAITING && s != TW_JOB_RUNNING;
}

/* ---- writing ---- */

static void add_text(struct tw_buf *out, const char *key, const char *text)
{
	tw_buf_addf(out, ",\"%s\":", key);
	tw_buf_add_json_text(out, text, strlen(text));
}

static void add_time(struct tw_buf *out, const char *key, int64_t ms)
{
	char text[TW_DATE_TEXT];

	if (ms > 0 && tw_format_date_ms(ms, text))
		add_text(out, key, text);
}

static void add_progress(const struct tw_job_record *r, struct tw_buf *out)
{
	if (r->stage != NULL)
		add_text(out, "stage", r->stage);
	tw_buf_addf(out, ",\"progress\":%.3f", r->fraction);
	if (r->remaining_s >= 0.0)
		tw_buf_addf(out, ",\"remaining_s\":%.1f", r->remaining_s);
}

void tw_job_record_write(const struct tw_job_record *r, struct tw_buf *out)
{
	tw_buf_adds(out, "{\"id\":");
	tw_buf_add_json_text(out, r->id, strlen(r->id));
	add_text(out, "pipeline", r->pipeline);
	add_text(out, "state", tw_job_state_name(r->state));
	if (r->state == TW_JOB_RUNNING)
		add_progress(r, out);
	add_time(out, "created", r->created_ms);
	add_time(out, "started", r->started_ms);
	add_time(out, "ended", r->ended_ms);
	if (r->state == TW_JOB_DONE)
		tw_buf_addf(out, ",\"models\":%zu,\"published\":%s", r->models,
			    r->published ? "true" : "false");
	if (r->error[0] != '\0')
		add_text(out, "error", r->error);
	tw_buf_adds(out, "}");
}

/* ---- reading ---- */

static int read_state(const json_t *doc, enum tw_job_state *out, struct tw_err *err)
{
	const char *name;

	if (tw_json_text(doc, "job", "state", false, &name, err) < 0)
		return -1;
	for (size_t i = 0; i < TW_COUNT(state_names); i++) {
		if (strcmp(state_names[i], name) == 0) {
			*out = (enum tw_job_state)i;
			return 0;
		}
	}
	return tw_fail(err, TW_INVALID, "job.state: no state '%.32s'", name);
}

static int read_name(const json_t *doc, const char *key, char *out, size_t size,
		     struct tw_err *err)
{
	const char *text;
	size_t len;

	if (tw_json_text(doc, "job", key, false, &text, err) < 0)
		return -1;
	len = strlen(text);
	if (tw_name_check(key, text, len, err) < 0)
		return tw_err_wrap(err, "job");
	if (len >= size)
		return tw_fail(err, TW_INVALID, "job.%s: longer than %zu bytes", key,
			       size - 1);
	memcpy(out, text, len + 1);
	return 0;
}

static int read_time(const json_t *doc, const char *key, int64_t *out, struct tw_err *err)
{
	const char *text = NULL;

	if (tw_json_text(doc, "job", key, true, &text, err) < 0)
		return -1;
	if (text != NULL && tw_parse_date_ms(text, out, err) < 0)
		return tw_err_wrap(err, "job.%s", key);
	return 0;
}

static int read_members(const json_t *doc, struct tw_job_record *r, struct tw_err *err)
{
	const char *error = "";
	struct tw_err whole = { 0 };
	long long models = 0;

	if (read_name(doc, "id", r->id, sizeof(r->id), err) < 0 ||
	    read_name(doc, "pipeline", r->pipeline, sizeof(r->pipeline), err) < 0 ||
	    read_state(doc, &r->state, err) < 0 ||
	    read_time(doc, "created", &r->created_ms, err) < 0 ||
	    read_time(doc, "started", &r->started_ms, err) < 0 ||
	    read_time(doc, "ended", &r->ended_ms, err) < 0 ||
	    tw_json_int(doc, "job", "models", true, 0, UINT32_MAX, &models, err) < 0 ||
	    tw_json_bool(doc, "job", "published", true, &r->published, err) < 0 ||
	    tw_json_text(doc, "job", "error", true, &error, err) < 0)
		return -1;
	r->models = (size_t)models;
	/* A text that is too long ends after a whole word, and never within a character.
	 */
	tw_fail(&whole, TW_INVALID, "%s", error);
	memcpy(r->error, whole.text, sizeof(r->error));
	return 0;
}

int tw_job_record_read(const char *data, size_t len, struct tw_job_record *out,
		       struct tw_err *err)
{
	struct tw_job_record r = { .remaining_s = -1.0 };
	json_t *doc = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, "job", &doc, err) < 0 ||
	    read_members(doc, &r, err) < 0)
		goto out;
	*out = r;
	rc = 0;
out:
	json_decref(doc);
	return rc;
}
