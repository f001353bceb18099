/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/download.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/download_part.h"
#include "lib/http/http.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define WHAT TW_DOWNLOAD_WHAT

static int cut(int fd, off_t at, struct tw_err *err)
{
	if (ftruncate(fd, at) < 0 || lseek(fd, at, SEEK_SET) < 0)
		return tw_fail_errno(err, errno, "cannot write the " WHAT);
	return 0;
}

struct writing {
	int fd;
	const struct tw_download_part *before;
	bool begun;
};

/* A weak tag names what is alike, not what has the same bytes. */
static bool is_strong(const char *etag)
{
	return etag[0] == '"';
}

static int begin(void *arg, const struct tw_http_answer *head, struct tw_err *err)
{
	struct writing *w = arg;
	char line[TW_HTTP_ETAG_MAX + 1] = "";
	size_t len;

	w->begun = true;
	if (head->status == 206)
		return cut(w->fd, (off_t)(w->before->line + w->before->bytes), err);
	if (is_strong(head->etag))
		memcpy(line, head->etag, sizeof(head->etag));
	len = strlen(line);
	line[len] = '\n';
	if (cut(w->fd, 0, err) < 0)
		return -1;
	return tw_fd_write(w->fd, line, len + 1, WHAT, err);
}

static int write_more(void *arg, const char *data, size_t len, struct tw_err *err)
{
	const struct writing *w = arg;

	return tw_fd_write(w->fd, data, len, WHAT, err);
}

static int attempt(const struct tw_http_call *call, int fd,
		   const struct tw_download_part *before, struct tw_http_answer *out,
		   struct tw_err *err)
{
	struct writing w = { .fd = fd, .before = before };
	struct tw_http_call c = *call;

	if (is_strong(before->etag) && before->bytes > 0) {
		if (c.answer_max <= before->bytes)
			return tw_fail(err, TW_INVALID, "the " WHAT " is over %zu bytes",
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
	/* A body without a byte. */
	return out->status == 200 && !w.begun ? begin(&w, out, err) : 0;
}

int tw_download(const struct tw_http_call *call, int fd, struct tw_http_answer *out,
		struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	struct tw_download_part part;
	int rc = -1;

	if (tw_download_look(fd, &part, err) < 0)
		return -1;
	if (attempt(call, fd, &part, &answer, err) < 0)
		goto out;
	if (answer.status == 416 && part.bytes > 0) {
		/* There is nothing behind what is here: it was whole, or is another's. */
		tw_http_answer_release(&answer);
		answer = (struct tw_http_answer){ 0 };
		part = (struct tw_download_part){ .line = 0 };
		if (attempt(call, fd, &part, &answer, err) < 0)
			goto out;
	}
	*out = answer;
	answer = (struct tw_http_answer){ 0 };
	rc = 0;
out:
	tw_http_answer_release(&answer);
	return rc;
}
