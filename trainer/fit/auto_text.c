/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/auto_text.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "trainer/fit/auto_blend.h"
#include "trainer/fit/auto_trial.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What members are fitted on, at most; of more rows, an even choice. */
#define ROWS_MAX 32768

/* The place of a column; it is added if it is not there. */
static size_t place_of(struct tw_auto_columns *all, const struct tw_derived *d)
{
	size_t i = 0;

	while (i < all->count && memcmp(&all->at[i], d, sizeof(*d)) != 0)
		i++;
	if (i == all->count && i < TW_DERIVED_MAX)
		all->at[all->count++] = *d;
	return i;
}

static void add_columns(const struct tw_auto_columns *c, struct tw_buf *text)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct tw_derived *d = &c->at[i];

		tw_buf_addf(text, "%s[%u,%u,%u", i > 0 ? "," : "", d->feature, d->from,
			    d->to);
		if (d->per != TW_DERIVED_NONE)
			tw_buf_addf(text, ",%u", d->per);
		tw_buf_adds(text, "]");
	}
}

static int add_member(const struct tw_auto_trials *t, const struct tw_auto_rows *rows,
		      const struct tw_auto_trial *trial, double weight,
		      struct tw_auto_columns *all, struct tw_buf *text,
		      struct tw_err *err)
{
	struct tw_auto_design d = { 0 };
	int rc = -1;

	tw_buf_adds(text, "{\"weight\":");
	tw_buf_add_double(text, weight);
	tw_buf_adds(text, ",\"columns\":[");
	for (size_t i = 0; i < trial->columns.count; i++)
		tw_buf_addf(text, i > 0 ? ",%zu" : "%zu",
			    place_of(all, &trial->columns.at[i]));
	tw_buf_addf(text, "],\"predictor\":\"%s\",\"model\":", trial->learner->predictor);
	if (tw_auto_design_init(&d, t->samples, rows, &trial->columns, err) < 0)
		goto out;
	if (trial->learner->fit(&d.samples, t->seed, text, err) < 0) {
		tw_err_wrap(err, "%s", trial->learner->name);
		goto out;
	}
	tw_buf_adds(text, "}");

	rc = 0;
out:
	tw_auto_design_release(&d);
	return rc;
}

int tw_auto_form_text(const struct tw_auto_trials *t, const struct tw_auto_blend *b,
		      struct tw_buf *text, struct tw_err *err)
{
	struct tw_auto_columns all = { 0 };
	struct tw_auto_rows rows = { 0 };
	int rc = -1;

	if (tw_auto_rows_init(&rows, t->samples, t->rows.step_ms, ROWS_MAX, err) < 0)
		goto out;
	tw_buf_adds(text, "{\"bias\":0,\"members\":[");
	for (size_t i = 0; i < b->count; i++) {
		tw_buf_adds(text, i > 0 ? "," : "");
		if (add_member(t, &rows, &t->at[b->trial[i]], 1.0 / (double)b->count,
			       &all, text, err) < 0)
			goto out;
	}
	tw_buf_adds(text, "],\"columns\":[");
	add_columns(&all, text);
	tw_buf_adds(text, "]}");

	rc = 0;
out:
	free(rows.at);
	return rc;
}

/* ---- in words ---- */

/* "a,b,c with a@1,a@0-2 and the same of the others": of all, or of one feature. */
static void add_names(const struct tw_auto_trials *t, const struct tw_auto_columns *c,
		      struct tw_buf *line)
{
	const struct tw_derived *first = NULL; /* that looks back */
	const char *separator = "";
	char name[TW_DERIVED_NAME];
	bool others = false;

	for (size_t i = 0; i < c->count; i++) {
		const struct tw_derived *d = &c->at[i];

		if (d->to > 0 && first == NULL) {
			first = d;
			separator = " with ";
		}
		if (d->to > 0 && d->feature != first->feature) {
			others = true;
			continue;
		}
		tw_derived_name(d, t->samples->features, name);
		tw_buf_addf(line, "%s%s", separator, name);
		separator = ",";
	}
	tw_buf_adds(line, others ? " and the same of the others" : "");
}

static int add_line(json_t *list, struct tw_buf *line, struct tw_err *err)
{
	if (tw_buf_failed(line) ||
	    json_array_append_new(list, json_stringn(line->data, line->len)) < 0)
		return tw_fail(err, TW_NOMEM, "explanation of the choice");
	return 0;
}

static int explain_trial(const char *form, const struct tw_auto_trials *t,
			 const struct tw_auto_trial *trial, json_t *list,
			 struct tw_err *err)
{
	struct tw_buf line = { 0 };
	int rc;

	tw_buf_addf(&line, "%s: %s of ", form, trial->learner->name);
	add_names(t, &trial->columns, &line);
	if (trial->err.code == TW_OK)
		tw_buf_addf(&line, ": %.4f W", trial->mae);
	else
		tw_buf_addf(&line, ": %s", trial->err.text);
	rc = add_line(list, &line, err);
	tw_buf_clear(&line);
	return rc;
}

int tw_auto_explain(const char *form, const struct tw_auto_trials *t,
		    const struct tw_auto_blend *b, json_t *list, struct tw_err *err)
{
	struct tw_buf line = { 0 };
	int rc = -1;

	for (size_t i = 0; i < t->count; i++)
		if (explain_trial(form, t, &t->at[i], list, err) < 0)
			goto out;
	tw_buf_addf(&line, "%s: chosen: the mean of ", form);
	for (size_t i = 0; i < b->count; i++) {
		const struct tw_auto_trial *trial = &t->at[b->trial[i]];

		tw_buf_addf(&line, "%s%s of ", i > 0 ? "; " : "", trial->learner->name);
		add_names(t, &trial->columns, &line);
	}
	tw_buf_addf(&line, ": %.4f W on %d inner blocked folds of %zu rows", b->mae,
		    TW_AUTO_FOLDS, t->rows.count);
	if (add_line(list, &line, err) < 0)
		goto out;

	rc = 0;
out:
	tw_buf_clear(&line);
	return rc;
}
