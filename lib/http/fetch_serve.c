/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/download.h"
#include "lib/http/fetch.h"
#include "lib/http/fetch_pass.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* The child's side of lib/http/fetch.h. */

static int read_all(int fd, struct tw_buf *b, struct tw_err *err)
{
	char chunk[16384];
	ssize_t n;

	do {
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "cannot read the call");
		if (n > 0)
			tw_buf_add(b, chunk, (size_t)n);
	} while (n != 0 && !tw_buf_failed(b));
	if (tw_buf_failed(b))
		return tw_fail(err, TW_INVALID, "a call of over %zu bytes", b->limit);
	return 0;
}

static int write_all(int fd, const struct tw_buf *b, struct tw_err *err)
{
	for (size_t done = 0; done < b->len;) {
		const ssize_t n = write(fd, b->data + done, b->len - done);

		if (n < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "cannot tell the outcome");
		if (n > 0)
			done += (size_t)n;
	}
	return 0;
}

/* Whoever started us is gone: then nobody wants what comes, and another may write it. */
static bool nobody_listens(void *out)
{
	struct pollfd p = { .fd = *(const int *)out };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP)) != 0;
}

static int make_call(const struct tw_buf *told, int to, struct tw_http_answer *out,
		     struct tw_err *err)
{
	struct tw_http_call call = { 0 };
	json_t *root = NULL;
	bool save = false;
	int rc = -1;

	if (tw_fetch_read_call(told->len > 0 ? told->data : "", told->len, &root, &call,
			       &save, err) < 0 ||
	    tw_http_init(err) < 0)
		goto out;
	call.stopped = nobody_listens;
	call.stopped_arg = &to;
	if ((save ? tw_download(&call, TW_FETCH_FILE, out, err)
		  : tw_http_call(&call, out, err)) < 0)
		goto out;
	rc = 0;
out:
	json_decref(root);
	return rc;
}

int tw_fetch_serve(int in, int out, struct tw_err *err)
{
	struct tw_buf told = { .limit = TW_FETCH_HEAD_MAX + TW_FETCH_BODY_MAX };
	struct tw_http_answer answer = { 0 };
	struct tw_buf b = { 0 };
	struct tw_err why = { 0 };
	int rc = -1;

	if (read_all(in, &told, err) < 0)
		goto out;
	if (make_call(&told, out, &answer, &why) < 0)
		tw_fetch_write_failure(&b, &why);
	else
		tw_fetch_write_answer(&b, &answer);
	if (tw_buf_failed(&b)) {
		tw_fail(err, TW_NOMEM, "answer of %zu bytes", answer.len);
		goto out;
	}
	if (write_all(out, &b, err) < 0)
		goto out;
	rc = 0;
out:
	tw_http_answer_release(&answer);
	tw_buf_clear(&b);
	tw_buf_clear(&told);
	return rc;
}
