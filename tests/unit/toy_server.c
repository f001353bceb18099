/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/toy_server.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/tw_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void get_hello(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	static const char hello[] = "{\"hello\":1}";

	(void)app;
	(void)q;
	tw_http_reply_lend(r, hello, sizeof(hello) - 1, NULL, NULL);
}

static void post_echo(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	char *copy = malloc(q->len + 1);

	(void)app;
	assert_non_null(copy);
	memcpy(copy, q->body, q->len + 1);
	r->content_type = "text/plain";
	r->attachment = strdup("na\"me\r\n.txt");
	tw_http_reply_take(r, copy, q->len);
}

static void get_query(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	const char *a = tw_http_query(q, "a"), *h = tw_http_header(q, "x-test");
	char *text = malloc(256);

	(void)app;
	assert_non_null(text);
	snprintf(text, 256, "%s|%s|%s", q->path, a != NULL ? a : "-",
		 h != NULL ? h : "-");
	tw_http_reply_take(r, text, strlen(text));
}

static void count_release(void *arg)
{
	atomic_fetch_add(&((struct toy_app *)arg)->released, 1);
}

static void get_lent(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	(void)q;
	tw_http_reply_lend(r, "lent", 4, count_release, app);
}

static void get_problem(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	struct tw_err err = { 0 };

	(void)q;
	tw_http_reply_lend(r, "dropped", 7, count_release, app);
	tw_fail(&err, TW_NOTFOUND, "no model \"x\"");
	tw_http_reply_error(r, &err);
}

static void get_wait(void *arg, const struct tw_http_request *q, struct tw_http_reply *r)
{
	struct toy_app *app = arg;

	(void)q;
	atomic_fetch_add(&app->waiting, 1);
	pthread_mutex_lock(&app->gate);
	pthread_mutex_unlock(&app->gate);
	tw_http_reply_lend(r, "waited", 6, NULL, NULL);
}

static int stream_begin(void *arg, void **stream, struct tw_err *err)
{
	struct toy_app *app = arg;

	(void)err;
	atomic_fetch_add(&app->streams, 1);
	*stream = app;
	return 0;
}

static int stream_feed(void *stream, const char *data, size_t len, struct tw_err *err)
{
	struct toy_app *app = stream;

	if (memchr(data, '!', len) != NULL)
		return tw_fail(err, TW_PARSE, "byte '!' in the stream");
	atomic_fetch_add(&app->fed, len);
	return 0;
}

static void stream_free(void *stream)
{
	atomic_fetch_add(&((struct toy_app *)stream)->freed, 1);
}

static void post_stream(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	char *text = malloc(32);

	assert_ptr_equal(q->stream, app);
	assert_string_equal(q->body, "");
	assert_non_null(text);
	snprintf(text, 32, "%zu", atomic_load(&((struct toy_app *)app)->fed));
	tw_http_reply_take(r, text, strlen(text));
}

static int refuse_begin(void *app, void **stream, struct tw_err *err)
{
	(void)app;
	(void)stream;
	return tw_fail(err, TW_DENIED, "not now");
}

static const struct tw_http_body stream_body = { stream_begin, stream_feed, stream_free };
static const struct tw_http_body refuse_body = { refuse_begin, stream_feed, stream_free };

static const struct tw_http_route routes[] = {
	{ .method = "GET", .path = "/hello", .handle = get_hello },
	{ .method = "POST", .path = "/hello", .handle = post_echo },
	{ .method = "POST", .path = "/echo", .handle = post_echo },
	{ .method = "GET", .path = "/query", .handle = get_query },
	{ .method = "GET", .path = "/lent", .handle = get_lent },
	{ .method = "GET", .path = "/problem", .handle = get_problem },
	{ .method = "GET", .path = "/wait", .handle = get_wait },
	{ .method = "POST",
	  .path = "/stream",
	  .body_max = 1 << 24,
	  .body = &stream_body,
	  .handle = post_stream },
	{ .method = "POST",
	  .path = "/refuse",
	  .body = &refuse_body,
	  .handle = post_stream },
};

void toy_start(struct toy_server *s, struct tw_httpd_config c)
{
	struct tw_err err = { 0 };

	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->app.gate, NULL);
	if (c.listen == NULL)
		c.listen = "127.0.0.1:0";
	c.routes = routes;
	c.route_count = TW_COUNT(routes);
	c.app = &s->app;
	assert_int_equal(tw_httpd_open(&c, &s->httpd, &err), 0);
	s->port = atoi(strrchr(tw_httpd_address(s->httpd), ':') + 1);
	assert_true(s->port > 0);
}

void toy_stop(struct toy_server *s)
{
	tw_httpd_close(s->httpd);
	pthread_mutex_destroy(&s->app.gate);
}

int toy_dial(const struct toy_server *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)s->port) };
	struct timeval limit = { .tv_sec = 20 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)),
			 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

void toy_say(int fd, const char *text)
{
	size_t len = strlen(text);

	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

char *toy_hear(int fd)
{
	size_t len = 0, size = 1 << 16;
	char *text = malloc(size);
	ssize_t n;

	assert_non_null(text);
	while ((n = recv(fd, text + len, size - len - 1, 0)) > 0)
		len += (size_t)n;
	assert_int_equal(n, 0);
	text[len] = '\0';
	close(fd);
	return text;
}

void toy_hear_until(int fd, const char *end)
{
	char text[4096] = "";
	size_t len = 0;

	while (strstr(text, end) == NULL) {
		ssize_t n = recv(fd, text + len, sizeof(text) - len - 1, 0);

		assert_true(n > 0);
		len += (size_t)n;
		text[len] = '\0';
	}
}

char *toy_ask(const struct toy_server *s, const char *request)
{
	int fd = toy_dial(s);

	toy_say(fd, request);
	return toy_hear(fd);
}

void toy_answers(const struct toy_server *s, const char *request, const char *status,
		 const char *body)
{
	char *answer = toy_ask(s, request), *end;

	assert_memory_equal(answer, "HTTP/1.1 ", 9);
	assert_memory_equal(answer + 9, status, strlen(status));
	end = strstr(answer, "\r\n\r\n");
	assert_non_null(end);
	assert_string_equal(end + 4, body);
	free(answer);
}

void toy_wait_for(atomic_int *value, int want)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < 20000 && atomic_load(value) != want; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(atomic_load(value), want);
}
