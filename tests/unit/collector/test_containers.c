/* SPDX-License-Identifier: Apache-2.0 */
/* Names of containers in no pod: a container engine's answer, and how it is asked. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/ask/ask_job.h"
#include "collector/ask/containers_parse.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "ffff456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OK "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
#define TWENTY "aaaaaaaaaaaaaaaaaaaa"
#define HUNDRED TWENTY TWENTY TWENTY TWENTY TWENTY

/* "id name" a line. */
static int write_line(void *arg, const struct tw_ask_names *n, struct tw_err *err)
{
	(void)err;
	tw_buf_addf(arg, "%.4s %s\n", n->id, n->container);
	return 0;
}

static int parse(const char *text, size_t piece, struct tw_buf *out, struct tw_err *err)
{
	const size_t len = strlen(text);
	struct tw_containers_parser *p = NULL;
	int rc = tw_containers_parser_new(write_line, out, &p, err);

	for (size_t at = 0; rc == 0 && at < len; at += piece)
		rc = tw_containers_parser_feed(p, text + at,
					       len - at < piece ? len - at : piece, err);
	if (rc == 0)
		rc = tw_containers_parser_end(p, err);
	tw_containers_parser_free(p);
	return rc;
}

static void names_of_an_answer(void **state)
{
	static const struct {
		const char *json, *wanted;
	} cases[] = {
		{ "[]\n", "" },
		/* Docker, with a link of another container; podman. */
		{ "[{\"Id\":\"" ID "\",\"Names\":[\"/db/alias\",\"/web-1.a_b\"],"
		  "\"Labels\":{\"Id\":\"x\",\"Names\":\"/no\"},\"Mounts\":[{\"Name\":"
		  "\"v\"}]},{\"Names\":[\"/db\"],\"Id\":\"" OTHER "\",\"Name\":\"\"}]",
		  "0123 web-1.a_b\nffff db\n" },
		{ "[{\"Id\":\"" ID "\",\"Names\":[\"/first\",\"/second\"]}]",
		  "0123 first\n" },
		/* A name of one letter; other texts are neither ids nor names. */
		{ "[{\"Id\":\"" ID "\",\"Image\":\"" OTHER "\",\"State\":\"/run\","
		  "\"Ports\":[\"/p\"],\"Names\":[\"/x\",\"/yy\"]},"
		  "[[\"/n\"]],{\"Id\":\"" OTHER "\"}]",
		  "0123 x\n" },
		/* Without a name, or with one that no engine gives. */
		{ "[{\"Id\":\"" ID "\",\"Names\":[]},{\"Id\":\"" ID "\",\"Names\":null},"
		  "{\"Id\":\"" ID "\",\"Names\":[\"/\",\"web\",\"/a b\",\"/\\u0000\","
		  "\"/a\\\"b\",\"/\\u00e9\",7]}]",
		  "" },
		/* As long as a name may be, and a byte more. */
		{ "[{\"Id\":\"" ID "\",\"Names\":[\"/" HUNDRED HUNDRED TWENTY TWENTY
		  "aaaaaaaaaaaaa\"]},{\"Id\":\"" OTHER
		  "\",\"Names\":[\"/" HUNDRED HUNDRED TWENTY TWENTY "aaaaaaaaaaaaaa\"]}]",
		  "0123 " HUNDRED HUNDRED TWENTY TWENTY "aaaaaaaaaaaaa\n" },
		/* A name that is no list, and one in a list of its own. */
		{ "[{\"Id\":\"" ID "\",\"Names\":\"/a\"},{\"Id\":\"" OTHER
		  "\",\"Names\":[[\"/b\"]]}]",
		  "" },
		/* No id of a container. */
		{ "[{\"Id\":\"0123\",\"Names\":[\"/a\"]},{\"Names\":[\"/b\"]},"
		  "{\"Id\":[\"" ID "\"],\"Names\":[\"/c\"]},7,[\"/d\"],"
		  "{\"Id\":\"g123456789abcdef0123456789abcdef0123456789abcdef0123456789"
		  "abcdef\",\"Names\":[\"/e\"]}]",
		  "" },
	};
	static const size_t pieces[] = { 1, 7, 65536 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++)
		for (size_t k = 0; k < TW_COUNT(pieces); k++) {
			struct tw_buf text = { 0 }, out = { 0 };
			struct tw_err err = { 0 };

			tw_buf_addf(&text, OK "%s", cases[i].json);
			tw_buf_adds(&out, "");
			if (parse(text.data, pieces[k], &out, &err) != 0)
				fail_msg("%s: %s", cases[i].json, err.text);
			assert_string_equal(out.data, cases[i].wanted);
			tw_buf_clear(&text);
			tw_buf_clear(&out);
		}
}

static void a_malformed_answer_is_rejected(void **state)
{
	static const struct {
		const char *answer, *text;
	} cases[] = {
		{ "", "cut short in the header" },
		{ "HTTP/1.0 200 OK\r\n", "cut short in the header" },
		{ "SSH-2.0-OpenSSH\r\n\r\n", "no answer of HTTP" },
		{ "HTTP/1.0\r\nServer: a b\r\n\r\n", "no answer of HTTP" },
		{ "HTTP/1.0\r\n\r\n", "no answer of HTTP" },
		{ "HTTP/1.0 403 Forbidden\r\n\r\n[]", "answers 403 Forbidden" },
		{ OK, "cut short" },
		{ OK "[{\"Id\":", "cut short" },
		{ OK "{\"message\":\"no\"}", "want a list of containers, got an object" },
		{ OK "7 ", "want a list of containers, got a number" },
		{ OK "page not found", "byte 0" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_buf out = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(parse(cases[i].answer, 5, &out, &err), -1);
		if (strstr(err.text, cases[i].text) == NULL)
			fail_msg("%s: %s", cases[i].answer, err.text);
		tw_buf_clear(&out);
	}
}

/* As much of a reason as fits in 64 bytes. */
static void a_long_reason_is_cut(void **state)
{
	static const char fits[] = TWENTY TWENTY "aaaaaaaaaaaaaaaaaaa";
	struct tw_buf out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(parse("HTTP/1.0 500 " HUNDRED "\r\n\r\n", 65536, &out, &err),
			 -1);
	assert_int_equal(strlen(err.text), strlen("answers") + 64);
	tw_err_clear(&err);
	assert_int_equal(parse("HTTP/1.0 403 Forbidden\r\n\r\n[]", 7, &out, &err), -1);
	assert_string_equal(err.text, "answers 403 Forbidden");
	tw_err_clear(&err);
	assert_int_equal(parse("HTTP/1.0 500 " TWENTY TWENTY
			       "aaaaaaaaaaaaaaaaaaa\r\n\r\n",
			       65536, &out, &err),
			 -1);
	assert_non_null(strstr(err.text, fits));
	assert_int_equal(strlen(err.text), strlen("answers 500 ") + strlen(fits));
}

/* A header and a list that come in pieces larger than the room for a header. */
static void a_long_answer_is_read_whole(void **state)
{
	static const size_t pieces[] = { 100, 5000, 8191, 8192, 8193, 1 << 20 };

	(void)state;
	for (size_t k = 0; k < TW_COUNT(pieces); k++) {
		struct tw_buf text = { 0 }, out = { 0 }, want = { 0 };
		struct tw_err err = { 0 };

		tw_buf_adds(&text, "HTTP/1.0 200 OK\r\n");
		while (text.len < 6000)
			tw_buf_adds(&text, "X: " HUNDRED "\r\n");
		tw_buf_adds(&text, "\r\n[");
		for (int i = 0; i < 300; i++) {
			tw_buf_addf(&text, "%s{\"Id\":\"" ID "\",\"Names\":[\"/n%d\"]}",
				    i > 0 ? "," : "", i);
			tw_buf_addf(&want, "0123 n%d\n", i);
		}
		tw_buf_adds(&text, "]");
		if (parse(text.data, pieces[k], &out, &err) != 0)
			fail_msg("%zu: %s", pieces[k], err.text);
		assert_string_equal(out.data, want.data);
		tw_buf_clear(&text);
		tw_buf_clear(&out);
		tw_buf_clear(&want);
	}
}

static void a_header_has_a_limit(void **state)
{
	struct tw_buf text = { 0 }, out = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	tw_buf_adds(&text, "HTTP/1.0 200 OK\r\n");
	while (text.len < 9000)
		tw_buf_adds(&text, "X: " HUNDRED "\r\n");
	assert_int_equal(parse(text.data, 4096, &out, &err), -1);
	assert_string_equal(err.text, "a header of over 8192 bytes");
	tw_buf_clear(&text);
	tw_buf_clear(&out);
}

static void without_memory_a_parser_fails_and_leaks_nothing(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_buf out = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = parse(OK "[]", 65536, &out, &err);
		tw_buf_clear(&out);
		if (!fail_alloc_hit()) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, TW_NOMEM);
	}
}

/* ---- the job, and an engine ---- */

#define ANSWERS 2

struct engine {
	int fd;
	const char *answer[ANSWERS];
	char request[ANSWERS][256];
	pthread_t thread;
};

/* Each connection gets the next answer. */
static void *answer_all(void *arg)
{
	struct engine *e = arg;

	for (int i = 0; i < ANSWERS; i++) {
		const int fd = accept(e->fd, NULL, NULL);
		size_t len = 0;

		while (fd >= 0 && strstr(e->request[i], "\r\n\r\n") == NULL) {
			const ssize_t n = read(fd, e->request[i] + len,
					       sizeof(e->request[i]) - 1 - len);

			if (n <= 0)
				break;
			len += (size_t)n;
		}
		(void)!write(fd, e->answer[i], strlen(e->answer[i]));
		close(fd);
	}
	return NULL;
}

static void start_engine(struct engine *e, const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	e->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(bind(e->fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(e->fd, ANSWERS), 0);
	assert_int_equal(pthread_create(&e->thread, NULL, answer_all, e), 0);
}

static struct tw_ask_message hear(int fd)
{
	struct tw_ask_message m;

	assert_int_equal(recv(fd, &m, sizeof(m), 0), sizeof(m));
	return m;
}

static void open_job(void **job, const char *first, const char *second, int *fd)
{
	const struct tw_ask_job *j = tw_ask_job_find("containers");
	json_t *settings = json_pack("{s:[s,s],s:i,s:b}", "sockets", first, second,
				     "interval_ms", 3600000, "filter", 0);
	struct tw_err err = { 0 };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	if (tw_ask_job_open(j, settings, job, &err) < 0)
		fail_msg("%s", err.text);
	json_decref(settings);
	((struct tw_ask_state *)*job)->fd = ends[0];
	*fd = ends[1];
}

static void all_engines_are_asked_and_one_that_fails_hides_no_other(void **state)
{
	const struct tw_ask_job *j = tw_ask_job_find("containers");
	struct engine first = { .answer = { OK "[{\"Id\":\"" ID
					       "\",\"Names\":[\"/web\"]}]",
					    "HTTP/1.0 500 Oops\r\n\r\n" } };
	struct engine second = { .answer = { OK "[]", OK "[{\"Id\":\"" OTHER
							 "\",\"Names\":[\"/db\"]}]" } };
	char *path[2] = { scratch_path(*state, "first"), scratch_path(*state, "second") };
	struct tw_ask_message m;
	void *job = NULL;
	int fd;

	start_engine(&first, path[0]);
	start_engine(&second, path[1]);
	open_job(&job, path[0], path[1], &fd);
	assert_int_equal(tw_ask_job_poll(j, job), 3600000);
	m = hear(fd);
	assert_int_equal(m.kind, TW_ASK_NAMES);
	assert_string_equal(m.of.names.id, ID);
	assert_string_equal(m.of.names.container, "web");
	assert_string_equal(m.of.names.pod, "");
	assert_int_equal(hear(fd).kind, TW_ASK_ALL_NAMES);
	assert_int_equal(tw_ask_job_poll(j, job), 10000);
	m = hear(fd);
	assert_int_equal(m.kind, TW_ASK_NAMES);
	assert_string_equal(m.of.names.container, "db");
	m = hear(fd);
	assert_int_equal(m.kind, TW_ASK_FAILED);
	assert_non_null(strstr(m.why, "first': answers 500 Oops"));
	/* Both have ended. */
	pthread_join(first.thread, NULL);
	pthread_join(second.thread, NULL);
	close(first.fd);
	close(second.fd);
	assert_string_equal(first.request[0], TW_CONTAINERS_REQUEST);
	assert_int_equal(tw_ask_job_poll(j, job), 20000);
	m = hear(fd);
	assert_int_equal(m.kind, TW_ASK_FAILED);
	assert_non_null(strstr(m.why, "cannot connect to '"));
	close(((struct tw_ask_state *)job)->fd);
	close(fd);
	tw_ask_job_close(j, job);
	free(path[0]);
	free(path[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_an_answer),
		cmocka_unit_test(a_malformed_answer_is_rejected),
		cmocka_unit_test(a_long_reason_is_cut),
		cmocka_unit_test(a_long_answer_is_read_whole),
		cmocka_unit_test(a_header_has_a_limit),
		cmocka_unit_test(without_memory_a_parser_fails_and_leaks_nothing),
		cmocka_unit_test_setup_teardown(
			all_engines_are_asked_and_one_that_fails_hides_no_other,
			scratch_set_up, scratch_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
