/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "trainer/extract/series_reader.h"

#include <stdlib.h>
#include <string.h>

static const struct tw_jsax_limits limits = { .depth = 32, .text_bytes = 64 << 10 };

/* A response file: its metrics' lists, one after the other. */
struct file {
	struct tw_spool *spool;
	char *metric;
	struct tw_series_reader list;
};

static int begin_metric(struct file *f, const struct tw_jsax_event *e, struct tw_err *err)
{
	if (memchr(e->text, '\0', e->len) != NULL)
		return tw_fail(err, TW_INVALID, "a metric's name with NUL");
	tw_series_reader_release(&f->list);
	free(f->metric);
	f->metric = strndup(e->text, e->len);
	if (f->metric == NULL)
		return tw_fail(err, TW_NOMEM, "metric of %zu bytes", e->len);
	f->list = (struct tw_series_reader){ .spool = f->spool, .metric = f->metric };
	return 0;
}

static int take_event(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct file *f = arg;

	if (e->depth == 0)
		return e->type == TW_JSAX_OBJECT || e->type == TW_JSAX_OBJECT_END
			       ? 0
			       : tw_fail(err, TW_PARSE, "expected an object of metrics");
	if (e->depth == 1 && e->type == TW_JSAX_KEY)
		return begin_metric(f, e, err);
	return tw_series_reader_event(&f->list, e, err);
}

int tw_series_read_file(struct tw_spool *spool, const char *path, struct tw_err *err)
{
	struct file f = { .spool = spool };
	int rc = -1;

	if (tw_jsax_read(&limits, take_event, &f, path, err) < 0)
		goto out;
	rc = 0;
out:
	tw_series_reader_release(&f.list);
	free(f.metric);
	return rc;
}
