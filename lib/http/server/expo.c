/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/expo.h"

#include "lib/core/buf.h"
#include "lib/core/num.h"
#include "lib/core/utf8.h"
#include "lib/http/server/accept.h"

#include <math.h>
#include <stdbool.h>
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

void tw_expo_family(struct tw_expo *e, const struct tw_expo_family *f)
{
	const bool open = e->format == TW_EXPO_OPENMETRICS;
	size_t len = strlen(f->name);

	if (open)
		len -= strlen(suffixes[f->type]);
	e->family = f;
	tw_buf_addf(e->out, "# HELP %.*s ", (int)len, f->name);
	add_escaped(e->out, f->help, open);
	tw_buf_addf(e->out, "\n# TYPE %.*s %s\n", (int)len, f->name,
		    types[f->type][open]);
	if (open && f->unit != NULL)
		tw_buf_addf(e->out, "# UNIT %.*s %s\n", (int)len, f->name, f->unit);
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
	tw_buf_adds(e->out, e->family->name);
	add_labels(e->out, labels, count, NULL);
	tw_buf_adds(e->out, " ");
	add_number(e->out, value);
	tw_buf_adds(e->out, "\n");
}

/* value / 10^decimals without trailing zeros; returns the length. */
static size_t format_fixed(char out[FIXED_TEXT], uint64_t value, unsigned decimals)
{
	char digits[FIXED_TEXT];
	size_t count = 0, len = 0;

	for (; decimals > 0 && value % 10 == 0; decimals--)
		value /= 10;
	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
		/* The loop adds the zero before the point if value is 0 by now. */
		if (count == decimals)
			digits[count++] = '.';
	} while (value > 0 || count <= decimals + (decimals > 0));
	while (count > 0)
		out[len++] = digits[--count];
	return len;
}

void tw_expo_fixed(struct tw_expo *e, const struct tw_expo_text *texts, size_t count,
		   uint64_t value, unsigned decimals)
{
	char number[FIXED_TEXT];
	const char *separator = "{";

	tw_buf_adds(e->out, e->family->name);
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

	tw_buf_adds(e->out, e->family->name);
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
	tw_buf_addf(e->out, "%s_sum", e->family->name);
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
