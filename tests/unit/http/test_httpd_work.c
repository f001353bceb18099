/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/http/client/http.h"
#include "lib/http/server/httpd.h"
#include "lib/http/server/httpd_work.h"
#include "tests/unit/http_calls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS (TW_HTTPD_WORK_MAX + 3)

/* A client with a thread of its own. */
struct client {
	pthread_t thread;
	bool asks; /* its thread runs */
	const char *body;
	char url[128];
	unsigned status;
	char text[128];
};

/*
 * The handler of /slow waits for the gate. A failed assertion leaves the test at once, so
 * the tear-down must find here all that it has to release.
 */
static struct {
	struct tw_httpd *httpd;
	pthread_mutex_t gate;
	bool shut, closing;
	pthread_t closer;
	atomic_int begun, answered;
	struct client client[CLIENTS];
} server = { .gate = PTHREAD_MUTEX_INITIALIZER };

static void shut_gate(void)
{
	pthread_mutex_lock(&server.gate);
	server.shut = true;
}

static void open_gate(void)
{
	if (server.shut)
		pthread_mutex_unlock(&server.gate);
	server.shut = false;
}

static void get_quick(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	(void)app;
	(void)q;
	tw_http_reply_lend(r, "quick", 5, NULL, NULL);
}

/* Echo parameter, body and presence of a header: they must still be valid. */
static void post_slow(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	const char *header = tw_http_header(q, "User-Agent");
	char *text = malloc(q->len + 64);

	(void)app;
	atomic_fetch_add(&server.begun, 1);
	pthread_mutex_lock(&server.gate);
	pthread_mutex_unlock(&server.gate);
	assert_non_null(text);
	snprintf(text, q->len + 64, "%s %s %.32s", tw_http_param(q, "name"), q->body,
		 header != NULL ? "from somebody" : "");
	tw_http_reply_take(r, text, strlen(text));
}

static const struct tw_http_route routes[] = {
	{ .method = "GET", .path = "/quick", .handle = get_quick },
	{ .method = "POST", .path = "/slow/{name}", .handle = post_slow, .slow = true },
};

static int setup(void **state)
{
	const struct tw_httpd_config c = {
		.listen = "127.0.0.1:0", .routes = routes, .route_count = 2, .threads = 1
	};
	struct tw_err err = { 0 };

	(void)state;
	atomic_store(&server.begun, 0);
	atomic_store(&server.answered, 0);
	assert_int_equal(tw_httpd_open(&c, &server.httpd, &err), 0);
	return 0;
}

static void join(struct client *k)
{
	if (k->asks)
		pthread_join(k->thread, NULL);
	k->asks = false;
}

static int teardown(void **state)
{
	(void)state;
	open_gate();
	for (size_t i = 0; i < CLIENTS; i++)
		join(&server.client[i]);
	if (server.closing)
		pthread_join(server.closer, NULL);
	else
		tw_httpd_close(server.httpd);
	server.closing = false;
	server.httpd = NULL;
	return 0;
}

static void wait_for(atomic_int *value, int want)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < 20000 && atomic_load(value) < want; i++)
		nanosleep(&pause, NULL);
	assert_true(atomic_load(value) >= want);
}

static void *call(void *arg)
{
	struct client *k = arg;
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };
	const struct tw_http_call c = { .url = k->url,
					.body = k->body,
					.body_len = k->body != NULL ? strlen(k->body) : 0,
					.timeout_ms = 60000 };

	if (tw_http_call(&c, &a, &err) == 0) {
		k->status = a.status;
		snprintf(k->text, sizeof(k->text), "%s", a.body);
	}
	tw_http_answer_release(&a);
	atomic_fetch_add(&server.answered, 1);
	return NULL;
}

static struct client *ask(const char *path, const char *body)
{
	struct client *k = server.client;

	while (k < server.client + CLIENTS && k->asks)
		k++;
	assert_true(k < server.client + CLIENTS);
	*k = (struct client){ .body = body };
	snprintf(k->url, sizeof(k->url), "http://%s%s", tw_httpd_address(server.httpd),
		 path);
	assert_int_equal(pthread_create(&k->thread, NULL, call, k), 0);
	k->asks = true;
	return k;
}

static void is_answered(struct client *k, unsigned status, const char *text)
{
	join(k);
	assert_int_equal(k->status, status);
	if (strstr(k->text, text) == NULL)
		fail_msg("%s, want %s", k->text, text);
}

static void a_slow_request_does_not_delay_the_event_thread(void **state)
{
	struct client *slow;

	(void)state;
	shut_gate();
	slow = ask("/slow/one", "body");
	wait_for(&server.begun, 1);
	for (int i = 0; i < 50; i++)
		is_answered(ask("/quick", NULL), 200, "quick");
	open_gate();
	is_answered(slow, 200, "one body ");
}

static void a_full_queue_answers_503(void **state)
{
	size_t done = 0, refused = 0;

	(void)state;
	shut_gate();
	for (size_t i = 0; i < CLIENTS; i++)
		ask("/slow/some", "x");
	/* One handler runs at a time; requests beyond the queue do not wait. */
	wait_for(&server.answered, 3);
	wait_for(&server.begun, 1);
	assert_int_equal(atomic_load(&server.begun), 1);
	open_gate();
	for (size_t i = 0; i < CLIENTS; i++) {
		struct client *k = &server.client[i];

		join(k);
		done += k->status == 200;
		refused += k->status == 503 &&
			   strstr(k->text, "too many requests of this kind at a time") !=
				   NULL;
	}
	assert_int_equal(done, TW_HTTPD_WORK_MAX);
	assert_int_equal(refused, 3);
	is_answered(ask("/slow/again", "y"), 200, "again y");
}

/* Send a request and disconnect. */
static void ask_and_leave(void)
{
	static const char text[] = "POST /slow/x HTTP/1.1\r\nHost: x\r\n"
				   "Content-Length: 1\r\n\r\nx";
	const char *address = tw_httpd_address(server.httpd);
	struct sockaddr_in a = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL),
			 sizeof(text) - 1);
	close(fd);
}

static void a_client_that_disconnects_leaks_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 3 * TW_HTTPD_WORK_MAX; i++) {
		ask_and_leave();
		wait_for(&server.begun, i + 1);
	}
	is_answered(ask("/slow/after", "z"), 200, "after z");
}

static void *close_server(void *arg)
{
	tw_httpd_close(arg);
	return NULL;
}

static void queued_requests_are_answered_503_at_the_end(void **state)
{
	struct client *first, *second;

	(void)state;
	shut_gate();
	first = ask("/slow/first", "1");
	wait_for(&server.begun, 1);
	second = ask("/slow/second", "2");
	assert_int_equal(pthread_create(&server.closer, NULL, close_server, server.httpd),
			 0);
	server.closing = true;
	open_gate();
	is_answered(first, 200, "first 1");
	/* The request may have started, have been queued, or have come too late. */
	join(second);
	assert_true(second->status == 200 || second->status == 503 ||
		    second->status == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_slow_request_does_not_delay_the_event_thread),
		TEST(a_full_queue_answers_503),
		TEST(a_client_that_disconnects_leaks_nothing),
		TEST(queued_requests_are_answered_503_at_the_end),
	};

	return cmocka_run_group_tests_name("httpd_work", tests, http_begin, NULL);
}
