/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/download.h"

#include "lib/core/err.h"
#include "lib/core/file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static int truncate_at(int fd, off_t at, struct tw_err *err)
{
	if (ftruncate(fd, at) < 0 || lseek(fd, at, SEEK_SET) < 0)
		return tw_fail_errno(err, errno, "cannot write the download");
	return 0;
}

struct writer {
	int fd;
	const struct tw_download_file *before; /* the file before this call */
	bool begun;
};

/* Equal weak tags do not promise equal bytes (RFC 9110, section 8.8.1). */
static bool is_strong(const char *etag)
{
	return etag[0] == '"';
}

static int begin(void *arg, const struct tw_http_answer *head, struct tw_err *err)
{
	struct writer *w = arg;
	char line[TW_HTTP_ETAG_MAX + 1] = "";
	size_t len;

	w->begun = true;
	if (head->status == 206)
		return truncate_at(w->fd, (off_t)(w->before->line_len + w->before->bytes),
				   err);
	if (is_strong(head->etag))
		memcpy(line, head->etag, sizeof(head->etag));
	len = strlen(line);
	line[len] = '\n';
	if (truncate_at(w->fd, 0, err) < 0)
		return -1;
	return tw_fd_write(w->fd, line, len + 1, "download", err);
}

static int write_more(void *arg, const char *data, size_t len, struct tw_err *err)
{
	const struct writer *w = arg;

	return tw_fd_write(w->fd, data, len, "download", err);
}

static int attempt(const struct tw_http_call *call, int fd,
		   const struct tw_download_file *before, struct tw_http_answer *out,
		   struct tw_err *err)
{
	struct writer w = { .fd = fd, .before = before };
	struct tw_http_call c = *call;

	if (is_strong(before->etag) && before->bytes > 0) {
		if (c.answer_max <= before->bytes)
			return tw_fail(err, TW_INVALID, "the download is over %zu bytes",
				       c.answer_max);
		c.from = before->bytes;
		c.if_range = before->etag;
		c.answer_max -= (size_t)before->bytes;
	}
	c.plain = true;
	c.begin = begin;
	c.sink = write_more;
	c.sink_arg = &w;
	if (tw_http_call(&c, out, err) < 0)
		return -1;
	/* An empty body does not reach the sink. */
	return out->status == 200 && !w.begun ? begin(&w, out, err) : 0;
}

int tw_download(const struct tw_http_call *call, int fd, struct tw_http_answer *out,
		struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	struct tw_download_file file;
	int rc = -1;

	if (tw_download_file_inspect(fd, &file, err) < 0)
		return -1;
	if (attempt(call, fd, &file, &answer, err) < 0)
		goto out;
	if (answer.status == 416 && file.bytes > 0) {
		/*
		 * 416: the file has as many bytes as the resource, or more. Start again.
		 */
		tw_http_answer_release(&answer);
		answer = (struct tw_http_answer){ 0 };
		file = (struct tw_download_file){ .line_len = 0 };
		if (attempt(call, fd, &file, &answer, err) < 0)
			goto out;
	}
	*out = answer;
	answer = (struct tw_http_answer){ 0 };
	rc = 0;
out:
	tw_http_answer_release(&answer);
	return rc;
}
