/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines of a connection before, while and after the server works on its answer. The
 * test sets the guard's clock and makes it check.
 */
#include "tests/unit/tw_test.h"

#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd.h"
#include "lib/http/server/httpd_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* More than the socket buffers of both ends hold. */
#define BIG_BYTES ((size_t)64 << 20)

/* The guard's clock, which only the test advances. */
static atomic_ullong clock_ms = 1000000;

uint64_t __wrap_tw_now_ms(void);

uint64_t __wrap_tw_now_ms(void)
{
	return atomic_load(&clock_ms);
}

static struct {
	struct tw_httpd *httpd;
	pthread_mutex_t gate; /* held by a test to keep /work in progress */
	bool shut;
	atomic_int begun;
	int fd; /* the client's */
} at = { .gate = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static void post_work(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	(void)app;
	(void)q;
	atomic_fetch_add(&at.begun, 1);
	pthread_mutex_lock(&at.gate);
	pthread_mutex_unlock(&at.gate);
	tw_http_reply_lend(r, "worked", 6, NULL, NULL);
}

static void get_big(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	char *body = calloc(1, BIG_BYTES);

	(void)app;
	(void)q;
	if (body != NULL)
		tw_http_reply_take(r, body, BIG_BYTES);
	else
		r->failed = true;
}

static const struct tw_http_route routes[] = {
	{ .method = "POST", .path = "/work", .handle = post_work, .slow = true },
	{ .method = "GET", .path = "/big", .handle = get_big },
	{ .method = "POST", .path = "/small", .body_max = 4, .handle = post_work },
};

static void start(bool thread_per_connection)
{
	const struct tw_httpd_config c = {
		.listen = "127.0.0.1:0",
		.routes = routes,
		.route_count = 3,
		.threads = 1,
		.thread_per_connection = thread_per_connection,
		/* The library's time-out, which uses another clock. */
		.idle_timeout_ms = 60000,
	};
	struct tw_err err = { 0 };

	assert_int_equal(tw_httpd_open(&c, &at.httpd, &err), 0);
}

static int setup_threads(void **state)
{
	(void)state;
	start(true);
	return 0;
}

static int setup_work(void **state)
{
	(void)state;
	start(false);
	return 0;
}

static void shut_gate(void)
{
	pthread_mutex_lock(&at.gate);
	at.shut = true;
}

static void open_gate(void)
{
	if (at.shut)
		pthread_mutex_unlock(&at.gate);
	at.shut = false;
}

/* A failed assertion leaves the test at once, so this releases all it holds. */
static int teardown(void **state)
{
	(void)state;
	open_gate();
	if (at.fd >= 0)
		close(at.fd);
	at.fd = -1;
	tw_httpd_close(at.httpd);
	at.httpd = NULL;
	atomic_store(&at.begun, 0);
	return 0;
}

static void dial(void)
{
	const char *address = tw_httpd_address(at.httpd);
	struct sockaddr_in a = { .sin_family = AF_INET };
	struct timeval limit = { .tv_sec = 20 };

	a.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(at.fd >= 0);
	assert_int_equal(
		setsockopt(at.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	assert_int_equal(connect(at.fd, (struct sockaddr *)&a, sizeof(a)), 0);
}

static void say(const char *text)
{
	const size_t len = strlen(text);

	assert_int_equal(send(at.fd, text, len, MSG_NOSIGNAL), len);
}

static void ask_for_work(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	dial();
	say("POST /work HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx");
	for (int i = 0; i < 20000 && atomic_load(&at.begun) < 1; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(atomic_load(&at.begun), 1);
}

/* Advance the clock, then end late connections. */
static void pass(uint64_t ms)
{
	atomic_fetch_add(&clock_ms, ms);
	tw_httpd_end_late(at.httpd);
}

/* Read up to and including the text. */
static void hear_until(const char *end)
{
	char text[4096] = "";
	size_t len = 0;

	while (strstr(text, end) == NULL) {
		assert_true(len + 1 < sizeof(text));
		assert_int_equal(recv(at.fd, text + len, 1, 0), 1);
		text[++len] = '\0';
	}
}

/* Whether the server has closed the connection and all bytes have been read. */
static bool is_ended(void)
{
	char byte;
	const ssize_t n = recv(at.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

	assert_true(n == 0 || errno == EAGAIN || errno == ECONNRESET);
	return n == 0 || errno == ECONNRESET;
}

static void no_deadline_runs_while_the_server_works(void **state)
{
	(void)state;
	shut_gate();
	ask_for_work();
	pass(TW_GUARD_HEAD_MS + TW_GUARD_MS_PER_KIB + 1);
	assert_false(is_ended());
	pass(TW_GUARD_ANSWER_MS + 1);
	assert_false(is_ended());
	open_gate();
	hear_until("\r\n\r\nworked");
}

static void an_endless_body_has_a_deadline(void **state)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	(void)state;
	dial();
	say("POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "6\r\nabcdef\r\n6\r\nabcdef\r\n");
	for (int i = 0; i < 20000 && !is_ended(); i++) {
		pass(TW_GUARD_HEAD_MS + 1);
		nanosleep(&pause, NULL);
	}
	assert_true(is_ended());
}

static void a_missing_body_has_a_deadline(void **state)
{
	(void)state;
	dial();
	say("POST /work HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
	    "Content-Length: 2\r\n\r\n");
	/* The server has read the headers. */
	hear_until("100 Continue\r\n\r\n");
	say("x");
	pass(TW_GUARD_HEAD_MS - 1000);
	assert_false(is_ended());
	pass(2 * TW_GUARD_HEAD_MS);
	assert_true(is_ended());
	assert_int_equal(atomic_load(&at.begun), 0);
}

static void the_deadline_of_the_answer_starts_with_its_first_byte(void **state)
{
	char buffer[1 << 16];
	size_t taken = 0;
	ssize_t n;

	(void)state;
	shut_gate();
	ask_for_work();
	pass(TW_GUARD_ANSWER_MS + 1);
	open_gate();
	hear_until("\r\n\r\nworked");
	say("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
	hear_until("\r\n\r\n");
	pass(TW_GUARD_ANSWER_MS - 1000);
	/* The rest arrives, but the client does not read all of it before the deadline.
	 */
	while (taken < BIG_BYTES / 2 && (n = recv(at.fd, buffer, sizeof(buffer), 0)) > 0)
		taken += (size_t)n;
	assert_true(taken >= BIG_BYTES / 2);
	pass(2000);
	while ((n = recv(at.fd, buffer, sizeof(buffer), 0)) > 0)
		taken += (size_t)n;
	assert_true(n == 0 || errno == ECONNRESET);
	assert_true(taken < BIG_BYTES);
}

static void after_the_answer_the_next_request_has_a_deadline(void **state)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	(void)state;
	ask_for_work();
	hear_until("\r\n\r\nworked");
	/* The client may read the answer before the server resets the deadline. */
	for (int i = 0; i < 20000 && !is_ended(); i++) {
		pass(TW_GUARD_HEAD_MS + 1);
		nanosleep(&pause, NULL);
	}
	assert_true(is_ended());
}

int main(void)
{
#define TEST(name, mode)                                                 \
	{                                                                \
#name " (" #mode ")", name, setup_##mode, teardown, NULL \
	}
	const struct CMUnitTest tests[] = {
		TEST(no_deadline_runs_while_the_server_works, threads),
		TEST(no_deadline_runs_while_the_server_works, work),
		TEST(an_endless_body_has_a_deadline, threads),
		TEST(an_endless_body_has_a_deadline, work),
		TEST(a_missing_body_has_a_deadline, threads),
		TEST(a_missing_body_has_a_deadline, work),
		TEST(the_deadline_of_the_answer_starts_with_its_first_byte, threads),
		TEST(the_deadline_of_the_answer_starts_with_its_first_byte, work),
		TEST(after_the_answer_the_next_request_has_a_deadline, threads),
		TEST(after_the_answer_the_next_request_has_a_deadline, work),
	};

	return cmocka_run_group_tests_name("httpd deadlines", tests, NULL, NULL);
}
