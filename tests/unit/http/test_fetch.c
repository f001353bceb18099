/* SPDX-License-Identifier: Apache-2.0 */
/* Calls by a child process. Shell scripts stand in for tw-fetch. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/fetch.h"
#include "lib/http/client/fetch_message.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
	char *top, *program;
	struct tw_fetch *fetch;
};

static void set_up(struct fixture *f, const char *script)
{
	struct tw_err err = { 0 };

	*f = (struct fixture){ .top = scratch_new() };
	assert_int_equal(tw_path_join(&f->program, &err, f->top, "fetch", NULL), 0);
	assert_int_equal(tw_file_create(f->program, script, strlen(script), &err), 0);
	assert_int_equal(chmod(f->program, 0755), 0);
	assert_int_equal(tw_fetch_open(f->program, &f->fetch, &err), 0);
}

static void tear_down(struct fixture *f)
{
	tw_fetch_close(f->fetch);
	scratch_free(f->top);
	free(f->program);
}

static const struct tw_http_call post = { .url = "http://u:p@h/x",
					  .body = "{\"a\":1}",
					  .body_len = 7,
					  .etag = "\"e\"",
					  .timeout_ms = 20000,
					  .answer_max = 1000 };

static void calls_and_answers_survive_the_pipe_unchanged(void **state)
{
	struct tw_http_answer sent = { .status = 200,
				       .body = (char[]){ "PK\0\n" },
				       .len = 4,
				       .content_type = "application/zip",
				       .etag = "W/\"x\"",
				       .retry_after_s = 5 };
	struct tw_http_answer answer = { 0 };
	struct tw_http_call call = { 0 };
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };
	json_t *root = NULL;
	bool save = false;

	(void)state;
	tw_fetch_write_call(&b, &post, true);
	assert_int_equal(tw_fetch_read_call(b.data, b.len, &root, &call, &save, &err), 0);
	assert_true(save);
	assert_string_equal(call.url, post.url);
	assert_string_equal(call.etag, post.etag);
	assert_int_equal(call.timeout_ms, post.timeout_ms);
	assert_int_equal(call.answer_max, post.answer_max);
	assert_int_equal(call.body_len, post.body_len);
	assert_memory_equal(call.body, post.body, post.body_len);
	json_decref(root);
	tw_buf_clear(&b);

	tw_fetch_write_answer(&b, &sent);
	assert_int_equal(tw_fetch_read_outcome(b.data, b.len, &answer, &err), 0);
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.content_type, "application/zip");
	assert_string_equal(answer.etag, "W/\"x\"");
	assert_int_equal(answer.retry_after_s, 5);
	assert_int_equal(answer.len, 4);
	assert_memory_equal(answer.body, "PK\0\n", 5);
	tw_http_answer_release(&answer);
	tw_buf_clear(&b);
}

static void a_failure_of_the_child_is_the_callers_failure(void **state)
{
	struct tw_http_answer answer = { 0 };
	struct tw_err why = { 0 }, err = { 0 };
	struct tw_buf b = { 0 };

	(void)state;
	tw_fail(&why, TW_IO, "POST http://h: no \"route\"");
	tw_fetch_write_failure(&b, &why);
	assert_int_equal(tw_fetch_read_outcome(b.data, b.len, &answer, &err), -1);
	assert_int_equal(err.code, TW_IO);
	assert_string_equal(err.text, why.text);
	tw_buf_clear(&b);
}

static void a_malformed_outcome_is_rejected(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", "outcome: no line of JSON in 0 bytes" },
		{ "{}", "outcome: no line of JSON in 2 bytes" },
		{ "{}\n", "outcome.status: missing" },
		{ "[]\n", "outcome: expected an object, got a list" },
		{ "{\"status\":99}\n", "outcome.status: 99 is not from 100 to 999" },
		{ "{\"failure\":\"x\"}\n", "outcome.code: missing" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_http_answer answer = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_fetch_read_outcome(cases[i].text,
						       strlen(cases[i].text), &answer,
						       &err),
				 -1);
		assert_string_equal(err.text, cases[i].error);
		assert_null(answer.body);
	}
}

static void the_child_gets_the_call_and_its_answer_comes_back(void **state)
{
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };
	struct fixture f;

	(void)state;
	set_up(&f, "#!/bin/sh\n"
		   "read -r line\n"
		   "printf '{\"status\":201,\"content_type\":\"a/b\"}\\n%s|' \"$line\"\n"
		   "cat\n");
	if (tw_fetch_call(f.fetch, &post, &answer, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(answer.status, 201);
	assert_string_equal(
		answer.body,
		"{\"post\":true,\"timeout_ms\":20000,\"answer_max\":1000,"
		"\"url\":\"http://u:p@h/x\",\"etag\":\"\\\"e\\\"\"}|{\"a\":1}");
	tw_http_answer_release(&answer);
	tear_down(&f);
}

static void fails_with(const char *script, enum tw_code code, const char *text)
{
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };
	struct fixture f;

	set_up(&f, script);
	assert_int_equal(tw_fetch_call(f.fetch, &post, &answer, &err), -1);
	assert_string_equal(err.text, text);
	assert_int_equal(err.code, code);
	assert_null(answer.body);
	tear_down(&f);
}

static void a_child_that_dies_or_writes_rubbish_is_a_failure(void **state)
{
	(void)state;
	fails_with("#!/bin/sh\nexec cat >/dev/null\n", TW_PARSE,
		   "outcome: no line of JSON in 0 bytes");
	fails_with("#!/bin/sh\ncat >/dev/null; echo what; kill -9 $$\n", TW_PARSE,
		   "outcome: line 1, column 1: expected a value");
	fails_with("#!/bin/sh\ncat >/dev/null; head -c 100000 /dev/zero\n", TW_INVALID,
		   "the answer is over 66536 bytes");
}

static void *stop_soon(void *fetch)
{
	tw_fetch_stop(fetch);
	return NULL;
}

static void a_hanging_child_is_killed_on_stop(void **state)
{
	struct tw_http_answer answer = { 0 };
	struct tw_err err = { 0 };
	struct fixture f;
	pthread_t thread;

	(void)state;
	set_up(&f, "#!/bin/sh\nexec sleep 1000\n");
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, f.fetch), 0);
	assert_int_equal(tw_fetch_call(f.fetch, &post, &answer, &err), -1);
	assert_string_equal(err.text, "stopping");
	assert_int_equal(pthread_join(thread, NULL), 0);
	tear_down(&f);
}

static void a_missing_program_is_named(void **state)
{
	struct tw_fetch *fetch = NULL;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_fetch_open("/nowhere/tw-fetch", &fetch, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text, "cannot run '/nowhere/tw-fetch', the HTTP client: "
				      "No such file or directory");
	assert_null(fetch);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, "#!/bin/sh\ncat >/dev/null; echo '{\"status\":200}'\n");
	for (int n = 1;; n++) {
		struct tw_http_answer answer = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_fetch_call(f.fetch, &post, &answer, &err);
		tw_http_answer_release(&answer);
		if (!fail_alloc_told(rc, &err))
			break;
	}
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_and_answers_survive_the_pipe_unchanged),
		cmocka_unit_test(a_failure_of_the_child_is_the_callers_failure),
		cmocka_unit_test(a_malformed_outcome_is_rejected),
		cmocka_unit_test(the_child_gets_the_call_and_its_answer_comes_back),
		cmocka_unit_test(a_child_that_dies_or_writes_rubbish_is_a_failure),
		cmocka_unit_test(a_hanging_child_is_killed_on_stop),
		cmocka_unit_test(a_missing_program_is_named),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("fetch", tests, NULL, NULL);
}
