/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/json.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/core/utf8.h"
#include "lib/json/jsax.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parsing ---- */

/* A byte order mark in UTF-8. */
#define BOM "\xef\xbb\xbf"

/* Builds jansson's values from the events of a text. */
struct builder {
	const char *data; /* the whole text */
	size_t len;
	json_t *top;
	json_t *open[TW_JSON_DEPTH_MAX]; /* the containers around the next value */
	struct tw_buf key; /* of the next value, if an object is around it */
	bool loose;        /* as of tw_json_parse_loose() */
};

/* Strings of json_t end at a NUL for most of its callers. */
static int check_text(const struct builder *b, const struct tw_jsax_event *e,
		      struct tw_err *err)
{
	if (b->loose || memchr(e->text, '\0', e->len) == NULL)
		return 0;
	return tw_fail(err, TW_PARSE, "byte %" PRIu64 ": \\u0000 is not allowed",
		       e->offset);
}

static int take_key(struct builder *b, const struct tw_jsax_event *e, struct tw_err *err)
{
	if (check_text(b, e, err) < 0)
		return -1;
	b->key.len = 0;
	tw_buf_add(&b->key, e->text, e->len);
	if (tw_buf_failed(&b->key))
		return tw_fail(err, TW_NOMEM, "key of %zu bytes", e->len);
	if (!b->loose && json_object_get(b->open[e->depth - 1], b->key.data) != NULL)
		return tw_fail(err, TW_PARSE,
			       "byte %" PRIu64 ": the key '%.60s' is there twice",
			       e->offset, b->key.data);
	return 0;
}

/* jansson tells integers from other numbers: the event has a double only. */
static int make_number(const struct builder *b, const struct tw_jsax_event *e,
		       json_t **out, struct tw_err *err)
{
	const char *text = b->data + e->offset;
	const size_t left = b->len - (size_t)e->offset, minus = *text == '-';
	size_t n = minus;
	bool whole, fits;
	uint64_t v = 0;

	while (n < left && text[n] >= '0' && text[n] <= '9')
		n++;
	whole = n == left || (text[n] != '.' && text[n] != 'e' && text[n] != 'E');
	fits = tw_parse_u64(text + minus, n - minus, &v) &&
	       v <= (uint64_t)INT64_MAX + minus;
	if (whole && !fits && !b->loose)
		return tw_fail(err, TW_PARSE,
			       "byte %" PRIu64 ": an integer of more than 64 bits",
			       e->offset);
	*out = whole && fits ? json_integer((json_int_t)(minus ? 0 - v : v))
			     : json_real(e->number);
	return 0;
}

static int make_value(const struct builder *b, const struct tw_jsax_event *e,
		      json_t **out, struct tw_err *err)
{
	switch (e->type) {
	case TW_JSAX_OBJECT:
		*out = json_object();
		return 0;
	case TW_JSAX_ARRAY:
		*out = json_array();
		return 0;
	case TW_JSAX_TEXT:
		*out = json_stringn_nocheck(e->text, e->len);
		return check_text(b, e, err);
	case TW_JSAX_NUMBER:
		return make_number(b, e, out, err);
	case TW_JSAX_NULL:
		*out = json_null();
		return 0;
	default:
		*out = json_boolean(e->type == TW_JSAX_TRUE);
		return 0;
	}
}

/* Put a value, which it takes over, where it belongs. */
static int place(struct builder *b, unsigned depth, json_t *v)
{
	if (depth == 0) {
		b->top = v;
		return 0;
	}
	if (json_is_array(b->open[depth - 1]))
		return json_array_append_new(b->open[depth - 1], v);
	return json_object_set_new_nocheck(b->open[depth - 1], b->key.data, v);
}

static int build(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct builder *b = arg;
	json_t *v = NULL;

	if (e->type == TW_JSAX_OBJECT_END || e->type == TW_JSAX_ARRAY_END)
		return 0;
	if (e->type == TW_JSAX_KEY)
		return take_key(b, e, err);
	if (make_value(b, e, &v, err) < 0) {
		json_decref(v);
		return -1;
	}
	if (v == NULL || place(b, e->depth, v) < 0)
		return tw_fail(err, TW_NOMEM, "JSON of %zu bytes", b->len);
	if (e->type == TW_JSAX_OBJECT || e->type == TW_JSAX_ARRAY)
		b->open[e->depth] = v;
	return 0;
}

/* The parser names the byte of a wrong text: people look for a line. */
static int tell_line(const char *data, size_t len, const char *where, struct tw_err *err)
{
	const struct tw_err why = *err;
	unsigned long long byte;
	size_t line = 1, column = 1;
	int used = 0;

	if (sscanf(why.text, "byte %llu: %n", &byte, &used) != 1 || used == 0)
		return tw_err_wrap(err, "%s", where);
	for (size_t i = 0; i < len && i < byte; i++) {
		column = data[i] == '\n' ? 1 : column + 1;
		line += data[i] == '\n';
	}
	tw_err_clear(err);
	return tw_fail(err, why.code, "%s: line %zu, column %zu: %s", where, line, column,
		       why.text + used);
}

static int parse(const char *data, size_t len, const char *where, bool loose,
		 json_t **out, struct tw_err *err)
{
	const struct tw_jsax_limits limits = { TW_JSON_DEPTH_MAX, len };
	struct builder b = { .data = data, .len = len, .loose = loose };
	const int rc = tw_jsax_parse(&limits, build, &b, data, len, err);

	tw_buf_clear(&b.key);
	if (rc < 0) {
		json_decref(b.top);
		return tell_line(data, len, where, err);
	}
	*out = b.top;
	return 0;
}

int tw_json_parse(const char *data, size_t len, const char *where, json_t **out,
		  struct tw_err *err)
{
	return parse(data, len, where, false, out, err);
}

int tw_json_parse_loose(const char *data, size_t len, const char *where, json_t **out,
			struct tw_err *err)
{
	char *clean = malloc(len + 1);
	int rc;

	if (clean == NULL)
		return tw_fail(err, TW_NOMEM, "JSON of %zu bytes", len);
	for (size_t i = 0; i < len;) {
		const size_t n = tw_utf8_length(data + i, len - i);

		if (i == 0 && n == 3 && memcmp(data, BOM, 3) == 0)
			memset(clean, ' ', n);
		else if (n > 1)
			memcpy(clean + i, data + i, n);
		else if (n == 0)
			clean[i] = '?';
		else
			clean[i] = (unsigned char)data[i] < 0x20 ? ' ' : data[i];
		i += n > 1 ? n : 1;
	}
	rc = parse(clean, len, where, true, out, err);
	free(clean);
	return rc;
}

/* ---- members ---- */

const char *tw_json_type_name(const json_t *v)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",
		[JSON_STRING] = "a string",  [JSON_INTEGER] = "a number",
		[JSON_REAL] = "a number",    [JSON_TRUE] = "true",
		[JSON_FALSE] = "false",      [JSON_NULL] = "null",
	};

	return v == NULL ? "nothing" : names[json_typeof(v)];
}

static int fail_type(const char *where, const char *key, const char *want,
		     const json_t *v, struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, "%s.%s: expected %s, got %s", where, key, want,
		       tw_json_type_name(v));
}

int tw_json_member(const json_t *obj, const char *where, const char *key, bool optional,
		   const json_t **out, struct tw_err *err)
{
	const json_t *v;

	if (!json_is_object(obj))
		return tw_fail(err, TW_PARSE, "%s: expected an object, got %s", where,
			       tw_json_type_name(obj));
	v = json_object_get(obj, key);
	if (v == NULL || json_is_null(v)) {
		if (optional)
			return 0;
		return tw_fail(err, TW_PARSE, "%s.%s: %s", where, key,
			       v == NULL ? "missing" : "must not be null");
	}
	*out = v;
	return 0;
}

int tw_json_object(const json_t *obj, const char *where, const char *key, bool optional,
		   const json_t **out, struct tw_err *err)
{
	const json_t *v = NULL;

	if (tw_json_member(obj, where, key, optional, &v, err) < 0)
		return -1;
	if (v != NULL && !json_is_object(v))
		return fail_type(where, key, "an object", v, err);
	if (v != NULL)
		*out = v;
	return 0;
}

int tw_json_array(const json_t *obj, const char *where, const char *key, bool optional,
		  const json_t **out, struct tw_err *err)
{
	const json_t *v = NULL;

	if (tw_json_member(obj, where, key, optional, &v, err) < 0)
		return -1;
	if (v != NULL && !json_is_array(v))
		return fail_type(where, key, "a list", v, err);
	if (v != NULL)
		*out = v;
	return 0;
}

int tw_json_text(const json_t *obj, const char *where, const char *key, bool optional,
		 const char **out, struct tw_err *err)
{
	const json_t *v = NULL;

	if (tw_json_member(obj, where, key, optional, &v, err) < 0)
		return -1;
	if (v != NULL && !json_is_string(v))
		return fail_type(where, key, "a string", v, err);
	if (v != NULL)
		*out = json_string_value(v);
	return 0;
}

int tw_json_number(const json_t *obj, const char *where, const char *key, bool optional,
		   double *out, struct tw_err *err)
{
	const json_t *v = NULL;

	if (tw_json_member(obj, where, key, optional, &v, err) < 0)
		return -1;
	if (v != NULL && (!json_is_number(v) || !isfinite(json_number_value(v))))
		return fail_type(where, key, "a finite number", v, err);
	if (v != NULL)
		*out = json_number_value(v);
	return 0;
}

int tw_json_int(const json_t *obj, const char *where, const char *key, bool optional,
		long long min, long long max, long long *out, struct tw_err *err)
{
	const json_t *v = NULL;

	if (tw_json_member(obj, where, key, optional, &v, err) < 0)
		return -1;
	if (v == NULL)
		return 0;
	if (!json_is_integer(v))
		return fail_type(where, key, "a whole number", v, err);
	if (json_integer_value(v) < min || json_integer_value(v) > max)
		return tw_fail(err, TW_INVALID,
			       "%s.%s: %" JSON_INTEGER_FORMAT " is not from %lld to %lld",
			       where, key, json_integer_value(v), min, max);
	*out = json_integer_value(v);
	return 0;
}

int tw_json_bool(const json_t *obj, const char *where, const char *key, bool optional,
		 bool *out, struct tw_err *err)
{
	const json_t *v = NULL;

	if (tw_json_member(obj, where, key, optional, &v, err) < 0)
		return -1;
	if (v != NULL && !json_is_boolean(v))
		return fail_type(where, key, "true or false", v, err);
	if (v != NULL)
		*out = json_is_true(v);
	return 0;
}

int tw_json_strs(const json_t *obj, const char *where, const char *key, bool optional,
		 struct tw_strs *out, struct tw_err *err)
{
	const json_t *list = NULL, *v;
	size_t i;

	if (tw_json_array(obj, where, key, optional, &list, err) < 0)
		return -1;
	json_array_foreach(list, i, v) {
		if (!json_is_string(v))
			return tw_fail(err, TW_PARSE,
				       "%s.%s[%zu]: expected a string, got %s", where,
				       key, i, tw_json_type_name(v));
		if (tw_strs_add(out, json_string_value(v), json_string_length(v), err) <
		    0)
			return tw_err_wrap(err, "%s.%s[%zu]", where, key, i);
	}
	return 0;
}

double tw_json_number_or(const json_t *obj, const char *key, double otherwise)
{
	const json_t *v = json_object_get(obj, key);

	return json_is_number(v) ? json_number_value(v) : otherwise;
}

const char *tw_json_text_or(const json_t *obj, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(obj, key));

	return text != NULL ? text : otherwise;
}

json_t *tw_json_rounded(double v)
{
	return isfinite(v) ? json_real(round(v * 1e4) / 1e4) : json_null();
}

json_t *tw_json_texts(const struct tw_strs *l)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && i < l->count; i++)
		if (json_array_append_new(list, json_string(l->at[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

int tw_json_read(const char *path, size_t bytes_max, json_t **out, struct tw_err *err)
{
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, bytes_max, &data, &len, err) == 0 &&
	    tw_json_parse(data, len, path, out, err) == 0)
		rc = 0;
	free(data);
	return rc;
}

/* Append a character that may need an escape. Return its length in s. */
static size_t add_odd_character(struct tw_buf *b, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	const size_t n = tw_utf8_length(s, len);

	if (n == 0)
		tw_buf_adds(b, "\xef\xbf\xbd");
	else if (*p == '"' || *p == '\\')
		tw_buf_addf(b, "\\%c", *p);
	else if (*p == '\n')
		tw_buf_adds(b, "\\n");
	else if (*p < 0x20 || *p == 0x7f)
		tw_buf_addf(b, "\\u%04x", *p);
	else if (n == 2 && *p == 0xc2 && p[1] < 0xa0)
		/* A C1 control character, which terminals obey, too. */
		tw_buf_addf(b, "\\u%04x", p[1]);
	else
		tw_buf_add(b, s, n);
	return n > 0 ? n : 1;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void tw_buf_add_json_text(struct tw_buf *b, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	tw_buf_add(b, "\"", 1);
	for (size_t i = 0; i < len;) {
		size_t n = 0;

		while (i + n < len && is_plain(p[i + n]))
			n++;
		if (n == 0)
			n = add_odd_character(b, s + i, len - i);
		else
			tw_buf_add(b, s + i, n);
		i += n;
	}
	tw_buf_add(b, "\"", 1);
}

static void add_value(struct tw_buf *b, const json_t *v);

static void add_object(struct tw_buf *b, const json_t *v)
{
	const char *sep = "", *key;
	void *at;

	tw_buf_adds(b, "{");
	/* jansson iterates in the order of insertion. It takes no const object. */
	for (at = json_object_iter((json_t *)(uintptr_t)v); at != NULL;
	     at = json_object_iter_next((json_t *)(uintptr_t)v, at)) {
		key = json_object_iter_key(at);
		tw_buf_adds(b, sep);
		tw_buf_add_json_text(b, key, strlen(key));
		tw_buf_adds(b, ":");
		add_value(b, json_object_iter_value(at));
		sep = ",";
	}
	tw_buf_adds(b, "}");
}

static void add_array(struct tw_buf *b, const json_t *v)
{
	tw_buf_adds(b, "[");
	for (size_t i = 0; i < json_array_size(v); i++) {
		if (i > 0)
			tw_buf_adds(b, ",");
		add_value(b, json_array_get(v, i));
	}
	tw_buf_adds(b, "]");
}

/* Write -0.0: readers take "-0" as the integer 0 and lose the sign. */
static void add_real(struct tw_buf *b, double v)
{
	tw_buf_add_double(b, v);
	if (v == 0.0 && signbit(v))
		tw_buf_adds(b, ".0");
}

static void add_value(struct tw_buf *b, const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		add_object(b, v);
		break;
	case JSON_ARRAY:
		add_array(b, v);
		break;
	case JSON_STRING:
		tw_buf_add_json_text(b, json_string_value(v), json_string_length(v));
		break;
	case JSON_INTEGER:
		tw_buf_addf(b, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		break;
	case JSON_REAL:
		add_real(b, json_real_value(v));
		break;
	case JSON_TRUE:
		tw_buf_adds(b, "true");
		break;
	case JSON_FALSE:
		tw_buf_adds(b, "false");
		break;
	case JSON_NULL:
		tw_buf_adds(b, "null");
		break;
	}
}

void tw_buf_add_json(struct tw_buf *b, const json_t *v)
{
	add_value(b, v);
}
