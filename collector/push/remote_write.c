/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus' remote write 1.0 (prometheus.io/docs/specs/prw/remote_write_spec). */
#include "collector/push/format.h"
#include "collector/push/protobuf.h"
#include "collector/push/snappy.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <stdlib.h>
#include <string.h>

#define LABELS_MAX (TW_EXPOSITION_LABELS_MAX + 32)

/* WriteRequest, TimeSeries, Label, Sample: numbers of their fields. */
enum { SERIES = 1 };
enum { LABELS = 1, SAMPLES = 2 };
enum { NAME = 1, VALUE = 2 };
enum { SAMPLE_VALUE = 1, SAMPLE_MS = 2 };

struct request {
	struct tw_buf message;
	const struct tw_push_body *body;
};

static int compare(const void *a, const void *b)
{
	const struct tw_exposition_label *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Collect the labels of a sample, then those of the resource, and sort them by name. */
static size_t collect(const struct tw_push_body *b, const struct tw_exposition_sample *s,
		      struct tw_exposition_label out[LABELS_MAX])
{
	const struct tw_strs *r = b->resource;
	size_t n = 0;

	out[n++] = (struct tw_exposition_label){ "__name__", s->name };
	for (size_t i = 0; i < s->labels; i++)
		if (s->label[i].value[0] != '\0')
			out[n++] = s->label[i];
	for (size_t i = 0; i + 1 < r->count && n < LABELS_MAX; i += 2)
		if (tw_exposition_value(s, r->at[i])[0] == '\0')
			out[n++] = (struct tw_exposition_label){ r->at[i], r->at[i + 1] };
	qsort(out, n, sizeof(*out), compare);
	return n;
}

static int add_series(void *arg, const struct tw_push_family *f,
		      struct tw_exposition_sample *s, struct tw_err *err)
{
	struct request *r = arg;
	struct tw_exposition_label label[LABELS_MAX];
	const size_t labels = collect(r->body, s, label);
	const size_t series = tw_pb_begin(&r->message, SERIES);
	size_t part;

	(void)f;
	(void)err;
	for (size_t i = 0; i < labels; i++) {
		part = tw_pb_begin(&r->message, LABELS);
		tw_pb_add_text(&r->message, NAME, label[i].name);
		tw_pb_add_text(&r->message, VALUE, label[i].value);
		tw_pb_end(&r->message, part);
	}
	part = tw_pb_begin(&r->message, SAMPLES);
	tw_pb_add_double(&r->message, SAMPLE_VALUE, s->value);
	tw_pb_add_uint(&r->message, SAMPLE_MS,
		       (uint64_t)(r->body->head->time_ns / 1000000));
	tw_pb_end(&r->message, part);
	tw_pb_end(&r->message, series);
	return 0;
}

int tw_remote_write(struct tw_push_body *b, struct tw_err *err)
{
	struct request r = { .body = b };
	int rc = tw_push_walk(b, add_series, &r, err);

	if (rc == 0 && b->given > 0 && !tw_buf_failed(&r.message))
		tw_snappy_add(b->out, r.message.data, r.message.len);
	if (rc == 0 && (tw_buf_failed(&r.message) || tw_buf_failed(b->out)))
		rc = tw_fail(err, TW_NOMEM, "request");
	tw_buf_clear(&r.message);
	return rc;
}
