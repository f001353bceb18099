/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/num.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Bytes of the UTF-8 sequence at s, or 0 if it is none (RFC 3629). */
static size_t utf8_length(const unsigned char *s, size_t len)
{
	static const struct {
		unsigned char first, last, low,
			high; /* of the first byte, of the second */
		unsigned char bytes;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	if (s[0] < 0x80)
		return 1;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (s[0] < forms[i].first || s[0] > forms[i].last)
			continue;
		if (len < forms[i].bytes || s[1] < forms[i].low || s[1] > forms[i].high)
			return 0;
		for (size_t k = 2; k < forms[i].bytes; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].bytes;
	}
	return 0;
}

void tw_buf_add_json_text(struct tw_buf *b, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	tw_buf_adds(b, "\"");
	for (size_t i = 0; i < len;) {
		size_t n = utf8_length(p + i, len - i);

		if (n == 0) {
			tw_buf_adds(b, "\xef\xbf\xbd");
			n = 1;
		} else if (p[i] == '"' || p[i] == '\\') {
			tw_buf_addf(b, "\\%c", p[i]);
		} else if (p[i] == '\n') {
			tw_buf_adds(b, "\\n");
		} else if (p[i] < 0x20 || p[i] == 0x7f) {
			tw_buf_addf(b, "\\u%04x", p[i]);
		} else {
			tw_buf_add(b, s + i, n);
		}
		i += n;
	}
	tw_buf_adds(b, "\"");
}

/* indent < 0: on one line. */
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
	/* jansson iterates in the order of insertion; it takes no const object. */
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

/* Lists of plain values stay on one line: feature ranges, names. */
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

/* "-0" would be read as a whole number, which has no sign at zero. */
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
