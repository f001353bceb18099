/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/http/server/expo.h"
#include "lib/http/server/httpd.h"
#include "lib/http/server/httpd_stats.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct tw_expo_family family = { "x_total", TW_EXPO_COUNTER, NULL, "X." };

static void write_one(void *arg, struct tw_expo *e)
{
	tw_expo_family(e, &family);
	tw_expo_count(e, NULL, 0, *(const uint64_t *)arg);
}

static void get_metrics(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	tw_http_reply_metrics(q, r, write_one, app);
}

static int open_server(const char *listen, const char *web_config, uint64_t *count,
		       struct tw_httpd **out, struct tw_err *err)
{
	static const struct tw_http_route route = { "GET", "/metrics",
						    .handle = get_metrics };
	const struct tw_httpd_config c = { .listen = listen,
					   .routes = &route,
					   .route_count = 1,
					   .app = count,
					   .callers_thread = true,
					   .web_config = web_config };

	return tw_httpd_open(&c, out, err);
}

static int dial(const struct tw_httpd *s)
{
	const char *colon = strrchr(tw_httpd_address(s), ':');
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)atoi(colon + 1)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* Send a request of one connection, and run the server until it has closed it. */
static void exchange(struct tw_httpd *s, const char *request, char *text, size_t size)
{
	const int client = dial(s);
	size_t len = 0;
	ssize_t n = 1;

	assert_int_equal(send(client, request, strlen(request), 0), strlen(request));
	while (n > 0) {
		struct pollfd p[] = { { .fd = client, .events = POLLIN },
				      { .fd = tw_httpd_fd(s), .events = POLLIN } };

		assert_true(poll(p, 2, 10000) > 0);
		if (p[1].revents != 0)
			tw_httpd_run(s);
		if (p[0].revents == 0)
			continue;
		n = recv(client, text + len, size - 1 - len, 0);
		assert_true(n >= 0);
		len += (size_t)n;
	}
	text[len] = '\0';
	close(client);
}

static void the_callers_loop_answers(void **state)
{
	struct tw_httpd *s = NULL;
	struct tw_err err = { 0 };
	uint64_t count = 7;
	char text[4096];
	int silent;

	(void)state;
	assert_int_equal(open_server("127.0.0.1:0", NULL, &count, &s, &err), 0);
	assert_true(tw_httpd_timeout_ms(s) == -1);
	silent = dial(s);
	exchange(s, "GET /metrics?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		 text, sizeof(text));
	assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(text, "\r\n\r\n# HELP x_total X.\n"));
	assert_non_null(strstr(text, "\nx_total 7\n"));
	/* The silent connection has a deadline. */
	assert_true(tw_httpd_timeout_ms(s) >= 0);
	count = 8;
	exchange(s,
		 "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		 "Accept: application/openmetrics-text; version=1.0.0\r\n\r\n",
		 text, sizeof(text));
	assert_non_null(strstr(text, "Content-Type: application/openmetrics-text"));
	assert_non_null(strstr(text, "x_total 8\n# EOF\n"));
	exchange(s, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", text,
		 sizeof(text));
	assert_non_null(strstr(text, "HTTP/1.1 404 "));
	exchange(s, "POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		 text, sizeof(text));
	assert_non_null(strstr(text, "HTTP/1.1 405 "));
	close(silent);
	tw_httpd_close(s);
}

static void an_address_or_a_web_configuration_that_fails_is_named(void **state)
{
	struct tw_httpd *s = NULL;
	struct tw_err err = { 0 };
	uint64_t count = 0;

	(void)state;
	assert_int_equal(open_server("127.0.0.1:0", "/nowhere/web.yml", &count, &s, &err),
			 -1);
	assert_non_null(strstr(err.text, "/nowhere/web.yml"));
	tw_err_clear(&err);
	assert_int_equal(open_server("192.0.2.1:1", NULL, &count, &s, &err), -1);
	assert_non_null(strstr(err.text, "192.0.2.1:1"));
	assert_null(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_callers_loop_answers),
		cmocka_unit_test(an_address_or_a_web_configuration_that_fails_is_named),
	};

	return cmocka_run_group_tests_name("scrapes", tests, NULL, NULL);
}
