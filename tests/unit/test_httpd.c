/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/httpd.h"
#include "lib/httpd_reply.h"
#include "tests/unit/fail_alloc.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* What the handlers below share. */
struct app {
	atomic_int streams, freed, released;
	atomic_size_t fed;
	pthread_mutex_t gate; /* held by a test to keep /wait in progress */
	atomic_int waiting;
};

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
	atomic_fetch_add(&((struct app *)arg)->released, 1);
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
	struct app *app = arg;

	(void)q;
	atomic_fetch_add(&app->waiting, 1);
	pthread_mutex_lock(&app->gate);
	pthread_mutex_unlock(&app->gate);
	tw_http_reply_lend(r, "waited", 6, NULL, NULL);
}

static int stream_begin(void *arg, void **stream, struct tw_err *err)
{
	struct app *app = arg;

	(void)err;
	atomic_fetch_add(&app->streams, 1);
	*stream = app;
	return 0;
}

static int stream_feed(void *stream, const char *data, size_t len, struct tw_err *err)
{
	struct app *app = stream;

	if (memchr(data, '!', len) != NULL)
		return tw_fail(err, TW_PARSE, "byte '!' in the stream");
	atomic_fetch_add(&app->fed, len);
	return 0;
}

static void stream_free(void *stream)
{
	atomic_fetch_add(&((struct app *)stream)->freed, 1);
}

static void post_stream(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	char *text = malloc(32);

	assert_ptr_equal(q->stream, app);
	assert_string_equal(q->body, "");
	assert_non_null(text);
	snprintf(text, 32, "%zu", atomic_load(&((struct app *)app)->fed));
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

static const struct tw_http_route *const routes[] = {
	&(const struct tw_http_route){
		.method = "GET", .path = "/hello", .handle = get_hello },
	&(const struct tw_http_route){
		.method = "POST", .path = "/hello", .handle = post_echo },
	&(const struct tw_http_route){
		.method = "POST", .path = "/echo", .handle = post_echo },
	&(const struct tw_http_route){
		.method = "GET", .path = "/query", .handle = get_query },
	&(const struct tw_http_route){
		.method = "GET", .path = "/lent", .handle = get_lent },
	&(const struct tw_http_route){
		.method = "GET", .path = "/problem", .handle = get_problem },
	&(const struct tw_http_route){
		.method = "GET", .path = "/wait", .handle = get_wait },
	&(const struct tw_http_route){ .method = "POST",
				       .path = "/stream",
				       .body_max = 1 << 24,
				       .body = &stream_body,
				       .handle = post_stream },
	&(const struct tw_http_route){ .method = "POST",
				       .path = "/refuse",
				       .body = &refuse_body,
				       .handle = post_stream },
};

struct server {
	struct app app;
	struct tw_httpd *httpd;
	int port;
};

static void start(struct server *s, struct tw_httpd_config c)
{
	struct tw_err err = { 0 };

	memset(s, 0, sizeof(*s));
	pthread_mutex_init(&s->app.gate, NULL);
	if (c.listen == NULL)
		c.listen = "127.0.0.1:0";
	c.routes = routes;
	c.route_count = sizeof(routes) / sizeof(routes[0]);
	c.app = &s->app;
	assert_int_equal(tw_httpd_open(&c, &s->httpd, &err), 0);
	s->port = atoi(strrchr(tw_httpd_address(s->httpd), ':') + 1);
	assert_true(s->port > 0);
}

static void stop(struct server *s)
{
	tw_httpd_close(s->httpd);
	pthread_mutex_destroy(&s->app.gate);
}

static int dial(const struct server *s)
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

static void say(int fd, const char *text)
{
	size_t len = strlen(text);

	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

/* All that comes until the server closes; a time-out fails the test. */
static char *hear(int fd)
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

/* Until the text has been heard, on a connection that stays. */
static void hear_until(int fd, const char *end)
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

static char *ask(const struct server *s, const char *request)
{
	int fd = dial(s);

	say(fd, request);
	return hear(fd);
}

static void answers(const struct server *s, const char *request, const char *status,
		    const char *body)
{
	char *answer = ask(s, request), *end;

	assert_memory_equal(answer, "HTTP/1.1 ", 9);
	assert_memory_equal(answer + 9, status, strlen(status));
	end = strstr(answer, "\r\n\r\n");
	assert_non_null(end);
	assert_string_equal(end + 4, body);
	free(answer);
}

#define HOST "Host: x\r\n"
#define CLOSE HOST "Connection: close\r\n"

/* A condition that another thread will make true; a bound, not a duration. */
static void wait_for(atomic_int *value, int want)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < 20000 && atomic_load(value) != want; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(atomic_load(value), want);
}

static void routes_are_found_by_path_and_method(void **state)
{
	struct server s;

	(void)state;
	start(&s, (struct tw_httpd_config){ 0 });
	answers(&s, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK", "{\"hello\":1}");
	answers(&s, "HEAD /hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK", "");
	answers(&s, "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" CLOSE "\r\nabcde",
		"200 OK", "abcde");
	answers(&s, "POST /echo HTTP/1.1\r\nContent-Length: 0\r\n" CLOSE "\r\n", "200 OK",
		"");
	answers(&s,
		"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE
		"\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
		"200 OK", "abcde");
	answers(&s, "GET /query?a=1%202%3b&b HTTP/1.1\r\nX-Test: y\r\n" CLOSE "\r\n",
		"200 OK", "/query|1 2;|y");
	answers(&s, "GET /query?b=1 HTTP/1.1\r\n" CLOSE "\r\n", "200 OK", "/query|-|-");
	stop(&s);
}

static void unknown_paths_and_methods_are_problems(void **state)
{
	struct server s;
	char *answer;

	(void)state;
	start(&s, (struct tw_httpd_config){ 0 });
	answers(&s, "GET /no%22pe HTTP/1.1\r\n" CLOSE "\r\n", "404 Not Found",
		"{\"title\":\"Not Found\",\"status\":404,"
		"\"detail\":\"no such path: '/no\\\"pe'\"}");
	answers(&s, "POST /hello/ HTTP/1.1\r\nContent-Length: 3\r\n" CLOSE "\r\nabc",
		"404 Not Found",
		"{\"title\":\"Not Found\",\"status\":404,"
		"\"detail\":\"no such path: '/hello/'\"}");
	answer = ask(&s, "PUT /hello HTTP/1.1\r\nContent-Length: 3\r\n" CLOSE "\r\nabc");
	assert_memory_equal(answer, "HTTP/1.1 405 ", 13);
	assert_non_null(strstr(answer, "\r\nAllow: GET, HEAD, POST\r\n"));
	assert_non_null(strstr(answer, "\r\nContent-Type: application/problem+json\r\n"));
	assert_non_null(strstr(answer, "\"detail\":\"'/hello' does not take PUT\""));
	free(answer);
	stop(&s);
}

static void a_nul_does_not_hide_what_follows(void **state)
{
	struct server s;

	(void)state;
	start(&s, (struct tw_httpd_config){ 0 });
	answers(&s, "GET /hello%00x HTTP/1.1\r\n" CLOSE "\r\n", "404 Not Found",
		"{\"title\":\"Not Found\",\"status\":404,"
		"\"detail\":\"no such path: '/hello?x'\"}");
	answers(&s, "GET /query?a=1%00b&%00a=2 HTTP/1.1\r\n" CLOSE "\r\n", "200 OK",
		"/query|1\1b|-");
	stop(&s);
}

static void an_error_becomes_its_status_and_drops_the_body(void **state)
{
	struct server s;

	(void)state;
	start(&s, (struct tw_httpd_config){ 0 });
	answers(&s, "GET /problem HTTP/1.1\r\n" CLOSE "\r\n", "404 Not Found",
		"{\"title\":\"Not Found\",\"status\":404,"
		"\"detail\":\"no model \\\"x\\\"\"}");
	assert_int_equal(atomic_load(&s.app.released), 1);
	stop(&s);
}

static void every_code_has_a_status(void **state)
{
	(void)state;
	assert_int_equal(tw_http_status(TW_OK), 200);
	for (unsigned c = TW_NOMEM; c < TW_CODE_COUNT; c++) {
		assert_true(tw_http_status((enum tw_code)c) >= 400);
		assert_true(tw_http_status((enum tw_code)c) < 600);
	}
	assert_int_equal(tw_http_status(TW_CODE_COUNT), 500);
}

static void a_lent_body_is_released_once(void **state)
{
	struct server s;

	(void)state;
	start(&s, (struct tw_httpd_config){ 0 });
	answers(&s, "GET /lent HTTP/1.1\r\n" CLOSE "\r\n", "200 OK", "lent");
	answers(&s, "HEAD /lent HTTP/1.1\r\n" CLOSE "\r\n", "200 OK", "");
	stop(&s);
	assert_int_equal(atomic_load(&s.app.released), 2);
}

static void an_attachments_name_cannot_break_the_header(void **state)
{
	struct server s;
	char *answer;

	(void)state;
	start(&s, (struct tw_httpd_config){ 0 });
	answer = ask(&s, "POST /echo HTTP/1.1\r\nContent-Length: 1\r\n" CLOSE "\r\nx");
	assert_non_null(strstr(answer, "\r\nContent-Disposition: attachment; "
				       "filename=\"na_me__.txt\"\r\n"));
	assert_non_null(strstr(answer, "\r\nContent-Type: text/plain\r\n"));
	free(answer);
	stop(&s);
}

static void a_body_over_the_limit_is_refused_at_its_headers(void **state)
{
	static const char *const lengths[] = { "11", "1073741824", "18446744073709551615",
					       "9223372036854775808" };
	struct server s;

	(void)state;
	start(&s, (struct tw_httpd_config){ .body_max = 10 });
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char request[128], body[128];

		/* No byte of it is sent, and no "Connection: close" asked for. */
		snprintf(request, sizeof(request),
			 "POST /echo HTTP/1.1\r\n" HOST "Content-Length: %s\r\n\r\n",
			 lengths[i]);
		snprintf(body, sizeof(body),
			 "{\"title\":\"Content Too Large\",\"status\":413,"
			 "\"detail\":\"body of %s bytes, limit is 10\"}",
			 lengths[i]);
		answers(&s, request, "413 ", body);
	}
	answers(&s,
		"POST /echo HTTP/1.1\r\nContent-Length: 10\r\n" CLOSE "\r\n0123456789",
		"200 OK", "0123456789");
	/* A route may have its own. */
	answers(&s,
		"POST /stream HTTP/1.1\r\nContent-Length: 11\r\n" CLOSE "\r\n0123456789A",
		"200 OK", "11");
	stop(&s);
}

static void a_number_too_large_for_any_length_is_refused(void **state)
{
	struct server s;
	char *answer;

	(void)state;
	start(&s, (struct tw_httpd_config){ 0 });
	answer = ask(&s, "POST /echo HTTP/1.1\r\n" HOST
			 "Content-Length: 99999999999999999999999\r\n\r\n");
	assert_memory_equal(answer, "HTTP/1.1 4", 10);
	free(answer);
	answer = ask(&s, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n");
	assert_memory_equal(answer, "HTTP/1.1 4", 10);
	free(answer);
	stop(&s);
}

static void a_chunked_body_over_the_limit_is_refused(void **state)
{
	struct server s;
	char *heard;
	int fd;

	(void)state;
	start(&s, (struct tw_httpd_config){ .body_max = 10 });
	answers(&s,
		"POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE
		"\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n0\r\n\r\n",
		"413 ",
		"{\"title\":\"Content Too Large\",\"status\":413,"
		"\"detail\":\"body of more than 10 bytes\"}");
	/* One that never ends is not listened to for ever. */
	fd = dial(&s);
	say(fd, "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST
		"\r\nB\r\n0123456789a\r\nB\r\n0123456789a\r\n");
	heard = hear(fd);
	assert_string_equal(heard, "");
	free(heard);
	stop(&s);
}

static void a_stream_is_fed_answered_and_freed(void **state)
{
	struct server s;

	(void)state;
	start(&s, (struct tw_httpd_config){ 0 });
	answers(&s,
		"POST /stream HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE
		"\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
		"200 OK", "5");
	answers(&s, "POST /stream HTTP/1.1\r\nContent-Length: 0\r\n" CLOSE "\r\n",
		"200 OK", "5");
	stop(&s);
	assert_int_equal(atomic_load(&s.app.streams), 2);
	assert_int_equal(atomic_load(&s.app.freed), 2);
}

static void a_failed_stream_answers_its_error_and_drops_the_rest(void **state)
{
	struct server s;

	(void)state;
	start(&s, (struct tw_httpd_config){ 0 });
	answers(&s,
		"POST /stream HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE
		"\r\n3\r\na!c\r\n2\r\nde\r\n0\r\n\r\n",
		"400 ",
		"{\"title\":\"Bad Request\",\"status\":400,"
		"\"detail\":\"byte '!' in the stream\"}");
	assert_int_equal(atomic_load(&s.app.fed), 0);
	answers(&s, "POST /refuse HTTP/1.1\r\nContent-Length: 2\r\n" CLOSE "\r\nab",
		"403 ",
		"{\"title\":\"Forbidden\",\"status\":403,\"detail\":\"not now\"}");
	stop(&s);
	assert_int_equal(atomic_load(&s.app.freed), 1);
}

static void an_aborted_stream_is_freed_once(void **state)
{
	struct server s;
	int fd;

	(void)state;
	start(&s, (struct tw_httpd_config){ 0 });
	fd = dial(&s);
	say(fd, "POST /stream HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\nabc");
	wait_for(&s.app.streams, 1);
	close(fd);
	wait_for(&s.app.freed, 1);
	stop(&s);
	assert_int_equal(atomic_load(&s.app.freed), 1);
}

static void a_slow_client_does_not_hold_up_another(void **state)
{
	struct server s;
	int slow[20];

	(void)state;
	start(&s, (struct tw_httpd_config){ .threads = 1 });
	for (size_t i = 0; i < 20; i++) {
		slow[i] = dial(&s);
		say(slow[i], i % 2 != 0 ? "GET /hel"
					: "POST /echo HTTP/1.1\r\n" HOST
					  "Content-Length: 9\r\n\r\nabc");
	}
	answers(&s, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK", "{\"hello\":1}");
	for (size_t i = 0; i < 20; i++)
		close(slow[i]);
	stop(&s);
}

static void an_idle_client_is_hung_up_on(void **state)
{
	struct server s;
	char *heard;
	int fd;

	(void)state;
	start(&s, (struct tw_httpd_config){ .idle_timeout_ms = 900 });
	fd = dial(&s);
	say(fd, "GET /hel");
	heard = hear(fd);
	assert_null(strstr(heard, "200 OK"));
	free(heard);
	stop(&s);
}

static void *ask_wait(void *arg)
{
	return ask(arg, "GET /wait HTTP/1.1\r\n" CLOSE "\r\n");
}

static void a_slow_handler_outlives_the_time_out_and_disturbs_nobody(void **state)
{
	const struct timespec longer = { .tv_sec = 2, .tv_nsec = 200000000 };
	pthread_t thread;
	struct server s;
	void *answer;

	(void)state;
	start(&s, (struct tw_httpd_config){ .thread_per_connection = true,
					    .idle_timeout_ms = 1000 });
	pthread_mutex_lock(&s.app.gate);
	assert_int_equal(pthread_create(&thread, NULL, ask_wait, &s), 0);
	wait_for(&s.app.waiting, 1);
	answers(&s, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK", "{\"hello\":1}");
	nanosleep(&longer, NULL); /* the time-out itself is what is tested */
	pthread_mutex_unlock(&s.app.gate);
	pthread_join(thread, &answer);
	assert_non_null(strstr(answer, "\r\n\r\nwaited"));
	free(answer);
	stop(&s);
}

static void *close_server(void *arg)
{
	tw_httpd_close(arg);
	return NULL;
}

static void a_request_in_progress_ends_before_the_server_does(void **state)
{
	pthread_t asker, closer;
	struct server s;
	void *answer;

	(void)state;
	start(&s, (struct tw_httpd_config){ .threads = 2 });
	pthread_mutex_lock(&s.app.gate);
	assert_int_equal(pthread_create(&asker, NULL, ask_wait, &s), 0);
	wait_for(&s.app.waiting, 1);
	assert_int_equal(pthread_create(&closer, NULL, close_server, s.httpd), 0);
	pthread_mutex_unlock(&s.app.gate);
	pthread_join(asker, &answer);
	pthread_join(closer, NULL);
	assert_non_null(strstr(answer, "\r\n\r\nwaited"));
	free(answer);
	pthread_mutex_destroy(&s.app.gate);
}

static void connections_are_kept_and_limited(void **state)
{
	struct server s;
	int fd[3];

	(void)state;
	start(&s, (struct tw_httpd_config){ .connections_max = 2, .threads = 8 });
	for (size_t i = 0; i < 2; i++) {
		fd[i] = dial(&s);
		say(fd[i], "GET /hello HTTP/1.1\r\n" HOST "\r\n");
		hear_until(fd[i], "{\"hello\":1}");
		say(fd[i], "GET /lent HTTP/1.1\r\n" HOST "\r\n");
		hear_until(fd[i], "\r\n\r\nlent");
	}
	/* The third waits in the queue until one leaves. */
	fd[2] = dial(&s);
	say(fd[2], "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	close(fd[0]);
	hear_until(fd[2], "{\"hello\":1}");
	close(fd[1]);
	close(fd[2]);
	stop(&s);
}

static void addresses_are_checked_and_told(void **state)
{
	static const char *const bad[] = {
		"",       "127.0.0.1", "127.0.0.1:x",  "1.2.3.4:65536",
		"::1:80", "[::1]",     "127.0.0.1:-1", ":"
	};
	struct tw_httpd_config c = { 0 };
	struct tw_httpd *httpd = NULL;
	struct server s;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct tw_err err = { 0 };

		c.listen = bad[i];
		assert_int_equal(tw_httpd_open(&c, &httpd, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_memory_equal(err.text, "address '", 9);
		assert_null(httpd);
	}
	start(&s, (struct tw_httpd_config){ .listen = ":0" });
	answers(&s, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK", "{\"hello\":1}");
	stop(&s);
}

static void a_port_in_use_is_an_error(void **state)
{
	struct tw_httpd_config c = { 0 };
	struct tw_httpd *httpd = NULL;
	struct tw_err err = { 0 };
	struct server s;
	char want[128];

	(void)state;
	start(&s, (struct tw_httpd_config){ 0 });
	c.listen = tw_httpd_address(s.httpd);
	assert_int_equal(tw_httpd_open(&c, &httpd, &err), -1);
	snprintf(want, sizeof(want), "cannot listen on '%s': Address already in use",
		 c.listen);
	assert_string_equal(err.text, want);
	stop(&s);
	tw_httpd_close(NULL);
}

static void a_problem_needs_no_memory(void **state)
{
	int failures = 0;

	(void)state;
	for (int n = 1;; n++) {
		struct tw_http_reply r = { 0 };
		bool hit;

		fail_alloc_at(n);
		tw_http_reply_problem(&r, 404, "no such \"thing\"");
		hit = fail_alloc_hit();
		assert_string_equal(r.content_type, "application/problem+json");
		assert_int_equal(r.status, hit ? 503 : 404);
		assert_non_null(
			strstr(r.body, hit ? "\"out of memory\"" : "\\\"thing\\\""));
		tw_http_reply_release(&r);
		if (!hit)
			break;
		failures++;
	}
	assert_true(failures >= 1);
}

static void a_server_without_memory_is_an_error(void **state)
{
	const struct tw_httpd_config c = { .listen = "127.0.0.1:0" };
	struct tw_httpd *httpd = NULL;
	struct tw_err err = { 0 };

	(void)state;
	fail_alloc_at(1);
	assert_int_equal(tw_httpd_open(&c, &httpd, &err), -1);
	assert_true(fail_alloc_hit());
	assert_int_equal(err.code, TW_NOMEM);
	assert_null(httpd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_are_found_by_path_and_method),
		cmocka_unit_test(unknown_paths_and_methods_are_problems),
		cmocka_unit_test(a_nul_does_not_hide_what_follows),
		cmocka_unit_test(an_error_becomes_its_status_and_drops_the_body),
		cmocka_unit_test(every_code_has_a_status),
		cmocka_unit_test(a_lent_body_is_released_once),
		cmocka_unit_test(an_attachments_name_cannot_break_the_header),
		cmocka_unit_test(a_body_over_the_limit_is_refused_at_its_headers),
		cmocka_unit_test(a_number_too_large_for_any_length_is_refused),
		cmocka_unit_test(a_chunked_body_over_the_limit_is_refused),
		cmocka_unit_test(a_stream_is_fed_answered_and_freed),
		cmocka_unit_test(a_failed_stream_answers_its_error_and_drops_the_rest),
		cmocka_unit_test(an_aborted_stream_is_freed_once),
		cmocka_unit_test(a_slow_client_does_not_hold_up_another),
		cmocka_unit_test(an_idle_client_is_hung_up_on),
		cmocka_unit_test(
			a_slow_handler_outlives_the_time_out_and_disturbs_nobody),
		cmocka_unit_test(a_request_in_progress_ends_before_the_server_does),
		cmocka_unit_test(connections_are_kept_and_limited),
		cmocka_unit_test(addresses_are_checked_and_told),
		cmocka_unit_test(a_port_in_use_is_an_error),
		cmocka_unit_test(a_problem_needs_no_memory),
		cmocka_unit_test(a_server_without_memory_is_an_error),
	};

	return cmocka_run_group_tests_name("httpd", tests, NULL, NULL);
}
