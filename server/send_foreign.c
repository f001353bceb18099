/* SPDX-License-Identifier: Apache-2.0 */
#include "server/send_foreign.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/http_range.h"
#include "lib/http/server/httpd.h"
#include "model-db/index/index.h"
#include "model-db/pipeline.h"
#include "server/send_zip.h"
#include "server/service.h"
#include "server/uploads.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static void send_file(int fd, const struct stat *st, const struct tw_http_request *q,
		      struct tw_http_reply *r)
{
	const char *file = tw_http_param(q, "file");
	const size_t len = strlen(file);
	struct tw_http_range range;
	enum tw_http_wants wants;
	char etag[TW_ETAG_TEXT];

	/* The inode identifies the content: published files are never edited. */
	snprintf(etag, sizeof(etag), "\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 "\"",
		 (uint64_t)st->st_ino,
		 (uint64_t)st->st_mtim.tv_sec * 1000000000 +
			 (uint64_t)st->st_mtim.tv_nsec,
		 (uint64_t)st->st_size);
	wants = tw_send_wants(q, etag, (uint64_t)st->st_size, &range);
	tw_send_cacheable(r);
	if (tw_send_head(r, wants, etag, (uint64_t)st->st_size, &range))
		tw_http_reply_file(r, fd, range.from, (size_t)range.len);
	else
		close(fd);
	if (r->content_type == NULL && len > 4 && strcmp(file + len - 4, ".zip") == 0)
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
		send_file(fd, &st, q, r);
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
