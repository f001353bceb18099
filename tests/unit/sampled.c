/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sampled.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/tw_test.h"
#include "trainer/extract/prom.h"

#include <stdio.h>
#include <string.h>

struct tw_prom *sampled_response(const struct sampled *series, size_t count)
{
	struct tw_buf text = { 0 };
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct sampled *s = &series[i];
		const char *at = s->samples;
		double time_s, value;
		int used;

		if (i == 0 || strcmp(s->metric, s[-1].metric) != 0)
			tw_buf_addf(&text, "%s\"%s\":[", i == 0 ? "{" : "],", s->metric);
		else
			tw_buf_adds(&text, ",");
		tw_buf_addf(&text, "{\"metric\":{%s},\"values\":[", s->labels);
		for (; sscanf(at, "%lf,%lf%n", &time_s, &value, &used) == 2; at += used)
			tw_buf_addf(&text, "%s[%.15g,\"%.15g\"]",
				    at == s->samples ? "" : ",", time_s, value);
		tw_buf_adds(&text, "]}");
	}
	tw_buf_adds(&text, "]}");
	if (tw_prom_parse(text.data, text.len, &p, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&text);
	return p;
}
