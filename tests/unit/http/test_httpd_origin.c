/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/server/httpd_origin.h"
#include "tests/unit/toy_server.h"

#include <stdlib.h>
#include <string.h>

enum { LOOPBACK = 1, USERS = 2, READS = 4, NAMES = 8 };

#define REFUSED(origin, host, how, why)                            \
	{                                                          \
		{ origin, host, NULL, NULL, NULL, NULL }, how, why \
	}
#define FETCHED(site, mode, host, how, why)                               \
	{                                                                 \
		{ NULL, host, site, mode, "Mozilla/5.0", NULL }, how, why \
	}
#define ORIGIN "Origin"
#define SITE "Sec-Fetch-Site"
#define HOSTS "header Host"

static void requests_of_browsers_are_of_this_server(void **state)
{
	static const struct {
		struct tw_origin_headers h;
		unsigned how;
		const char *why; /* NULL: not refused */
	} cases[] = {
		REFUSED(NULL, "evil.example", LOOPBACK, NULL),
		REFUSED("http://127.0.0.1:8102", "127.0.0.1:8102", LOOPBACK, NULL),
		REFUSED("http://[::1]:8102", "[::1]:8102", LOOPBACK, NULL),
		REFUSED("HTTP://LocalHost:8102", "localhost:8102", LOOPBACK, NULL),
		REFUSED("https://models.example", "models.example", USERS, NULL),
		REFUSED("https://models.example", "models.example", NAMES, NULL),
		REFUSED("https://models.example", "models.example", 0, HOSTS),
		REFUSED("https://models.example", "models.example", USERS | NAMES, NULL),
		REFUSED("https://evil.example", "evil.example", USERS | NAMES, HOSTS),
		REFUSED("http://evil.example", "127.0.0.1:8102", LOOPBACK, ORIGIN),
		REFUSED("http://evil.example", "models.example", 0, ORIGIN),
		REFUSED("http://127.0.0.1:9999", "127.0.0.1:8102", LOOPBACK, ORIGIN),
		REFUSED("http://models.example.evil", "models.example", 0, ORIGIN),
		REFUSED("null", "127.0.0.1:8102", LOOPBACK, ORIGIN),
		REFUSED("", "", 0, ORIGIN),
		REFUSED("http://x", NULL, 0, ORIGIN),
		REFUSED("http://evil.example", "127.0.0.1:8102", READS, NULL),
		REFUSED("http://evil.example", "127.0.0.1:8102", READS | USERS, ORIGIN),
		/* A name that its owner has given this address. */
		REFUSED("http://evil.example:8102", "evil.example:8102", LOOPBACK, HOSTS),
		REFUSED("http://evil.example:8102", "evil.example:8102", 0, HOSTS),
		REFUSED("http://127.0.0.1.evil.example", "127.0.0.1.evil.example",
			LOOPBACK, HOSTS),
		REFUSED("http://[::1", "[::1", LOOPBACK, HOSTS),
		FETCHED("same-origin", "cors", "evil.example:8103", READS, HOSTS),
		FETCHED(NULL, NULL, "evil.example:8103", READS, HOSTS),
		FETCHED(NULL, NULL, "evil.example:8103", READS | LOOPBACK, HOSTS),
		FETCHED(NULL, NULL, NULL, READS, HOSTS),
		FETCHED(NULL, NULL, "tw-server:8100", READS, NULL),
		FETCHED(NULL, NULL, "tw-server:8100", READS | LOOPBACK, HOSTS),
		FETCHED(NULL, NULL, "10.0.0.7:8100", READS, NULL),
		FETCHED(NULL, NULL, "MODELS.example", READS | NAMES, NULL),
		/* A page of another site, where the browser knows the user's password. */
		FETCHED("cross-site", "no-cors", "127.0.0.1:1", READS | USERS, SITE),
		FETCHED("same-site", "cors", "127.0.0.1:1", READS | USERS, SITE),
		FETCHED("cross-site", "navigate", "127.0.0.1:1", READS | USERS, NULL),
		FETCHED("cross-site", "no-cors", "127.0.0.1:1", READS, NULL),
		FETCHED("cross-site", "navigate", "127.0.0.1:1", 0, SITE),
		FETCHED("none", "navigate", "127.0.0.1:1", USERS, NULL),
	};
	struct tw_strs names = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_strs_adds(&names, "models.example", &err), 0);
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_origin_rules r = {
			.names = (cases[i].how & NAMES) != 0 ? &names : NULL,
			.loopback = (cases[i].how & LOOPBACK) != 0,
			.users = (cases[i].how & USERS) != 0,
			.reads = (cases[i].how & READS) != 0,
		};
		const char *why = tw_origin_refusal(&cases[i].h, &r);

		if ((why == NULL) != (cases[i].why == NULL) ||
		    (why != NULL && strstr(why, cases[i].why) == NULL))
			fail_msg("case %zu: %s", i, why != NULL ? why : "allowed");
	}
	tw_strs_clear(&names);
}

/* Clients of docs/wire.md send no header that all browsers send. */
static void programs_may_use_any_name(void **state)
{
	static const char *const agents[] = { NULL, "Prometheus/2.45.0",
					      "Go-http-client/1.1", "curl/7.88.1",
					      "python-requests/2.31.0" };
	const struct tw_origin_rules r = { .reads = true };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(agents); i++) {
		const struct tw_origin_headers h = {
			.host = "kepler-model-server.kepler.svc.cluster.local:8100",
			.agent = agents[i],
		};

		assert_null(tw_origin_refusal(&h, &r));
	}
}

static void a_page_of_another_site_reads_but_does_not_write(void **state)
{
	static const char refused[] =
		"{\"title\":\"Forbidden\",\"status\":403,"
		"\"detail\":\"the header Origin is not of this server\"}";
	static const char host[] =
		"{\"title\":\"Forbidden\",\"status\":403,\"detail\":\"the header Host "
		"is not a name of this server: set --host-names\"}";
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	toy_answers(&s,
		    "POST /echo HTTP/1.1\r\nOrigin: http://evil.example\r\n"
		    "Content-Length: 1\r\n" CLOSE "\r\nx",
		    "403 ", refused);
	toy_answers(
		&s,
		"POST /echo HTTP/1.1\r\nOrigin: http://x\r\nContent-Length: 1\r\n" CLOSE
		"\r\nx",
		"403 ", host);
	toy_answers(&s,
		    "POST /echo HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n"
		    "Origin: http://localhost:1\r\nContent-Length: 1\r\n\r\nx",
		    "200 OK", "x");
	toy_answers(&s,
		    "GET /hello HTTP/1.1\r\nOrigin: http://evil.example\r\n"
		    "Host: localhost\r\nConnection: close\r\n\r\n",
		    "200 OK", "{\"hello\":1}");
	/* Its own name for this address makes the page of the same origin. */
	toy_answers(&s,
		    "GET /hello HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n"
		    "User-Agent: Mozilla/5.0\r\n\r\n",
		    "403 ", host);
	toy_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_of_browsers_are_of_this_server),
		cmocka_unit_test(programs_may_use_any_name),
		cmocka_unit_test(a_page_of_another_site_reads_but_does_not_write),
	};

	return cmocka_run_group_tests_name("httpd origin", tests, NULL, NULL);
}
