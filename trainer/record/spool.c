/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/record/spool.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/intern.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_SAMPLES 63

/* The response is written in pieces of this size. */
#define PIECE ((size_t)64 << 10)

/* A block of the temporary file. */
struct block {
	uint64_t next; /* offset of the series' next block, even before it is written */
	uint32_t count;
	uint32_t reserved;
	int64_t time_ms[BLOCK_SAMPLES];
	double value[BLOCK_SAMPLES];
};
_Static_assert(sizeof(struct block) == 1024, "a block is 1 KiB");

struct series {
	const char *metric; /* interned: equal names have equal addresses */
	const char *labels; /* {"a":"b"}, interned */
	int64_t last_ms;
	uint64_t samples;
	uint64_t first;     /* offset of the first block */
	uint64_t place;     /* offset of the block that is written next */
	struct block *held; /* that block's samples so far; NULL if none */
	bool grew;          /* since the last tw_spool_settle() */
};

struct tw_spool {
	int fd;
	uint64_t end; /* offset behind the last assigned block */
	struct tw_intern texts;
	size_t text_bytes;
	struct series *series;
	size_t count, size;
	/* Hash table: a series' number + 1 by the addresses of its texts; 0 is free. */
	uint32_t *index;
	size_t index_size; /* a power of two, or 0 */
};

/* Open an unnamed file in the directory of path. */
static int open_unnamed(const char *path, int *out, struct tw_err *err)
{
	const char *slash = strrchr(path, '/');
	char *dir = NULL, *name = NULL;
	int fd, rc = -1;

	dir = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
	if (dir == NULL || asprintf(&name, "%s/.tallywatt-XXXXXX", dir) < 0) {
		name = NULL;
		tw_fail(err, TW_NOMEM, "'%s'", path);
		goto out;
	}
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		/* Some file systems, NFS among them, lack O_TMPFILE. */
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			unlink(name);
	}
	if (fd < 0) {
		tw_fail_errno(err, errno, "cannot make a temporary file in '%s'", dir);
		goto out;
	}

	*out = fd;
	rc = 0;
out:
	free(dir);
	free(name);
	return rc;
}

int tw_spool_new(const char *path, struct tw_spool **out, struct tw_err *err)
{
	struct tw_spool *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return tw_fail(err, TW_NOMEM, "series of '%s'", path);
	if (open_unnamed(path, &s->fd, err) < 0) {
		free(s);
		return -1;
	}
	*out = s;
	return 0;
}

void tw_spool_free(struct tw_spool *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->count; i++)
		free(s->series[i].held);
	free(s->series);
	free(s->index);
	tw_intern_release(&s->texts);
	close(s->fd);
	free(s);
}

/* Format the labels as JSON, sorted by name. */
static int format_labels(struct tw_exposition_label *label, size_t labels,
			 struct tw_buf *text, struct tw_err *err)
{
	if (labels > 0)
		qsort(label, labels, sizeof(*label), tw_compare_texts);
	tw_buf_adds(text, "{");
	for (size_t i = 0; i < labels; i++) {
		if (i > 0 && strcmp(label[i - 1].name, label[i].name) == 0)
			return tw_fail(err, TW_INVALID, "two labels '%.64s'",
				       label[i].name);
		tw_buf_adds(text, i > 0 ? "," : "");
		tw_buf_add_json_text(text, label[i].name, strlen(label[i].name));
		tw_buf_adds(text, ":");
		tw_buf_add_json_text(text, label[i].value, strlen(label[i].value));
	}
	tw_buf_adds(text, "}");
	return tw_buf_failed(text) ? tw_fail(err, TW_NOMEM, "labels") : 0;
}

static const char *intern(struct tw_spool *s, const char *text, size_t len,
			  struct tw_err *err)
{
	size_t before = s->texts.count;
	const char *kept = tw_intern(&s->texts, text, len, err);

	if (kept != NULL && s->texts.count > before)
		s->text_bytes += len;
	return kept;
}

/* Hash addresses, not texts: input cannot choose addresses that collide. */
static size_t hash(const char *metric, const char *labels)
{
	uint64_t h = (uint64_t)(uintptr_t)metric * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ (h >> 29)) + (uint64_t)(uintptr_t)labels;
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	return (size_t)(h ^ (h >> 32));
}

/* Index entry of the series, or the free entry where to add it. */
static size_t find_place(const struct tw_spool *s, const char *metric, const char *labels)
{
	size_t at = hash(metric, labels) & (s->index_size - 1);

	while (s->index[at] != 0) {
		const struct series *x = &s->series[s->index[at] - 1];

		if (x->metric == metric && x->labels == labels)
			break;
		at = (at + 1) & (s->index_size - 1);
	}
	return at;
}

/* Make room for one more series and keep the index at most half full. */
static int grow(struct tw_spool *s, struct tw_err *err)
{
	size_t size = s->size != 0 ? 2 * s->size : 64;
	uint32_t *index;

	if (s->count < s->size)
		return 0;
	index = calloc(2 * size, sizeof(*index));
	if (index == NULL || !tw_resize(&s->series, size, sizeof(*s->series))) {
		free(index);
		return tw_fail(err, TW_NOMEM, "%zu series", size);
	}
	free(s->index);
	s->index = index;
	s->index_size = 2 * size;
	s->size = size;
	for (size_t i = 0; i < s->count; i++)
		index[find_place(s, s->series[i].metric, s->series[i].labels)] =
			(uint32_t)(i + 1);
	return 0;
}

static int add_series(struct tw_spool *s, const char *metric, const char *labels,
		      struct tw_err *err)
{
	if (s->count >= TW_SPOOL_SERIES_MAX || s->text_bytes > TW_SPOOL_TEXT_MAX)
		return tw_fail(err, TW_INVALID,
			       "more series than the limit: %zu, or %zu MiB of labels",
			       TW_SPOOL_SERIES_MAX, TW_SPOOL_TEXT_MAX >> 20);
	if (grow(s, err) < 0)
		return -1;
	s->series[s->count++] = (struct series){ .metric = metric, .labels = labels };
	s->index[find_place(s, metric, labels)] = (uint32_t)s->count;
	return 0;
}

int tw_spool_series(struct tw_spool *s, const char *metric,
		    struct tw_exposition_label *label, size_t labels, size_t *out,
		    struct tw_err *err)
{
	const char *name, *text;
	struct tw_buf b = { 0 };
	int rc = -1;

	if (format_labels(label, labels, &b, err) < 0)
		goto out;
	name = intern(s, metric, strlen(metric), err);
	text = name != NULL ? intern(s, b.data, b.len, err) : NULL;
	if (text == NULL)
		goto out;
	if (s->index_size == 0 || s->index[find_place(s, name, text)] == 0)
		if (add_series(s, name, text, err) < 0)
			goto out;

	*out = s->index[find_place(s, name, text)] - 1;
	rc = 0;
out:
	tw_buf_clear(&b);
	return rc;
}

bool tw_spool_last(const struct tw_spool *s, size_t series, int64_t *time_ms)
{
	if (s->series[series].samples == 0)
		return false;
	*time_ms = s->series[series].last_ms;
	return true;
}

static uint64_t take_place(struct tw_spool *s)
{
	uint64_t place = s->end;

	s->end += sizeof(struct block);
	return place;
}

static int write_block(const struct tw_spool *s, uint64_t place,
		       const struct block *block, struct tw_err *err)
{
	const char *at = (const char *)block;
	size_t left = sizeof(*block);

	while (left > 0) {
		ssize_t n = pwrite(s->fd, at, left, (off_t)place);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tw_fail_errno(err, errno,
					     "cannot write the temporary file");
		at += n;
		place += (uint64_t)n;
		left -= (size_t)n;
	}
	return 0;
}

/* Write the held block, which points to the series' next block. */
static int write_held(struct tw_spool *s, struct series *x, struct tw_err *err)
{
	uint64_t next = take_place(s);

	x->held->next = next;
	if (write_block(s, x->place, x->held, err) < 0)
		return -1;
	x->place = next;
	x->held->count = 0;
	return 0;
}

static int begin_block(struct tw_spool *s, struct series *x, struct tw_err *err)
{
	if (TW_NEW(x->held, 1, err) < 0)
		return -1;
	if (x->samples == 0)
		x->first = x->place = take_place(s);
	return 0;
}

int tw_spool_add(struct tw_spool *s, size_t series, int64_t time_ms, double value,
		 struct tw_err *err)
{
	struct series *x = &s->series[series];

	assert(isfinite(value));
	if (x->samples > 0 && time_ms <= x->last_ms)
		return tw_fail(err, TW_INVALID,
			       "%s: a sample at %" PRId64 " ms behind one at %" PRId64
			       " ms",
			       x->metric, time_ms, x->last_ms);
	if (x->held == NULL && begin_block(s, x, err) < 0)
		return -1;
	if (x->held->count == BLOCK_SAMPLES && write_held(s, x, err) < 0)
		return -1;
	x->held->time_ms[x->held->count] = time_ms;
	x->held->value[x->held->count++] = value;
	x->last_ms = time_ms;
	x->samples++;
	x->grew = true;
	return 0;
}

int tw_spool_settle(struct tw_spool *s, struct tw_err *err)
{
	for (size_t i = 0; i < s->count; i++) {
		struct series *x = &s->series[i];

		if (x->held != NULL && !x->grew) {
			if (x->held->count > 0 && write_held(s, x, err) < 0)
				return -1;
			free(x->held);
			x->held = NULL;
		}
		x->grew = false;
	}
	return 0;
}

/* ---- reading the series ---- */

static int read_block(const struct tw_spool *s, uint64_t place, struct block *out,
		      struct tw_err *err)
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

static int by_metric_and_labels(const void *a, const void *b)
{
	const struct series *const *x = a, *const *y = b;
	int order = strcmp((*x)->metric, (*y)->metric);

	return order != 0 ? order : strcmp((*x)->labels, (*y)->labels);
}

/* List the series with samples, sorted by metric and labels. */
static int list_series(const struct tw_spool *s, const struct series ***out,
		       size_t *count, struct tw_err *err)
{
	const struct series **list = calloc(s->count + 1, sizeof(*list));
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

static int visit_block(const struct block *b, const struct tw_spool_visitor *v, void *arg,
		       struct tw_err *err)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (v->sample(arg, b->time_ms[i], b->value[i], err) < 0)
			return -1;
	return 0;
}

static int visit_samples(const struct tw_spool *s, const struct series *x,
			 const struct tw_spool_visitor *v, void *arg, struct tw_err *err)
{
	struct block block;

	for (uint64_t place = x->first; place != x->place; place = block.next)
		if (read_block(s, place, &block, err) < 0 ||
		    visit_block(&block, v, arg, err) < 0)
			return -1;
	return x->held != NULL ? visit_block(x->held, v, arg, err) : 0;
}

int tw_spool_visit(const struct tw_spool *s, const struct tw_spool_visitor *v, void *arg,
		   struct tw_err *err)
{
	const struct series **list = NULL;
	size_t count = 0;
	int rc = list_series(s, &list, &count, err);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = v->series(arg, list[i]->metric, list[i]->labels, err);
		if (rc == 0 && v->sample != NULL)
			rc = visit_samples(s, list[i], v, arg, err);
	}
	free(list);
	return rc;
}

/* ---- the response file ---- */

/* A response that is being written. */
struct writer {
	struct tw_replace file;
	struct tw_buf text;
	const char *metric; /* of the last series; NULL: none yet */
	bool first;         /* the next sample is its series' first */
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

/* End the series before, and begin one. */
static int write_series(void *arg, const char *metric, const char *labels,
			struct tw_err *err)
{
	struct writer *w = arg;

	if (metric == w->metric) {
		tw_buf_adds(&w->text, "]},\n");
	} else {
		tw_buf_adds(&w->text, w->metric != NULL ? "]}],\n" : "");
		tw_buf_add_json_text(&w->text, metric, strlen(metric));
		tw_buf_adds(&w->text, ":[\n");
	}
	tw_buf_addf(&w->text, "{\"metric\":%s,\"values\":[", labels);
	w->metric = metric;
	w->first = true;
	return flush(w, PIECE, err);
}

static int write_sample(void *arg, int64_t time_ms, double v, struct tw_err *err)
{
	struct writer *w = arg;
	char value[TW_DOUBLE_TEXT];

	tw_format_double(value, v);
	tw_buf_addf(&w->text, "%s[%" PRId64, w->first ? "" : ",", time_ms / 1000);
	if (time_ms % 1000 != 0)
		tw_buf_addf(&w->text, ".%03" PRId64, time_ms % 1000);
	tw_buf_addf(&w->text, ",\"%s\"]", value);
	w->first = false;
	return flush(w, PIECE, err);
}

int tw_spool_write(struct tw_spool *s, const char *path, struct tw_err *err)
{
	static const struct tw_spool_visitor visitor = { .series = write_series,
							 .sample = write_sample };
	struct writer w = { 0 };
	int rc = -1;

	tw_buf_adds(&w.text, "{\n");
	if (tw_replace_open(&w.file, path, err) < 0 ||
	    tw_spool_visit(s, &visitor, &w, err) < 0)
		goto out;
	tw_buf_adds(&w.text, w.metric != NULL ? "]}]}\n" : "}\n");
	if (flush(&w, 0, err) < 0 || tw_replace_commit(&w.file, err) < 0)
		goto out;
	rc = 0;
out:
	tw_replace_abort(&w.file);
	tw_buf_clear(&w.text);
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
