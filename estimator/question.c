/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/question.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#include <stdlib.h>

/* ---- the question ---- */

void tw_question_write(const struct tw_question *q, struct tw_buf *out)
{
	const size_t cols = q->metrics->count;

	tw_json_add_object(out, NULL);
	tw_json_add_texts(out, "metrics", q->metrics);
	tw_json_add_text(out, "output_type", q->output);
	tw_json_add_text(out, "source", q->source != NULL ? q->source : "");
	tw_json_add_text(out, "trainer_name", q->trainer != NULL ? q->trainer : "");
	tw_json_add_text(out, "filter", q->filter != NULL ? q->filter : "");
	tw_json_add_array(out, "values");
	for (size_t r = 0; r < q->rows; r++)
		tw_json_add_numbers(out, NULL, q->x + r * cols, cols);
	tw_json_end_array(out);
	tw_json_end_object(out);
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
