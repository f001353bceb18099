/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/client.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_S 10
#define ANSWER_MAX ((size_t)64 << 20)

static int open_connection(const char *path, int *out, struct tw_err *err)
{
	const struct timeval wait = { .tv_sec = WAIT_S };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const size_t len = strlen(path);
	int fd;

	if (len == 0 || len >= sizeof(a.sun_path))
		return tw_fail(err, TW_INVALID,
			       "socket '%s': expected a path of 1 to %zu bytes", path,
			       sizeof(a.sun_path) - 1);
	memcpy(a.sun_path, path, len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return tw_fail_errno(err, errno, "cannot make a socket");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0) {
		tw_fail_errno(err, errno, "cannot connect to '%s'", path);
		close(fd);
		return -1;
	}
	*out = fd;
	return 0;
}

static int send_all(int fd, const char *data, size_t len, struct tw_err *err)
{
	while (len > 0) {
		const ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return tw_fail_errno(err, errno, "cannot send the request");
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* Read an answer, which is one line. */
static int receive_line(int fd, struct tw_buf *out, struct tw_err *err)
{
	char chunk[16384];

	while (out->len == 0 || out->data[out->len - 1] != '\n') {
		const ssize_t n = recv(fd, chunk, sizeof(chunk), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tw_fail_errno(err, errno, "cannot receive the answer");
		if (n == 0)
			return tw_fail(err, TW_NOTFOUND,
				       "the estimator closed the connection without an "
				       "answer; its log has the "
				       "reason");
		tw_buf_add(out, chunk, (size_t)n);
		if (tw_buf_failed(out))
			return tw_fail(err, TW_NOMEM, "answer over %zu bytes",
				       ANSWER_MAX);
	}
	return 0;
}

int tw_estimator_ask(const char *socket, const struct tw_question *q,
		     struct tw_watts *out, struct tw_err *err)
{
	struct tw_buf line = { .limit = ANSWER_MAX }, request = { 0 };
	int fd = -1, rc = -1;

	tw_question_write(q, &request);
	if (tw_buf_failed(&request)) {
		tw_fail(err, TW_NOMEM, "request of %zu rows", q->rows);
		goto out;
	}
	if (open_connection(socket, &fd, err) < 0 ||
	    send_all(fd, request.data, request.len, err) < 0 ||
	    receive_line(fd, &line, err) < 0 ||
	    tw_answer_read(line.data, line.len, q->rows, out, err) < 0)
		goto out;
	rc = 0;
out:
	if (fd >= 0)
		close(fd);
	tw_buf_clear(&line);
	tw_buf_clear(&request);
	return rc;
}
