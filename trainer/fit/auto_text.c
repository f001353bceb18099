/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/auto_text.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "trainer/fit/fits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limit of rows that members are fitted on; of more rows, an even selection. */
#define FIT_ROWS_MAX 32768

/* Index of a column in all; the column is added if it is missing. */
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
	if (tw_auto_design_init(&d, t->samples, t->rest, rows, &trial->columns, err) < 0)
		goto out;
	d.samples.unconstrained = trial->role == TW_AUTO_FREE;
	if (tw_fits_fit(t->samples->fits, trial->learner, &d.samples, t->seed, text,
			err) < 0) {
		tw_err_wrap(err, "%s", trial->learner->name);
		goto out;
	}
	tw_buf_adds(text, "}");

	rc = 0;
out:
	tw_auto_design_release(&d);
	return rc;
}

/* Append "load", the column of the load and the power at rest. */
static void add_load(const struct tw_rest *rest, struct tw_auto_columns *all,
		     struct tw_buf *text)
{
	const struct tw_derived load = { (uint32_t)rest->load, 0, 0, TW_DERIVED_NONE };

	tw_buf_addf(text, ",\"load\":{\"column\":%zu,\"rest\":", place_of(all, &load));
	tw_buf_add_double(text, rest->watts);
	tw_buf_adds(text, ",\"ramp\":");
	tw_buf_add_double(text, fmax(rest->low_load, 0.0));
	tw_buf_adds(text, "}");
}

/*
 * Fit the members on all rows and append
 * {"bias":0,"median":true,"members":[..],"load":{..},"columns":[..]}, without the load if
 * the power need not rise from rest.
 */
static int add_form(const struct tw_auto_trials *t, const struct tw_auto_blend *b,
		    bool unbound, struct tw_buf *text, struct tw_err *err)
{
	struct tw_auto_columns all = { 0 };
	struct tw_auto_rows rows = { 0 };
	int rc = -1;

	if (tw_auto_rows_init(&rows, t->samples, t->rows.step_ms, FIT_ROWS_MAX, err) < 0)
		goto out;
	tw_buf_addf(text, "{\"bias\":0,\"median\":%s,\"members\":[",
		    b->median ? "true" : "false");
	for (size_t i = 0; i < b->count; i++) {
		tw_buf_adds(text, i > 0 ? "," : "");
		if (add_member(t, &rows, &t->at[b->trial[i]], b->weight[i], &all, text,
			       err) < 0)
			goto out;
	}
	tw_buf_adds(text, "]");
	if (!unbound)
		add_load(t->rest, &all, text);
	tw_buf_adds(text, ",\"columns\":[");
	add_columns(&all, text);
	tw_buf_adds(text, "]}");

	rc = 0;
out:
	free(rows.at);
	return rc;
}

/* ---- explanation ---- */

/* Append "a,b,c with a@1,a@1-3 and @1 of the others". */
static void add_names(const struct tw_auto_trials *t, const struct tw_auto_columns *c,
		      struct tw_buf *line)
{
	const struct tw_derived *first = NULL; /* the first column of earlier rows */
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
	tw_buf_adds(line, others ? " and @1 of the others" : "");
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

/* Append a line to list for each trial, and one for the choice. */
static int explain_form(const char *form, const struct tw_auto_trials *t,
			const struct tw_auto_blend *b, json_t *list, struct tw_err *err)
{
	struct tw_buf line = { 0 };
	int rc = -1;

	for (size_t i = 0; i < t->count; i++)
		if (explain_trial(form, t, &t->at[i], list, err) < 0)
			goto out;
	tw_buf_addf(&line, "%s: chosen: the %s of ", form,
		    b->median ? "median" : "weighted mean");
	for (size_t i = 0; i < b->count; i++) {
		const struct tw_auto_trial *trial = &t->at[b->trial[i]];

		tw_buf_adds(&line, i > 0 ? "; " : "");
		if (!b->median)
			tw_buf_addf(&line, "%.1f ", b->weight[i]);
		tw_buf_addf(&line, "%s of ", trial->learner->name);
		add_names(t, &trial->columns, &line);
	}
	tw_buf_addf(&line, ": %.4f W on %d inner blocked folds of %zu rows", b->mae,
		    (int)tw_auto_folds(t), t->rows.count);
	if (add_line(list, &line, err) < 0)
		goto out;

	rc = 0;
out:
	tw_buf_clear(&line);
	return rc;
}

/*
 * Limit predictions: at most half the measured range above the largest power, at least 0
 * W or the least power if that is negative.
 */
static void add_limits(const struct tw_samples *s, struct tw_buf *text)
{
	double low = s->y[0], high = s->y[0];

	for (size_t r = 1; r < s->rows; r++) {
		low = fmin(low, s->y[r]);
		high = fmax(high, s->y[r]);
	}
	tw_buf_adds(text, "{\"ensemble\":{\"floor\":");
	tw_buf_add_double(text, fmin(low, 0.0));
	tw_buf_adds(text, ",\"ceiling\":");
	tw_buf_add_double(text, high + (high - low) / 2.0);
}

static int add_choice(const struct tw_auto_fit *f, struct tw_buf *text,
		      struct tw_err *err)
{
	json_t *list = json_array();
	int rc = -1;

	if (list == NULL) {
		tw_fail(err, TW_NOMEM, "explanation of the choice");
		goto out;
	}
	if (explain_form("alone", &f->alone, &f->alone_blend, list, err) < 0)
		goto out;
	if (f->series.count > 0 &&
	    explain_form("series", &f->series, &f->series_blend, list, err) < 0)
		goto out;
	tw_buf_adds(text, ",\"choice\":");
	tw_buf_add_json(text, list);

	rc = 0;
out:
	json_decref(list);
	return rc;
}

int tw_auto_text(const struct tw_auto_fit *f, const struct tw_samples *s,
		 struct tw_buf *text, struct tw_err *err)
{
	add_limits(s, text);
	tw_buf_adds(text, ",\"alone\":");
	if (add_form(&f->alone, &f->alone_blend, f->unbound, text, err) < 0)
		return -1;
	if (f->looks_back) {
		tw_buf_adds(text, ",\"step_ms\":");
		tw_buf_add_double(text, f->series.rows.step_ms);
		tw_buf_adds(text, ",\"series\":");
		if (add_form(&f->series, &f->series_blend, f->unbound, text, err) < 0)
			return -1;
	}
	if (add_choice(f, text, err) < 0)
		return -1;
	tw_buf_adds(text, "}}");
	return tw_buf_check(text, err);
}

int tw_auto_explain(const char *text, size_t len, json_t **lines, struct tw_err *err)
{
	const json_t *ensemble, *choice;
	json_t *root = NULL;
	int rc = -1;

	if (tw_json_parse(text, len, "", &root, err) < 0 ||
	    tw_json_object(root, "", "ensemble", false, &ensemble, err) < 0 ||
	    tw_json_array(ensemble, "ensemble", "choice", false, &choice, err) < 0)
		goto out;
	*lines = json_deep_copy(choice);
	if (*lines == NULL) {
		tw_fail(err, TW_NOMEM, "explanation of the choice");
		goto out;
	}

	rc = 0;
out:
	json_decref(root);
	return rc;
}
