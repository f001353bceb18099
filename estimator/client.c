/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/client.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_S 10
#define ANSWER_MAX ((size_t)64 << 20)

/* ---- the question ---- */

void tw_question_write(const struct tw_question *q, struct tw_buf *out)
{
	const size_t cols = q->metrics->count;

	tw_json_add_object(out, NULL);
	tw_json_add_texts(out, "metrics", q->metrics);
	tw_json_add_text(out, "output_type", q->output);
	tw_json_add_text(out, "source", q->source != NULL ? q->source : "");
	tw_json_add_text(out, "trainer_name", q->trainer != NULL ? q->trainer : "");
	tw_json_add_text(out, "filter", q->filter != NULL ? q->filter : "");
	tw_json_add_array(out, "values");
	for (size_t r = 0; r < q->rows; r++)
		tw_json_add_numbers(out, NULL, q->x + r * cols, cols);
	tw_json_end_array(out);
	tw_json_end_object(out);
}

/* ---- the answer ---- */

static int read_component(const json_t *powers, enum tw_component c, struct tw_watts *out,
			  struct tw_err *err)
{
	const char *name = tw_component_name(c);
	const json_t *list = NULL;

	if (tw_json_array(powers, "powers", name, true, &list, err) < 0)
		return -1;
	if (list == NULL)
		return 0;
	if (json_array_size(list) != out->rows)
		return tw_fail(err, TW_PARSE, "powers.%s: %zu entries for %zu rows", name,
			       json_array_size(list), out->rows);
	out->of[c] = calloc(out->rows, sizeof(double));
	if (out->of[c] == NULL)
		return tw_fail(err, TW_NOMEM, "answer of %zu rows", out->rows);
	for (size_t r = 0; r < out->rows; r++) {
		const json_t *v = json_array_get(list, r);

		if (!json_is_number(v) && !json_is_null(v))
			return tw_fail(err, TW_PARSE,
				       "powers.%s[%zu]: expected a number, got %s", name,
				       r, tw_json_type_name(v));
		out->of[c][r] = json_is_null(v) ? NAN : json_number_value(v);
	}
	return 0;
}

int tw_answer_read(const char *data, size_t len, size_t rows, struct tw_watts *out,
		   struct tw_err *err)
{
	struct tw_watts w = { .rows = rows };
	const json_t *powers;
	json_t *root = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, "answer", &root, err) < 0 ||
	    tw_json_object(root, "answer", "powers", false, &powers, err) < 0)
		goto out;
	for (int c = 0; c < TW_COMPONENT_COUNT; c++)
		if (read_component(powers, (enum tw_component)c, &w, err) < 0)
			goto out;
	*out = w;
	w = (struct tw_watts){ 0 };
	rc = 0;
out:
	tw_watts_release(&w);
	json_decref(root);
	return rc;
}

void tw_watts_release(struct tw_watts *w)
{
	for (int c = 0; c < TW_COMPONENT_COUNT; c++)
		free(w->of[c]);
	*w = (struct tw_watts){ 0 };
}

/* ---- the connection ---- */

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
