/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/client/download.h"
#include "lib/http/client/fetch_message.h"
#include "lib/program/opt.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * tw-fetch makes one HTTP call for the program that starts it (lib/http/client/fetch.h):
 * it reads the call from standard input, makes it, and writes the outcome to standard
 * output.
 */

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
		return tw_fail(err, TW_INVALID, "the call is over %zu bytes", b->limit);
	return 0;
}

static int write_all(int fd, const struct tw_buf *b, struct tw_err *err)
{
	for (size_t done = 0; done < b->len;) {
		const ssize_t n = write(fd, b->data + done, b->len - done);

		if (n < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "cannot write the outcome");
		if (n > 0)
			done += (size_t)n;
	}
	return 0;
}

/*
 * Whether the parent has closed its end of the pipe. The call stops then: another child
 * may write to the same file next.
 */
static bool parent_is_gone(void *out)
{
	struct pollfd p = { .fd = *(const int *)out };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP)) != 0;
}

static int make_call(const struct tw_buf *message, int to, struct tw_http_answer *out,
		     struct tw_err *err)
{
	struct tw_http_call call = { 0 };
	json_t *root = NULL;
	bool save = false;
	int rc = -1;

	if (tw_fetch_read_call(message->len > 0 ? message->data : "", message->len, &root,
			       &call, &save, err) < 0 ||
	    tw_http_init(err) < 0)
		goto out;
	call.stopped = parent_is_gone;
	call.stopped_arg = &to;
	if ((save ? tw_download(&call, TW_FETCH_FILE, out, err)
		  : tw_http_call(&call, out, err)) < 0)
		goto out;
	rc = 0;
out:
	json_decref(root);
	return rc;
}

static int serve(int in, int out, struct tw_err *err)
{
	struct tw_buf call = { .limit = TW_FETCH_HEAD_MAX + TW_FETCH_BODY_MAX };
	struct tw_http_answer answer = { 0 };
	struct tw_buf b = { 0 };
	struct tw_err why = { 0 };
	int rc = -1;

	if (read_all(in, &call, err) < 0)
		goto out;
	if (make_call(&call, out, &answer, &why) < 0)
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
	tw_buf_clear(&call);
	return rc;
}

int main(int argc, char **argv)
{
	struct tw_err err = { 0 };

	(void)argv;
	if (argc > 1) {
		fprintf(stderr,
			"tw-fetch: takes no arguments: the Tallywatt daemons start it\n");
		return TW_EXIT_USAGE;
	}
	if (serve(STDIN_FILENO, STDOUT_FILENO, &err) < 0) {
		fprintf(stderr, "tw-fetch: %s\n", err.text);
		return TW_EXIT_FAILED;
	}
	return TW_EXIT_OK;
}
