/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/client.h"

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/json.h"
#include "lib/num.h"
#include "lib/strs.h"

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

static void add_text(struct tw_buf *b, const char *key, const char *text)
{
	tw_buf_addf(b, "\"%s\":", key);
	tw_buf_add_json_text(b, text, strlen(text));
	tw_buf_adds(b, ",");
}

static void add_rows(struct tw_buf *b, const struct tw_question *q)
{
	const size_t cols = q->metrics->count;

	tw_buf_adds(b, "\"values\":[");
	for (size_t r = 0; r < q->rows; r++) {
		tw_buf_adds(b, r > 0 ? ",[" : "[");
		for (size_t c = 0; c < cols; c++) {
			const double v = q->x[r * cols + c];

			tw_buf_adds(b, c > 0 ? "," : "");
			if (isfinite(v))
				tw_buf_add_double(b, v);
			else
				tw_buf_adds(b, "null");
		}
		tw_buf_adds(b, "]");
	}
	tw_buf_adds(b, "]}");
}

static char *make_request(const struct tw_question *q, size_t *len)
{
	struct tw_buf b = { 0 };

	tw_buf_adds(&b, "{\"metrics\":[");
	for (size_t i = 0; i < q->metrics->count; i++) {
		tw_buf_adds(&b, i > 0 ? "," : "");
		tw_buf_add_json_text(&b, q->metrics->at[i], strlen(q->metrics->at[i]));
	}
	tw_buf_adds(&b, "],");
	add_text(&b, "output_type", q->output);
	add_text(&b, "source", q->source != NULL ? q->source : "");
	add_text(&b, "trainer_name", q->trainer != NULL ? q->trainer : "");
	add_text(&b, "filter", q->filter != NULL ? q->filter : "");
	add_rows(&b, q);
	return tw_buf_detach(&b, len);
}

static int open_connection(const char *path, int *out, struct tw_err *err)
{
	const struct timeval wait = { .tv_sec = WAIT_S };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const size_t len = strlen(path);
	int fd;

	if (len == 0 || len >= sizeof(a.sun_path))
		return tw_fail(err, TW_INVALID,
			       "socket '%s': a path of 1 to %zu bytes is wanted", path,
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

/* An answer is a line. */
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
			return tw_fail(err, TW_NOTFOUND, "the estimator has no answer");
		tw_buf_add(out, chunk, (size_t)n);
		if (tw_buf_failed(out))
			return tw_fail(err, TW_NOMEM, "answer over %zu bytes",
				       ANSWER_MAX);
	}
	return 0;
}

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
	for (size_t r = 0; r < out->rows; r++)
		out->of[c][r] = json_number_value(json_array_get(list, r));
	return 0;
}

static int read_answer(const struct tw_buf *text, size_t rows, struct tw_watts *out,
		       struct tw_err *err)
{
	struct tw_watts w = { .rows = rows };
	const json_t *powers;
	json_t *root = NULL;
	int rc = -1;

	if (tw_json_parse(text->data, text->len, "answer", &root, err) < 0 ||
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

int tw_estimator_ask(const char *socket, const struct tw_question *q,
		     struct tw_watts *out, struct tw_err *err)
{
	struct tw_buf line = { .limit = ANSWER_MAX };
	char *request = NULL;
	size_t len;
	int fd = -1, rc = -1;

	request = make_request(q, &len);
	if (request == NULL) {
		tw_fail(err, TW_NOMEM, "request of %zu rows", q->rows);
		goto out;
	}
	if (open_connection(socket, &fd, err) < 0 ||
	    send_all(fd, request, len, err) < 0 || receive_line(fd, &line, err) < 0 ||
	    read_answer(&line, q->rows, out, err) < 0)
		goto out;
	rc = 0;
out:
	if (fd >= 0)
		close(fd);
	tw_buf_clear(&line);
	free(request);
	return rc;
}

void tw_watts_release(struct tw_watts *w)
{
	for (int c = 0; c < TW_COMPONENT_COUNT; c++)
		free(w->of[c]);
	*w = (struct tw_watts){ 0 };
}
