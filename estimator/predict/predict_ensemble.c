/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/derived.h"
#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A weighted sum of models over columns that are derived from the features:
 *
 *	watts = bias + sum over members of weight * member(columns)
 *
 * or bias + the median of the members. With a load, this is at least rest, and
 *
 *	watts = rest + (watts - rest) * min(1, load / ramp)
 *
 * so that power at rest is known and does not jump above it. If the members rise with the
 * load, so does the result: medians and this product keep the order. At last watts are
 * clamped to [floor, ceiling]. A file has two forms. `alone` predicts a row by itself.
 * `series`, which is optional, predicts a row that has an earlier row in its series, and
 * may use earlier rows.
 *
 *	{"ensemble": {"floor": a, "ceiling": b, "step_ms": t, "alone": F, "series": F}}
 *	F: {"bias": b, "columns": [[feature, from, to], ..], "members": [M, ..],
 *	    "median": false, "load": {"column": i, "rest": w, "ramp": x}}
 *	M: {"weight": w, "columns": [i, ..], "predictor": "trees", "model": {..}}
 */
#define ROOT "ensemble"
#define MEMBERS_MAX 64
#define BLOCK 16 /* rows whose columns are computed at a time */

struct member {
	const struct tw_predictor *predictor;
	void *state;
	double weight;
	uint32_t *place; /* columns of the form that are its features */
};

struct form {
	struct tw_derived *column;
	size_t columns;
	struct member *member;
	size_t members;
	double bias;
	bool median; /* of the members, instead of their weighted sum */
	/* Below `ramp` of the load, power rises evenly from rest_w. */
	bool has_load;
	uint32_t load; /* column */
	double rest_w, ramp;
	size_t back; /* the most rows that a column looks back */
};

struct ensemble {
	struct form alone, series; /* a series without members is absent */
	double floor, ceiling, step_ms;
};

static void form_release(struct form *f)
{
	for (size_t i = 0; i < f->members; i++) {
		tw_predictor_free(f->member[i].predictor, f->member[i].state);
		free(f->member[i].place);
	}
	free(f->member);
	free(f->column);
}

static void release(void *state)
{
	struct ensemble *e = state;

	form_release(&e->alone);
	form_release(&e->series);
}

/* ---- reading ---- */

/* Read m->place; add the names of these columns, as the member's features. */
static int read_places(const json_t *obj, const char *where, const struct form *f,
		       const struct tw_strs *features, struct member *m,
		       struct tw_strs *names, struct tw_err *err)
{
	char name[TW_DERIVED_NAME];
	const json_t *list;

	if (tw_json_array(obj, where, "columns", false, &list, err) < 0)
		return -1;
	if (json_array_size(list) > TW_DERIVED_MAX)
		return tw_fail(err, TW_INVALID, "%s.columns: %zu, limit is %d", where,
			       json_array_size(list), TW_DERIVED_MAX);
	m->place = calloc(json_array_size(list) + 1, sizeof(*m->place));
	if (m->place == NULL)
		return tw_fail(err, TW_NOMEM, "%s.columns", where);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);

		if (!json_is_integer(v) || json_integer_value(v) < 0 ||
		    (size_t)json_integer_value(v) >= f->columns)
			return tw_fail(
				err, TW_INVALID,
				"%s.columns[%zu]: expected the place of one of %zu "
				"columns",
				where, i, f->columns);
		m->place[i] = (uint32_t)json_integer_value(v);
		tw_derived_name(&f->column[m->place[i]],
				(const char *const *)features->at, name);
		if (tw_strs_adds(names, name, err) < 0)
			return -1;
	}
	return 0;
}

/* Reject an ensemble in an ensemble. */
static int read_predictor(const json_t *obj, const char *where, struct member *m,
			  struct tw_err *err)
{
	const char *name;

	if (tw_json_text(obj, where, "predictor", false, &name, err) < 0)
		return -1;
	m->predictor = tw_predictor_find(name);
	if (m->predictor == NULL || m->predictor == &tw_predictor_ensemble)
		return tw_fail(err, TW_UNSUPPORTED,
			       "%s.predictor: '%.64s' is not supported", where, name);
	return 0;
}

static int read_member(const json_t *obj, const char *where, const struct form *f,
		       const struct tw_strs *features, struct member *m,
		       struct tw_err *err)
{
	struct tw_strs names = { 0 };
	const json_t *model;
	int rc = -1;

	if (!json_is_object(obj)) {
		tw_fail(err, TW_PARSE, "%s: expected an object, got %s", where,
			tw_json_type_name(obj));
		goto out;
	}
	if (tw_json_number(obj, where, "weight", false, &m->weight, err) < 0 ||
	    read_predictor(obj, where, m, err) < 0 ||
	    read_places(obj, where, f, features, m, &names, err) < 0 ||
	    tw_json_object(obj, where, "model", false, &model, err) < 0)
		goto out;
	if (tw_predictor_load_json(m->predictor, model, &names, &m->state, err) < 0) {
		tw_err_wrap(err, "%s.model", where);
		goto out;
	}

	rc = 0;
out:
	tw_strs_clear(&names);
	return rc;
}

static int read_columns(const json_t *obj, const char *where, size_t features,
			uint32_t back, struct form *f, struct tw_err *err)
{
	struct tw_derived column[TW_DERIVED_MAX];

	if (tw_derived_read(obj, where, "columns", features, back, column, &f->columns,
			    err) < 0)
		return -1;
	f->column = calloc(f->columns + 1, sizeof(*f->column));
	if (f->column == NULL)
		return tw_fail(err, TW_NOMEM, "%s.columns", where);
	memcpy(f->column, column, f->columns * sizeof(*column));
	for (size_t i = 0; i < f->columns; i++)
		if (f->column[i].to > f->back)
			f->back = f->column[i].to;
	return 0;
}

static int read_load(const json_t *obj, const char *where, struct form *f,
		     struct tw_err *err)
{
	const json_t *load = NULL, *column;
	char place[128];

	snprintf(place, sizeof(place), "%.100s.load", where);
	if (tw_json_object(obj, where, "load", true, &load, err) < 0)
		return -1;
	if (load == NULL)
		return 0;
	column = json_object_get(load, "column");
	if (!json_is_integer(column) || json_integer_value(column) < 0 ||
	    (size_t)json_integer_value(column) >= f->columns)
		return tw_fail(err, TW_INVALID,
			       "%s.load.column: expected the place of one of %zu columns",
			       where, f->columns);
	if (tw_json_number(load, place, "rest", false, &f->rest_w, err) < 0 ||
	    tw_json_number(load, place, "ramp", false, &f->ramp, err) < 0)
		return -1;
	if (f->ramp < 0.0)
		return tw_fail(err, TW_INVALID, "%s.load.ramp: %g, expected 0 or more",
			       where, f->ramp);
	f->load = (uint32_t)json_integer_value(column);
	f->has_load = true;
	return 0;
}

static int read_form(const json_t *obj, const char *where, uint32_t back,
		     const struct tw_strs *features, struct form *f, struct tw_err *err)
{
	const json_t *list;
	char place[128];

	f->median = json_is_true(json_object_get(obj, "median"));
	if (tw_json_number(obj, where, "bias", false, &f->bias, err) < 0 ||
	    read_columns(obj, where, features->count, back, f, err) < 0 ||
	    read_load(obj, where, f, err) < 0 ||
	    tw_json_array(obj, where, "members", false, &list, err) < 0)
		return -1;
	if (json_array_size(list) == 0 || json_array_size(list) > MEMBERS_MAX)
		return tw_fail(err, TW_INVALID, "%s.members: %zu, expected 1 to %d",
			       where, json_array_size(list), MEMBERS_MAX);
	f->member = calloc(json_array_size(list), sizeof(*f->member));
	if (f->member == NULL)
		return tw_fail(err, TW_NOMEM, "%s.members", where);
	for (size_t i = 0; i < json_array_size(list); i++) {
		snprintf(place, sizeof(place), "%s.members[%zu]", where, i);
		f->members++;
		if (read_member(json_array_get(list, i), place, f, features,
				&f->member[i], err) < 0)
			return -1;
	}
	return 0;
}

static int read_ensemble(const json_t *root, const struct tw_strs *features, void *state,
			 struct tw_err *err)
{
	struct ensemble *e = state;
	const json_t *obj, *alone, *series = NULL;

	if (tw_json_object(root, "", ROOT, false, &obj, err) < 0 ||
	    tw_json_number(obj, ROOT, "floor", false, &e->floor, err) < 0 ||
	    tw_json_number(obj, ROOT, "ceiling", false, &e->ceiling, err) < 0 ||
	    tw_json_object(obj, ROOT, "alone", false, &alone, err) < 0 ||
	    tw_json_object(obj, ROOT, "series", true, &series, err) < 0)
		return -1;
	if (!(e->floor <= e->ceiling))
		return tw_fail(err, TW_INVALID, ROOT ": floor %g is above ceiling %g",
			       e->floor, e->ceiling);
	if (read_form(alone, ROOT ".alone", 0, features, &e->alone, err) < 0)
		return -1;
	if (series == NULL)
		return 0;
	if (tw_json_number(obj, ROOT, "step_ms", false, &e->step_ms, err) < 0)
		return -1;
	if (e->step_ms <= 0.0)
		return tw_fail(err, TW_INVALID, ROOT ".step_ms: %g, expected more than 0",
			       e->step_ms);
	return read_form(series, ROOT ".series", TW_DERIVED_BACK_MAX, features,
			 &e->series, err);
}

/* ---- predicting ---- */

static double rise_from_rest(const struct form *f, double watts, double load)
{
	const double above = fmax(watts - f->rest_w, 0.0);

	if (load <= 0.0)
		return f->rest_w;
	return f->rest_w + (load < f->ramp ? above * (load / f->ramp) : above);
}

/* Combine the predictions of row r; member i predicts part[i][r]. */
static double combine(const struct form *f, double part[][BLOCK], size_t r)
{
	double value[MEMBERS_MAX], sum = f->bias;

	for (size_t i = 0; i < f->members; i++) {
		value[i] = part[i][r];
		sum += f->member[i].weight * part[i][r];
	}
	return f->median ? f->bias + tw_median(value, f->members) : sum;
}

static void predict_block(const struct form *f, const struct tw_rows *in, size_t first,
			  size_t rows, const size_t *history, double *watts)
{
	double x[BLOCK * TW_DERIVED_MAX], part[MEMBERS_MAX][BLOCK];
	struct tw_rows columns = {
		.x = x, .rows = rows, .stride = f->columns, .categories = in->categories
	};

	for (size_t r = 0; r < rows; r++) {
		for (size_t c = 0; c < f->columns; c++)
			x[r * f->columns + c] = tw_derived_value(&f->column[c], in,
								 first + r, history[r]);
	}
	for (size_t i = 0; i < f->members; i++) {
		const struct member *m = &f->member[i];

		columns.place = m->place;
		m->predictor->predict(m->state, &columns, part[i]);
	}
	for (size_t r = 0; r < rows; r++) {
		watts[r] = combine(f, part, r);
		if (f->has_load)
			watts[r] =
				rise_from_rest(f, watts[r], x[r * f->columns + f->load]);
	}
}

/* The form that predicts row r; *history is its number of earlier rows. */
static const struct form *form_of(const struct ensemble *e, const struct tw_rows *in,
				  size_t r, size_t *history)
{
	*history = e->series.members > 0
			   ? tw_derived_history(in, r, e->step_ms, e->series.back)
			   : 0;
	return *history > 0 ? &e->series : &e->alone;
}

static void predict(const void *state, const struct tw_rows *in, double *watts)
{
	const struct ensemble *e = state;
	size_t history[BLOCK], rows;

	for (size_t first = 0; first < in->rows; first += rows) {
		const struct form *f = form_of(e, in, first, &history[0]);

		for (rows = 1; rows < BLOCK && first + rows < in->rows; rows++)
			if (form_of(e, in, first + rows, &history[rows]) != f)
				break;
		predict_block(f, in, first, rows, history, watts + first);
		for (size_t r = first; r < first + rows; r++)
			watts[r] = isnan(watts[r])
					   ? e->floor
					   : fmin(fmax(watts[r], e->floor), e->ceiling);
	}
}

static size_t back(const void *state)
{
	const struct ensemble *e = state;

	return e->series.back;
}

static double step_ms(const void *state)
{
	const struct ensemble *e = state;

	return e->step_ms;
}

static bool in_series(const void *state, const struct tw_rows *in, size_t row)
{
	const struct ensemble *e = state;
	size_t history;

	return form_of(e, in, row, &history) == &e->series;
}

static uint64_t form_ns(const struct form *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->members; i++)
		sum += tw_predictor_row_ns(f->member[i].predictor, f->member[i].state);
	return sum;
}

static uint64_t row_ns(const void *state)
{
	const struct ensemble *e = state;
	const uint64_t alone = form_ns(&e->alone), series = form_ns(&e->series);

	return alone > series ? alone : series;
}

const struct tw_predictor tw_predictor_ensemble = {
	.name = "ensemble",
	.summary = "a weighted sum of models, with a form that looks back in a series",
	.state_bytes = sizeof(struct ensemble),
	.read = read_ensemble,
	.release = release,
	.predict = predict,
	.back = back,
	.step_ms = step_ms,
	.in_series = in_series,
	.row_ns = row_ns,
};
