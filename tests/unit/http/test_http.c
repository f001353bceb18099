/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/http/client/http.h"
#include "lib/http/client/url.h"
#include "lib/http/server/httpd.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/http_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void get_zip(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	(void)app;
	(void)q;
	r->content_type = "application/zip; version=1";
	tw_http_reply_lend(r, "PK\0\1", 4, NULL, NULL);
}

static void post_back(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	const char *type = tw_http_header(q, "Content-Type");
	size_t size = q->len + 64;
	char *text = malloc(size);

	(void)app;
	assert_non_null(text);
	snprintf(text, size, "%s|%s|%zu", type != NULL ? type : "-", q->body, q->len);
	tw_http_reply_take(r, text, strlen(text));
}

static void get_nothing(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	(void)app;
	(void)q;
	r->status = 204;
}

/* Echo the credentials and headers of the request. */
static void get_headers(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	static const char *const names[] = { "Authorization", "Accept", "X-Scope-OrgID" };
	struct tw_buf b = { 0 };
	size_t len;
	char *text;

	(void)app;
	for (size_t i = 0; i < 3; i++) {
		const char *value = tw_http_header(q, names[i]);

		tw_buf_addf(&b, "%s|", value != NULL ? value : "-");
	}
	text = tw_buf_detach(&b, &len);
	assert_non_null(text);
	tw_http_reply_take(r, text, len);
}

static const struct tw_http_route routes[] = {
	{ .method = "GET", .path = "/zip", .handle = get_zip },
	{ .method = "GET", .path = "/nothing", .handle = get_nothing },
	{ .method = "GET", .path = "/headers", .handle = get_headers },
	{ .method = "POST", .path = "/back", .body_max = 8 << 20, .handle = post_back },
	{ .method = "DELETE", .path = "/nothing", .handle = get_nothing },
};

static struct tw_httpd *server;
static char url[256];

static int start(void **state)
{
	const struct tw_httpd_config c = { .listen = "127.0.0.1:0",
					   .routes = routes,
					   .route_count = TW_COUNT(routes) };
	struct tw_err err = { 0 };

	return http_begin(state) < 0 || tw_httpd_open(&c, &server, &err) < 0 ? -1 : 0;
}

static int stop(void **state)
{
	(void)state;
	tw_httpd_close(server);
	return 0;
}

static const char *at(const char *path)
{
	snprintf(url, sizeof(url), "http://%s%s", tw_httpd_address(server), path);
	return url;
}

static void wanted_response_headers_are_filled_in(void **state)
{
	struct tw_http_header wanted[] = { { .name = "content-length" },
					   { .name = "Content" },
					   { .name = "X-None", .value = "before" } };
	const struct tw_http_call c = { .url = at("/zip"),
					.wanted = wanted,
					.wanted_count = 3 };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_string_equal(wanted[0].value, "4");
	assert_string_equal(wanted[1].value, "");
	assert_string_equal(wanted[2].value, "");
	tw_http_answer_release(&a);
}

static void a_method_does_not_need_a_body(void **state)
{
	struct tw_http_call c = { .url = at("/nothing"), .method = "DELETE" };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_int_equal(a.status, 204);
	tw_http_answer_release(&a);
	c.url = "http://127.0.0.1:1/";
	assert_int_equal(tw_http_call(&c, &a, &err), -1);
	assert_int_equal(strncmp(err.text, "DELETE http://127.0.0.1:1/: ", 28), 0);
}

static void get_returns_status_type_and_body(void **state)
{
	const struct tw_http_call c = { .url = at("/zip") };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_int_equal(a.status, 200);
	assert_string_equal(a.content_type, "application/zip");
	assert_int_equal(a.len, 4);
	assert_memory_equal(a.body, "PK\0\1", 5);
	tw_http_answer_release(&a);
	assert_null(a.body);
}

static void an_empty_body_is_an_empty_string(void **state)
{
	const struct tw_http_call c = { .url = at("/nothing") };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_int_equal(a.status, 204);
	assert_string_equal(a.body, "");
	assert_int_equal(a.len, 0);
	tw_http_answer_release(&a);
}

static void post_sends_body_and_type(void **state)
{
	struct tw_http_call c = { .url = at("/back"), .body = "{}", .body_len = 2 };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_string_equal(a.body, "application/json|{}|2");
	tw_http_answer_release(&a);

	c.content_type = "text/csv";
	c.body = "";
	c.body_len = 0;
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_string_equal(a.body, "text/csv||0");
	tw_http_answer_release(&a);
}

static void a_large_post_arrives_whole(void **state)
{
	const size_t len = 4 << 20;
	char *body = malloc(len), tail[32];
	const struct tw_http_call c = { .url = at("/back"),
					.body = body,
					.body_len = len };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_non_null(body);
	memset(body, 'x', len);
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	snprintf(tail, sizeof(tail), "x|%zu", len);
	assert_int_equal(a.status, 200);
	assert_string_equal(a.body + a.len - strlen(tail), tail);
	tw_http_answer_release(&a);
	free(body);
}

static void any_status_is_an_answer(void **state)
{
	const struct tw_http_call c = { .url = at("/absent") };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_int_equal(a.status, 404);
	assert_string_equal(a.content_type, "application/problem+json");
	assert_string_equal(a.body, "{\"title\":\"Not Found\",\"status\":404,"
				    "\"detail\":\"no such path: '/absent'\"}");
	tw_http_answer_release(&a);
}

static void an_answer_over_the_limit_is_an_error(void **state)
{
	const struct tw_http_call c = { .url = at("/zip"), .answer_max = 3 };
	const struct tw_http_call exact = { .url = url, .answer_max = 4 };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	http_fails(&c, TW_INVALID,
		   "GET http://127.0.0.1:", "/zip: the answer is over the limit");
	assert_int_equal(tw_http_call(&exact, &a, &err), 0);
	tw_http_answer_release(&a);
}

static void is_asked_with(const struct tw_http_access *access, const char *wanted)
{
	const struct tw_http_call c = { .url = at("/headers"),
					.accept = "text/plain",
					.access = access };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_string_equal(a.body, wanted);
	tw_http_answer_release(&a);
}

static void credentials_and_headers_are_sent(void **state)
{
	struct tw_strs headers = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	is_asked_with(NULL, "-|text/plain|-|");
	is_asked_with(&(const struct tw_http_access){ .user = "me", .password = "pw" },
		      "Basic bWU6cHc=|text/plain|-|");
	is_asked_with(&(const struct tw_http_access){ .token = "t0ken" },
		      "Bearer t0ken|text/plain|-|");
	assert_int_equal(tw_strs_adds(&headers, "X-Scope-OrgID: team-a", &err), 0);
	is_asked_with(&(const struct tw_http_access){ .headers = &headers },
		      "-|text/plain|team-a|");
	tw_strs_clear(&headers);
}

static void a_session_does_not_keep_credentials(void **state)
{
	const struct tw_http_access access = { .token = "t0ken" };
	struct tw_http_call c = { .url = at("/headers"), .access = &access };
	struct tw_http_answer a = { 0 };
	struct tw_http *session = NULL;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_http_open(&session, &err), 0);
	c.session = session;
	for (int i = 0; i < 3; i++) {
		c.access = i == 1 ? &access : NULL;
		assert_int_equal(tw_http_call(&c, &a, &err), 0);
		assert_memory_equal(a.body, i == 1 ? "Bearer t0ken|" : "-|", 2);
		tw_http_answer_release(&a);
	}
	tw_http_close(session);
	tw_http_close(NULL);
}

static int collect(void *arg, const char *data, size_t len, struct tw_err *err)
{
	(void)err;
	tw_buf_add(arg, data, len);
	return 0;
}

static int refuse(void *arg, const char *data, size_t len, struct tw_err *err)
{
	(void)arg;
	(void)data;
	return tw_fail(err, TW_PARSE, "%zu bytes of rubbish", len);
}

static void a_sink_gets_the_body_of_a_200_only(void **state)
{
	struct tw_buf b = { 0 };
	struct tw_http_call c = { .url = at("/zip"), .sink = collect, .sink_arg = &b };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.data, "PK\0\1", 4);
	assert_string_equal(a.body, "");
	tw_http_answer_release(&a);
	tw_buf_clear(&b);

	c.url = at("/absent");
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_int_equal(a.status, 404);
	assert_int_equal(b.len, 0);
	assert_non_null(strstr(a.body, "no such path"));
	tw_http_answer_release(&a);

	c.url = at("/zip");
	c.answer_max = 3;
	http_fails(&c, TW_INVALID, "GET http://127.0.0.1:", "over the limit");
	c.answer_max = 0;
	c.sink = refuse;
	http_fails(&c, TW_PARSE, "GET http://127.0.0.1:", "/zip: 4 bytes of rubbish");
	tw_buf_clear(&b);
}

static void query_text_is_escaped_and_not_in_errors(void **state)
{
	struct tw_buf b = { 0 };
	struct tw_http_call c = { .url = url };

	(void)state;
	tw_url_escape(&b, "{a=\"\xc3\xa9 +&\"} aZ09-_.~");
	assert_string_equal(b.data, "%7Ba%3D%22%C3%A9%20%2B%26%22%7D%20aZ09-_.~");
	tw_buf_clear(&b);
	at("/zip?secret=1");
	c.answer_max = 1;
	http_fails(&c, TW_INVALID,
		   "GET http://127.0.0.1:", "/zip: the answer is over the limit");
}

static void a_failed_allocation_is_reported(void **state)
{
	const struct tw_http_call c = { .url = at("/zip") };
	int failures = 0;

	(void)state;
	/* A server's threads would allocate as well, so this test calls an unreachable
	 * one.
	 */
	tw_httpd_close(server);
	server = NULL;
	for (int n = 1; n < 3; n++) {
		const struct tw_http_call post = { .url = c.url,
						   .body = "x",
						   .body_len = 1 };
		struct tw_http_answer a = { 0 };
		struct tw_err err = { 0 };

		fail_alloc_at(n);
		assert_int_equal(tw_http_call(&post, &a, &err), -1);
		if (!fail_alloc_hit())
			break;
		assert_int_equal(err.code, TW_NOMEM);
		failures++;
	}
	assert_true(failures >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wanted_response_headers_are_filled_in),
		cmocka_unit_test(a_method_does_not_need_a_body),
		cmocka_unit_test(get_returns_status_type_and_body),
		cmocka_unit_test(an_empty_body_is_an_empty_string),
		cmocka_unit_test(post_sends_body_and_type),
		cmocka_unit_test(a_large_post_arrives_whole),
		cmocka_unit_test(any_status_is_an_answer),
		cmocka_unit_test(an_answer_over_the_limit_is_an_error),
		cmocka_unit_test(credentials_and_headers_are_sent),
		cmocka_unit_test(a_session_does_not_keep_credentials),
		cmocka_unit_test(a_sink_gets_the_body_of_a_200_only),
		cmocka_unit_test(query_text_is_escaped_and_not_in_errors),
		cmocka_unit_test(a_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("http", tests, start, stop);
}
