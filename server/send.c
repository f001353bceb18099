/* SPDX-License-Identifier: Apache-2.0 */
#include "server/send.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/http/server/httpd.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "model-db/pipeline.h"
#include "server/service.h"
#include "server/uploads.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- parts of a content ---- */

static void add_range(struct tw_http_reply *r, const struct tw_http_range *range,
		      uint64_t size)
{
	char text[80];

	snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
		 range->from, range->from + range->len - 1, size);
	tw_http_reply_header(r, "Content-Range", text);
	r->status = 206;
}

static void refuse_range(struct tw_http_reply *r, uint64_t size)
{
	char text[40];

	snprintf(text, sizeof(text), "bytes */%" PRIu64, size);
	tw_http_reply_problem(r, 416, "the range begins behind the file's end");
	tw_http_reply_header(r, "Content-Range", text);
}

/* The part of size bytes with this tag that q asks for (NULL: all). */
static enum tw_http_wants find_part(const struct tw_http_request *q, const char *etag,
				    uint64_t size, struct tw_http_range *range)
{
	*range = (struct tw_http_range){ .len = size };
	if (q == NULL)
		return TW_HTTP_WHOLE;
	return tw_http_wants(tw_http_header(q, "If-None-Match"),
			     tw_http_header(q, "If-Range"), tw_http_header(q, "Range"),
			     etag, size, range);
}

static bool has_body(enum tw_http_wants wants)
{
	return wants == TW_HTTP_WHOLE || wants == TW_HTTP_PART;
}

/* Ranges may be asked for, and a cache must ask with the tag. */
static void set_head(const struct tw_http_request *q, struct tw_http_reply *r,
		     enum tw_http_wants wants, const char *etag, uint64_t size,
		     const struct tw_http_range *range)
{
	if (wants == TW_HTTP_NOTHING)
		r->status = 304;
	else if (wants == TW_HTTP_BEHIND)
		refuse_range(r, size);
	else if (wants == TW_HTTP_PART)
		add_range(r, range, size);
	tw_http_reply_header(r, "ETag", etag);
	if (q == NULL)
		return;
	tw_http_reply_header(r, "Accept-Ranges", "bytes");
	tw_http_reply_header(r, "Cache-Control", "no-cache");
}

bool tw_send_begin(const struct tw_http_request *q, struct tw_http_reply *r,
		   const char *etag, uint64_t size, struct tw_http_range *range)
{
	const enum tw_http_wants wants = find_part(q, etag, size, range);

	set_head(q, r, wants, etag, size, range);
	return has_body(wants);
}

void tw_send_as_zip(struct tw_http_reply *r, const char *name)
{
	struct tw_buf b = { 0 };

	r->content_type = "application/zip";
	tw_buf_addf(&b, "%s.zip", name);
	r->attachment = tw_buf_detach(&b, NULL);
	r->failed |= r->attachment == NULL;
}

/* ---- a model ---- */

/* The tag is of the content: equal on all servers with the same file. */
static void format_etag(const struct tw_index_entry *e, char etag[TW_ETAG_TEXT])
{
	snprintf(etag, TW_ETAG_TEXT, "\"%016" PRIx64 "-%" PRIx64 "\"", e->zip_sum,
		 e->zip_bytes);
}

static void let_go(void *index)
{
	tw_index_unref(index);
}

void tw_send_text(struct tw_index *x, const struct tw_index_text *t,
		  struct tw_http_reply *r)
{
	if (t->own != NULL)
		tw_http_reply_lend(r, t->text, t->len, free, t->own);
	else
		tw_http_reply_lend(r, t->text, t->len, let_go, tw_index_ref(x));
}

static int send_file(struct tw_index *x, const struct tw_index_entry *e,
		     const struct tw_http_range *range, struct tw_http_reply *r,
		     struct tw_err *err)
{
	struct tw_index_text text = { 0 };
	int fd;

	if (tw_index_zip(x, e, &text, &fd, err) < 0)
		return -1;
	if (fd >= 0)
		tw_http_reply_file(r, fd, range->from, (size_t)range->len);
	else
		tw_http_reply_lend(r, text.text + range->from, (size_t)range->len, let_go,
				   tw_index_ref(x));
	tw_send_as_zip(r, e->name);
	return 0;
}

int tw_send_zip(struct tw_index *x, const struct tw_index_entry *e,
		const struct tw_http_request *q, struct tw_http_reply *r,
		struct tw_err *err)
{
	enum tw_http_wants wants;
	struct tw_http_range range;
	char etag[TW_ETAG_TEXT];

	format_etag(e, etag);
	wants = find_part(q, etag, e->zip_bytes, &range);
	/*
	 * Open the file before the head is set, so that a failure leaves the reply
	 * unchanged.
	 */
	if (has_body(wants) && send_file(x, e, &range, r, err) < 0)
		return -1;
	set_head(q, r, wants, etag, e->zip_bytes, &range);
	return 0;
}

/* ---- a foreign file ---- */

/* Open the next part of the path and close dir. Symbolic links are not followed. */
static int enter(int dir, const char *name, int flags)
{
	int fd = -1;

	if (dir >= 0)
		fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | flags);
	if (dir >= 0)
		close(dir);
	return fd;
}

/* -1 if there is no such file. */
static int open_file(const struct tw_service *s, const struct tw_http_request *q)
{
	static const char *const parts[] = { "source", "output", "group", "file" };
	const char *pipeline = tw_http_param(q, "pipeline");
	struct tw_err ignored = { 0 };
	int fd;

	if (tw_name_check("", pipeline, strlen(pipeline), &ignored) < 0)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		const char *part = tw_http_param(q, parts[i]);

		if (tw_name_check("", part, strlen(part), &ignored) < 0)
			return -1;
	}
	fd = open(s->model_db, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	fd = enter(fd, pipeline, O_DIRECTORY);
	fd = enter(fd, TW_PIPELINE_FOREIGN, O_DIRECTORY);
	for (size_t i = 0; i < 4; i++)
		fd = enter(fd, tw_http_param(q, parts[i]),
			   i < 3 ? O_DIRECTORY : O_NONBLOCK);
	return fd;
}

static void send_foreign(int fd, const struct stat *st, const struct tw_http_request *q,
			 struct tw_http_reply *r)
{
	const char *file = tw_http_param(q, "file");
	struct tw_http_range range;
	char etag[TW_ETAG_TEXT];

	/* The inode identifies the content: published files are never edited. */
	snprintf(etag, sizeof(etag), "\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 "\"",
		 (uint64_t)st->st_ino,
		 (uint64_t)st->st_mtim.tv_sec * 1000000000 +
			 (uint64_t)st->st_mtim.tv_nsec,
		 (uint64_t)st->st_size);
	if (tw_send_begin(q, r, etag, (uint64_t)st->st_size, &range))
		tw_http_reply_file(r, fd, range.from, (size_t)range.len);
	else
		close(fd);
	if (r->content_type == NULL && tw_ends_with(file, ".zip"))
		r->content_type = "application/zip";
}

/* The index has only pipelines whose signature was checked, if they need one. */
static bool may_serve(const struct tw_service *s, const struct tw_index *x,
		      const struct tw_http_request *q)
{
	return s->uploads == NULL || !tw_uploads_require_signature(s->uploads) ||
	       tw_index_pipeline_find(x, tw_http_param(q, "pipeline")) != NULL;
}

bool tw_send_foreign(const struct tw_service *s, const struct tw_index *x,
		     const struct tw_http_request *q, struct tw_http_reply *r)
{
	struct tw_err err = { 0 };
	struct stat st;
	int fd = may_serve(s, x, q) ? open_file(s, q) : -1;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return false;
	}
	if (s->serve_foreign) {
		send_foreign(fd, &st, q, r);
		return true;
	}
	close(fd);
	tw_fail(&err, TW_DENIED,
		"'%.64s' is another program's file, which this server does not pass "
		"through: see --serve-foreign",
		tw_http_param(q, "file"));
	tw_http_reply_error(r, &err);
	return true;
}
