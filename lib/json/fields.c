/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/fields.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_TEXT 160

/* ---- places ---- */

/* Path to a value; its text is made for errors only. */
struct place {
	const struct place *in; /* NULL: the document */
	const char *key;        /* NULL: the entry `index` of a list */
	size_t index;
};

static size_t write_place(const struct place *p, char out[PLACE_TEXT])
{
	size_t n = p->in != NULL ? write_place(p->in, out) : 0;
	char *const to = out + n;
	const size_t left = PLACE_TEXT - n;
	int more;

	if (p->key == NULL)
		more = snprintf(to, left, "[%zu]", p->index);
	else
		more = snprintf(to, left, "%s%s", p->in != NULL ? "." : "", p->key);
	n += more > 0 ? (size_t)more : 0;
	return n < PLACE_TEXT ? n : PLACE_TEXT - 1;
}

static int fail_at(const struct place *p, struct tw_err *err, enum tw_code code,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static int fail_at(const struct place *p, struct tw_err *err, enum tw_code code,
		   const char *fmt, ...)
{
	char where[PLACE_TEXT], text[TW_ERR_TEXT];
	va_list ap;

	write_place(p, where);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return tw_fail(err, code, "%s: %s", where, text);
}

static int fail_type(const struct place *p, const char *want, const json_t *v,
		     struct tw_err *err)
{
	return fail_at(p, err, TW_PARSE, "expected %s, got %s", want,
		       tw_json_type_name(v));
}

/* ---- integers ---- */

static long long load_int(const struct tw_field *f, const void *from)
{
	long long whole;
	uint32_t half;

	if (f->size == sizeof(whole)) {
		memcpy(&whole, from, sizeof(whole));
		return whole;
	}
	memcpy(&half, from, sizeof(half));
	return f->type == TW_FIELD_INT ? (long long)(int32_t)half : (long long)half;
}

static void store_int(const struct tw_field *f, long long v, void *to)
{
	const uint32_t half = (uint32_t)v;

	if (f->size == sizeof(v))
		memcpy(to, &v, sizeof(v));
	else
		memcpy(to, &half, sizeof(half));
}

static void find_range(const struct tw_field *f, long long *min, long long *max)
{
	const bool is_signed = f->type == TW_FIELD_INT;

	*min = f->min;
	*max = f->max;
	if (*min != 0 || *max != 0)
		return;
	if (f->size == sizeof(*max))
		*max = INT64_MAX;
	else
		*max = is_signed ? INT32_MAX : UINT32_MAX;
	*min = is_signed ? -*max - 1 : 0;
}

/* ---- reading ---- */

static int read_object(const struct tw_fields *r, const json_t *obj,
		       const struct place *at, char *out, struct tw_err *err);

static int read_text(const struct tw_field *f, const json_t *v, const struct place *at,
		     void *to, struct tw_err *err)
{
	const char *text = json_string_value(v);
	struct tw_err whole = { 0 };
	char where[PLACE_TEXT];
	size_t len;

	if (text == NULL)
		return fail_type(at, "a string", v, err);
	len = strlen(text);
	write_place(at, where);
	if (f->type == TW_FIELD_NAME && tw_name_check(where, text, len, err) < 0)
		return -1;
	if (f->check != NULL && !f->check(text))
		return fail_at(at, err, TW_INVALID, "'%.64s' is no %s", text, f->noun);
	if (f->type == TW_FIELD_BORROWED) {
		*(const char **)to = text;
	} else if (f->type == TW_FIELD_STRING) {
		free(*(char **)to);
		*(char **)to = strdup(text);
		if (*(char **)to == NULL)
			return tw_fail(err, TW_NOMEM, "%s", where);
	} else if (f->type == TW_FIELD_REASON) {
		tw_fail(&whole, TW_INVALID, "%s", text);
		memcpy(to, whole.text, f->size);
	} else if (len >= f->size) {
		return fail_at(at, err, TW_INVALID, "longer than %zu bytes", f->size - 1);
	} else {
		memcpy(to, text, len + 1);
	}
	return 0;
}

static int read_int(const struct tw_field *f, const json_t *v, const struct place *at,
		    void *to, struct tw_err *err)
{
	const long long n = json_integer_value(v);
	long long min, max;

	if (!json_is_integer(v))
		return fail_type(at, "a whole number", v, err);
	find_range(f, &min, &max);
	if (n < min || n > max)
		return fail_at(at, err, TW_INVALID, "%lld is not from %lld to %lld", n,
			       min, max);
	store_int(f, n, to);
	return 0;
}

static int read_format(const struct tw_field *f, const json_t *v, const struct place *at,
		       struct tw_err *err)
{
	const long long n = json_integer_value(v);

	if (!json_is_integer(v))
		return fail_type(at, "a whole number", v, err);
	if (n < f->min || n > f->max)
		return fail_at(at, err, TW_UNSUPPORTED, "%lld, want %lld", n, f->max);
	return 0;
}

static int read_double(const struct tw_field *f, const json_t *v, const struct place *at,
		       double *to, struct tw_err *err)
{
	const double n = json_number_value(v);

	if (!json_is_number(v) || !isfinite(n))
		return fail_type(at, "a finite number", v, err);
	if ((f->low < 0 || f->high > 0) && (n < f->low || n > f->high))
		return fail_at(at, err, TW_INVALID, "%g is not from %g to %g", n, f->low,
			       f->high);
	*to = n;
	return 0;
}

static int read_enum(const struct tw_field *f, const json_t *v, const struct place *at,
		     void *to, struct tw_err *err)
{
	const char *text = json_string_value(v);

	if (text == NULL)
		return fail_type(at, "a string", v, err);
	for (size_t i = 0; f->names[i] != NULL; i++)
		if (strcmp(f->names[i], text) == 0) {
			store_int(f, (long long)i, to);
			return 0;
		}
	return fail_at(at, err, TW_INVALID, "'%.32s' is not known", text);
}

static int read_strs(const json_t *v, const struct place *at, struct tw_strs *to,
		     struct tw_err *err)
{
	if (!json_is_array(v))
		return fail_type(at, "a list", v, err);
	for (size_t i = 0; i < json_array_size(v); i++) {
		const json_t *entry = json_array_get(v, i);
		const struct place in = { at, NULL, i };

		if (!json_is_string(entry))
			return fail_type(&in, "a string", entry, err);
		if (tw_strs_adds(to, json_string_value(entry), err) < 0)
			return -1;
	}
	return 0;
}

static int read_own(const struct tw_field *f, const json_t *v, const struct place *at,
		    void *to, struct tw_err *err)
{
	char where[PLACE_TEXT];

	write_place(at, where);
	if (f->own->read != NULL)
		return f->own->read(v, where, to, err);
	if (!json_is_string(v))
		return fail_type(at, "a string", v, err);
	if (f->own->parse(json_string_value(v), to, err) < 0)
		return tw_err_wrap(err, "%s", where);
	return 0;
}

static int read_value(const struct tw_field *f, const json_t *v, const struct place *at,
		      void *to, struct tw_err *err)
{
	char where[PLACE_TEXT];

	switch (f->type) {
	case TW_FIELD_STRS:
		return read_strs(v, at, to, err);
	case TW_FIELD_BOOL:
		if (!json_is_boolean(v))
			return fail_type(at, "true or false", v, err);
		*(bool *)to = json_is_true(v);
		return 0;
	case TW_FIELD_INT:
	case TW_FIELD_UINT:
		return read_int(f, v, at, to, err);
	case TW_FIELD_ENUM:
		return read_enum(f, v, at, to, err);
	case TW_FIELD_DOUBLE:
		return read_double(f, v, at, to, err);
	case TW_FIELD_DATE:
		if (!json_is_string(v))
			return fail_type(at, "a string", v, err);
		if (tw_parse_date_ms(json_string_value(v), to, err) == 0)
			return 0;
		write_place(at, where);
		return tw_err_wrap(err, "%s", where);
	case TW_FIELD_FORMAT:
		return read_format(f, v, at, err);
	case TW_FIELD_RECORD:
		return read_object(f->record, v, at, to, err);
	case TW_FIELD_OWN:
		return read_own(f, v, at, to, err);
	default:
		return read_text(f, v, at, to, err);
	}
}

/* The entries that are read are counted one by one: a release frees no others. */
static int read_list(const struct tw_field *f, const json_t *v, const struct place *at,
		     char *out, struct tw_err *err)
{
	const size_t n = json_array_size(v);
	const size_t least = f->shape == TW_FIELD_ARRAY ? f->room : f->least;
	const size_t most = f->most != 0 ? f->most : f->room;
	char *to = out + f->offset;

	if (!json_is_array(v))
		return fail_type(at, "a list", v, err);
	if (n < least)
		return fail_at(at, err, TW_INVALID, "%zu entries, want at least %zu", n,
			       least);
	if (n > most && most != 0)
		return fail_at(at, err, TW_INVALID, "%zu entries, limit is %zu", n, most);
	if (f->shape == TW_FIELD_LIST) {
		char **const list = (char **)(void *)to;

		*list = calloc(n + 1, f->size);
		if (*list == NULL)
			return fail_at(at, err, TW_NOMEM, "%zu entries", n);
		to = *list;
	}
	for (size_t i = 0; i < n; i++) {
		const struct place in = { at, NULL, i };

		if (f->shape != TW_FIELD_ARRAY)
			*(size_t *)(void *)(out + f->count_at) = i + 1;
		if (read_value(f, json_array_get(v, i), &in, to + i * f->size, err) < 0)
			return -1;
	}
	return 0;
}

static int read_object(const struct tw_fields *r, const json_t *obj,
		       const struct place *at, char *out, struct tw_err *err)
{
	if (!json_is_object(obj))
		return fail_type(at, "an object", obj, err);
	for (size_t i = 0; i < r->count; i++) {
		const struct tw_field *f = &r->field[i];
		const json_t *v = json_object_get(obj, f->key);
		const struct place in = { at, f->key, 0 };

		if (f->unread || (f->optional && (v == NULL || json_is_null(v))))
			continue;
		if (v == NULL || json_is_null(v))
			return fail_at(&in, err, TW_PARSE, "%s",
				       v == NULL ? "missing" : "must not be null");
		if (f->shape != TW_FIELD_ONE
			    ? read_list(f, v, &in, out, err) < 0
			    : read_value(f, v, &in, out + f->offset, err) < 0)
			return -1;
	}
	return 0;
}

int tw_fields_read(const struct tw_fields *r, const json_t *obj, const char *where,
		   void *out, struct tw_err *err)
{
	const struct place at = { NULL, where, 0 };

	if (read_object(r, obj, &at, out, err) == 0)
		return 0;
	tw_fields_release(r, out);
	return -1;
}

int tw_fields_parse(const struct tw_fields *r, const char *data, size_t len,
		    const char *where, void *out, struct tw_err *err)
{
	json_t *doc = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, where, &doc, err) == 0 &&
	    tw_fields_read(r, doc, where, out, err) == 0)
		rc = 0;
	json_decref(doc);
	return rc;
}

/* ---- entries ---- */

static size_t count_entries(const struct tw_field *f, const char *in)
{
	if (f->shape == TW_FIELD_ONE)
		return 1;
	return f->shape == TW_FIELD_ARRAY
		       ? f->room
		       : *(const size_t *)(const void *)(in + f->count_at);
}

static const char *first_entry(const struct tw_field *f, const char *in)
{
	const char *at = in + f->offset;

	return f->shape == TW_FIELD_LIST ? *(const char *const *)(const void *)at : at;
}

/* ---- writing ---- */

static void write_double(const struct tw_field *f, double v, struct tw_buf *out)
{
	if (f->decimals > 0)
		tw_json_add_fixed(out, NULL, v, (unsigned)f->decimals);
	else
		tw_json_add_number(out, NULL, v);
}

static void write_date(int64_t ms, struct tw_buf *out)
{
	char text[TW_DATE_TEXT];

	if (ms > 0 && tw_format_date_ms(ms, text))
		tw_json_add_text(out, NULL, text);
	else
		tw_json_add_null(out, NULL);
}

static void write_value(const struct tw_field *f, const void *from, struct tw_buf *out)
{
	switch (f->type) {
	case TW_FIELD_STRING:
	case TW_FIELD_BORROWED:
		tw_json_add_text(out, NULL, *(const char *const *)from);
		break;
	case TW_FIELD_STRS:
		tw_json_add_texts(out, NULL, from);
		break;
	case TW_FIELD_BOOL:
		tw_json_add_bool(out, NULL, *(const bool *)from);
		break;
	case TW_FIELD_INT:
	case TW_FIELD_UINT:
		tw_json_add_int(out, NULL, load_int(f, from));
		break;
	case TW_FIELD_ENUM:
		tw_json_add_text(out, NULL, f->names[load_int(f, from)]);
		break;
	case TW_FIELD_DOUBLE:
		write_double(f, *(const double *)from, out);
		break;
	case TW_FIELD_DATE:
		write_date(*(const int64_t *)from, out);
		break;
	case TW_FIELD_FORMAT:
		tw_json_add_int(out, NULL, f->max);
		break;
	case TW_FIELD_RECORD:
		tw_fields_write(f->record, from, out);
		break;
	case TW_FIELD_OWN:
		if (f->own->text != NULL)
			tw_json_add_text(out, NULL, f->own->text(from));
		else
			f->own->write(from, out);
		break;
	default:
		tw_json_add_text(out, NULL, from);
	}
}

static void write_list(const struct tw_field *f, const char *in, struct tw_buf *out)
{
	const size_t n = count_entries(f, in);
	const char *at = first_entry(f, in);

	tw_json_add_array(out, NULL);
	for (size_t i = 0; i < n; i++)
		write_value(f, at + i * f->size, out);
	tw_json_end_array(out);
}

static bool is_empty(const char *text)
{
	static const char *const empty[] = { "0", "\"\"", "null", "false", "[]", "{}" };

	for (size_t i = 0; i < TW_COUNT(empty); i++)
		if (strcmp(text, empty[i]) == 0)
			return true;
	return false;
}

/* Take it back if it is empty and not wanted. */
static void write_member(const struct tw_field *f, const char *in, struct tw_buf *out)
{
	const size_t before = out->len;
	size_t value;

	tw_json_add_key(out, f->key);
	value = out->len;
	if (f->shape == TW_FIELD_ONE)
		write_value(f, in + f->offset, out);
	else
		write_list(f, in, out);
	if (f->omit_empty && !tw_buf_failed(out) && is_empty(out->data + value)) {
		out->len = before;
		out->data[before] = '\0';
	}
}

void tw_fields_write(const struct tw_fields *r, const void *in, struct tw_buf *out)
{
	tw_json_add_object(out, NULL);
	for (size_t i = 0; i < r->count; i++)
		if (r->field[i].when == NULL || r->field[i].when(in))
			write_member(&r->field[i], in, out);
	tw_json_end_object(out);
}

json_t *tw_fields_to_json(const struct tw_fields *r, const void *in)
{
	struct tw_err ignored = { 0 };
	struct tw_buf b = { 0 };
	json_t *v = NULL;

	tw_fields_write(r, in, &b);
	if (!tw_buf_failed(&b))
		tw_json_parse(b.data, b.len, "record", &v, &ignored);
	tw_buf_clear(&b);
	return v;
}

/* ---- freeing ---- */

static void release_value(const struct tw_field *f, void *in)
{
	if (f->type == TW_FIELD_STRING) {
		free(*(char **)in);
		*(char **)in = NULL;
	} else if (f->type == TW_FIELD_STRS) {
		tw_strs_clear(in);
	} else if (f->type == TW_FIELD_RECORD) {
		tw_fields_release(f->record, in);
	}
}

void tw_fields_release(const struct tw_fields *r, void *in)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct tw_field *f = &r->field[i];
		char *const at = (char *)in + f->offset;
		char *const list = f->shape == TW_FIELD_LIST ? *(char **)(void *)at : at;
		const size_t n = list != NULL ? count_entries(f, in) : 0;

		for (size_t e = 0; e < n; e++)
			release_value(f, list + e * f->size);
		if (f->shape == TW_FIELD_LIST) {
			free(list);
			*(char **)(void *)at = NULL;
		}
		if (f->shape == TW_FIELD_LIST || f->shape == TW_FIELD_FILLED)
			*(size_t *)((void *)((char *)in + f->count_at)) = 0;
	}
}
