/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/answer.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <math.h>
#include <stdint.h>

/* A comma, the digits of TW_ANSWER_WATTS_MAX in mW, a point. */
#define NUMBER_MAX 24
/* Numbers that are handed on together. */
#define BLOCK 32

int tw_answer_check(enum tw_component c, const double *watts, size_t first, size_t rows,
		    bool *nonzero, struct tw_err *err)
{
	for (size_t r = 0; r < rows; r++) {
		if (!(watts[r] >= 0.0 && watts[r] <= TW_ANSWER_WATTS_MAX))
			return tw_fail(err, TW_INVALID, "%s of row %zu is %g W",
				       tw_component_name(c), first + r, watts[r]);
		/* As llround() has it below: half of a milliwatt is one. */
		*nonzero = *nonzero || watts[r] * 1000.0 >= 0.5;
	}
	return 0;
}

void tw_answer_begin(struct tw_answer *a, struct tw_buf *out)
{
	a->out = out;
	a->some = false;
	a->rows = false;
	tw_buf_adds(out, "{\"powers\":{");
}

/* Milliwatts as watts, without zeros at the end: 41200 is "41.2". Returns the length. */
static size_t format_mw(char *out, uint64_t mw)
{
	char digits[20];
	size_t n = 0, len = 0;
	unsigned fraction = (unsigned)(mw % 1000);
	uint64_t whole = mw / 1000;

	do
		digits[n++] = (char)('0' + whole % 10);
	while ((whole /= 10) > 0);
	while (n > 0)
		out[len++] = digits[--n];
	if (fraction > 0)
		out[len++] = '.';
	for (unsigned unit = 100; fraction > 0; unit /= 10) {
		out[len++] = (char)('0' + fraction / unit);
		fraction %= unit;
	}
	return len;
}

void tw_answer_component(struct tw_answer *a, enum tw_component c)
{
	tw_buf_adds(a->out, a->some ? "],\"" : "\"");
	tw_buf_adds(a->out, tw_component_name(c));
	tw_buf_adds(a->out, "\":[");
	a->some = true;
	a->rows = false;
}

void tw_answer_rows(struct tw_answer *a, const double *watts, size_t rows)
{
	char text[BLOCK * NUMBER_MAX];
	size_t len = 0;

	for (size_t r = 0; r < rows; r++) {
		if (len > sizeof(text) - NUMBER_MAX) {
			tw_buf_add(a->out, text, len);
			len = 0;
		}
		if (a->rows)
			text[len++] = ',';
		len += format_mw(text + len, (uint64_t)llround(watts[r] * 1000.0));
		a->rows = true;
	}
	tw_buf_add(a->out, text, len);
}

void tw_answer_ratio(struct tw_answer *a, const char *core_ratio)
{
	tw_buf_adds(a->out, a->some ? "]},\"msg\":\"\",\"core_ratio\":"
				    : "},\"msg\":\"\",\"core_ratio\":");
	tw_buf_adds(a->out, core_ratio);
}

void tw_answer_end(struct tw_answer *a)
{
	tw_buf_adds(a->out, "}\n");
}
