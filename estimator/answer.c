/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/answer.h"

#include "lib/buf.h"
#include "lib/err.h"

#include <math.h>
#include <stdint.h>

void tw_answer_begin(struct tw_answer *a, struct tw_buf *out)
{
	a->out = out;
	a->some = false;
	a->zeros = false;
	tw_buf_adds(out, "{\"powers\":{");
}

/* Milliwatts as watts, without zeros at the end: 41200 is "41.2". Returns the length. */
static size_t format_mw(char out[24], uint64_t mw)
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

int tw_answer_add(struct tw_answer *a, enum tw_component component, const double *watts,
		  size_t rows, struct tw_err *err)
{
	char text[25] = ",";
	bool zero = true;

	for (size_t r = 0; r < rows; r++) {
		if (!(watts[r] >= 0.0 && watts[r] <= TW_ANSWER_WATTS_MAX))
			return tw_fail(err, TW_INVALID, "%s of row %zu is %g W",
				       tw_component_name(component), r, watts[r]);
		zero = zero && llround(watts[r] * 1000.0) == 0;
	}
	if (zero && !a->zeros)
		return 0;
	tw_buf_adds(a->out, a->some ? ",\"" : "\"");
	tw_buf_adds(a->out, tw_component_name(component));
	tw_buf_adds(a->out, "\":[");
	a->some = true;
	for (size_t r = 0; r < rows; r++) {
		const size_t len =
			format_mw(text + 1, (uint64_t)llround(watts[r] * 1000.0));

		/* The comma is for all but the first. */
		tw_buf_add(a->out, text + (r == 0), len + (r != 0));
	}
	tw_buf_adds(a->out, "]");
	return 0;
}

void tw_answer_keep_zeros(struct tw_answer *a)
{
	a->zeros = true;
}

void tw_answer_ratio(struct tw_answer *a, const char *core_ratio)
{
	tw_buf_adds(a->out, "},\"msg\":\"\",\"core_ratio\":");
	tw_buf_adds(a->out, core_ratio);
}

void tw_answer_end(struct tw_answer *a)
{
	tw_buf_adds(a->out, "}\n");
}
