/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/prior/prior_file.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "model-db/prior/prior.h"
#include "model-db/prior/prior_variance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 2
#define NAMES_MAX 4096
#define VALUE_MAX 1e9
/* Standard deviations. */
#define MISS_MAX 100
#define WATTS_MAX 1e6
#define WHERE TW_PRIOR_FILE

/* ---- writing ---- */

/* Six digits: the error of an answer is far below the noise of the machines. */
static void add_number(struct tw_buf *b, double v)
{
	char text[32];
	double rounded = 0;

	if (isnan(v)) {
		tw_buf_adds(b, "null");
		return;
	}
	snprintf(text, sizeof(text), "%.6g", v);
	if (!tw_parse_double(text, strlen(text), &rounded))
		rounded = v; /* another locale's decimal point */
	tw_buf_add_double(b, rounded);
}

static void add_list(struct tw_buf *b, const char *key, const double *v, size_t n)
{
	tw_buf_addf(b, ",\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		tw_buf_adds(b, i > 0 ? "," : "");
		add_number(b, v[i]);
	}
	tw_buf_adds(b, "]");
}

static void add_target(struct tw_buf *b, const struct tw_prior_target *t, size_t rows)
{
	const struct tw_prior_kernel *k = &t->kernel;
	const double parts[] = { t->mean, k->linear, k->square, k->radial, k->noise };

	tw_buf_adds(b, "{\"format\":1");
	add_list(b, "parts", parts, sizeof(parts) / sizeof(parts[0]));
	add_list(b, "length", k->length, TW_PRIOR_FACTS);
	add_list(b, "category", k->category, TW_PRIOR_CATEGORIES);
	add_list(b, "weight", t->weight, rows);
	tw_buf_adds(b, "}");
}

static void add_member(struct tw_buf *b, const struct tw_prior_member *m, size_t rows)
{
	tw_buf_addf(b, "\n{\"scale\":%d", (int)m->scale);
	add_list(b, "mean", m->mean, TW_PRIOR_FACTS);
	add_list(b, "sd", m->sd, TW_PRIOR_FACTS);
	add_list(b, "low", m->low, TW_PRIOR_FACTS);
	add_list(b, "high", m->high, TW_PRIOR_FACTS);
	add_list(b, "shape_mean", m->shape_mean, TW_PRIOR_INNER);
	add_list(b, "shape", m->shape[0], TW_PRIOR_SHAPES * TW_PRIOR_INNER);
	tw_buf_adds(b, ",\"targets\":[");
	for (size_t t = 0; t < TW_PRIOR_TARGETS; t++) {
		tw_buf_adds(b, t > 0 ? "," : "");
		add_target(b, &m->target[t], rows);
	}
	tw_buf_adds(b, "]}");
}

static void add_view(struct tw_buf *b, const struct tw_prior_view *v, size_t rows)
{
	tw_buf_adds(b, "{\"name\":");
	tw_buf_add_json_text(b, v->name, strlen(v->name));
	tw_buf_addf(b, ",\"needs\":%u,\"numbers\":%u,\"categories\":%u,\"unit\":%d",
		    v->needs, v->numbers, v->categories, (int)v->unit);
	add_list(b, "factor", v->factor, TW_PRIOR_LOADS);
	add_list(b, "width", v->known.width, TW_PRIOR_LOADS);
	add_list(b, "error", v->known.error, TW_PRIOR_LOADS);
	add_list(b, "later_width", v->later.width, TW_PRIOR_LOADS);
	add_list(b, "later_error", v->later.error, TW_PRIOR_LOADS);
	tw_buf_adds(b, ",\"members\":[");
	for (size_t m = 0; m < v->members; m++) {
		tw_buf_adds(b, m > 0 ? "," : "");
		add_member(b, &v->member[m], rows);
	}
	tw_buf_adds(b, "]}");
}

static void add_row(struct tw_buf *b, const struct tw_prior_row *r, const double *w)
{
	tw_buf_adds(b, "[");
	for (size_t n = 0; n < TW_PRIOR_FACTS; n++) {
		tw_buf_adds(b, n > 0 ? "," : "");
		add_number(b, r->number[n]);
	}
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
		tw_buf_addf(b, ",%d", r->category[c]);
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		tw_buf_adds(b, ",");
		add_number(b, w[l]);
	}
	tw_buf_adds(b, "]");
}

void tw_prior_write(const struct tw_prior *p, struct tw_buf *out)
{
	tw_buf_addf(out, "{\"prior\":%d,\"categories\":[", FORMAT);
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++) {
		tw_buf_adds(out, c > 0 ? ",[" : "[");
		for (size_t i = 0; i < p->names[c].count; i++) {
			tw_buf_adds(out, i > 0 ? "," : "");
			tw_buf_add_json_text(out, p->names[c].at[i],
					     strlen(p->names[c].at[i]));
		}
		tw_buf_adds(out, "]");
	}
	tw_buf_adds(out, "],\n\"machines\":[");
	for (size_t i = 0; i < p->rows; i++) {
		tw_buf_adds(out, i > 0 ? ",\n" : "\n");
		add_row(out, &p->row[i], p->row_w[i]);
	}
	tw_buf_adds(out, "]");
	add_list(out, "nearest_error", p->nearest_error, TW_PRIOR_LIKENESSES);
	tw_buf_adds(out, ",\n\"views\":[");
	for (size_t v = 0; v < p->views; v++) {
		tw_buf_adds(out, v > 0 ? ",\n" : "\n");
		add_view(out, &p->view[v], p->rows);
	}
	tw_buf_adds(out, "]}\n");
}

/* ---- reading ---- */

/* n numbers from min to max. */
static int read_numbers(const json_t *obj, const char *where, const char *key, double min,
			double max, double *out, size_t n, struct tw_err *err)
{
	const json_t *list = NULL;

	if (tw_json_array(obj, where, key, false, &list, err) < 0)
		return -1;
	if (json_array_size(list) != n)
		return tw_fail(err, TW_INVALID, "%s.%s: %zu numbers, want %zu", where,
			       key, json_array_size(list), n);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);
		const double x = json_number_value(v);

		if (!json_is_number(v) || !(x >= min && x <= max))
			return tw_fail(err, TW_INVALID,
				       "%s.%s[%zu]: want a number from %g to %g", where,
				       key, i, min, max);
		out[i] = x;
	}
	return 0;
}

static int read_target(const json_t *obj, const char *where, struct tw_prior_target *t,
		       size_t rows, struct tw_err *err)
{
	double parts[5];

	if (!json_is_object(obj))
		return tw_fail(err, TW_PARSE, "%s: want an object", where);
	t->weight = calloc(rows + 1, sizeof(*t->weight));
	if (t->weight == NULL)
		return tw_fail(err, TW_NOMEM, "%s", where);
	if (read_numbers(obj, where, "parts", -VALUE_MAX, VALUE_MAX, parts, 5, err) < 0 ||
	    read_numbers(obj, where, "length", 1e-9, VALUE_MAX, t->kernel.length,
			 TW_PRIOR_FACTS, err) < 0 ||
	    read_numbers(obj, where, "category", 0, VALUE_MAX, t->kernel.category,
			 TW_PRIOR_CATEGORIES, err) < 0 ||
	    read_numbers(obj, where, "weight", -VALUE_MAX, VALUE_MAX, t->weight, rows,
			 err) < 0)
		return -1;
	for (size_t i = 1; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i] < 0)
			return tw_fail(err, TW_INVALID,
				       "%s.parts[%zu]: a variance is below 0", where, i);
	for (size_t n = TW_PRIOR_FACTS; n < TW_PRIOR_NUMBERS; n++)
		t->kernel.length[n] = 1; /* of readings, which no view uses */
	t->mean = parts[0];
	t->kernel.linear = parts[1];
	t->kernel.square = parts[2];
	t->kernel.radial = parts[3];
	t->kernel.noise = parts[4];
	return 0;
}

static int read_member(const json_t *obj, const char *where, struct tw_prior_member *m,
		       size_t rows, struct tw_err *err)
{
	const json_t *targets = NULL;
	long long scale = 0;

	if (!json_is_object(obj))
		return tw_fail(err, TW_PARSE, "%s: want an object", where);
	if (tw_json_int(obj, where, "scale", false, 0, TW_PRIOR_SCALES - 1, &scale, err) <
		    0 ||
	    read_numbers(obj, where, "mean", -VALUE_MAX, VALUE_MAX, m->mean,
			 TW_PRIOR_FACTS, err) < 0 ||
	    read_numbers(obj, where, "sd", 1e-9, VALUE_MAX, m->sd, TW_PRIOR_FACTS, err) <
		    0 ||
	    read_numbers(obj, where, "low", -VALUE_MAX, VALUE_MAX, m->low, TW_PRIOR_FACTS,
			 err) < 0 ||
	    read_numbers(obj, where, "high", -VALUE_MAX, VALUE_MAX, m->high,
			 TW_PRIOR_FACTS, err) < 0 ||
	    read_numbers(obj, where, "shape_mean", -10, 10, m->shape_mean, TW_PRIOR_INNER,
			 err) < 0 ||
	    read_numbers(obj, where, "shape", -10, 10, m->shape[0],
			 TW_PRIOR_SHAPES * TW_PRIOR_INNER, err) < 0 ||
	    tw_json_array(obj, where, "targets", false, &targets, err) < 0)
		return -1;
	m->scale = (enum tw_prior_scale)scale;
	if (json_array_size(targets) != TW_PRIOR_TARGETS)
		return tw_fail(err, TW_INVALID, "%s.targets: %zu, want %d", where,
			       json_array_size(targets), TW_PRIOR_TARGETS);
	for (size_t t = 0; t < TW_PRIOR_TARGETS; t++)
		if (read_target(json_array_get(targets, t), where, &m->target[t], rows,
				err) < 0)
			return -1;
	return 0;
}

static int read_bits(const json_t *obj, const char *where, const char *key,
		     unsigned count, unsigned *out, struct tw_err *err)
{
	long long v = 0;

	if (tw_json_int(obj, where, key, false, 0, (1LL << count) - 1, &v, err) < 0)
		return -1;
	*out = (unsigned)v;
	return 0;
}

static int read_misses(const json_t *obj, const char *where, struct tw_prior_view *v,
		       struct tw_err *err)
{
	const struct {
		const char *key;
		double *to;
	} lists[] = { { "width", v->known.width },
		      { "error", v->known.error },
		      { "later_width", v->later.width },
		      { "later_error", v->later.error } };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (read_numbers(obj, where, lists[i].key, 0, MISS_MAX, lists[i].to,
				 TW_PRIOR_LOADS, err) < 0)
			return -1;
	return 0;
}

static int read_view(const json_t *obj, size_t number, struct tw_prior_view *v,
		     size_t rows, struct tw_err *err)
{
	const json_t *members = NULL;
	const char *name = NULL;
	long long unit = 0;
	char where[64];

	snprintf(where, sizeof(where), WHERE ".views[%zu]", number);
	if (!json_is_object(obj))
		return tw_fail(err, TW_PARSE, "%s: want an object", where);
	if (tw_json_text(obj, where, "name", false, &name, err) < 0 ||
	    read_bits(obj, where, "needs", TW_PRIOR_FACTS, &v->needs, err) < 0 ||
	    read_bits(obj, where, "numbers", TW_PRIOR_FACTS, &v->numbers, err) < 0 ||
	    read_bits(obj, where, "categories", TW_PRIOR_CATEGORIES, &v->categories,
		      err) < 0 ||
	    tw_json_int(obj, where, "unit", false, 0, TW_PRIOR_UNITS - 1, &unit, err) <
		    0 ||
	    read_numbers(obj, where, "factor", 0.1, 10, v->factor, TW_PRIOR_LOADS, err) <
		    0 ||
	    read_misses(obj, where, v, err) < 0 ||
	    tw_json_array(obj, where, "members", false, &members, err) < 0)
		return -1;
	if (strlen(name) >= sizeof(v->name))
		return tw_fail(err, TW_INVALID, "%s.name: %zu bytes", where,
			       strlen(name));
	snprintf(v->name, sizeof(v->name), "%s", name);
	v->unit = (enum tw_prior_unit)unit;
	if (json_array_size(members) < 1 ||
	    json_array_size(members) > TW_PRIOR_MEMBERS_MAX)
		return tw_fail(err, TW_INVALID, "%s.members: %zu, want 1 to %d", where,
			       json_array_size(members), TW_PRIOR_MEMBERS_MAX);
	while (v->members < json_array_size(members)) {
		const size_t m = v->members++; /* released after a failure, too */

		if (read_member(json_array_get(members, m), where, &v->member[m], rows,
				err) < 0)
			return -1;
	}
	return 0;
}

#define ROW_ENTRIES ((size_t)TW_PRIOR_FACTS + TW_PRIOR_CATEGORIES + TW_PRIOR_LOADS)

/* Power over load, the last entries of a row. */
static int read_row_w(const json_t *list, size_t at, double *w, struct tw_err *err)
{
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		const json_t *v = json_array_get(list, ROW_ENTRIES - TW_PRIOR_LOADS + l);

		w[l] = json_number_value(v);
		if (!json_is_number(v) || !(w[l] > 0 && w[l] <= WATTS_MAX))
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

static int read_names(const json_t *doc, struct tw_prior *p, struct tw_err *err)
{
	const json_t *lists = NULL;

	if (tw_json_array(doc, WHERE, "categories", false, &lists, err) < 0)
		return -1;
	if (json_array_size(lists) != TW_PRIOR_CATEGORIES)
		return tw_fail(err, TW_INVALID, WHERE ".categories: %zu lists, want %d",
			       json_array_size(lists), TW_PRIOR_CATEGORIES);
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++) {
		const json_t *list = json_array_get(lists, c);

		if (!json_is_array(list) || json_array_size(list) > NAMES_MAX)
			return tw_fail(err, TW_INVALID,
				       WHERE ".categories[%zu]: want at most %d names", c,
				       NAMES_MAX);
		for (size_t i = 0; i < json_array_size(list); i++) {
			const char *name = json_string_value(json_array_get(list, i));

			if (name == NULL || strlen(name) >= TW_PRIOR_TEXT)
				return tw_fail(err, TW_INVALID,
					       WHERE ".categories[%zu][%zu]: want a text",
					       c, i);
			if (tw_strs_adds(&p->names[c], name, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int read_machines(const json_t *doc, struct tw_prior *p, struct tw_err *err)
{
	const json_t *list = NULL;

	if (tw_json_array(doc, WHERE, "machines", false, &list, err) < 0)
		return -1;
	if (json_array_size(list) > TW_PRIOR_ROWS_MAX)
		return tw_fail(err, TW_INVALID, WHERE ".machines: %zu, limit is %d",
			       json_array_size(list), TW_PRIOR_ROWS_MAX);
	p->row = calloc(json_array_size(list) + 1, sizeof(*p->row));
	p->row_w = calloc(json_array_size(list) + 1, sizeof(*p->row_w));
	if (p->row == NULL || p->row_w == NULL)
		return tw_fail(err, TW_NOMEM, WHERE);
	p->rows = json_array_size(list);
	for (size_t i = 0; i < p->rows; i++)
		if (read_row(json_array_get(list, i), i, p, &p->row[i], err) < 0 ||
		    read_row_w(json_array_get(list, i), i, p->row_w[i], err) < 0)
			return -1;
	return 0;
}

static int read_document(const json_t *doc, struct tw_prior *p, struct tw_err *err)
{
	const json_t *views = NULL;
	long long format = 0;

	if (!json_is_object(doc))
		return tw_fail(err, TW_PARSE, WHERE ": want an object");
	if (tw_json_int(doc, WHERE, "prior", false, FORMAT, FORMAT, &format, err) < 0 ||
	    read_names(doc, p, err) < 0 || read_machines(doc, p, err) < 0 ||
	    read_numbers(doc, WHERE, "nearest_error", 0, MISS_MAX, p->nearest_error,
			 TW_PRIOR_LIKENESSES, err) < 0 ||
	    tw_json_array(doc, WHERE, "views", false, &views, err) < 0)
		return -1;
	if (json_array_size(views) > TW_PRIOR_VIEWS_MAX)
		return tw_fail(err, TW_INVALID, WHERE ".views: %zu, limit is %d",
			       json_array_size(views), TW_PRIOR_VIEWS_MAX);
	while (p->views < json_array_size(views)) {
		const size_t v = p->views++;

		if (read_view(json_array_get(views, v), v, &p->view[v], p->rows, err) < 0)
			return -1;
	}
	return tw_prior_find_anchors(p, err);
}

int tw_prior_read(const char *text, size_t len, struct tw_prior *out, struct tw_err *err)
{
	json_t *doc = NULL;
	int rc = -1;

	if (len > TW_PRIOR_BYTES_MAX)
		return tw_fail(err, TW_INVALID, WHERE ": %zu bytes, limit is %zu", len,
			       TW_PRIOR_BYTES_MAX);
	if (tw_json_parse(text, len, WHERE, &doc, err) < 0 ||
	    read_document(doc, out, err) < 0)
		goto out;
	rc = 0;
out:
	json_decref(doc);
	if (rc < 0)
		tw_prior_release(out);
	return rc;
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
