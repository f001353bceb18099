/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/scrapes.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"

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
	(void)arg;
	tw_expo_family(e, &family);
	tw_expo_count(e, NULL, 0, 7);
}

/* The first line of the answer to a head. */
static void answers(const char *head, const char *status)
{
	struct tw_buf b = { 0 };

	tw_scrape_answer(head, strlen(head), write_one, NULL, &b);
	assert_false(tw_buf_failed(&b));
	if (strncmp(b.data, status, strlen(status)) != 0)
		fail_msg("%s: %s", head, b.data);
	tw_buf_clear(&b);
}

static void only_get_metrics_is_answered(void **state)
{
	(void)state;
	answers("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK\r\n");
	answers("GET /metrics?a=b HTTP/1.0\n\n", "HTTP/1.1 200 OK\r\n");
	answers("GET /metricsx HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ");
	answers("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ");
	answers("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 ");
	answers("GE /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 ");
	answers("GET /metrics", "HTTP/1.1 400 ");
	answers("GET /metrics HTTP/2.01\r\n\r\n", "HTTP/1.1 400 ");
	answers("", "HTTP/1.1 400 ");
	answers("\r\n\r\n", "HTTP/1.1 400 ");
	answers("  HTTP/1.1\r\n\r\n", "HTTP/1.1 404 ");
}

static void the_accept_header_selects_the_format(void **state)
{
	static const char head[] =
		"GET /metrics HTTP/1.1\r\naccept:  application/openmetrics-text; "
		"version=1.0.0\r\n\r\n";
	struct tw_buf b = { 0 };

	(void)state;
	tw_scrape_answer(head, sizeof(head) - 1, write_one, NULL, &b);
	assert_non_null(strstr(b.data, "Content-Type: application/openmetrics-text"));
	assert_non_null(strstr(b.data, "\r\n\r\n# HELP x X.\n"));
	assert_non_null(strstr(b.data, "x_total 7\n# EOF\n"));
	tw_buf_clear(&b);
}

static int dial(const struct tw_scrapes *s)
{
	const char *colon = strrchr(tw_scrapes_address(s), ':');
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)atoi(colon + 1)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* Run it until the client has something to read. */
static void run_until_readable(struct tw_scrapes *s, int client)
{
	for (;;) {
		struct pollfd p[] = { { .fd = client, .events = POLLIN },
				      { .fd = tw_scrapes_fd(s), .events = POLLIN } };

		assert_true(poll(p, 2, 10000) > 0);
		if (p[0].revents != 0)
			return;
		tw_scrapes_run(s);
	}
}

/* Clients that say nothing: as many as there is room for, and one more. */
static void silent_connections_do_not_block_a_scraper(void **state)
{
	int silent[TW_SCRAPES_MAX + 1], client;
	struct tw_scrapes *s = NULL;
	struct tw_err err = { 0 };
	char text[1024];
	ssize_t n;

	(void)state;
	assert_int_equal(tw_scrapes_open("127.0.0.1:0", write_one, NULL, &s, &err), 0);
	for (size_t i = 0; i <= TW_SCRAPES_MAX; i++) {
		silent[i] = dial(s);
		assert_int_equal(send(silent[i], "GET", 3, 0), 3);
	}
	client = dial(s);
	assert_int_equal(send(client, "GET /metrics HTTP/1.1\r\n\r\n", 25, 0), 25);
	run_until_readable(s, client);
	n = recv(client, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "x_total 7\n"));
	/* The oldest made room. */
	assert_true(recv(silent[0], text, sizeof(text), 0) <= 0);
	close(client);
	for (size_t i = 0; i <= TW_SCRAPES_MAX; i++)
		close(silent[i]);
	tw_scrapes_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_get_metrics_is_answered),
		cmocka_unit_test(the_accept_header_selects_the_format),
		cmocka_unit_test(silent_connections_do_not_block_a_scraper),
	};

	return cmocka_run_group_tests_name("scrapes", tests, NULL, NULL);
}
