/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/fetch.h"

#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/client/fetch_message.h"
#include "lib/program/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "tw-fetch"
#define TIMEOUT_MS 10000
/* Starting and ending the child takes time beyond that of the call. */
#define GRACE_MS 2000
#define ANSWER_MAX ((size_t)64 << 20)

struct tw_fetch {
	char *program;
	int stop_fd; /* eventfd; readable: calls fail */
};

/* A child process and our ends of its two pipes; -1: closed. */
struct child {
	pid_t pid;
	int in, out;       /* to its standard input, from its standard output */
	uint64_t until_ms; /* deadline */
};

int tw_fetch_open(const char *program, struct tw_fetch **out, struct tw_err *err)
{
	struct tw_fetch *f = calloc(1, sizeof(*f));
	int rc = -1;

	if (f == NULL)
		return tw_fail(err, TW_NOMEM, "HTTP client");
	f->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->stop_fd < 0) {
		tw_fail_errno(err, errno, "cannot make an eventfd");
		goto out;
	}
	if (program == NULL) {
		if (tw_helper_find(PROGRAM, &f->program, err) < 0)
			goto out;
	} else {
		f->program = strdup(program);
	}
	if (f->program == NULL) {
		tw_fail(err, TW_NOMEM, "HTTP client");
		goto out;
	}
	if (access(f->program, X_OK) < 0) {
		tw_fail_errno(err, errno, "cannot run '%s', the HTTP client", f->program);
		goto out;
	}

	*out = f;
	f = NULL;
	rc = 0;
out:
	tw_fetch_close(f);
	return rc;
}

void tw_fetch_stop(void *fetch)
{
	static const uint64_t one = 1;
	const struct tw_fetch *f = fetch;

	/* A write fails only if the counter is full, and then stop_fd is readable. */
	(void)!write(f->stop_fd, &one, sizeof(one));
}

void tw_fetch_close(struct tw_fetch *f)
{
	if (f == NULL)
		return;
	if (f->stop_fd >= 0)
		close(f->stop_fd);
	free(f->program);
	free(f);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int start(const struct tw_fetch *f, int file, struct child *c, struct tw_err *err)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };
	int files[TW_FETCH_FILE + 1];
	int e, rc = -1;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
		tw_fail_errno(err, errno, "cannot make a pipe");
		goto out;
	}
	/* A child that does not read must not block this thread. */
	if (fcntl(in[1], F_SETFL, O_NONBLOCK) < 0) {
		tw_fail_errno(err, errno, "cannot set up a pipe");
		goto out;
	}
	files[STDIN_FILENO] = in[0];
	files[STDOUT_FILENO] = out[1];
	files[STDERR_FILENO] = STDERR_FILENO;
	files[TW_FETCH_FILE] = file;
	e = tw_helper_start(f->program, PROGRAM, files,
			    file >= 0 ? TW_FETCH_FILE + 1 : TW_FETCH_FILE, &c->pid);
	if (e != 0) {
		tw_fail_errno(err, e, "cannot start '%s'", f->program);
		goto out;
	}
	c->in = in[1];
	c->out = out[0];
	in[1] = -1;
	out[0] = -1;
	rc = 0;
out:
	for (int i = 0; i < 2; i++) {
		close_fd(&in[i]);
		close_fd(&out[i]);
	}
	return rc;
}

/* Wait until fd is ready for events; fail at the deadline or on tw_fetch_stop(). */
static int wait_for(const struct tw_fetch *f, const struct child *c, int fd, short events,
		    struct tw_err *err)
{
	for (;;) {
		struct pollfd p[] = { { .fd = fd, .events = events },
				      { .fd = f->stop_fd, .events = POLLIN } };
		const uint64_t now_ms = tw_now_ms();
		int ready;

		if (now_ms >= c->until_ms)
			return tw_fail(err, TW_IO, "'%s' did not answer in time",
				       f->program);
		ready = poll(p, 2, (int)(c->until_ms - now_ms));
		if (ready < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "'%s'", f->program);
		if (ready > 0 && p[1].revents != 0)
			return tw_fail(err, TW_IO, "stopping");
		if (ready > 0 && p[0].revents != 0)
			return 0;
	}
}

static int send_call(const struct tw_fetch *f, struct child *c, const struct tw_buf *b,
		     struct tw_err *err)
{
	for (size_t sent = 0; sent < b->len;) {
		ssize_t n;

		if (wait_for(f, c, c->in, POLLOUT, err) < 0)
			return -1;
		n = write(c->in, b->data + sent, b->len - sent);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return tw_fail_errno(err, errno, "cannot write the call to '%s'",
					     f->program);
		if (n > 0)
			sent += (size_t)n;
	}
	close_fd(&c->in);
	return 0;
}

static int receive_outcome(const struct tw_fetch *f, struct child *c, struct tw_buf *b,
			   struct tw_err *err)
{
	char chunk[16384];
	ssize_t n;

	do {
		if (wait_for(f, c, c->out, POLLIN, err) < 0)
			return -1;
		n = read(c->out, chunk, sizeof(chunk));
		if (n < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "cannot read the answer of '%s'",
					     f->program);
		if (n > 0 && (size_t)n > b->limit - b->len)
			return tw_fail(err, TW_INVALID, "the answer is over %zu bytes",
				       b->limit);
		if (n > 0)
			tw_buf_add(b, chunk, (size_t)n);
		if (tw_buf_failed(b))
			return tw_fail(err, TW_NOMEM, "answer");
	} while (n != 0);
	return 0;
}

static void end(struct child *c, bool success)
{
	close_fd(&c->in);
	close_fd(&c->out);
	if (c->pid <= 0)
		return;
	if (!success)
		kill(c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int call_child(const struct tw_fetch *f, const struct tw_http_call *call, int file,
		      struct tw_http_answer *out, struct tw_err *err)
{
	const uint64_t timeout_ms = call->timeout_ms != 0 ? call->timeout_ms : TIMEOUT_MS;
	const size_t max = call->answer_max != 0 ? call->answer_max : ANSWER_MAX;
	struct child child = { .in = -1, .out = -1 };
	struct tw_buf request = { .limit = TW_FETCH_HEAD_MAX + TW_FETCH_BODY_MAX };
	struct tw_buf response = { .limit = TW_FETCH_HEAD_MAX + max };
	int rc = -1;

	child.until_ms = tw_now_ms() + timeout_ms + GRACE_MS;
	tw_fetch_write_call(&request, call, file >= 0);
	if (tw_buf_failed(&request)) {
		tw_fail(err, TW_NOMEM, "call of %zu bytes", call->body_len);
		goto out;
	}
	if (start(f, file, &child, err) < 0 || send_call(f, &child, &request, err) < 0 ||
	    receive_outcome(f, &child, &response, err) < 0)
		goto out;
	if (tw_fetch_read_outcome(response.len > 0 ? response.data : "", response.len,
				  out, err) < 0)
		goto out;
	rc = 0;
out:
	end(&child, rc == 0);
	tw_buf_clear(&request);
	tw_buf_clear(&response);
	return rc;
}

int tw_fetch_call(void *fetch, const struct tw_http_call *call,
		  struct tw_http_answer *out, struct tw_err *err)
{
	return call_child(fetch, call, -1, out, err);
}

int tw_fetch_save(void *fetch, const struct tw_http_call *call, int fd,
		  struct tw_http_answer *out, struct tw_err *err)
{
	return call_child(fetch, call, fd, out, err);
}
