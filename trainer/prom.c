/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/prom.h"

#include "lib/err.h"
#include "trainer/prom_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)256 << 10)

static const struct tw_jsax_limits limits = { .depth = 32, .text_bytes = 64 << 10 };

struct tw_prom *tw_prom_new(struct tw_err *err)
{
	struct tw_prom *p = calloc(1, sizeof(*p));

	if (p == NULL)
		tw_fail(err, TW_NOMEM, "Prometheus response");
	return p;
}

int tw_prom_add_metric(struct tw_prom *p, const char *name, size_t len, size_t *out,
		       struct tw_err *err)
{
	struct tw_prom_metric *metric;
	const char *text = tw_intern(&p->shared, name, len, err);

	if (text == NULL)
		return -1;
	for (size_t i = 0; i < p->count; i++) {
		if (p->metric[i].name == text) {
			*out = i;
			return 0;
		}
	}
	metric = realloc(p->metric, (p->count + 1) * sizeof(*metric));
	if (metric == NULL)
		return tw_fail(err, TW_NOMEM, "metric '%s'", text);
	p->metric = metric;
	p->metric[p->count] = (struct tw_prom_metric){ .name = text };
	*out = p->count++;
	return 0;
}

int tw_prom_add_series(struct tw_prom *p, size_t metric, const struct tw_series_draft *s,
		       struct tw_err *err)
{
	struct tw_prom_metric *m = &p->metric[metric];
	struct tw_series packed = { .labels = s->labels };

	if (m->count == m->size) {
		size_t size = m->size != 0 ? m->size * 2 : 16;
		struct tw_series *series = realloc(m->series, size * sizeof(*series));

		if (series == NULL)
			return tw_fail(err, TW_NOMEM, "%zu series of '%s'", size,
				       m->name);
		m->series = series;
		m->size = size;
	}
	/* The metrics of a workload have the same labels, but for their names. */
	packed.label =
		tw_intern(&p->shared, s->label, s->labels * sizeof(*s->label), err);
	if (packed.label == NULL)
		return -1;
	if (tw_pack(s->time_ms, s->samples, &p->arena, &packed.time_ms, err) < 0 ||
	    tw_pack(s->value, s->samples, &p->arena, &packed.value, err) < 0)
		return -1;
	m->series[m->count++] = packed;
	return 0;
}

void tw_prom_free(struct tw_prom *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->count; i++)
		free(p->metric[i].series);
	free(p->metric);
	tw_arena_release(&p->arena);
	tw_intern_release(&p->shared);
	free(p);
}

const struct tw_series *tw_prom_series(const struct tw_prom *p, const char *metric,
				       size_t *count)
{
	for (size_t i = 0; i < p->count; i++) {
		if (strcmp(p->metric[i].name, metric) == 0) {
			*count = p->metric[i].count;
			return *count > 0 ? p->metric[i].series : NULL;
		}
	}
	*count = 0;
	return NULL;
}

const char *tw_series_label(const struct tw_series *s, const char *name)
{
	for (size_t i = 0; i < s->labels; i++)
		if (strcmp(s->label[i].name, name) == 0)
			return s->label[i].value;
	return NULL;
}

void tw_series_describe(const struct tw_series *s, char *out, size_t size)
{
	static const char *const names[] = { "container_id", "pod_name", "command",
					     "source",       "mode",     "package" };
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = tw_series_label(s, names[i]);
		int n;

		if (value == NULL)
			continue;
		n = snprintf(out + used, size - used, "%s%s=%.*s", used > 0 ? " " : "",
			     names[i], i == 0 ? 12 : 24, value);
		if (n < 0 || (size_t)n >= size - used)
			return;
		used += (size_t)n;
	}
}

/* A response that is a document of its own. */
struct reader {
	struct tw_prom_builder *builder;
	struct tw_jsax *parser;
	uint64_t offset;
};

static int take_event(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct reader *r = arg;

	return tw_prom_builder_event(r->builder, e, err);
}

static int open_reader(struct reader *r, struct tw_err *err)
{
	if (tw_prom_builder_new(&r->builder, err) < 0)
		return -1;
	return tw_jsax_new(&limits, take_event, r, &r->parser, err);
}

static int feed_reader(struct reader *r, const char *data, size_t len, struct tw_err *err)
{
	size_t used = 0;

	if (tw_jsax_feed(r->parser, data, len, &used, err) < 0)
		return -1;
	for (; used < len; used++)
		if (strchr(" \t\r\n", data[used]) == NULL || data[used] == '\0')
			return tw_fail(err, TW_PARSE,
				       "byte %" PRIu64 ": expected nothing more",
				       r->offset + used);
	r->offset += len;
	return 0;
}

static int end_reader(struct reader *r, struct tw_prom **out, struct tw_err *err)
{
	if (tw_jsax_end(r->parser, err) < 0)
		return -1;
	*out = tw_prom_builder_detach(r->builder);
	return 0;
}

static void close_reader(struct reader *r)
{
	tw_jsax_free(r->parser);
	tw_prom_builder_free(r->builder);
}

int tw_prom_parse(const char *data, size_t len, struct tw_prom **out, struct tw_err *err)
{
	struct reader r = { 0 };
	int rc = -1;

	if (open_reader(&r, err) < 0 || feed_reader(&r, data, len, err) < 0 ||
	    end_reader(&r, out, err) < 0)
		goto out;
	rc = 0;
out:
	close_reader(&r);
	return rc;
}

static int feed_file(struct reader *r, int fd, char *piece, struct tw_err *err)
{
	for (;;) {
		ssize_t n = read(fd, piece, PIECE);

		if (n == 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tw_fail_errno(err, errno, "cannot read");
		if (feed_reader(r, piece, (size_t)n, err) < 0)
			return -1;
	}
}

int tw_prom_read(const char *path, struct tw_prom **out, struct tw_err *err)
{
	struct reader r = { 0 };
	char *piece = malloc(PIECE);
	int fd = -1, rc = -1;

	if (piece == NULL) {
		tw_fail(err, TW_NOMEM, "'%s'", path);
		goto out;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		tw_fail_errno(err, errno, "cannot open '%s'", path);
		goto out;
	}
	if (open_reader(&r, err) < 0 || feed_file(&r, fd, piece, err) < 0 ||
	    end_reader(&r, out, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	close_reader(&r);
	if (fd >= 0)
		close(fd);
	free(piece);
	return rc;
}
