/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/expo.h"

#include "lib/core/buf.h"
#include "lib/core/utf8.h"
#include "lib/http/server/accept.h"

#include <math.h>
#include <string.h>

static const char *const content_types[] = {
	[TW_EXPO_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
	[TW_EXPO_OPENMETRICS] =
		"application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/* 20 digits, a point and 18 zeros before them. */
#define FIXED_TEXT 40

/* In OpenMetrics these suffixes belong to the sample's name, not to the family's. */
static const char *const suffixes[] = {
	[TW_EXPO_COUNTER] = "_total",
	[TW_EXPO_GAUGE] = "",
	[TW_EXPO_HISTOGRAM] = "",
	[TW_EXPO_INFO] = "_info",
};

/* The text format has no type for an info. */
static const char *const types[][2] = {
	[TW_EXPO_COUNTER] = { "counter", "counter" },
	[TW_EXPO_GAUGE] = { "gauge", "gauge" },
	[TW_EXPO_HISTOGRAM] = { "histogram", "histogram" },
	[TW_EXPO_INFO] = { "gauge", "info" },
};

enum tw_expo_format tw_expo_wanted(const char *accept)
{
	const double text = tw_accept_weight(accept, "text", "plain", "0.0.4");
	const double open =
		tw_accept_weight(accept, "application", "openmetrics-text", "1.0.0");

	/* A wildcard does not select OpenMetrics. */
	if (accept == NULL || strcasestr(accept, "openmetrics-text") == NULL)
		return TW_EXPO_TEXT;
	return open > 0 && open >= text ? TW_EXPO_OPENMETRICS : TW_EXPO_TEXT;
}

const char *tw_expo_content_type(enum tw_expo_format format)
{
	return content_types[format];
}

/* The control character of UTF-8 at s, which has len bytes; 0: it is none. */
static unsigned control_at(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	if (len == 1 && (p[0] < 0x20 || p[0] == 0x7f))
		return p[0];
	return len == 2 && p[0] == 0xc2 && p[1] < 0xa0 ? p[1] : 0;
}

/* Length of the prefix without escaped or non-ASCII characters. */
static size_t plain_length(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	while (*p >= 0x20 && *p < 0x7f && *p != '\\' && *p != '"')
		p++;
	return (size_t)(p - (const unsigned char *)text);
}

/*
 * A malformed byte becomes U+FFFD: a scraper rejects the whole exposition for one.
 *
 * quotes: escape them; HELP of the text format does not. The value of a control character
 * becomes the text "\x1b": a process can have any name, and people read metrics on
 * terminals.
 */
static void add_escaped(struct tw_buf *b, const char *text, bool quotes)
{
	for (const char *p = text; *p != '\0';) {
		size_t len = plain_length(p);

		if (len == 0)
			len = tw_utf8_length(p, 4);
		if (len == 0)
			tw_buf_adds(b, "\xef\xbf\xbd");
		else if (*p == '\n')
			tw_buf_adds(b, "\\n");
		else if (control_at(p, len) != 0)
			tw_buf_addf(b, "\\\\x%02x", control_at(p, len));
		else if (*p == '\\')
			tw_buf_adds(b, "\\\\");
		else if (*p == '"' && quotes)
			tw_buf_adds(b, "\\\"");
		else
			tw_buf_add(b, p, len);
		p += len > 0 ? len : 1;
	}
}

/* Copy text to out, with word for each '*' (NULL: as it is). Returns the length. */
static size_t expand(char *out, size_t size, const char *text, const char *word)
{
	size_t len = 0;

	for (; *text != '\0'; text++) {
		const bool replace = *text == '*' && word != NULL;
		const char *from = replace ? word : text;
		size_t n = replace ? strlen(word) : 1;

		n = n < size - 1 - len ? n : size - 1 - len;
		memcpy(out + len, from, n);
		len += n;
	}
	out[len] = '\0';
	return len;
}

void tw_expo_family_of(struct tw_expo *e, const struct tw_expo_family *f,
		       const struct tw_expo_level *level)
{
	const bool open = e->format == TW_EXPO_OPENMETRICS;
	char help[TW_EXPO_HELP + 1];
	int len;

	e->family = f;
	e->name_len = expand(e->name, sizeof(e->name), f->name,
			     level != NULL ? level->name : NULL);
	expand(help, sizeof(help), f->help, level != NULL ? level->what : NULL);
	len = (int)(e->name_len - (open ? strlen(suffixes[f->type]) : 0));
	tw_buf_addf(e->out, "# HELP %.*s ", len, e->name);
	add_escaped(e->out, help, open);
	tw_buf_addf(e->out, "\n# TYPE %.*s %s\n", len, e->name, types[f->type][open]);
	if (open && f->unit != NULL)
		tw_buf_addf(e->out, "# UNIT %.*s %s\n", len, e->name, f->unit);
}

void tw_expo_family(struct tw_expo *e, const struct tw_expo_family *f)
{
	tw_expo_family_of(e, f, NULL);
}

static void list_family(struct tw_buf *out, const struct tw_expo_family *f,
			const struct tw_expo_level *level)
{
	char name[TW_EXPO_NAME + 1], help[TW_EXPO_HELP + 1];

	expand(name, sizeof(name), f->name, level != NULL ? level->name : NULL);
	expand(help, sizeof(help), f->help, level != NULL ? level->what : NULL);
	tw_buf_addf(out, "%s\t%s\t%s\t%s\n", name, types[f->type][1],
		    f->unit != NULL ? f->unit : "-", help);
}

void tw_expo_list(struct tw_buf *out, const struct tw_expo_table *tables)
{
	for (const struct tw_expo_table *t = tables; t->first != NULL; t++)
		for (size_t i = 0; i < t->count; i++) {
			const void *row = (const char *)t->first + i * t->size;

			if (t->levels == 0)
				list_family(out, row, NULL);
			for (size_t l = 0; l < t->levels; l++)
				list_family(out, row, &t->level[l]);
		}
}

void tw_labels_add(struct tw_labels *l, const char *name, const char *value)
{
	if (l->count < TW_LABELS_MAX)
		l->at[l->count++] =
			(struct tw_expo_label){ name, value != NULL ? value : "" };
}

void tw_expo_add_labels(struct tw_buf *out, const struct tw_expo_label *labels,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			tw_buf_add(out, ",", 1);
		tw_buf_adds(out, labels[i].name);
		tw_buf_add(out, "=\"", 2);
		add_escaped(out, labels[i].value, true);
		tw_buf_add(out, "\"", 1);
	}
}

static void add_labels(struct tw_buf *b, const struct tw_expo_label *labels, size_t count,
		       const char *le)
{
	if (count > 0 || le != NULL)
		tw_buf_adds(b, "{");
	tw_expo_add_labels(b, labels, count);
	if (le != NULL)
		tw_buf_addf(b, "%sle=\"%s\"", count > 0 ? "," : "", le);
	if (count > 0 || le != NULL)
		tw_buf_adds(b, "}");
}

static void add_number(struct tw_buf *b, double value)
{
	if (isnan(value))
		tw_buf_adds(b, "NaN");
	else if (isinf(value))
		tw_buf_adds(b, value > 0 ? "+Inf" : "-Inf");
	else
		tw_buf_add_double(b, value);
}

void tw_expo_sample(struct tw_expo *e, const struct tw_expo_label *labels, size_t count,
		    double value)
{
	tw_buf_add(e->out, e->name, e->name_len);
	add_labels(e->out, labels, count, NULL);
	tw_buf_adds(e->out, " ");
	add_number(e->out, value);
	tw_buf_adds(e->out, "\n");
}

/* The last digit, which value loses. Most values have 64 bits, which divide faster. */
static char take_digit(tw_u128 *value)
{
	const uint64_t low = (uint64_t)*value;
	const unsigned digit = (unsigned)(low == *value ? low % 10 : *value % 10);

	*value = low == *value ? low / 10 : *value / 10;
	return (char)('0' + digit);
}

/* value / 10^decimals without trailing zeros; returns the length. */
static size_t format_fixed(char out[FIXED_TEXT], tw_u128 value, unsigned decimals)
{
	char digits[FIXED_TEXT];
	size_t count = 0, len = 0;

	do {
		const char digit = take_digit(&value);

		if (digit == '0' && count == 0 && decimals > 0) {
			decimals--;
			continue;
		}
		digits[count++] = digit;
		/* The loop adds the zero before the point if value is 0 by now. */
		if (count == decimals)
			digits[count++] = '.';
	} while (value > 0 || count <= decimals + (decimals > 0));
	while (count > 0)
		out[len++] = digits[--count];
	return len;
}

void tw_expo_fixed(struct tw_expo *e, const struct tw_expo_text *texts, size_t count,
		   tw_u128 value, unsigned decimals)
{
	char number[FIXED_TEXT];
	const char *separator = "{";

	tw_buf_add(e->out, e->name, e->name_len);
	for (size_t i = 0; i < count; i++) {
		if (texts[i].len == 0)
			continue;
		tw_buf_add(e->out, separator, 1);
		tw_buf_add(e->out, texts[i].text, texts[i].len);
		separator = ",";
	}
	tw_buf_adds(e->out, *separator == ',' ? "} " : " ");
	tw_buf_add(e->out, number, format_fixed(number, value, decimals));
	tw_buf_add(e->out, "\n", 1);
	if (e->drain != NULL)
		e->drain(e->drain_arg);
}

static void add_count(struct tw_expo *e, const char *suffix,
		      const struct tw_expo_label *labels, size_t count, const char *le,
		      uint64_t value)
{
	char number[FIXED_TEXT];

	tw_buf_add(e->out, e->name, e->name_len);
	tw_buf_adds(e->out, suffix);
	add_labels(e->out, labels, count, le);
	tw_buf_adds(e->out, " ");
	tw_buf_add(e->out, number, format_fixed(number, value, 0));
	tw_buf_adds(e->out, "\n");
}

void tw_expo_count(struct tw_expo *e, const struct tw_expo_label *labels, size_t count,
		   uint64_t value)
{
	add_count(e, "", labels, count, NULL, value);
}

void tw_expo_count_by(struct tw_expo *e, const char *label, const char *value,
		      uint64_t count)
{
	const struct tw_expo_label l = { label, value };

	tw_expo_count(e, &l, 1, count);
}

void tw_expo_single(struct tw_expo *e, const struct tw_expo_family *f, uint64_t value)
{
	tw_expo_family(e, f);
	tw_expo_count(e, NULL, 0, value);
}

void tw_expo_number(struct tw_expo *e, const struct tw_expo_row *r,
		    const struct tw_labels *l, const void *object)
{
	const void *at = (const char *)object + r->at;
	uint64_t count = 0;
	double value;

	switch (r->number) {
	case TW_EXPO_DOUBLE:
		value = *(const double *)at;
		break;
	case TW_EXPO_I64:
		value = (double)*(const int64_t *)at;
		break;
	default:
		count = r->number == TW_EXPO_U64   ? *(const uint64_t *)at
			: r->number == TW_EXPO_U32 ? *(const uint32_t *)at
						   : *(const bool *)at;
		value = (double)count;
		break;
	}
	if (isnan(value))
		return;
	if (r->per == 1 && r->number != TW_EXPO_DOUBLE && r->number != TW_EXPO_I64)
		tw_expo_count(e, l->at, l->count, count);
	else
		tw_expo_sample(e, l->at, l->count, value / r->per);
}

void tw_expo_numbers(struct tw_expo *e, const struct tw_expo_row *r, size_t count,
		     const void *object)
{
	static const struct tw_labels no_labels = { .count = 0 };

	for (size_t i = 0; i < count; i++) {
		tw_expo_family(e, &r[i].family);
		tw_expo_number(e, &r[i], &no_labels, object);
	}
}

/* OpenMetrics requires a bound to be a float: "1.0". */
static void format_bound(char out[TW_DOUBLE_TEXT + 2], double bound)
{
	const size_t len = tw_format_double(out, bound);

	if (strpbrk(out, ".e") == NULL)
		memcpy(out + len, ".0", 3);
}

void tw_expo_histogram(struct tw_expo *e, const struct tw_expo_label *labels,
		       size_t count, const double *bound, size_t bounds,
		       const uint64_t *count_of, double sum)
{
	uint64_t total = 0;

	for (size_t i = 0; i < bounds; i++) {
		char le[TW_DOUBLE_TEXT + 2];

		total += count_of[i];
		format_bound(le, bound[i]);
		add_count(e, "_bucket", labels, count, le, total);
	}
	total += count_of[bounds];
	add_count(e, "_bucket", labels, count, "+Inf", total);
	tw_buf_addf(e->out, "%s_sum", e->name);
	add_labels(e->out, labels, count, NULL);
	tw_buf_adds(e->out, " ");
	add_number(e->out, sum);
	tw_buf_adds(e->out, "\n");
	add_count(e, "_count", labels, count, NULL, total);
}

void tw_expo_end(struct tw_expo *e)
{
	if (e->format == TW_EXPO_OPENMETRICS)
		tw_buf_adds(e->out, "# EOF\n");
}
