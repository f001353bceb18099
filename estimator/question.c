/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/question.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void tw_question_write(const struct tw_question *q, struct tw_buf *out)
{
	tw_buf_adds(out, "{\"metrics\":[");
	for (size_t i = 0; i < q->metrics->count; i++) {
		tw_buf_adds(out, i > 0 ? "," : "");
		tw_buf_add_json_text(out, q->metrics->at[i], strlen(q->metrics->at[i]));
	}
	tw_buf_adds(out, "],");
	add_text(out, "output_type", q->output);
	add_text(out, "source", q->source != NULL ? q->source : "");
	add_text(out, "trainer_name", q->trainer != NULL ? q->trainer : "");
	add_text(out, "filter", q->filter != NULL ? q->filter : "");
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

int tw_answer_read(const char *data, size_t len, size_t rows, struct tw_watts *out,
		   struct tw_err *err)
{
	struct tw_watts w = { .rows = rows };
	const json_t *powers;
	json_t *root = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, "answer", &root, err) < 0 ||
	    tw_json_object(root, "answer", "powers", false, &powers, err) < 0)
		goto out;
	for (int c = 0; c < TW_COMPONENT_COUNT; c++)
		if (read_component(powers, (enum tw_component)c, &w, err) < 0)
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
