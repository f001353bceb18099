/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/json.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/core/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Limit the nesting before jansson parses the text: its parser recurses. */
static int check_depth(const char *data, size_t len, const char *where,
		       struct tw_err *err)
{
	bool in_string = false;
	size_t depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = data[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > TW_JSON_DEPTH_MAX)
				return tw_fail(err, TW_PARSE,
					       "%s: nested more than %d deep at byte %zu",
					       where, TW_JSON_DEPTH_MAX, i);
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return 0;
}

int tw_json_parse(const char *data, size_t len, const char *where, json_t **out,
		  struct tw_err *err)
{
	json_error_t e;
	json_t *v;

	if (check_depth(data, len, where, err) < 0)
		return -1;
	v = json_loadb(data, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
	if (v == NULL && json_error_code(&e) == json_error_out_of_memory)
		return tw_fail(err, TW_NOMEM, "%s: %zu bytes of JSON", where, len);
	if (v == NULL) {
		/* jansson's text quotes the input: replace control bytes. */
		for (char *p = e.text; *p != '\0'; p++)
			if ((unsigned char)*p < 0x20 || *p == 0x7f)
				*p = '?';
		return tw_fail(err, TW_PARSE, "%s: line %d, column %d: %s", where, e.line,
			       e.column, e.text);
	}
	*out = v;
	return 0;
}

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

	if (tw_file_read(path, bytes_max, &data, &len, err) < 0 ||
	    tw_json_parse(data, len, path, out, err) < 0)
		goto out;
	rc = 0;
out:
	free(data);
	return rc;
}

void tw_buf_add_json_text(struct tw_buf *b, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	tw_buf_adds(b, "\"");
	for (size_t i = 0; i < len;) {
		size_t n = tw_utf8_length(s + i, len - i);

		if (n == 0) {
			tw_buf_adds(b, "\xef\xbf\xbd");
			n = 1;
		} else if (p[i] == '"' || p[i] == '\\') {
			tw_buf_addf(b, "\\%c", p[i]);
		} else if (p[i] == '\n') {
			tw_buf_adds(b, "\\n");
		} else if (p[i] < 0x20 || p[i] == 0x7f) {
			tw_buf_addf(b, "\\u%04x", p[i]);
		} else if (n == 2 && p[i] == 0xc2 && p[i + 1] < 0xa0) {
			/* A C1 control character, which terminals obey, too. */
			tw_buf_addf(b, "\\u%04x", p[i + 1]);
		} else {
			tw_buf_add(b, s + i, n);
		}
		i += n;
	}
	tw_buf_adds(b, "\"");
}

/* Start a line; nothing if indent < 0, which means all on one line. */
static void new_line(struct tw_buf *b, int indent)
{
	if (indent >= 0)
		tw_buf_addf(b, "\n%*s", 2 * indent, "");
}

static void add_value(struct tw_buf *b, const json_t *v, int indent);

static void add_object(struct tw_buf *b, const json_t *v, int indent)
{
	int inner = indent < 0 ? -1 : indent + 1;
	const char *sep = "", *key;
	const json_t *member;
	void *at;

	tw_buf_adds(b, "{");
	/* jansson iterates in the order of insertion. It takes no const object. */
	for (at = json_object_iter((json_t *)(uintptr_t)v); at != NULL;
	     at = json_object_iter_next((json_t *)(uintptr_t)v, at)) {
		key = json_object_iter_key(at);
		member = json_object_iter_value(at);
		tw_buf_adds(b, sep);
		new_line(b, inner);
		tw_buf_add_json_text(b, key, strlen(key));
		tw_buf_adds(b, indent < 0 ? ":" : ": ");
		add_value(b, member, inner);
		sep = ",";
	}
	if (json_object_size(v) > 0)
		new_line(b, indent);
	tw_buf_adds(b, "}");
}

/* An array of plain values (names, feature ranges) stays on one line. */
static void add_array(struct tw_buf *b, const json_t *v, int indent)
{
	const json_t *first = json_array_get(v, 0);
	bool nested = json_is_object(first) || json_is_array(first);
	int inner = indent < 0 || !nested ? -1 : indent + 1;

	tw_buf_adds(b, "[");
	for (size_t i = 0; i < json_array_size(v); i++) {
		if (i > 0)
			tw_buf_adds(b, indent < 0 || nested ? "," : ", ");
		if (nested)
			new_line(b, inner);
		add_value(b, json_array_get(v, i), inner);
	}
	if (nested)
		new_line(b, indent);
	tw_buf_adds(b, "]");
}

/* Write -0.0: readers take "-0" as the integer 0 and lose the sign. */
static void add_real(struct tw_buf *b, double v)
{
	tw_buf_add_double(b, v);
	if (v == 0.0 && signbit(v))
		tw_buf_adds(b, ".0");
}

static void add_value(struct tw_buf *b, const json_t *v, int indent)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		add_object(b, v, indent);
		break;
	case JSON_ARRAY:
		add_array(b, v, indent);
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
	add_value(b, v, -1);
}

void tw_buf_add_json_pretty(struct tw_buf *b, const json_t *v)
{
	add_value(b, v, 0);
	tw_buf_adds(b, "\n");
}
