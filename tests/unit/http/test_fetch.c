/* SPDX-License-Identifier: Apache-2.0 */
/* Calls by the helper. This program takes the part of tw-ask, too: the URL says how. */
#include "tests/unit/tw_test.h"

#include "lib/ask/ask.h"
#include "lib/ask/fetch.h"
#include "lib/ask/helper.h"
#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/http/client/http.h"
#include "tests/unit/collector/scripted_ask.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MAX 1000

static struct tw_http_call post(const char *url)
{
	return (struct tw_http_call){ .url = url,
				      .body = "{\"a\":1}",
				      .body_len = 7,
				      .etag = "\"e\"",
				      .timeout_ms = 20000,
				      .answer_max = ANSWER_MAX };
}

static struct tw_fetch *open_fetch(void)
{
	struct tw_fetch *fetch = NULL;
	struct tw_err err = { 0 };

	assert_int_equal(tw_fetch_open(scripted_ask(), &fetch, &err), 0);
	return fetch;
}

/* ---- the helper ---- */

static void tell(int fd, struct tw_ask_message m, const char *body)
{
	m.kind = TW_ASK_FETCHED;
	scripted_ask_tell(fd, &m);
	if (body != NULL)
		(void)!send(fd, body, strlen(body), MSG_NOSIGNAL);
}

/* Answer with the settings and the body of the call. */
static void echo(int fd, const char *settings)
{
	struct tw_ask_message m = { .of.fetched = { .status = 201,
						    .content_type = "a/b",
						    .etag = "W/\"x\"",
						    .retry_after_s = 5,
						    .from = 7 } };
	char body[16] = "", text[1024];
	const ssize_t n = recv(fd, body, sizeof(body) - 1, 0);

	snprintf(text, sizeof(text), "%s|%zd|%s", settings, n, body);
	m.of.fetched.len = strlen(text);
	tell(fd, m, text);
}

/* The byte at a place of a body that takes several packets. */
static char byte_at(size_t i)
{
	return (char)('a' + i / 1000 % 26);
}

#define BIG_LEN (3 * TW_ASK_PACKET + 5)

/* Take such a body, and answer it in packets of other sizes. */
static void echo_big(int fd)
{
	struct tw_ask_message m = { .of.fetched = { .status = 200, .len = BIG_LEN } };
	char *body = malloc(BIG_LEN);
	size_t got = 0, sent = 0;

	while (body != NULL && got < BIG_LEN) {
		const ssize_t n = recv(fd, body + got, BIG_LEN - got, 0);

		if (n <= 0)
			_exit(1);
		got += (size_t)n;
	}
	tell(fd, m, NULL);
	while (sent < got) {
		const size_t part = got - sent < 40000 ? got - sent : 40000;

		if (send(fd, body + sent, part, MSG_NOSIGNAL) != (ssize_t)part)
			_exit(1);
		sent += part;
	}
	free(body);
}

static void save(void)
{
	(void)!write(TW_ASK_FILE, "saved", 5);
}

static void script(int fd, const char *settings)
{
	struct tw_ask_message m = { .of.fetched = { .status = 200 } };
	struct tw_ask_fetched *f = &m.of.fetched;

	if (strstr(settings, "/echo") != NULL) {
		echo(fd, settings);
		return;
	}
	if (strstr(settings, "/big") != NULL) {
		echo_big(fd);
		return;
	}
	if (strstr(settings, "/save") != NULL)
		save();
	if (strstr(settings, "/bytes") != NULL)
		f->len = 4;
	if (strstr(settings, "/cut") != NULL || strstr(settings, "/stalls") != NULL)
		f->len = 5;
	if (strstr(settings, "/long") != NULL)
		f->len = 3;
	if (strstr(settings, "/huge") != NULL)
		f->len = UINT64_MAX;
	if (strstr(settings, "/failure") != NULL) {
		f->failed = TW_DENIED;
		snprintf(f->failure, sizeof(f->failure), "POST http://h: no \"route\"");
	}
	if (strstr(settings, "/endless") != NULL) {
		f->failed = TW_CODE_COUNT;
		memset(f->failure, 'x', sizeof(f->failure));
	}
	if (strstr(settings, "/unended") != NULL) {
		memset(f->etag, 'x', sizeof(f->etag));
		memset(f->content_type, 'x', sizeof(f->content_type));
	}
	if (strstr(settings, "/short") != NULL) {
		m.kind = TW_ASK_FETCHED;
		(void)!send(fd, &m, sizeof(m) - 1, MSG_NOSIGNAL);
		return;
	}
	if (strstr(settings, "/deaf") != NULL)
		shutdown(fd, SHUT_RD);
	if (strstr(settings, "/slow") != NULL)
		usleep(200000);
	if (strstr(settings, "/hang") != NULL)
		pause();
	if (strstr(settings, "/mute") != NULL)
		return;
	if (strstr(settings, "/killed") != NULL)
		kill(getpid(), SIGKILL);
	if (strstr(settings, "/rubbish") != NULL) {
		(void)!send(fd, "what", 4, MSG_NOSIGNAL);
		return;
	}
	tell(fd, m, f->len > 0 ? "PK\1\n" : NULL);
	if (strstr(settings, "/lingers") != NULL || strstr(settings, "/stalls") != NULL)
		pause();
}

/* ---- the tests ---- */

static void the_helper_gets_the_call_and_its_answer_comes_back(void **state)
{
	const struct tw_http_call call = post("http://u:p@h/echo");
	struct tw_fetch *fetch = open_fetch();
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (tw_fetch_call(fetch, &call, &answer, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(answer.status, 201);
	assert_string_equal(answer.content_type, "a/b");
	assert_string_equal(answer.etag, "W/\"x\"");
	assert_int_equal(answer.retry_after_s, 5);
	assert_int_equal(answer.from, 7);
	assert_string_equal(
		answer.body,
		"{\"job\":\"fetch\",\"url\":\"http://u:p@h/"
		"echo\",\"content_type\":null,\"etag\":\"\\\"e\\\"\","
		"\"timeout_ms\":20000,\"stall_ms\":0,\"answer_max\":1000,\"save\":false,"
		"\"post\":true,\"body_len\":7}|7|{\"a\":1}");
	assert_int_equal(answer.len, strlen(answer.body));
	tw_http_answer_release(&answer);
	tw_fetch_close(fetch);
}

static void a_body_is_bytes_with_a_nul_behind_them(void **state)
{
	const struct tw_http_call call = post("http://h/bytes");
	struct tw_fetch *fetch = open_fetch();
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), 0);
	assert_int_equal(answer.len, 4);
	assert_memory_equal(answer.body, "PK\1\n", 5);
	tw_http_answer_release(&answer);
	tw_fetch_close(fetch);
}

static void a_body_of_many_packets_arrives_both_ways(void **state)
{
	char *body = malloc(BIG_LEN);
	struct tw_http_call call = post("http://h/big");
	struct tw_fetch *fetch = open_fetch();
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_non_null(body);
	for (size_t i = 0; i < BIG_LEN; i++)
		body[i] = byte_at(i);
	call.body = body;
	call.body_len = BIG_LEN;
	call.answer_max = BIG_LEN;
	if (tw_fetch_call(fetch, &call, &answer, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(answer.len, BIG_LEN);
	assert_memory_equal(answer.body, body, BIG_LEN);
	tw_http_answer_release(&answer);
	tw_fetch_close(fetch);
	free(body);
}

static void an_answer_may_be_as_long_as_its_limit(void **state)
{
	struct tw_http_call call = post("http://h/bytes");
	struct tw_fetch *fetch = open_fetch();
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	call.answer_max = 4;
	assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), 0);
	tw_http_answer_release(&answer);
	call.answer_max = 3;
	assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), -1);
	assert_string_equal(err.text, "the answer is over 3 bytes");
	tw_fetch_close(fetch);
}

static void texts_without_an_end_are_cut(void **state)
{
	const struct tw_http_call call = post("http://h/unended");
	struct tw_fetch *fetch = open_fetch();
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), 0);
	assert_int_equal(strlen(answer.etag), sizeof(answer.etag) - 1);
	assert_int_equal(strlen(answer.content_type), sizeof(answer.content_type) - 1);
	tw_http_answer_release(&answer);
	tw_fetch_close(fetch);
}

#if TW_FLEET
static void the_helper_writes_to_the_file_of_a_download(void **state)
{
	struct tw_http_call call = post("http://h/save");
	struct tw_fetch *fetch = open_fetch();
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };
	char *dir = scratch_new(), text[8] = "";
	const int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	(void)state;
	assert_true(fd >= 0);
	call.body = NULL;
	assert_int_equal(tw_fetch_save(fetch, &call, fd, &answer, &err), 0);
	assert_int_equal(answer.status, 200);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 5);
	assert_string_equal(text, "saved");
	close(fd);
	tw_http_answer_release(&answer);
	tw_fetch_close(fetch);
	scratch_free(dir);
}
#endif

static void a_helper_that_fails_dies_or_sends_rubbish_is_a_failure(void **state)
{
	static const char version[] = "'/proc/self/exe' is of another version",
			  ended[] = "'/proc/self/exe' ended without an answer";
	static const struct {
		const char *url;
		enum tw_code code;
		const char *error;
	} cases[] = {
		{ "http://h/failure", TW_DENIED, "POST http://h: no \"route\"" },
		{ "http://h/mute", TW_IO, ended },
		{ "http://h/killed", TW_IO, ended },
		{ "http://h/cut", TW_IO, ended },
		{ "http://h/long", TW_PARSE, version },
		{ "http://h/rubbish", TW_PARSE, version },
		{ "http://h/short", TW_PARSE, version },
		{ "http://h/huge", TW_INVALID, "the answer is over 1000 bytes" },
	};
	struct tw_fetch *fetch = open_fetch();

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_http_call call = post(cases[i].url);
		struct tw_http_answer answer = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), -1);
		assert_string_equal(err.text, cases[i].error);
		assert_int_equal(err.code, cases[i].code);
		assert_null(answer.body);
	}
	tw_fetch_close(fetch);
}

/* The socket does not hold the body: the helper ends, or reads no more, before the last
 * packet. */
static void a_helper_that_answers_before_it_has_the_call_is_heard(void **state)
{
	static const char *const urls[] = { "http://h/failure", "http://h/deaf/failure" };
	static const size_t body_len = (size_t)16 << 20;
	char *body = calloc(1, body_len);
	struct tw_fetch *fetch = open_fetch();

	(void)state;
	assert_non_null(body);
	for (size_t i = 0; i < TW_COUNT(urls); i++) {
		struct tw_http_call call = post(urls[i]);
		struct tw_http_answer answer = { 0 };
		struct tw_err err = { 0 };

		call.body = body;
		call.body_len = body_len;
		assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), -1);
		assert_string_equal(err.text, "POST http://h: no \"route\"");
		assert_int_equal(err.code, TW_DENIED);
	}
	tw_fetch_close(fetch);
	free(body);
}

static void a_failure_without_an_end_or_a_known_code_is_cut(void **state)
{
	const struct tw_http_call call = post("http://h/endless");
	struct tw_fetch *fetch = open_fetch();
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), -1);
	assert_int_equal(err.code, TW_IO);
	assert_true(strnlen(err.text, sizeof(err.text)) < sizeof(err.text));
	tw_fetch_close(fetch);
}

static void *stop_soon(void *fetch)
{
	tw_fetch_stop(fetch);
	return NULL;
}

static void a_hanging_helper_is_killed_on_stop(void **state)
{
	const struct tw_http_call call = post("http://h/hang");
	struct tw_fetch *fetch = open_fetch();
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, fetch), 0);
	assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), -1);
	assert_string_equal(err.text, "stopping");
	assert_int_equal(pthread_join(thread, NULL), 0);
	tw_fetch_close(fetch);
}

/* Its deadline, and two seconds for the helper to start and end. Without an answer,
 * within one, or with all of it. */
static void a_hanging_helper_is_killed_at_the_deadline(void **state)
{
	static const struct {
		const char *url;
		int status;
		const char *error;
	} cases[] = {
		{ "http://h/hang", -1, "'/proc/self/exe' did not answer in time" },
		{ "http://h/stalls", -1, "'/proc/self/exe' did not answer in time" },
		{ "http://h/lingers", 0, "" },
	};
	struct tw_fetch *fetch = open_fetch();

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_http_call call = post(cases[i].url);
		struct tw_http_answer answer = { 0 };
		struct tw_err err = { 0 };
		const uint64_t from_ms = tw_now_ms();

		call.timeout_ms = 200;
		assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err),
				 cases[i].status);
		assert_int_equal(err.code, cases[i].status == 0 ? TW_OK : TW_IO);
		assert_string_equal(err.text, cases[i].error);
		assert_true(tw_now_ms() - from_ms >= 2200);
		tw_http_answer_release(&answer);
	}
	tw_fetch_close(fetch);
}

static void note_alarm(int signal)
{
	(void)signal;
}

static void a_signal_does_not_end_a_call(void **state)
{
	static const struct sigaction handler = { .sa_handler = note_alarm };
	static const struct itimerval each = { { 0, 10000 }, { 0, 10000 } },
				      never = { 0 };
	const struct tw_http_call call = post("http://h/slow");
	struct tw_fetch *fetch = open_fetch();
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };
	int rc;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &handler, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &each, NULL), 0);
	rc = tw_fetch_call(fetch, &call, &answer, &err);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	if (rc < 0)
		fail_msg("%s", err.text);
	tw_http_answer_release(&answer);
	tw_fetch_close(fetch);
}

/* As of model finders, one of which could not begin. */
static void a_stop_in_a_fork_lasts_until_calls_resume(void **state)
{
	const struct tw_http_call call = post("http://h/echo");
	struct tw_fetch *fetch = open_fetch();
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };
	const pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		tw_fetch_stop(fetch);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), -1);
	assert_string_equal(err.text, "stopping");
	tw_fetch_resume(fetch);
	tw_fetch_resume(fetch);
	assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), 0);
	tw_http_answer_release(&answer);
	tw_fetch_close(fetch);
}

static void a_missing_program_is_named(void **state)
{
	const struct tw_http_call call = post("http://h/bytes");
	struct tw_fetch *fetch = NULL;
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_fetch_open("/nowhere/tw-ask", &fetch, &err), 0);
	assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text, "HTTP client: cannot run '/nowhere/tw-ask': "
				      "No such file or directory");
	tw_fetch_close(fetch);
}

/* An upgrade replaces it while a daemon runs. */
static void a_program_may_come_later(void **state)
{
	const struct tw_http_call call = post("http://h/bytes");
	char *dir = scratch_new(), *path = scratch_path(dir, "tw-ask");
	struct tw_fetch *fetch = NULL;
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_fetch_open(path, &fetch, &err), 0);
	assert_int_equal(tw_fetch_call(fetch, &call, &answer, &err), -1);
	err = (struct tw_err){ 0 };
	assert_int_equal(symlink(scripted_ask(), path), 0);
	if (tw_fetch_call(fetch, &call, &answer, &err) < 0)
		fail_msg("%s", err.text);
	tw_http_answer_release(&answer);
	tw_fetch_close(fetch);
	free(path);
	scratch_free(dir);
}

/* Its place is beside this program, or where make install puts it. */
static void a_program_needs_no_path(void **state)
{
	struct tw_fetch *fetch = NULL;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_fetch_open(NULL, &fetch, &err), 0);
	tw_fetch_close(fetch);
}

/* How many descriptors the process has. */
static size_t count_open(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void without_descriptors_it_fails(void **state)
{
	const size_t before = count_open();
	struct rlimit limit, none;
	struct tw_fetch *fetch = NULL;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(tw_fetch_open("/tw-ask", &fetch, &err), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_string_equal(err.text, "cannot make an eventfd: Too many open files");
	assert_null(fetch);
	tw_fetch_close(open_fetch());
	tw_fetch_close(NULL);
	assert_int_equal(count_open(), before);
}

static void every_failed_allocation_is_reported(void **state)
{
	const struct tw_http_call call = post("http://h/bytes");
	struct tw_fetch *fetch = open_fetch();

	(void)state;
	/* Itself and its path; each call reports failures of the program. */
	for (int n = 1; n <= 2; n++) {
		struct tw_fetch *f = NULL;
		struct tw_err err = { 0 };

		fail_alloc_at(n);
		assert_true(fail_alloc_told(tw_fetch_open("/tw-ask", &f, &err), &err));
		assert_null(f);
	}
	for (int n = 1;; n++) {
		struct tw_http_answer answer = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_fetch_call(fetch, &call, &answer, &err);
		tw_http_answer_release(&answer);
		if (!fail_alloc_told(rc, &err))
			break;
	}
	tw_fetch_close(fetch);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_helper_gets_the_call_and_its_answer_comes_back),
		cmocka_unit_test(a_body_is_bytes_with_a_nul_behind_them),
		cmocka_unit_test(a_body_of_many_packets_arrives_both_ways),
		cmocka_unit_test(an_answer_may_be_as_long_as_its_limit),
		cmocka_unit_test(texts_without_an_end_are_cut),
#if TW_FLEET
		cmocka_unit_test(the_helper_writes_to_the_file_of_a_download),
#endif
		cmocka_unit_test(a_helper_that_fails_dies_or_sends_rubbish_is_a_failure),
		cmocka_unit_test(a_helper_that_answers_before_it_has_the_call_is_heard),
		cmocka_unit_test(a_failure_without_an_end_or_a_known_code_is_cut),
		cmocka_unit_test(a_hanging_helper_is_killed_on_stop),
		cmocka_unit_test(a_hanging_helper_is_killed_at_the_deadline),
		cmocka_unit_test(a_signal_does_not_end_a_call),
		cmocka_unit_test(a_stop_in_a_fork_lasts_until_calls_resume),
		cmocka_unit_test(a_missing_program_is_named),
		cmocka_unit_test(a_program_may_come_later),
		cmocka_unit_test(a_program_needs_no_path),
		cmocka_unit_test(without_descriptors_it_fails),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	if (argc > 0 && scripted_ask_is_it(argv[0]))
		return scripted_ask_run(script);
	return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
