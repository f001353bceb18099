/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/json.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Nesting is checked before jansson sees the text: its parser recurses. */
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
		/* jansson quotes the text near the mistake as it is. */
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
