/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/prior/prior_file.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/fields.h"
#include "model-db/prior/prior_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 3
#define NAMES_MAX 4096
#define GENERATIONS_MAX 512 /* each has a likeness to each */
#define VALUE_MAX 1e9
/* Standard deviations. */
#define MISS_MAX 100
#define WATTS_MAX 1e6
#define WHERE TW_PRIOR_FILE

/* ---- machines: lists of numbers, categories and watts ---- */

#define ROW_ENTRIES ((size_t)TW_PRIOR_FACTS + TW_PRIOR_CATEGORIES + TW_PRIOR_LOADS)

/* Power over load, the last entries of a row. */
static int read_row_w(const json_t *list, size_t at, double *w, struct tw_err *err)
{
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		const json_t *v = json_array_get(list, ROW_ENTRIES - TW_PRIOR_LOADS + l);

		w[l] = json_is_number(v) ? json_number_value(v) : NAN;
		if (!(json_is_null(v) && l > 0 && l < TW_PRIOR_LOADS - 1) &&
		    !(w[l] > 0 && w[l] <= WATTS_MAX))
			return tw_fail(err, TW_INVALID,
				       WHERE ".machines[%zu][%zu]: want watts above 0",
				       at, ROW_ENTRIES - TW_PRIOR_LOADS + l);
	}
	return w[0] < w[TW_PRIOR_LOADS - 1]
		       ? 0
		       : tw_fail(err, TW_INVALID,
				 WHERE
				 ".machines[%zu]: full power is not above idle power",
				 at);
}

static int read_row(const json_t *list, size_t at, const struct tw_prior *p,
		    struct tw_prior_row *r, struct tw_err *err)
{
	if (json_array_size(list) != ROW_ENTRIES)
		return tw_fail(err, TW_INVALID, WHERE ".machines[%zu]: want %zu entries",
			       at, ROW_ENTRIES);
	for (size_t n = TW_PRIOR_FACTS; n < TW_PRIOR_NUMBERS; n++)
		r->number[n] = NAN;
	for (size_t n = 0; n < TW_PRIOR_FACTS; n++) {
		const json_t *v = json_array_get(list, n);

		r->number[n] = json_is_number(v) ? json_number_value(v) : NAN;
		if (!json_is_null(v) && !(r->number[n] > 0 && r->number[n] <= VALUE_MAX))
			return tw_fail(err, TW_INVALID,
				       WHERE ".machines[%zu][%zu]: want a number above 0",
				       at, n);
	}
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++) {
		const json_t *v = json_array_get(list, TW_PRIOR_FACTS + c);
		const json_int_t i = json_integer_value(v);

		if (!json_is_integer(v) || i < -1 || i >= (json_int_t)p->names[c].count)
			return tw_fail(err, TW_INVALID,
				       WHERE
				       ".machines[%zu]: no category %zu of that number",
				       at, c);
		r->category[c] = (int)i;
	}
	return 0;
}

/* The rows, after the names of their categories. */
static int read_machines(const json_t *list, const char *where, void *prior,
			 struct tw_err *err)
{
	struct tw_prior *p = prior;
	const size_t rows = json_array_size(list);

	if (!json_is_array(list) || rows > TW_PRIOR_ROWS_MAX)
		return tw_fail(err, TW_INVALID, "%s: want a list of at most %d", where,
			       TW_PRIOR_ROWS_MAX);
	p->row = calloc(rows + 1, sizeof(*p->row));
	p->row_w = calloc(rows + 1, sizeof(*p->row_w));
	if (p->row == NULL || p->row_w == NULL)
		return tw_fail(err, TW_NOMEM, WHERE);
	p->rows = rows;
	for (size_t i = 0; i < rows; i++)
		if (read_row(json_array_get(list, i), i, p, &p->row[i], err) < 0 ||
		    read_row_w(json_array_get(list, i), i, p->row_w[i], err) < 0)
			return -1;
	return 0;
}

static const struct tw_field_own machines = { .read = read_machines };

/* ---- the tables ---- */

/* The first n numbers of an array. */
#define NUMBERS(type, member, n, from, to)               \
	TW_FIELD_DOUBLE, TW_FIELD_ENTRIES(type, member), \
		.shape = TW_FIELD_ARRAY, .room = (n), .low = (from), .high = (to)

_Static_assert(offsetof(struct tw_prior_target, kernel) == sizeof(double) &&
		       offsetof(struct tw_prior_kernel, noise) == 3 * sizeof(double),
	       "mean, linear, square, radial, noise");

#define TARGET(member, n, from, to) NUMBERS(struct tw_prior_target, member, n, from, to)

static const struct tw_field target_fields[] = {
	/* The mean, and the variances that follow it. */
	{ "parts", TW_FIELD_DOUBLE, TW_FIELD_AT(struct tw_prior_target, mean),
	  .shape = TW_FIELD_ARRAY, .room = 5, .low = -VALUE_MAX, .high = VALUE_MAX },
	{ "length", TARGET(kernel.length, TW_PRIOR_FACTS, 1e-9, VALUE_MAX) },
	{ "category", TARGET(kernel.category, TW_PRIOR_CATEGORIES, 0, VALUE_MAX) },
	{ "weight", TW_FIELD_DOUBLE,
	  TW_FIELD_LIST_AT(struct tw_prior_target, weight, weights),
	  .most = TW_PRIOR_ROWS_MAX, .low = -VALUE_MAX, .high = VALUE_MAX },
};

static const struct tw_fields target_table =
	TW_FIELDS(target_fields, struct tw_prior_target);

#define MEMBER(member, n, from, to) NUMBERS(struct tw_prior_member, member, n, from, to)

static const struct tw_field member_fields[] = {
	{ "scale", TW_FIELD_UINT, TW_FIELD_AT(struct tw_prior_member, scale),
	  .max = TW_PRIOR_SCALES - 1 },
	{ "mean", MEMBER(mean, TW_PRIOR_FACTS, -VALUE_MAX, VALUE_MAX) },
	{ "sd", MEMBER(sd, TW_PRIOR_FACTS, 1e-9, VALUE_MAX) },
	{ "low", MEMBER(low, TW_PRIOR_FACTS, -VALUE_MAX, VALUE_MAX) },
	{ "high", MEMBER(high, TW_PRIOR_FACTS, -VALUE_MAX, VALUE_MAX) },
	{ "shape_mean", MEMBER(shape_mean, TW_PRIOR_INNER, -10, 10) },
	{ "shape", MEMBER(shape[0], TW_PRIOR_SHAPES *TW_PRIOR_INNER, -10, 10) },
	{ "targets", TW_FIELD_RECORD, TW_FIELD_ARRAY_AT(struct tw_prior_member, target),
	  .record = &target_table },
};

static const struct tw_fields member_table =
	TW_FIELDS(member_fields, struct tw_prior_member);

#define VIEW(member) TW_FIELD_AT(struct tw_prior_view, member)
#define LOADS(member, from, to) \
	NUMBERS(struct tw_prior_view, member, TW_PRIOR_LOADS, from, to)

static const struct tw_field view_fields[] = {
	{ "name", TW_FIELD_TEXT, VIEW(name) },
	{ "beside", TW_FIELD_INT, VIEW(beside), .min = -1,
	  .max = TW_PRIOR_VIEWS_MAX - 1 },
	{ "needs", TW_FIELD_UINT, VIEW(needs), .max = (1LL << TW_PRIOR_FACTS) - 1 },
	{ "numbers", TW_FIELD_UINT, VIEW(numbers), .max = (1LL << TW_PRIOR_FACTS) - 1 },
	{ "categories", TW_FIELD_UINT, VIEW(categories),
	  .max = (1LL << TW_PRIOR_CATEGORIES) - 1 },
	{ "unit", TW_FIELD_UINT, VIEW(unit), .max = TW_PRIOR_OF_CORE },
	{ "factor", LOADS(factor, 0.1, 10) },
	{ "width", LOADS(known.width, 0, MISS_MAX) },
	{ "error", LOADS(known.error, 0, MISS_MAX) },
	{ "later_width", LOADS(later.width, 0, MISS_MAX) },
	{ "later_error", LOADS(later.error, 0, MISS_MAX) },
	{ "members", TW_FIELD_RECORD,
	  TW_FIELD_FILLED_AT(struct tw_prior_view, member, members), .least = 1,
	  .record = &member_table },
};

static const struct tw_fields view_table = TW_FIELDS(view_fields, struct tw_prior_view);

static const struct tw_field prior_fields[] = {
	{ "prior", TW_FIELD_FORMAT, .min = FORMAT, .max = FORMAT },
	{ "categories", TW_FIELD_STRS, TW_FIELD_ARRAY_AT(struct tw_prior, names) },
	{ "after", TW_FIELD_INT, TW_FIELD_LIST_AT(struct tw_prior, after, afters),
	  .most = NAMES_MAX, .min = -1, .max = NAMES_MAX },
	{ "machines", TW_FIELD_OWN, .own = &machines },
	{ "nearest_error",
	  NUMBERS(struct tw_prior, nearest_error, TW_PRIOR_LIKENESSES, 0, MISS_MAX) },
	{ "views", TW_FIELD_RECORD, TW_FIELD_FILLED_AT(struct tw_prior, view, views),
	  .record = &view_table },
};

static const struct tw_fields prior_table = TW_FIELDS(prior_fields, struct tw_prior);

/* ---- the document ---- */

static int check_target(const struct tw_prior *p, struct tw_prior_target *t,
			const char *view, struct tw_err *err)
{
	const struct tw_prior_kernel *k = &t->kernel;

	if (t->weights != p->rows)
		return tw_fail(err, TW_INVALID,
			       WHERE ": view '%s': %zu weights of %zu machines", view,
			       t->weights, p->rows);
	if (k->linear < 0 || k->square < 0 || k->radial < 0 || k->noise < 0)
		return tw_fail(err, TW_INVALID,
			       WHERE ": view '%s': a variance is below 0", view);
	for (size_t n = TW_PRIOR_FACTS; n < TW_PRIOR_NUMBERS; n++)
		t->kernel.length[n] = 1; /* of readings, which no view uses */
	return 0;
}

static int check_beside(const struct tw_prior *p, const struct tw_prior_view *v,
			struct tw_err *err)
{
	if (v->beside >= 0 &&
	    ((size_t)v->beside >= p->views || p->view[v->beside].needs != v->needs ||
	     p->view[v->beside].unit != v->unit))
		return tw_fail(err, TW_INVALID,
			       WHERE
			       ": view '%s': no view %d with the same needs and unit",
			       v->name, v->beside);
	return 0;
}

static int check_views(struct tw_prior *p, struct tw_err *err)
{
	for (size_t v = 0; v < p->views; v++) {
		if (check_beside(p, &p->view[v], err) < 0)
			return -1;
		for (size_t m = 0; m < p->view[v].members; m++)
			for (size_t t = 0; t < TW_PRIOR_TARGETS; t++)
				if (check_target(p, &p->view[v].member[m].target[t],
						 p->view[v].name, err) < 0)
					return -1;
	}
	return 0;
}

/* Each generation comes behind the one before it. */
static int check_lineage(const struct tw_prior *p, struct tw_err *err)
{
	const size_t n = p->names[TW_PRIOR_GENERATION].count;

	if (n > GENERATIONS_MAX)
		return tw_fail(err, TW_INVALID,
			       WHERE ".categories[%d]: want at most %d names",
			       TW_PRIOR_GENERATION, GENERATIONS_MAX);
	if (p->afters != n)
		return tw_fail(err, TW_INVALID,
			       WHERE ".after: %zu entries of %zu generations", p->afters,
			       n);
	for (size_t i = 0; i < p->afters; i++)
		if (p->after[i] >= (int)i)
			return tw_fail(err, TW_INVALID,
				       WHERE ".after[%zu]: %d is not before it", i,
				       p->after[i]);
	return 0;
}

static int check_names(const struct tw_prior *p, struct tw_err *err)
{
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++) {
		if (p->names[c].count > NAMES_MAX)
			return tw_fail(err, TW_INVALID,
				       WHERE ".categories[%zu]: want at most %d names", c,
				       NAMES_MAX);
		for (size_t i = 0; i < p->names[c].count; i++)
			if (strlen(p->names[c].at[i]) >= TW_PRIOR_TEXT)
				return tw_fail(err, TW_INVALID,
					       WHERE ".categories[%zu][%zu]: longer "
						     "than %d bytes",
					       c, i, TW_PRIOR_TEXT - 1);
	}
	return 0;
}

int tw_prior_read(const char *text, size_t len, struct tw_prior *out, struct tw_err *err)
{
	if (len > TW_PRIOR_BYTES_MAX)
		return tw_fail(err, TW_INVALID, WHERE ": %zu bytes, limit is %zu", len,
			       TW_PRIOR_BYTES_MAX);
	if (tw_fields_parse(&prior_table, text, len, WHERE, out, err) == 0 &&
	    check_names(out, err) == 0 && check_lineage(out, err) == 0 &&
	    tw_prior_find_lineage(out, err) == 0 && check_views(out, err) == 0 &&
	    tw_prior_find_anchors(out, err) == 0)
		return 0;
	tw_prior_release(out);
	return -1;
}

int tw_prior_load(const char *db, struct tw_prior *out, struct tw_err *err)
{
	char *path = NULL, *text = NULL;
	size_t len;
	int rc = -1;

	if (tw_path_join(&path, err, db, TW_PRIOR_DIRECTORY, TW_PRIOR_FILE, NULL) < 0 ||
	    tw_file_read(path, TW_PRIOR_BYTES_MAX, &text, &len, err) < 0)
		goto out;
	if (tw_prior_read(text, len, out, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	free(path);
	free(text);
	return rc;
}
