/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a user's own meter: lines of values, and answers of a server. */
#include "collector/ask/value.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What one way of feeding found. */
struct found {
	uint64_t hash;
	size_t lines;
};

static void check_value(const char *s, size_t len)
{
	for (int unit = 0; unit < TW_UNIT_COUNT; unit++) {
		struct tw_value v = { .power_w = 0 };
		struct tw_err err = { 0 };

		if (tw_value_parse(s, len, (enum tw_unit)unit, &v, &err) < 0) {
			for (const char *c = err.text; *c != '\0'; c++)
				if (*c < 0x20 || *c > 0x7e)
					abort();
			if (err.code == TW_OK)
				abort();
		} else if (!(v.power_w >= 0 && v.power_w <= 1e9) ||
			   v.energy_uj > UINT64_C(1000000000000000000)) {
			abort();
		}
	}
}

static void take(void *arg, const char *line, size_t len, bool cut)
{
	struct found *f = arg;

	if (len > TW_LINE_MAX || (cut && len != TW_LINE_MAX) ||
	    memchr(line, '\n', len) != NULL)
		abort();
	check_value(line, len);
	for (size_t i = 0; i < len; i++)
		f->hash = f->hash * 31 + (uint8_t)line[i];
	f->hash = f->hash * 31 + 256 + cut;
	f->lines++;
}

static struct found feed(const uint8_t *data, size_t size, size_t piece)
{
	struct tw_lines l = { .len = 0 };
	struct found f = { .hash = 0 };

	for (size_t i = 0; i < size; i += piece)
		tw_lines_feed(&l, (const char *)data + i,
			      piece < size - i ? piece : size - i, take, &f);
	tw_lines_end(&l, take, &f);
	return f;
}

/*
 * Properties: no line is longer than the limit, however the output comes in pieces; a
 * value is finite and within its range, and a refused one has a printable reason.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct found whole = feed(data, size, size + 1),
			   bytes = feed(data, size, 1);
	char text[TW_INSTANT_VALUE];
	struct tw_err err = { 0 };

	if (whole.hash != bytes.hash || whole.lines != bytes.lines)
		abort();
	if (tw_instant_parse((const char *)data, size, text, &err) == 0)
		check_value(text, strlen(text));
	else if (err.code == TW_OK)
		abort();
	return 0;
}
