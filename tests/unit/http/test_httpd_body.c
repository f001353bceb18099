/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/http/server/httpd.h"
#include "tests/unit/toy_server.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void a_body_over_the_limit_is_refused_at_its_headers(void **state)
{
	static const char *const lengths[] = { "11", "1073741824", "18446744073709551614",
					       "9223372036854775808" };
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ .body_max = 10 });
	for (size_t i = 0; i < TW_COUNT(lengths); i++) {
		char request[128], body[128];

		/* The request has no byte of its body, and no "Connection: close". */
		snprintf(request, sizeof(request),
			 "POST /echo HTTP/1.1\r\n" HOST "Content-Length: %s\r\n\r\n",
			 lengths[i]);
		snprintf(body, sizeof(body),
			 "{\"title\":\"Content Too Large\",\"status\":413,"
			 "\"detail\":\"body of %s bytes, limit is 10\"}",
			 lengths[i]);
		toy_answers(&s, request, "413 ", body);
	}
	toy_answers(&s,
		    "POST /echo HTTP/1.1\r\nContent-Length: 10\r\n" CLOSE
		    "\r\n0123456789",
		    "200 OK", "0123456789");
	/* The limit of a route. */
	toy_answers(&s,
		    "POST /stream HTTP/1.1\r\nContent-Length: 11\r\n" CLOSE
		    "\r\n0123456789A",
		    "200 OK", "11");
	toy_stop(&s);
}

static void a_number_too_large_for_any_length_is_refused(void **state)
{
	/* The first is libmicrohttpd's "unknown", which 1.0 refuses before we do. */
	static const char *const lengths[] = { "18446744073709551615",
					       "99999999999999999999999", "-1" };
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ .body_max = 10 });
	for (size_t i = 0; i < TW_COUNT(lengths); i++) {
		char request[128], *answer;

		snprintf(request, sizeof(request),
			 "POST /echo HTTP/1.1\r\n" HOST "Content-Length: %s\r\n\r\n",
			 lengths[i]);
		answer = toy_ask(&s, request);
		assert_memory_equal(answer, "HTTP/1.1 4", 10);
		free(answer);
	}
	toy_stop(&s);
}

static void a_chunked_body_over_the_limit_is_refused(void **state)
{
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ .body_max = 10 });
	toy_answers(&s,
		    "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE
		    "\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n0\r\n\r\n",
		    "413 ",
		    "{\"title\":\"Content Too Large\",\"status\":413,"
		    "\"detail\":\"body of more than 10 bytes\"}");
	/* However large it is. */
	toy_answers(&s,
		    "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE
		    "\r\n1E\r\n0123456789012345678901234567ab\r\n"
		    "6\r\nabcdef\r\n0\r\n\r\n",
		    "413 ",
		    "{\"title\":\"Content Too Large\",\"status\":413,"
		    "\"detail\":\"body of more than 10 bytes\"}");
	toy_stop(&s);
}

static void a_stream_is_fed_answered_and_freed(void **state)
{
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	toy_answers(&s,
		    "POST /stream HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE
		    "\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
		    "200 OK", "5");
	toy_answers(&s, "POST /stream HTTP/1.1\r\nContent-Length: 0\r\n" CLOSE "\r\n",
		    "200 OK", "5");
	toy_stop(&s);
	assert_int_equal(atomic_load(&s.app.streams), 2);
	assert_int_equal(atomic_load(&s.app.freed), 2);
}

static void a_failed_stream_answers_its_error_and_drops_the_rest(void **state)
{
	struct toy_server s;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	toy_answers(&s,
		    "POST /stream HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE
		    "\r\n3\r\na!c\r\n2\r\nde\r\n0\r\n\r\n",
		    "400 ",
		    "{\"title\":\"Bad Request\",\"status\":400,"
		    "\"detail\":\"byte '!' in the stream\"}");
	assert_int_equal(atomic_load(&s.app.fed), 0);
	toy_answers(&s, "POST /refuse HTTP/1.1\r\nContent-Length: 2\r\n" CLOSE "\r\nab",
		    "403 ",
		    "{\"title\":\"Forbidden\",\"status\":403,\"detail\":\"not now\"}");
	toy_stop(&s);
	assert_int_equal(atomic_load(&s.app.freed), 1);
}

static void an_aborted_stream_is_freed_once(void **state)
{
	struct toy_server s;
	int fd;

	(void)state;
	toy_start(&s, (struct tw_httpd_config){ 0 });
	fd = toy_dial(&s);
	toy_say(fd, "POST /stream HTTP/1.1\r\n" HOST "Content-Length: 100\r\n\r\nabc");
	toy_wait_for(&s.app.streams, 1);
	close(fd);
	toy_wait_for(&s.app.freed, 1);
	toy_stop(&s);
	assert_int_equal(atomic_load(&s.app.freed), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_over_the_limit_is_refused_at_its_headers),
		cmocka_unit_test(a_number_too_large_for_any_length_is_refused),
		cmocka_unit_test(a_chunked_body_over_the_limit_is_refused),
		cmocka_unit_test(a_stream_is_fed_answered_and_freed),
		cmocka_unit_test(a_failed_stream_answers_its_error_and_drops_the_rest),
		cmocka_unit_test(an_aborted_stream_is_freed_once),
	};

	return cmocka_run_group_tests_name("httpd body", tests, NULL, NULL);
}
