/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/question.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORE_RATIO_MAX 1e6
#define AGE_MAX_S (1LL << 40)

/* ---- the question ---- */

static void add_text(struct tw_buf *b, const char *key, const char *text)
{
	tw_buf_addf(b, "\"%s\":", key);
	tw_buf_add_json_text(b, text, strlen(text));
	tw_buf_adds(b, ",");
}

static void add_rows(struct tw_buf *b, const struct tw_question *q)
{
	const size_t cols = q->metrics->count;

	tw_buf_adds(b, "\"values\":[");
	for (size_t r = 0; r < q->rows; r++) {
		tw_buf_adds(b, r > 0 ? ",[" : "[");
		for (size_t c = 0; c < cols; c++) {
			const double v = q->x[r * cols + c];

			tw_buf_adds(b, c > 0 ? "," : "");
			if (isfinite(v))
				tw_buf_add_double(b, v);
			else
				tw_buf_adds(b, "null");
		}
		tw_buf_adds(b, "]");
	}
	tw_buf_adds(b, "]}");
}

static void add_series(struct tw_buf *b, const struct tw_question *q)
{
	tw_buf_adds(b, "\"series\":[");
	for (size_t r = 0; r < q->rows; r++) {
		tw_buf_adds(b, r > 0 ? "," : "");
		tw_buf_add_json_text(b, q->series[r], strlen(q->series[r]));
	}
	tw_buf_addf(b, "],\"time_ms\":%" PRId64 ",", q->time_ms);
}

void tw_question_write(const struct tw_question *q, struct tw_buf *out)
{
	tw_buf_adds(out, "{\"metrics\":[");
	for (size_t i = 0; i < q->metrics->count; i++) {
		tw_buf_adds(out, i > 0 ? "," : "");
		tw_buf_add_json_text(out, q->metrics->at[i], strlen(q->metrics->at[i]));
	}
	tw_buf_adds(out, "],");
	if (q->version >= 2)
		tw_buf_addf(out, "\"version\":%u,", q->version);
	add_text(out, "output_type", q->output);
	add_text(out, "source", q->source != NULL ? q->source : "");
	add_text(out, "trainer_name", q->trainer != NULL ? q->trainer : "");
	add_text(out, "filter", q->filter != NULL ? q->filter : "");
	if (q->version >= 2 && q->series != NULL)
		add_series(out, q);
	add_rows(out, q);
}

/* ---- the answer ---- */

static int read_component(const json_t *powers, enum tw_component c, struct tw_watts *out,
			  struct tw_err *err)
{
	const char *name = tw_component_name(c);
	const json_t *list = NULL;

	if (tw_json_array(powers, "powers", name, true, &list, err) < 0)
		return -1;
	if (list == NULL)
		return 0;
	if (json_array_size(list) != out->rows)
		return tw_fail(err, TW_PARSE, "powers.%s: %zu entries for %zu rows", name,
			       json_array_size(list), out->rows);
	out->of[c] = calloc(out->rows, sizeof(double));
	if (out->of[c] == NULL)
		return tw_fail(err, TW_NOMEM, "answer of %zu rows", out->rows);
	for (size_t r = 0; r < out->rows; r++) {
		const json_t *v = json_array_get(list, r);

		if (!json_is_number(v))
			return tw_fail(err, TW_PARSE,
				       "powers.%s[%zu]: expected a number, got %s", name,
				       r, tw_json_type_name(v));
		out->of[c][r] = json_number_value(v);
	}
	return 0;
}

static int read_text(const json_t *obj, const char *where, const char *key, char *out,
		     size_t size, struct tw_err *err)
{
	const char *text;

	if (tw_json_text(obj, where, key, false, &text, err) < 0)
		return -1;
	snprintf(out, size, "%s", text);
	return 0;
}

/* "errors" has all components of the model; "powers" leaves out those of 0 W. */
static int read_errors(const json_t *root, struct tw_worth *w, struct tw_err *err)
{
	const json_t *errors;

	if (tw_json_object(root, "answer", "errors", false, &errors, err) < 0)
		return -1;
	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		const char *name = tw_component_name((enum tw_component)c);
		const json_t *one = json_object_get(errors, name);
		const json_t *mae = json_object_get(one, "mae");

		w->has[c] = json_is_object(one);
		w->mae_w[c] = json_is_number(mae) ? json_number_value(mae) : NAN;
	}
	return 0;
}

/* Set *out if the first row is outside the training range. */
static int read_outside(const json_t *root, bool *out, struct tw_err *err)
{
	const json_t *list;

	if (tw_json_array(root, "answer", "outside", false, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);

		if (!json_is_integer(row))
			return tw_fail(err, TW_PARSE,
				       "answer.outside[%zu]: expected a number, got %s",
				       i, tw_json_type_name(row));
		*out = *out || json_integer_value(row) == 0;
	}
	return 0;
}

static int read_worth(const json_t *root, struct tw_worth *out, struct tw_err *err)
{
	struct tw_worth w = { .core_ratio = 1 };
	long long age_s = 0;
	const json_t *origin;

	if (read_text(root, "answer", "model", w.model, sizeof(w.model), err) < 0 ||
	    tw_json_object(root, "answer", "origin", false, &origin, err) < 0 ||
	    read_text(origin, "origin", "kind", w.origin, sizeof(w.origin), err) < 0 ||
	    read_text(origin, "origin", "from", w.from, sizeof(w.from), err) < 0 ||
	    tw_json_int(origin, "origin", "age_s", false, 0, AGE_MAX_S, &age_s, err) <
		    0 ||
	    tw_json_number(root, "answer", "core_ratio", false, &w.core_ratio, err) < 0 ||
	    read_outside(root, &w.outside, err) < 0 || read_errors(root, &w, err) < 0)
		return -1;
	if (!(w.core_ratio > 0 && w.core_ratio < CORE_RATIO_MAX))
		return tw_fail(err, TW_PARSE, "answer.core_ratio: %g is out of range",
			       w.core_ratio);
	w.age_s = (uint64_t)age_s;
	*out = w;
	return 0;
}

/* An answer of version 2 without powers has the reason in msg. */
static int check_refused(const json_t *root, const json_t *powers, struct tw_err *err)
{
	const char *why = NULL;

	if (json_object_size(powers) > 0 || json_object_get(root, "model") != NULL)
		return 0;
	if (tw_json_text(root, "answer", "msg", false, &why, err) < 0)
		return -1;
	return tw_fail(err, TW_NOTFOUND, "%s", why);
}

int tw_answer_read(const char *data, size_t len, size_t rows, struct tw_watts *out,
		   struct tw_worth *worth, struct tw_err *err)
{
	struct tw_watts w = { .rows = rows };
	const json_t *powers;
	json_t *root = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, "answer", &root, err) < 0 ||
	    tw_json_object(root, "answer", "powers", false, &powers, err) < 0)
		goto out;
	if (worth != NULL && check_refused(root, powers, err) < 0)
		goto out;
	for (int c = 0; c < TW_COMPONENT_COUNT; c++)
		if (read_component(powers, (enum tw_component)c, &w, err) < 0)
			goto out;
	if (worth != NULL && read_worth(root, worth, err) < 0)
		goto out;
	*out = w;
	w = (struct tw_watts){ 0 };
	rc = 0;
out:
	tw_watts_release(&w);
	json_decref(root);
	return rc;
}

void tw_watts_release(struct tw_watts *w)
{
	for (int c = 0; c < TW_COMPONENT_COUNT; c++)
		free(w->of[c]);
	*w = (struct tw_watts){ 0 };
}
