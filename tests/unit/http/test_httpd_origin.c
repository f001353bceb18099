/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/http/server/httpd_origin.h"
#include "tests/unit/toy_server.h"

#include <stdlib.h>
#include <string.h>

static void an_origin_is_allowed_if_it_is_of_the_host(void **state)
{
	static const struct {
		const char *origin, *host;
		bool loopback, want;
	} cases[] = {
		{ NULL, "evil.example", true, true },
		{ "http://127.0.0.1:8102", "127.0.0.1:8102", true, true },
		{ "http://[::1]:8102", "[::1]:8102", true, true },
		{ "HTTP://LocalHost:8102", "localhost:8102", true, true },
		{ "https://models.example", "models.example", false, true },
		{ "http://evil.example", "127.0.0.1:8102", true, false },
		{ "http://evil.example", "models.example", false, false },
		{ "http://127.0.0.1:9999", "127.0.0.1:8102", true, false },
		{ "http://models.example.evil", "models.example", false, false },
		{ "null", "127.0.0.1:8102", true, false },
		{ "", "", false, false },
		{ "http://x", NULL, false, false },
		/* A name that its owner has given the address 127.0.0.1. */
		{ "http://evil.example:8102", "evil.example:8102", true, false },
		{ "http://127.0.0.1.evil.example", "127.0.0.1.evil.example", true,
		  false },
		{ "http://[::1", "[::1", true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (tw_origin_allowed(cases[i].origin, cases[i].host,
				      cases[i].loopback) != cases[i].want)
			fail_msg("case %zu", i);
}

static void a_page_of_another_site_reads_but_does_not_write(void **state)
{
	static const char refused[] =
		"{\"title\":\"Forbidden\",\"status\":403,"
		"\"detail\":\"the header Origin is not of this server\"}";
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
		"403 ", refused);
	toy_answers(&s,
		    "POST /echo HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n"
		    "Origin: http://localhost:1\r\nContent-Length: 1\r\n\r\nx",
		    "200 OK", "x");
	toy_answers(&s,
		    "GET /hello HTTP/1.1\r\nOrigin: http://evil.example\r\n" CLOSE "\r\n",
		    "200 OK", "{\"hello\":1}");
	toy_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_origin_is_allowed_if_it_is_of_the_host),
		cmocka_unit_test(a_page_of_another_site_reads_but_does_not_write),
	};

	return cmocka_run_group_tests_name("httpd origin", tests, NULL, NULL);
}
