/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "trainer/extract/spool_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)64 << 10)

/* A response that is being written. */
struct writer {
	struct tw_replace file;
	struct tw_buf text;
	bool first; /* sample of a series */
};

static int flush(struct writer *w, size_t at_least, struct tw_err *err)
{
	if (tw_buf_failed(&w->text))
		return tw_fail(err, TW_NOMEM, "'%s'", w->file.path);
	if (w->text.len < at_least)
		return 0;
	if (tw_replace_write(&w->file, w->text.data, w->text.len, err) < 0)
		return -1;
	w->text.len = 0;
	return 0;
}

static int write_samples(struct writer *w, const struct tw_spool_block *b,
			 struct tw_err *err)
{
	for (uint32_t i = 0; i < b->count; i++) {
		char value[TW_DOUBLE_TEXT];
		int64_t ms = b->time_ms[i] % 1000;

		tw_format_double(value, b->value[i]);
		tw_buf_addf(&w->text, "%s[%" PRId64, w->first ? "" : ",",
			    b->time_ms[i] / 1000);
		if (ms != 0)
			tw_buf_addf(&w->text, ".%03" PRId64, ms);
		tw_buf_addf(&w->text, ",\"%s\"]", value);
		w->first = false;
	}
	return flush(w, PIECE, err);
}

static int read_block(const struct tw_spool *s, uint64_t place,
		      struct tw_spool_block *out, struct tw_err *err)
{
	char *at = (char *)out;
	size_t left = sizeof(*out);

	while (left > 0) {
		ssize_t n = pread(s->fd, at, left, (off_t)place);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tw_fail_errno(err, errno,
					     "cannot read the temporary file");
		if (n == 0)
			return tw_fail(err, TW_IO, "the temporary file is cut short");
		at += n;
		place += (uint64_t)n;
		left -= (size_t)n;
	}
	return 0;
}

static int write_series(struct writer *w, const struct tw_spool *s,
			const struct tw_spool_series *x, struct tw_err *err)
{
	struct tw_spool_block block;

	w->first = true;
	tw_buf_addf(&w->text, "{\"metric\":%s,\"values\":[", x->labels);
	for (uint64_t place = x->first; place != x->place; place = block.next)
		if (read_block(s, place, &block, err) < 0 ||
		    write_samples(w, &block, err) < 0)
			return -1;
	if (x->held != NULL && write_samples(w, x->held, err) < 0)
		return -1;
	tw_buf_adds(&w->text, "]}");
	return flush(w, PIECE, err);
}

static int by_metric_and_labels(const void *a, const void *b)
{
	const struct tw_spool_series *const *x = a, *const *y = b;
	int order = strcmp((*x)->metric, (*y)->metric);

	return order != 0 ? order : strcmp((*x)->labels, (*y)->labels);
}

/* Those with samples, in the order in which they are written. */
static int list_series(const struct tw_spool *s, const struct tw_spool_series ***out,
		       size_t *count, struct tw_err *err)
{
	const struct tw_spool_series **list = calloc(s->count + 1, sizeof(*list));
	size_t n = 0;

	if (list == NULL)
		return tw_fail(err, TW_NOMEM, "%zu series", s->count);
	for (size_t i = 0; i < s->count; i++)
		if (s->series[i].samples > 0)
			list[n++] = &s->series[i];
	qsort(list, n, sizeof(*list), by_metric_and_labels);
	*out = list;
	*count = n;
	return 0;
}

static int write_all(struct writer *w, const struct tw_spool *s,
		     const struct tw_spool_series *const *list, size_t count,
		     struct tw_err *err)
{
	tw_buf_adds(&w->text, "{\n");
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || list[i]->metric != list[i - 1]->metric) {
			tw_buf_adds(&w->text, i > 0 ? "],\n" : "");
			tw_buf_add_json_text(&w->text, list[i]->metric,
					     strlen(list[i]->metric));
			tw_buf_adds(&w->text, ":[\n");
		} else {
			tw_buf_adds(&w->text, ",\n");
		}
		if (write_series(w, s, list[i], err) < 0)
			return -1;
	}
	tw_buf_adds(&w->text, count > 0 ? "]}\n" : "}\n");
	return flush(w, 0, err);
}

int tw_spool_write(struct tw_spool *s, const char *path, struct tw_err *err)
{
	const struct tw_spool_series **list = NULL;
	struct writer w = { 0 };
	size_t count = 0;
	int rc = -1;

	if (list_series(s, &list, &count, err) < 0 ||
	    tw_replace_open(&w.file, path, err) < 0 ||
	    write_all(&w, s, list, count, err) < 0 || tw_replace_commit(&w.file, err) < 0)
		goto out;
	rc = 0;
out:
	tw_replace_abort(&w.file);
	tw_buf_clear(&w.text);
	free(list);
	return rc;
}

struct tw_spool_size tw_spool_size(const struct tw_spool *s)
{
	struct tw_spool_size size = { 0 };

	for (size_t i = 0; i < s->count; i++) {
		size.series += s->series[i].samples > 0;
		size.samples += s->series[i].samples;
	}
	return size;
}
