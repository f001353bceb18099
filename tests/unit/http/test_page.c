/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a page, from memory: packed, unpacked, and not again. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "tests/unit/toy_server.h"
#include "web/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PAGE "<!doctype html><title>A page</title>"
#define SCRIPT "export const answer = 42; // and so on, and so on, and so on"
#define OTHER "<!doctype html><title>Another page</title>"

static unsigned char packed_page[256], packed_script[256], packed_other[256];
static struct tw_web_file files[] = {
	{ "", "text/html; charset=utf-8", "W/\"1\"", packed_page, 0, sizeof(PAGE) - 1 },
	{ "a.js", "text/javascript", "W/\"2\"", packed_script, 0, sizeof(SCRIPT) - 1 },
	{ "other", "text/html", "W/\"3\"", packed_other, 0, sizeof(OTHER) - 1 },
};

static size_t pack(const char *text, unsigned char *out, size_t room)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)text,
		       .avail_in = (uInt)strlen(text),
		       .next_out = out,
		       .avail_out = (uInt)room };

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, 0), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

static void get_page(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	(void)app;
	tw_page_send(files, TW_COUNT(files), q, r);
}

static void get_none(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	(void)app;
	tw_page_send(NULL, 0, q, r);
}

static const struct tw_http_route routes[] = {
	{ "GET", "/", .handle = get_page },
	{ "GET", "/other", .handle = get_page },
	{ "GET", "/web/{file}", .handle = get_page },
	{ "GET", "/none", .handle = get_none },
};

static struct tw_httpd *httpd;

static int setup(void **state)
{
	const struct tw_httpd_config c = { .listen = "127.0.0.1:0",
					   .routes = routes,
					   .route_count = TW_COUNT(routes) };
	struct tw_err err = { 0 };

	(void)state;
	files[0].len = pack(PAGE, packed_page, sizeof(packed_page));
	files[1].len = pack(SCRIPT, packed_script, sizeof(packed_script));
	files[2].len = pack(OTHER, packed_other, sizeof(packed_other));
	if (tw_httpd_open(&c, &httpd, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tw_httpd_close(httpd);
	return 0;
}

/* The whole answer, up to its first NUL. */
static char *ask(const char *path, const char *header)
{
	const char *address = tw_httpd_address(httpd);
	struct toy_server s = { .port = (int)strtol(strchr(address, ':') + 1, NULL, 10) };
	char request[512];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n%s" CLOSE "\r\n", path,
		 header);
	return toy_ask(&s, request);
}

static void answers(const char *path, const char *header, const char *status,
		    const char *const parts[], size_t count)
{
	char *got = ask(path, header);

	if (strncmp(got, "HTTP/1.1 ", 9) != 0 ||
	    strncmp(got + 9, status, strlen(status)) != 0)
		fail_msg("%s: %s", path, got);
	for (size_t i = 0; i < count; i++)
		if (strstr(got, parts[i]) == NULL)
			fail_msg("%s: no '%s' in %s", path, parts[i], got);
	free(got);
}
#define ANSWERS(path, header, status, ...)                                  \
	answers(path, header, status, (const char *const[]){ __VA_ARGS__ }, \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void a_client_without_gzip_gets_plain_text(void **state)
{
	(void)state;
	ANSWERS("/", "", "200 ", "\r\n\r\n" PAGE, "Content-Type: text/html",
		"Vary: Accept-Encoding");
	ANSWERS("/web/a.js", "Accept-Encoding: gzip;q=0\r\n", "200 ", "\r\n\r\n" SCRIPT,
		"Content-Type: text/javascript");
}

static void a_further_page_is_at_its_name(void **state)
{
	(void)state;
	ANSWERS("/other", "", "200 ", "\r\n\r\n" OTHER, "Content-Type: text/html");
}

static void a_client_with_gzip_gets_the_packed_bytes(void **state)
{
	char length[64];

	(void)state;
	snprintf(length, sizeof(length), "Content-Length: %zu\r\n", files[1].len);
	ANSWERS("/web/a.js", "Accept-Encoding: gzip\r\n", "200 ",
		"Content-Encoding: gzip\r\n", length, "\r\n\r\n\x1f\x8b");
}

static void a_known_file_is_not_sent_again(void **state)
{
	(void)state;
	ANSWERS("/web/a.js", "If-None-Match: W/\"2\"\r\n", "304 ", "ETag: W/\"2\"");
	ANSWERS("/web/a.js", "If-None-Match: W/\"1\"\r\n", "200 ", SCRIPT);
}

static void a_page_may_load_nothing_from_elsewhere(void **state)
{
	(void)state;
	ANSWERS("/", "", "200 ", "Content-Security-Policy: default-src 'none'; ",
		"frame-ancestors 'none'\r\n", "X-Content-Type-Options: nosniff\r\n",
		"Referrer-Policy: no-referrer\r\n", "Cache-Control: no-cache\r\n");
}

static void other_files_are_not_there(void **state)
{
	(void)state;
	ANSWERS("/web/b.js", "", "404 ", "the pages have no file 'b.js'");
	ANSWERS("/web/a.js/", "", "404 ", "no such path");
	ANSWERS("/web/%2e%2e", "", "404 ", "the pages have no file '..'");
}

static void a_build_without_pages_says_so(void **state)
{
	(void)state;
	ANSWERS("/none", "", "200 ", "Content-Type: text/plain",
		"This build has no web pages");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_without_gzip_gets_plain_text),
		cmocka_unit_test(a_further_page_is_at_its_name),
		cmocka_unit_test(a_client_with_gzip_gets_the_packed_bytes),
		cmocka_unit_test(a_known_file_is_not_sent_again),
		cmocka_unit_test(a_page_may_load_nothing_from_elsewhere),
		cmocka_unit_test(other_files_are_not_there),
		cmocka_unit_test(a_build_without_pages_says_so),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
