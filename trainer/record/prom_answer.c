/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/prom_answer.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"
#include "lib/json/json.h"

#include <string.h>

static const struct tw_jsax_limits limits = { .depth = 32, .text_bytes = 64 << 10 };

static int take_event(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
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
		return 0;
	}
	if (a->nested && a->in_data && e->depth == 2 && e->type == TW_JSAX_KEY) {
		a->in_list = tw_jsax_is_text(e, "result");
		return 0;
	}
	if (!a->in_list || e->depth < list_depth)
		return 0;
	a->found = true;
	return a->fn(a->arg, e, err);
}

int tw_prom_answer_open(struct tw_prom_answer *a, struct tw_err *err)
{
	return tw_jsax_new(&limits, take_event, a, &a->parser, err);
}

int tw_prom_answer_feed(void *arg, const char *data, size_t len, struct tw_err *err)
{
	struct tw_prom_answer *a = arg;
	size_t used = 0;

	a->refused = true;
	if (tw_jsax_feed(a->parser, data, len, &used, err) < 0)
		return -1;
	for (; used < len; used++)
		if (data[used] == '\0' || strchr(" \t\r\n", data[used]) == NULL)
			return tw_fail(err, TW_PARSE, "text behind the answer's end");
	a->refused = false;
	return 0;
}

int tw_prom_answer_end(struct tw_prom_answer *a, struct tw_err *err)
{
	a->cut_short = !tw_jsax_done(a->parser);
	if (tw_jsax_end(a->parser, err) < 0)
		return tw_err_wrap(err, "answer");
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
