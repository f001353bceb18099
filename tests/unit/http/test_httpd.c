/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/http/server/httpd.h"
#include "lib/http/server/httpd_reply.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/toy_server.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void routes_are_found_by_path_and_method(void **state)
{
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	toy_answers(&s, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK",
		    "{\"hello\":1}");
	toy_answers(&s, "HEAD /hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK", "");
	toy_answers(&s, "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n" CLOSE "\r\nabcde",
		    "200 OK", "abcde");
	toy_answers(&s, "POST /echo HTTP/1.1\r\nContent-Length: 0\r\n" CLOSE "\r\n",
		    "200 OK", "");
	toy_answers(&s,
		    "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE
		    "\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
		    "200 OK", "abcde");
	toy_answers(&s, "GET /query?a=1%202%3b&b HTTP/1.1\r\nX-Test: y\r\n" CLOSE "\r\n",
		    "200 OK", "/query|1 2;|y");
	toy_answers(&s, "GET /query?b=1 HTTP/1.1\r\n" CLOSE "\r\n", "200 OK",
		    "/query|-|-");
	toy_stop(&s);
}

static void ambiguous_framing_is_refused_and_ends_the_connection(void **state)
{
	static const struct {
		const char *request, *why;
	} cases[] = {
		{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n"
		  "Content-Length: 5\r\n\r\nabcde",
		  "more than one header Content-Length" },
		{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n"
		  "content-length: 3\r\n\r\nabc",
		  "more than one header Content-Length" },
		{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		  "both headers Content-Length and Transfer-Encoding" },
		{ "GET /hello HTTP/1.1\r\n" HOST HOST "\r\n",
		  "more than one header Host" },
	};
	struct toy_server s;
	char body[256], *answer;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		snprintf(body, sizeof(body),
			 "{\"title\":\"Bad Request\",\"status\":400,"
			 "\"detail\":\"%s\"}",
			 cases[i].why);
		/* It hears until the server closes. */
		toy_answers(&s, cases[i].request, "400 ", body);
	}
	/* libmicrohttpd 1.0 refuses it before we do, with a text of its own. */
	answer = toy_ask(&s, "GET /hello HTTP/1.1\r\n\r\n");
	assert_memory_equal(answer, "HTTP/1.1 400 ", 13);
	free(answer);
	/* HTTP/1.0 has no Host. */
	toy_answers(&s, "GET /hello HTTP/1.0\r\n\r\n", "200 OK", "{\"hello\":1}");
	toy_stop(&s);
}

static void absolute_uris_are_routed(void **state)
{
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	toy_answers(&s, "GET http://x:1/hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK",
		    "{\"hello\":1}");
	toy_answers(&s, "GET HTTPS://x/query?a=1 HTTP/1.1\r\n" CLOSE "\r\n", "200 OK",
		    "/query|1|-");
	toy_answers(&s, "GET http://x HTTP/1.1\r\n" CLOSE "\r\n", "404 Not Found",
		    "{\"title\":\"Not Found\",\"status\":404,"
		    "\"detail\":\"no such path: '/'\"}");
	toy_stop(&s);
}

static void unknown_paths_and_methods_are_problems(void **state)
{
	struct toy_server s;
	char *answer;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	toy_answers(&s, "GET /no%22pe HTTP/1.1\r\n" CLOSE "\r\n", "404 Not Found",
		    "{\"title\":\"Not Found\",\"status\":404,"
		    "\"detail\":\"no such path: '/no\\\"pe'\"}");
	toy_answers(&s, "POST /hello/x HTTP/1.1\r\nContent-Length: 3\r\n" CLOSE "\r\nabc",
		    "404 Not Found",
		    "{\"title\":\"Not Found\",\"status\":404,"
		    "\"detail\":\"no such path: '/hello/x'\"}");
	answer = toy_ask(&s,
			 "PUT /hello HTTP/1.1\r\nContent-Length: 3\r\n" CLOSE "\r\nabc");
	assert_memory_equal(answer, "HTTP/1.1 405 ", 13);
	assert_non_null(strstr(answer, "\r\nAllow: GET, HEAD, POST\r\n"));
	assert_non_null(strstr(answer, "\r\nContent-Type: application/problem+json\r\n"));
	assert_non_null(strstr(answer, "\"detail\":\"'/hello' does not take PUT\""));
	free(answer);
	toy_stop(&s);
}

static void a_nul_does_not_hide_the_rest_of_a_path(void **state)
{
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	toy_answers(&s, "GET /hello%00x HTTP/1.1\r\n" CLOSE "\r\n", "404 Not Found",
		    "{\"title\":\"Not Found\",\"status\":404,"
		    "\"detail\":\"no such path: '/hello?x'\"}");
	toy_answers(&s, "GET /query?a=1%00b&%00a=2 HTTP/1.1\r\n" CLOSE "\r\n", "200 OK",
		    "/query|1\1b|-");
	toy_stop(&s);
}

static void an_error_becomes_its_status_and_drops_the_body(void **state)
{
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	toy_answers(&s, "GET /problem HTTP/1.1\r\n" CLOSE "\r\n", "404 Not Found",
		    "{\"title\":\"Not Found\",\"status\":404,"
		    "\"detail\":\"no model \\\"x\\\"\"}");
	assert_int_equal(atomic_load(&s.app.released), 1);
	toy_stop(&s);
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
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	toy_answers(&s, "GET /lent HTTP/1.1\r\n" CLOSE "\r\n", "200 OK", "lent");
	toy_answers(&s, "HEAD /lent HTTP/1.1\r\n" CLOSE "\r\n", "200 OK", "");
	toy_stop(&s);
	assert_int_equal(atomic_load(&s.app.released), 2);
}

static void an_attachments_name_cannot_break_the_header(void **state)
{
	struct toy_server s;
	char *answer;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	answer =
		toy_ask(&s, "POST /echo HTTP/1.1\r\nContent-Length: 1\r\n" CLOSE "\r\nx");
	assert_non_null(strstr(answer, "\r\nContent-Disposition: attachment; "
				       "filename=\"na_me__.txt\"\r\n"));
	assert_non_null(strstr(answer, "\r\nContent-Type: text/plain\r\n"));
	free(answer);
	toy_stop(&s);
}

static void addresses_are_checked_and_reported(void **state)
{
	static const char *const bad[] = {
		"",       "127.0.0.1", "127.0.0.1:x",  "1.2.3.4:65536",
		"::1:80", "[::1]",     "127.0.0.1:-1", ":"
	};
	struct tw_httpd_config c = { 0 };
	struct tw_httpd *httpd = NULL;
	struct toy_server s;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		struct tw_err err = { 0 };

		c.listen = bad[i];
		assert_int_equal(tw_httpd_open(&c, &httpd, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_memory_equal(err.text, "address '", 9);
		assert_null(httpd);
	}
	toy_start(&s, (struct tw_httpd_config){ .listen = ":0" });
	toy_answers(&s, "GET /hello HTTP/1.1\r\n" CLOSE "\r\n", "200 OK",
		    "{\"hello\":1}");
	toy_stop(&s);
}

static void a_port_in_use_is_an_error(void **state)
{
	struct tw_httpd_config c = { 0 };
	struct tw_httpd *httpd = NULL;
	struct tw_err err = { 0 };
	struct toy_server s;
	char want[128];

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	c.listen = tw_httpd_address(s.httpd);
	assert_int_equal(tw_httpd_open(&c, &httpd, &err), -1);
	snprintf(want, sizeof(want), "cannot listen on '%s': Address already in use",
		 c.listen);
	assert_string_equal(err.text, want);
	toy_stop(&s);
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
		cmocka_unit_test(ambiguous_framing_is_refused_and_ends_the_connection),
		cmocka_unit_test(absolute_uris_are_routed),
		cmocka_unit_test(unknown_paths_and_methods_are_problems),
		cmocka_unit_test(a_nul_does_not_hide_the_rest_of_a_path),
		cmocka_unit_test(an_error_becomes_its_status_and_drops_the_body),
		cmocka_unit_test(every_code_has_a_status),
		cmocka_unit_test(a_lent_body_is_released_once),
		cmocka_unit_test(an_attachments_name_cannot_break_the_header),
		cmocka_unit_test(addresses_are_checked_and_reported),
		cmocka_unit_test(a_port_in_use_is_an_error),
		cmocka_unit_test(a_problem_needs_no_memory),
		cmocka_unit_test(a_server_without_memory_is_an_error),
	};

	return cmocka_run_group_tests_name("httpd", tests, NULL, NULL);
}
