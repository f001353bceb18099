/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/http.h"
#include "lib/http/server/httpd.h"
#include "tests/unit/http_calls.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static bool yes(void *arg)
{
	++*(int *)arg;
	return true;
}

static void other_schemes_are_refused(void **state)
{
	static const char *const urls[] = { "file:///etc/passwd", "gopher://127.0.0.1/",
					    "ftp://127.0.0.1/x", "dict://127.0.0.1/" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(urls); i++) {
		const struct tw_http_call c = { .url = urls[i] };

		http_fails(&c, TW_INVALID, "GET ", urls[i]);
	}
	http_fails(&(const struct tw_http_call){ .url = "" }, TW_INVALID, "GET ", "");
	http_fails(&(const struct tw_http_call){ .url = "http://" }, TW_INVALID,
		   "GET http://", "");
}

/* A port that refuses connections, or one that accepts them and never answers. */
static int dead_port(bool listening, int *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	if (listening)
		assert_int_equal(listen(fd, 1), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

static void no_server_and_no_answer_are_errors_without_the_password(void **state)
{
	char url[128];
	struct tw_http_call c = { .url = url, .timeout_ms = 60000 };
	int fd, port;

	(void)state;
	fd = dead_port(false, &port);
	snprintf(url, sizeof(url), "http://user:secret@127.0.0.1:%d/x", port);
	http_fails(&c, TW_IO, "GET http://127.0.0.1:", "onnect");
	close(fd);

	fd = dead_port(true, &port);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/x", port);
	c.timeout_ms = 100;
	http_fails(&c, TW_IO, "GET http://127.0.0.1:", "timed out");
	close(fd);
}

static void a_waiting_call_can_be_stopped(void **state)
{
	int asked = 0, fd, port;
	char url[128];
	const struct tw_http_call c = {
		.url = url, .timeout_ms = 60000, .stopped = yes, .stopped_arg = &asked
	};

	(void)state;
	fd = dead_port(true, &port);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/x", port);
	http_fails(&c, TW_IO, "GET http://127.0.0.1:", "stopped");
	assert_true(asked > 0);
	close(fd);
}

struct redirects {
	unsigned left;
	char to[64];
};

static enum MHD_Result redirect(void *cls, struct MHD_Connection *c, const char *path,
				const char *method, const char *version, const char *data,
				size_t *len, void **state)
{
	struct redirects *r = cls;
	struct MHD_Response *m;
	enum MHD_Result ok;

	(void)path;
	(void)method;
	(void)version;
	(void)data;
	(void)len;
	if (*state == NULL) {
		*state = r;
		return MHD_YES;
	}
	m = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	MHD_add_response_header(m, "Location", r->to);
	ok = MHD_queue_response(c, r->left > 0 ? 302 : 200, m);
	if (r->left > 0)
		r->left--;
	MHD_destroy_response(m);
	return ok;
}

static void redirects_are_limited_and_stay_with_http(void **state)
{
	struct redirects r = { .left = 3, .to = "/again" };
	struct MHD_Daemon *d = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL,
						NULL, redirect, &r, MHD_OPTION_END);
	const struct tw_http_access access = { .token = "t0ken" };
	char url[128];
	const struct tw_http_call c = { .url = url };
	const struct tw_http_call secret = { .url = url, .access = &access };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_non_null(d);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/",
		 (unsigned)MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_int_equal(a.status, 200);
	tw_http_answer_release(&a);

	r.left = 4;
	http_fails(&c, TW_IO, "GET http://127.0.0.1:", "redirects");

	/* A redirect must not take credentials to another server. */
	r.left = 1;
	assert_int_equal(tw_http_call(&secret, &a, &err), 0);
	assert_int_equal(a.status, 302);
	tw_http_answer_release(&a);

	r.left = 1;
	snprintf(r.to, sizeof(r.to), "file:///etc/passwd");
	http_fails(&c, TW_INVALID, "GET http://127.0.0.1:", "");
	MHD_stop_daemon(d);
}

static char *read_text(const char *path)
{
	struct tw_err err = { 0 };
	char *text = NULL;
	size_t len;

	if (tw_file_read(path, 65536, &text, &len, &err) < 0)
		fail_msg("%s", err.text);
	return text;
}

static void what_began_by_tls_is_not_continued_without(void **state)
{
	struct redirects r = { .left = 1 };
	char *const key = read_text("tests/data/tls/a.key");
	char *const cert = read_text("tests/data/tls/a.crt");
	struct MHD_Daemon *plain =
		MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, redirect,
				 &r, MHD_OPTION_END);
	struct MHD_Daemon *tls =
		MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, 0, NULL,
				 NULL, redirect, &r, MHD_OPTION_HTTPS_MEM_KEY, key,
				 MHD_OPTION_HTTPS_MEM_CERT, cert, MHD_OPTION_END);
	const struct tw_http_access access = { .ca_file = "tests/data/tls/a.crt" };
	char url[128];
	const struct tw_http_call c = { .url = url, .access = &access };
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_non_null(plain);
	assert_non_null(tls);
	snprintf(url, sizeof(url), "https://localhost:%u/",
		 (unsigned)MHD_get_daemon_info(tls, MHD_DAEMON_INFO_BIND_PORT)->port);
	snprintf(r.to, sizeof(r.to), "/again");
	if (tw_http_call(&c, &a, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(a.status, 200);
	tw_http_answer_release(&a);
	r.left = 1;
	snprintf(r.to, sizeof(r.to), "http://127.0.0.1:%u/",
		 (unsigned)MHD_get_daemon_info(plain, MHD_DAEMON_INFO_BIND_PORT)->port);
	http_fails(&c, TW_INVALID, "GET https://localhost:", "");
	MHD_stop_daemon(tls);
	MHD_stop_daemon(plain);
	free(key);
	free(cert);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiting_call_can_be_stopped),
		cmocka_unit_test(other_schemes_are_refused),
		cmocka_unit_test(no_server_and_no_answer_are_errors_without_the_password),
		cmocka_unit_test(redirects_are_limited_and_stay_with_http),
		cmocka_unit_test(what_began_by_tls_is_not_continued_without),
	};

	return cmocka_run_group_tests_name("http unreachable", tests, http_begin, NULL);
}
