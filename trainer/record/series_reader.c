/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/series_reader.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/http/client/http.h"
#include "lib/json/json.h"
#include "trainer/record/spool.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of time stamps, in seconds since the epoch: the year 5138. */
#define TIME_MAX_S 1e11

static const struct tw_jsax_limits limits = { .depth = 32, .text_bytes = 64 << 10 };

/* The member of a series that events belong to. */
enum { NO_MEMBER, LABELS, SAMPLES, OTHER };

/* The part of a sample that is next. */
enum { NO_PART, TIME, VALUE, END };

static int fail_at(const struct tw_series_reader *r, const struct tw_jsax_event *e,
		   const char *want, struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": %s, series %zu: expected %s",
		       e->offset, r->metric, r->number, want);
}

static int in_list(struct tw_series_reader *r, const struct tw_jsax_event *e,
		   struct tw_err *err)
{
	if (e->type == TW_JSAX_OBJECT_END)
		return r->has_labels ? 0 : fail_at(r, e, "\"metric\"", err);
	r->number++;
	if (e->type != TW_JSAX_OBJECT)
		return fail_at(r, e, "an object", err);
	r->has_labels = false;
	r->member = NO_MEMBER;
	tw_strs_clear(&r->labels);
	return 0;
}

static int find_series(struct tw_series_reader *r, struct tw_err *err)
{
	struct tw_exposition_label label[TW_SERIES_LABELS_MAX];
	size_t labels = r->labels.count / 2;

	for (size_t i = 0; i < labels; i++)
		label[i] = (struct tw_exposition_label){ r->labels.at[2 * i],
							 r->labels.at[2 * i + 1] };
	if (tw_spool_series(r->spool, r->metric, label, labels, &r->series, err) < 0)
		return tw_err_wrap(err, "%s, series %zu", r->metric, r->number);
	return 0;
}

/* A key of a series, or the start or end of its value. */
static int in_series(struct tw_series_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	switch (e->type) {
	case TW_JSAX_KEY:
		r->member = tw_jsax_is_text(e, "metric")   ? LABELS
			    : tw_jsax_is_text(e, "values") ? SAMPLES
							   : OTHER;
		r->part = NO_PART;
		if (tw_jsax_is_text(e, "value")) /* of an instant vector */
			return fail_at(r, e, "\"values\"", err);
		if (r->member == LABELS && r->has_labels)
			return fail_at(r, e, "\"metric\" once", err);
		if (r->member == SAMPLES && !r->has_labels)
			return fail_at(r, e, "\"metric\" before \"values\"", err);
		return 0;
	case TW_JSAX_OBJECT_END:
		if (r->member != LABELS)
			return 0;
		r->has_labels = true;
		return find_series(r, err);
	default:
		if (r->member == LABELS && e->type != TW_JSAX_OBJECT)
			return fail_at(r, e, "an object of labels", err);
		if (r->member == SAMPLES && e->type != TW_JSAX_ARRAY &&
		    e->type != TW_JSAX_ARRAY_END)
			return fail_at(r, e, "a list of samples", err);
		return 0;
	}
}

static int in_labels(struct tw_series_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	if (e->type != TW_JSAX_KEY && e->type != TW_JSAX_TEXT)
		return fail_at(r, e, "a label's text", err);
	if (r->labels.count == 2 * TW_SERIES_LABELS_MAX)
		return fail_at(r, e, "fewer labels", err);
	return tw_strs_add(&r->labels, e->text, e->len, err);
}

static int in_samples(struct tw_series_reader *r, const struct tw_jsax_event *e,
		      struct tw_err *err)
{
	if (e->type == TW_JSAX_ARRAY_END && r->part == END) {
		r->part = NO_PART;
		return 0;
	}
	if (e->type != TW_JSAX_ARRAY)
		return fail_at(r, e, "[time, \"value\"]", err);
	r->part = TIME;
	return 0;
}

static int take_sample(struct tw_series_reader *r, double value, struct tw_err *err)
{
	int64_t time_ms = (int64_t)(r->time_s * 1e3 + 0.5), last_ms;

	if (!isfinite(value)) {
		r->not_finite++;
		return 0;
	}
	if (r->to_ms > 0 && time_ms > r->to_ms)
		return tw_fail(err, TW_INVALID,
			       "%s, series %zu: a sample is %" PRId64
			       " s later than what was asked for",
			       r->metric, r->number, (time_ms - r->to_ms) / 1000);
	if (r->after_ms > 0 && time_ms <= r->after_ms)
		return 0;
	if (r->again && tw_spool_last(r->spool, r->series, &last_ms) &&
	    time_ms <= last_ms) {
		return 0;
	}
	r->taken++;
	return tw_spool_add(r->spool, r->series, time_ms, value, err);
}

static int in_sample(struct tw_series_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	double value;

	if (r->part == TIME) {
		if (e->type != TW_JSAX_NUMBER || !(e->number >= 0) ||
		    e->number > TIME_MAX_S)
			return fail_at(r, e, "a time in seconds", err);
		r->time_s = e->number;
		r->part = VALUE;
		return 0;
	}
	if (r->part != VALUE || e->type != TW_JSAX_TEXT ||
	    !tw_parse_sample(e->text, e->len, &value))
		return fail_at(r, e, "a time and a number in quotes", err);
	r->part = END;
	return take_sample(r, value, err);
}

int tw_series_reader_event(struct tw_series_reader *r, const struct tw_jsax_event *e,
			   struct tw_err *err)
{
	unsigned depth;

	if (r->depth == 0) {
		if (e->type != TW_JSAX_ARRAY)
			return fail_at(r, e, "a list of series", err);
		r->depth = e->depth + 1;
		return 0;
	}
	depth = e->depth + 1 - r->depth;
	if (depth == 0)
		return 0; /* the list's ] */
	if (depth == 1)
		return in_list(r, e, err);
	if (depth == 2)
		return in_series(r, e, err);
	if (r->member == LABELS)
		return in_labels(r, e, err);
	if (r->member == SAMPLES)
		return depth == 3 ? in_samples(r, e, err) : in_sample(r, e, err);
	return 0; /* a value of another key */
}

void tw_series_reader_release(struct tw_series_reader *r)
{
	tw_strs_clear(&r->labels);
	*r = (struct tw_series_reader){ 0 };
}

/* ---- a response file ---- */

/* Reads a response file, an object with a list of series for each metric. */
struct file {
	struct tw_spool *spool;
	bool again;
	char *metric;
	struct tw_series_reader list;
};

static int begin_metric(struct file *f, const struct tw_jsax_event *e, struct tw_err *err)
{
	tw_series_reader_release(&f->list);
	free(f->metric);
	f->metric = NULL;
	if (tw_text_copy(e->text, e->len, &f->metric, err) < 0)
		return tw_err_wrap(err, "name of a metric");
	f->list = (struct tw_series_reader){ .spool = f->spool,
					     .metric = f->metric,
					     .again = f->again };
	return 0;
}

static int take_event(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct file *f = arg;

	if (e->depth == 0)
		return e->type == TW_JSAX_OBJECT || e->type == TW_JSAX_OBJECT_END
			       ? 0
			       : tw_fail(err, TW_PARSE, "expected an object of metrics");
	if (e->depth == 1 && e->type == TW_JSAX_KEY)
		return begin_metric(f, e, err);
	return tw_series_reader_event(&f->list, e, err);
}

int tw_series_read_file(struct tw_spool *spool, const char *path, struct tw_err *err)
{
	struct file f = { .spool = spool };
	int rc = tw_jsax_read(&limits, take_event, &f, path, err);

	tw_series_reader_release(&f.list);
	free(f.metric);
	return rc;
}

int tw_series_read_text(struct tw_spool *spool, const char *text, size_t len,
			struct tw_err *err)
{
	struct file f = { .spool = spool, .again = true };
	int rc = tw_jsax_parse(&limits, take_event, &f, text, len, err);

	tw_series_reader_release(&f.list);
	free(f.metric);
	return rc;
}

/* ---- answers of Prometheus' HTTP API ---- */

static void keep_text(const struct tw_jsax_event *e, char *out, size_t size)
{
	snprintf(out, size, "%.*s", (int)(e->len < size ? e->len : size), e->text);
}

static int take_part(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct tw_prom_answer *a = arg;
	unsigned list_depth = a->nested ? 2 : 1;

	if (e->depth == 0)
		return e->type == TW_JSAX_OBJECT || e->type == TW_JSAX_OBJECT_END
			       ? 0
			       : tw_fail(err, TW_PARSE, "expected an object");
	if (e->depth == 1 && e->type == TW_JSAX_KEY) {
		a->in_data = tw_jsax_is_text(e, "data");
		a->in_list = a->in_data && !a->nested;
		a->in_error = tw_jsax_is_text(e, "error");
		a->in_warnings = tw_jsax_is_text(e, "warnings");
		a->in_partial = tw_jsax_is_text(e, "isPartial");
		return 0;
	}
	if (a->in_error && e->depth == 1 && e->type == TW_JSAX_TEXT)
		keep_text(e, a->error, sizeof(a->error));
	if (a->in_warnings && a->partial[0] == '\0' && e->type == TW_JSAX_TEXT)
		keep_text(e, a->partial, sizeof(a->partial));
	if (a->in_partial && e->depth == 1 && e->type == TW_JSAX_TRUE)
		snprintf(a->partial, sizeof(a->partial), "isPartial is true");
	if (a->nested && a->in_data && e->depth == 2 && e->type == TW_JSAX_KEY) {
		a->in_list = tw_jsax_is_text(e, "result");
		return 0;
	}
	if (!a->in_list || e->depth < list_depth)
		return 0;
	a->found = true;
	/* Some proxies write null for a list without series. */
	if (e->depth == list_depth && e->type == TW_JSAX_NULL)
		return 0;
	return a->fn(a->arg, e, err);
}

int tw_prom_answer_open(struct tw_prom_answer *a, struct tw_err *err)
{
	return tw_jsax_new(&limits, take_part, a, &a->parser, err);
}

int tw_prom_answer_feed(void *arg, const char *data, size_t len, struct tw_err *err)
{
	struct tw_prom_answer *a = arg;
	size_t used = 0;

	a->refused = true;
	while (!tw_jsax_started(a->parser) && used < len &&
	       strchr(" \t\r\n\xef\xbb\xbf", data[used]) != NULL && data[used] != '\0')
		used++;
	if (!tw_jsax_started(a->parser) && used < len && data[used] == '<')
		return tw_fail(
			err, TW_PARSE,
			"the server answers with a web page, not with JSON: is it "
			"Prometheus, or a login page before it? (--user, --token-file)");
	if (tw_jsax_feed_only(a->parser, data, len, err) < 0)
		return -1;
	a->refused = false;
	return 0;
}

int tw_prom_answer_end(struct tw_prom_answer *a, struct tw_err *err)
{
	a->cut_short = !tw_jsax_done(a->parser);
	if (tw_jsax_end(a->parser, err) < 0)
		return tw_err_wrap(err, "answer");
	if (a->error[0] != '\0')
		return tw_fail(err, TW_INVALID, "the server answers with an error: %.*s",
			       (int)strcspn(a->error, "\r\n"), a->error);
	if (!a->found)
		return tw_fail(err, TW_PARSE, "an answer without %s",
			       a->nested ? "data.result" : "data");
	return 0;
}

void tw_prom_answer_release(struct tw_prom_answer *a)
{
	tw_jsax_free(a->parser);
	a->parser = NULL;
}

static enum tw_code code_of(unsigned status, const char *why)
{
	/* Texts of Prometheus, Thanos, Cortex and Mimir. */
	static const char *const too_much[] = { "maximum resolution", "too many",
						"exceeds the limit", "exceeded the limit",
						"exceeds limit" };

	if (status == 401 || status == 403)
		return TW_DENIED;
	if (status == 404)
		return TW_NOTFOUND;
	if (status == 429 || status >= 500)
		return TW_IO;
	for (size_t i = 0; i < TW_COUNT(too_much); i++)
		if ((status == 400 || status == 422) && strstr(why, too_much[i]) != NULL)
			return TW_UNSUPPORTED;
	return TW_INVALID;
}

int tw_prom_answer_fail(const struct tw_http_answer *http, struct tw_err *err)
{
	struct tw_err unused = { 0 };
	const char *why = http->body;
	json_t *body = NULL;

	if (tw_json_parse(http->body, http->len, "answer", &body, &unused) == 0)
		tw_json_text(body, "answer", "error", true, &why, &unused);
	tw_fail(err, code_of(http->status, why), "the server answers %u%s%.*s",
		http->status, why[0] != '\0' ? ": " : "", (int)strcspn(why, "\r\n"), why);
	json_decref(body);
	return -1;
}
