/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/writer.h"

#include "lib/core/buf.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <math.h>
#include <string.h>

/* Whether the text ends with a value, and not with an opening or separating byte. */
static bool ends_with_value(const struct tw_buf *b)
{
	if (b->len == 0)
		return false;
	switch (b->data[b->len - 1]) {
	case '{':
	case '[':
	case ':':
	case ',':
	case ' ':
	case '\n':
		return false;
	default:
		return true;
	}
}

void tw_json_add_key(struct tw_buf *b, const char *key)
{
	if (ends_with_value(b))
		tw_buf_add(b, ",", 1);
	if (key == NULL)
		return;
	tw_buf_add_json_text(b, key, strlen(key));
	tw_buf_add(b, ":", 1);
}

static void add_plain(struct tw_buf *b, const char *key, const char *text)
{
	tw_json_add_key(b, key);
	tw_buf_adds(b, text);
}

void tw_json_add_object(struct tw_buf *b, const char *key)
{
	add_plain(b, key, "{");
}

void tw_json_end_object(struct tw_buf *b)
{
	tw_buf_add(b, "}", 1);
}

void tw_json_add_array(struct tw_buf *b, const char *key)
{
	add_plain(b, key, "[");
}

void tw_json_end_array(struct tw_buf *b)
{
	tw_buf_add(b, "]", 1);
}

void tw_json_add_null(struct tw_buf *b, const char *key)
{
	add_plain(b, key, "null");
}

void tw_json_add_bool(struct tw_buf *b, const char *key, bool v)
{
	add_plain(b, key, v ? "true" : "false");
}

void tw_json_add_text(struct tw_buf *b, const char *key, const char *text)
{
	tw_json_add_key(b, key);
	if (text != NULL)
		tw_buf_add_json_text(b, text, strlen(text));
	else
		tw_buf_adds(b, "null");
}

void tw_json_add_number(struct tw_buf *b, const char *key, double v)
{
	if (!isfinite(v)) {
		tw_json_add_null(b, key);
		return;
	}
	tw_json_add_key(b, key);
	tw_buf_add_double(b, v);
	/* Readers take "-0" as the integer 0 and lose the sign. */
	if (v == 0.0 && signbit(v))
		tw_buf_adds(b, ".0");
}

void tw_json_add_rounded(struct tw_buf *b, const char *key, double v, unsigned decimals)
{
	double scale = 1;

	for (unsigned i = 0; i < decimals; i++)
		scale *= 10;
	tw_json_add_number(b, key, round(v * scale) / scale);
}

void tw_json_add_fixed(struct tw_buf *b, const char *key, double v, unsigned decimals)
{
	if (!isfinite(v)) {
		tw_json_add_null(b, key);
		return;
	}
	tw_json_add_key(b, key);
	tw_buf_addf(b, "%.*f", (int)decimals, v);
}

/* Own digits: printf() takes several times as long. */
void tw_json_add_uint(struct tw_buf *b, const char *key, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	tw_json_add_key(b, key);
	tw_buf_add(b, digits + at, sizeof(digits) - at);
}

void tw_json_add_int(struct tw_buf *b, const char *key, int64_t v)
{
	if (v >= 0) {
		tw_json_add_uint(b, key, (uint64_t)v);
		return;
	}
	tw_json_add_key(b, key);
	tw_buf_addf(b, "%lld", (long long)v);
}

void tw_json_add_texts(struct tw_buf *b, const char *key, const struct tw_strs *l)
{
	tw_json_add_array(b, key);
	for (size_t i = 0; i < l->count; i++)
		tw_json_add_text(b, NULL, l->at[i]);
	tw_json_end_array(b);
}

void tw_json_add_numbers(struct tw_buf *b, const char *key, const double *v, size_t n)
{
	tw_json_add_array(b, key);
	for (size_t i = 0; i < n; i++)
		tw_json_add_number(b, NULL, v[i]);
	tw_json_end_array(b);
}

void tw_json_add_value(struct tw_buf *b, const char *key, const json_t *v)
{
	b->failed |= v == NULL;
	if (v == NULL)
		return;
	tw_json_add_key(b, key);
	tw_buf_add_json(b, v);
}

void tw_json_add_value_take(struct tw_buf *b, const char *key, json_t *v)
{
	tw_json_add_value(b, key, v);
	json_decref(v);
}

/* ---- indented ---- */

static void new_line(struct tw_buf *b, unsigned depth)
{
	tw_buf_addf(b, "\n%*s", (int)(2 * depth), "");
}

/* The end of the string whose opening quote is at p. */
static const char *end_of_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\' && end - p > 1;
	return p < end ? p + 1 : end;
}

/* The bytes of the document that p is at: a string, or one byte. */
static size_t token_length(const char *p, const char *end)
{
	return (size_t)((*p == '"' ? end_of_string(p, end) : p + 1) - p);
}

/* The state of indenting a document. */
struct indent {
	unsigned depth; /* of brackets whose members have a line each */
	unsigned flat;  /* of brackets from a plain array on, whose members have none */
	char last;      /* the first byte of the last token */
};

static void close_bracket(struct tw_buf *b, struct indent *in)
{
	if (in->flat > 0) {
		in->flat--;
		return;
	}
	in->depth--;
	if (in->last != '{')
		new_line(b, in->depth);
}

static void open_bracket(struct indent *in, char bracket, char next)
{
	if (in->flat > 0 || (bracket == '[' && next != '{' && next != '['))
		in->flat++;
	else
		in->depth++;
}

static void add_indented(struct tw_buf *b, const char *text, size_t len)
{
	const char *const end = text + len;
	struct indent in = { 0 };

	for (const char *p = text; p < end;) {
		const size_t n = token_length(p, end);
		const char next = p + n < end ? p[n] : '\0';
		const bool opens = *p == '{' || *p == '[';

		if ((*p == '}' || *p == ']') && in.depth + in.flat > 0)
			close_bracket(b, &in);
		tw_buf_add(b, p, n);
		if (opens)
			open_bracket(&in, *p, next);
		if (in.flat == 0 && (*p == ',' || (opens && next != '}')))
			new_line(b, in.depth);
		else if ((in.flat == 1 && *p == ',') || (in.flat == 0 && *p == ':'))
			tw_buf_adds(b, " ");
		in.last = *p;
		p += n;
	}
	tw_buf_adds(b, "\n");
}

void tw_json_indent(struct tw_buf *b)
{
	struct tw_buf text = *b;

	*b = (struct tw_buf){ .limit = text.limit, .failed = text.failed };
	add_indented(b, text.data, text.len);
	tw_buf_clear(&text);
}

void tw_buf_add_json_pretty(struct tw_buf *b, const json_t *v)
{
	struct tw_buf text = { 0 };

	tw_buf_add_json(&text, v);
	add_indented(b, text.data, text.len);
	b->failed |= text.failed;
	tw_buf_clear(&text);
}
