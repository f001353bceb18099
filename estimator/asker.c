/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/asker.h"

#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Bytes of an answer; the requests have few rows. */
#define ANSWER_MAX ((size_t)1 << 20)

struct tw_asker {
	struct sockaddr_un address;
	int fd; /* -1: not connected */
	struct tw_buf request, answer;
};

int tw_asker_open(const char *socket, struct tw_asker **out, struct tw_err *err)
{
	const size_t len = strlen(socket);
	struct tw_asker *a;

	if (len == 0 || len >= sizeof(a->address.sun_path))
		return tw_fail(err, TW_INVALID,
			       "socket '%s': expected a path of 1 to %zu bytes", socket,
			       sizeof(a->address.sun_path) - 1);
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return tw_fail(err, TW_NOMEM, "client of '%s'", socket);
	a->fd = -1;
	a->answer.limit = ANSWER_MAX;
	a->address.sun_family = AF_UNIX;
	memcpy(a->address.sun_path, socket, len);
	*out = a;
	return 0;
}

static void hang_up(struct tw_asker *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

void tw_asker_close(struct tw_asker *a)
{
	if (a == NULL)
		return;
	hang_up(a);
	tw_buf_clear(&a->request);
	tw_buf_clear(&a->answer);
	free(a);
}

/* Connect if necessary. A Unix socket connects at once, or its queue is full. */
static int dial(struct tw_asker *a, struct tw_err *err)
{
	if (a->fd >= 0)
		return 0;
	a->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0)
		return tw_fail_errno(err, errno, "cannot make a socket");
	if (connect(a->fd, (const struct sockaddr *)&a->address, sizeof(a->address)) == 0)
		return 0;
	if (errno == ENOENT || errno == ECONNREFUSED)
		tw_fail(err, TW_NOTFOUND, "no program listens on '%s'",
			a->address.sun_path);
	else
		tw_fail_errno(err, errno, "cannot connect to '%s'", a->address.sun_path);
	hang_up(a);
	return -1;
}

/* Wait until the socket is readable or writable. */
static int wait_for(const struct tw_asker *a, short events, uint64_t until_ms,
		    struct tw_err *err)
{
	for (;;) {
		const uint64_t now_ms = tw_now_ms();
		struct pollfd p = { .fd = a->fd, .events = events };
		const int ready =
			poll(&p, 1, now_ms < until_ms ? (int)(until_ms - now_ms) : 0);

		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "cannot wait for '%s'",
					     a->address.sun_path);
		if (tw_now_ms() >= until_ms)
			return tw_fail(err, TW_IO,
				       "no answer from '%s' before the deadline",
				       a->address.sun_path);
	}
}

static int send_request(struct tw_asker *a, uint64_t until_ms, struct tw_err *err)
{
	for (size_t sent = 0; sent < a->request.len;) {
		const ssize_t n = send(a->fd, a->request.data + sent,
				       a->request.len - sent, MSG_NOSIGNAL);

		if (n > 0)
			sent += (size_t)n;
		else if (n < 0 && errno == EAGAIN) {
			if (wait_for(a, POLLOUT, until_ms, err) < 0)
				return -1;
		} else if (n < 0 && errno != EINTR) {
			return tw_fail_errno(err, errno, "cannot send to '%s'",
					     a->address.sun_path);
		}
	}
	return 0;
}

/* Read an answer, which is one line. */
static int receive_answer(struct tw_asker *a, uint64_t until_ms, struct tw_err *err)
{
	char chunk[4096];

	while (a->answer.len == 0 || a->answer.data[a->answer.len - 1] != '\n') {
		const ssize_t n = recv(a->fd, chunk, sizeof(chunk), 0);

		if (n == 0)
			return tw_fail(err, TW_IO, "'%s' has closed the connection",
				       a->address.sun_path);
		if (n > 0)
			tw_buf_add(&a->answer, chunk, (size_t)n);
		else if (errno == EAGAIN) {
			if (wait_for(a, POLLIN, until_ms, err) < 0)
				return -1;
		} else if (errno != EINTR) {
			return tw_fail_errno(err, errno, "cannot receive from '%s'",
					     a->address.sun_path);
		}
		if (tw_buf_failed(&a->answer))
			return tw_fail(err, TW_IO,
				       "the answer of '%s' is longer than %zu bytes",
				       a->address.sun_path, ANSWER_MAX);
	}
	return 0;
}

/* Empty a buffer, but keep its memory. */
static void empty(struct tw_buf *b)
{
	if (tw_buf_failed(b))
		tw_buf_clear(b);
	b->len = 0;
}

static int exchange(struct tw_asker *a, uint64_t until_ms, struct tw_err *err)
{
	empty(&a->answer);
	if (dial(a, err) == 0 && send_request(a, until_ms, err) == 0 &&
	    receive_answer(a, until_ms, err) == 0)
		return 0;
	hang_up(a);
	return -1;
}

/* If a kept connection fails, connect again: the estimator may have closed it. */
static int exchange_again(struct tw_asker *a, uint64_t until_ms, struct tw_err *err)
{
	const bool kept = a->fd >= 0;
	struct tw_err closed = { 0 };

	if (!kept)
		return exchange(a, until_ms, err);
	if (exchange(a, until_ms, &closed) == 0)
		return 0;
	if (tw_now_ms() >= until_ms)
		return tw_fail(err, closed.code, "%s", closed.text);
	return exchange(a, until_ms, err);
}

int tw_asker_ask(struct tw_asker *a, const struct tw_question *q, unsigned wait_ms,
		 struct tw_watts *out, struct tw_worth *worth, struct tw_err *err)
{
	const uint64_t until_ms = tw_now_ms() + wait_ms;
	struct tw_question request = *q;

	request.version = 2;
	empty(&a->request);
	tw_question_write(&request, &a->request);
	if (tw_buf_failed(&a->request))
		return tw_fail(err, TW_NOMEM, "request of %zu rows", q->rows);
	if (exchange_again(a, until_ms, err) < 0)
		return -1;
	return tw_answer_read(a->answer.data, a->answer.len, q->rows, out, worth, err);
}
