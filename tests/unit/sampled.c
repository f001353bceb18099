/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sampled.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/tw_test.h"
#include "trainer/extract/extract.h"
#include "trainer/response/prom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_labels(struct tw_buf *text, const char *labels)
{
	for (; *labels != '\0'; labels++)
		tw_buf_add(text, *labels == '\'' ? "\"" : labels, 1);
}

static void add_samples(struct tw_buf *text, const char *samples)
{
	const char *at = samples;
	double time_s, value;
	int used;

	for (; sscanf(at, "%lf,%lf%n", &time_s, &value, &used) == 2; at += used)
		tw_buf_addf(text, "%s[%.15g,\"%.15g\"]", at == samples ? "" : ",", time_s,
			    value);
	assert_int_equal(at[strspn(at, " ")], '\0');
}

char *sampled_text(const struct sampled *series, size_t count)
{
	struct tw_buf text = { 0 };
	char *data;

	for (size_t i = 0; i < count; i++) {
		const struct sampled *s = &series[i];

		if (i == 0 || strcmp(s->metric, s[-1].metric) != 0)
			tw_buf_addf(&text, "%s\"%s\":[", i == 0 ? "{" : "],", s->metric);
		else
			tw_buf_adds(&text, ",");
		tw_buf_adds(&text, "{\"metric\":{");
		add_labels(&text, s->labels);
		tw_buf_adds(&text, "},\"values\":[");
		add_samples(&text, s->samples);
		tw_buf_adds(&text, "]}");
	}
	tw_buf_adds(&text, "]}");
	data = tw_buf_detach(&text, NULL);
	assert_non_null(data);
	return data;
}

struct tw_prom *sampled_response(const struct sampled *series, size_t count)
{
	char *text = sampled_text(series, count);
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	if (tw_prom_parse(text, strlen(text), &p, &err) < 0)
		fail_msg("%s", err.text);
	free(text);
	return p;
}

void sampled_extract_without_memory(const struct tw_prom *p,
				    const struct tw_extract_args *args)
{
	int rc = -1;

	for (int n = 1; rc < 0; n++) {
		struct tw_dataset d = { 0 };
		struct tw_err err = { 0 };

		fail_alloc_at(n);
		rc = tw_extract(p, args, &d, &err);
		tw_dataset_release(&d);
		if (!fail_alloc_told(rc, &err))
			assert_true(n > 20);
	}
}
