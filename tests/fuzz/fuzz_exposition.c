/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/exposition.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_quoted(struct tw_buf *b, const char *text)
{
	tw_buf_adds(b, "\"");
	for (; *text != '\0'; text++)
		if (*text == '\n')
			tw_buf_adds(b, "\\n");
		else
			tw_buf_addf(b, "%s%c", *text == '"' || *text == '\\' ? "\\" : "",
				    *text);
	tw_buf_adds(b, "\"");
}

/* The sample as an exporter writes it, with every name in quotes. */
static int write_sample(void *arg, struct tw_exposition_sample *s, struct tw_err *err)
{
	struct tw_buf *b = arg;

	(void)err;
	tw_buf_adds(b, "{");
	add_quoted(b, s->name);
	for (size_t i = 0; i < s->labels; i++) {
		tw_buf_adds(b, ",");
		add_quoted(b, s->label[i].name);
		tw_buf_adds(b, "=");
		add_quoted(b, s->label[i].value);
	}
	tw_buf_adds(b, "} ");
	if (isnan(s->value))
		tw_buf_adds(b, "NaN");
	else if (isinf(s->value))
		tw_buf_adds(b, s->value > 0 ? "+Inf" : "-Inf");
	else
		tw_buf_add_double(b, s->value);
	tw_buf_adds(b, "\n");
	return 0;
}

/* Property: what was read, written and read again is the same. */
static void check(const char *data, size_t size, bool openmetrics)
{
	struct tw_buf one = { 0 }, two = { 0 };
	struct tw_err err = { 0 }, unused = { 0 };

	if (tw_exposition_parse(data, size, openmetrics, write_sample, &one, &err) < 0) {
		if (err.code == TW_OK || err.text[0] == '\0')
			abort();
		goto out;
	}
	/* Escapes and quotes may make a line too long. */
	if (one.len > TW_EXPOSITION_LINE_MAX)
		goto out;
	if (tw_exposition_parse(one.len > 0 ? one.data : "", one.len, false, write_sample,
				&two, &unused) < 0)
		abort();
	if (one.len != two.len ||
	    (one.len > 0 && memcmp(one.data, two.data, one.len) != 0))
		abort();
out:
	tw_buf_clear(&one);
	tw_buf_clear(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check((const char *)data, size, false);
	check((const char *)data, size, true);
	return 0;
}
