/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/client/download.h"
#include "lib/http/client/http.h"
#include "lib/http/server/http_range.h"
#include "lib/http/client/url.h"
#include "lib/http/server/httpd.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/http_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The resource that the test server offers. */
static struct {
	const char *data, *etag;
	bool lies; /* send a wrong Content-Range */
	unsigned asked;
} offered;

static void get_file(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	const size_t size = strlen(offered.data);
	struct tw_http_range range = { .len = size };
	char text[80];
	enum tw_http_wants wants = TW_HTTP_WHOLE;

	(void)app;
	offered.asked++;
	if (offered.etag != NULL) {
		wants = tw_http_wants(
			tw_http_header(q, "If-None-Match"), tw_http_header(q, "If-Range"),
			tw_http_header(q, "Range"), offered.etag, size, &range);
		tw_http_reply_header(r, "ETag", offered.etag);
	}
	if (wants == TW_HTTP_NOTHING) {
		r->status = 304;
	} else if (wants == TW_HTTP_BEHIND) {
		tw_http_reply_problem(r, 416, "behind");
	} else {
		tw_http_reply_lend(r, offered.data + range.from, (size_t)range.len, NULL,
				   NULL);
	}
	if (wants == TW_HTTP_PART) {
		snprintf(text, sizeof(text), "bytes %" PRIu64 "-%zu/%zu",
			 range.from + (offered.lies ? 1 : 0), size - 1, size);
		tw_http_reply_header(r, "Content-Range", text);
		r->status = 206;
	}
}

static const struct tw_http_route routes[] = {
	{ .method = "GET", .path = "/file", .handle = get_file },
};

static struct tw_httpd *server;
static char url[256];

static int start(void **state)
{
	const struct tw_httpd_config c = { .listen = "127.0.0.1:0",
					   .routes = routes,
					   .route_count = 1 };
	struct tw_err err = { 0 };

	if (http_begin(state) < 0 || tw_httpd_open(&c, &server, &err) < 0)
		return -1;
	snprintf(url, sizeof(url), "http://%s/file", tw_httpd_address(server));
	return 0;
}

static int stop(void **state)
{
	(void)state;
	tw_httpd_close(server);
	return 0;
}

static void offer(const char *data, const char *etag)
{
	offered.data = data;
	offered.etag = etag;
	offered.lies = false;
	offered.asked = 0;
}

/* An unnamed file with this content. */
static int file_with(const char *text)
{
	FILE *f = tmpfile();
	int fd;

	assert_non_null(f);
	fd = dup(fileno(f));
	assert_true(fd >= 0);
	fclose(f);
	assert_int_equal(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
	return fd;
}

static void assert_holds(int fd, const char *want)
{
	char text[256] = "";
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
	assert_string_equal(text, want);
	assert_int_equal(st.st_size, strlen(want));
}

/* Download the resource; return the status. */
static unsigned download(int fd, const char *etag, size_t max)
{
	const struct tw_http_call c = { .url = url, .etag = etag, .answer_max = max };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };
	unsigned status;

	if (tw_download(&c, fd, &a, &err) < 0)
		fail_msg("%s", err.text);
	status = a.status;
	tw_http_answer_release(&a);
	return status;
}

static void a_file_begins_with_its_entity_tag(void **state)
{
	struct tw_err err = { 0 };
	int fd = file_with("");
	char *data;
	size_t len;

	(void)state;
	offer("0123456789", "\"a\"");
	assert_int_equal(download(fd, NULL, 10), 200);
	assert_holds(fd, "\"a\"\n0123456789");
	assert_int_equal(tw_download_file_read(fd, 10, &data, &len, &err), 0);
	assert_int_equal(len, 10);
	assert_string_equal(data, "0123456789");
	free(data);
	assert_int_equal(tw_download_file_read(fd, 9, &data, &len, &err), -1);
	assert_string_equal(err.text, "the download is over 9 bytes");
	close(fd);
}

static void a_download_resumes_after_the_received_bytes(void **state)
{
	static const struct {
		const char *what, *before, *etag, *after;
		unsigned status, asked;
	} cases[] = {
		{ "a part", "\"a\"\n0123", "\"a\"", "\"a\"\n0123456789", 206, 1 },
		{ "the line alone", "\"a\"\n", "\"a\"", "\"a\"\n0123456789", 200, 1 },
		{ "another's", "\"b\"\nwhat is this", "\"a\"", "\"a\"\n0123456789", 200,
		  1 },
		{ "all of it", "\"a\"\n0123456789", "\"a\"", "\"a\"\n0123456789", 200,
		  2 },
		{ "more than that", "\"a\"\n0123456789abc", "\"a\"", "\"a\"\n0123456789",
		  200, 2 },
		{ "weak", "W/\"a\"\n0123", "W/\"a\"", "\n0123456789", 200, 1 },
		{ "no tag", "\n0123", NULL, "\n0123456789", 200, 1 },
		{ "rubbish", "rubbish", "\"a\"", "\"a\"\n0123456789", 200, 1 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		int fd = file_with(cases[i].before);

		offer("0123456789", cases[i].etag);
		assert_int_equal(download(fd, NULL, 100), cases[i].status);
		assert_int_equal(offered.asked, cases[i].asked);
		assert_holds(fd, cases[i].after);
		close(fd);
	}
}

static void a_304_leaves_the_file_unchanged(void **state)
{
	int fd = file_with("\"b\"\nxy");

	(void)state;
	offer("0123456789", "\"a\"");
	assert_int_equal(download(fd, "\"a\"", 100), 304);
	assert_holds(fd, "\"b\"\nxy");
	close(fd);
}

static void an_empty_body_is_a_complete_download(void **state)
{
	int fd = file_with("\"b\"\nxy");

	(void)state;
	offer("", "\"a\"");
	assert_int_equal(download(fd, NULL, 100), 200);
	assert_holds(fd, "\"a\"\n");
	close(fd);
}

static void fails(const char *before, bool lies, size_t max, const char *text)
{
	const struct tw_http_call c = { .url = url, .answer_max = max };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };
	int fd = file_with(before);

	offer("0123456789", "\"a\"");
	offered.lies = lies;
	assert_int_equal(tw_download(&c, fd, &a, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_non_null(strstr(err.text, text));
	close(fd);
}

static void the_limit_includes_the_bytes_received_before(void **state)
{
	(void)state;
	fails("", false, 9, "the answer is over the limit");
	fails("\"a\"\n0123", false, 9, "the answer is over the limit");
	fails("\"a\"\n0123456789", false, 9, "the download is over 9 bytes");
}

static void another_range_than_the_requested_one_is_rejected(void **state)
{
	(void)state;
	fails("\"a\"\n0123", true, 100,
	      "requested the range from byte 4 on, the server sends it from byte 5 on");
}

static void a_head_gives_tag_and_offset_and_ignores_malformed_lines(void **state)
{
	static const struct {
		const char *line, *etag;
		uint64_t from;
	} cases[] = {
		{ "etag:  \"x\" \r\n", "\"x\"", 0 },
		{ "ETag:\r\n", "", 0 },
		{ "Content-Range: bytes 12-19/20\r\n", "", 12 },
		{ "content-range:Bytes 7-7/*\r\n", "", 7 },
		{ "Content-Range: bytes */20\r\n", "", 0 },
		{ "Content-Range: bytes 12\r\n", "", 0 },
		{ "Content-Range: bytes 99999999999999999999-/1\r\n", "", 0 },
		{ "Content-Range: pages 1-2/3\r\n", "", 0 },
		{ "Content-Range: bytes ", "", 0 },
		{ "\r\n", "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_http_head h = { .etag = "old", .from = 3 };

		tw_http_head_take(&h, "HTTP/1.1 200 OK\r\n", 17);
		tw_http_head_take(&h, cases[i].line, strlen(cases[i].line));
		assert_string_equal(h.etag, cases[i].etag);
		assert_int_equal(h.from, cases[i].from);
	}
}

static void a_url_is_shown_without_its_secrets(void **state)
{
	static const char *const cases[][2] = {
		{ "http://u:p@h:1/x?t=s#f", "http://h:1/x" },
		{ "https://h/a@b", "https://h/a@b" },
		{ "/a/dir", "/a/dir" },
		{ "http://u:p@", "http://" },
	};
	char out[TW_URL_SHOWN], lengthy[400];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++)
		assert_string_equal(tw_url_show(cases[i][0], out), cases[i][1]);
	memset(lengthy, 'x', sizeof(lengthy) - 1);
	lengthy[sizeof(lengthy) - 1] = '\0';
	assert_int_equal(strlen(tw_url_show(lengthy, out)), 128);
	assert_true(tw_url_is("https://h") && !tw_url_is("file:///x"));
}

static void a_failed_allocation_is_reported(void **state)
{
	struct tw_err err = { 0 };
	int fd = file_with("\"a\"\n0123");
	char *data = NULL;
	size_t len;

	(void)state;
	fail_alloc_at(1);
	assert_int_equal(tw_download_file_read(fd, 100, &data, &len, &err), -1);
	assert_true(fail_alloc_hit());
	assert_int_equal(err.code, TW_NOMEM);
	assert_null(data);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_begins_with_its_entity_tag),
		cmocka_unit_test(a_download_resumes_after_the_received_bytes),
		cmocka_unit_test(a_304_leaves_the_file_unchanged),
		cmocka_unit_test(an_empty_body_is_a_complete_download),
		cmocka_unit_test(the_limit_includes_the_bytes_received_before),
		cmocka_unit_test(another_range_than_the_requested_one_is_rejected),
		cmocka_unit_test(a_head_gives_tag_and_offset_and_ignores_malformed_lines),
		cmocka_unit_test(a_url_is_shown_without_its_secrets),
		cmocka_unit_test(a_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
