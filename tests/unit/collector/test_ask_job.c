/* SPDX-License-Identifier: Apache-2.0 */
/* What the jobs of tw-ask share: the waits between polls, and secrets in files. */
#include "tests/unit/tw_test.h"

#include "collector/ask/access.h"
#include "collector/ask/ask_job.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/scratch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- waits ---- */

struct scripted {
	struct tw_ask_state state;
	bool fails;
	uint64_t wait_ms;
};

static int poll_scripted(void *state, struct tw_err *err)
{
	struct scripted *s = state;

	assert_int_equal(s->state.wait_ms, 0);
	s->state.wait_ms = s->wait_ms;
	return s->fails ? tw_fail(err, TW_IO, "no answer") : 0;
}

static size_t reports;

static void count_report(void *state, const struct tw_err *why)
{
	(void)state;
	assert_string_equal(why->text, "no answer");
	reports++;
}

static void failures_in_a_row_lengthen_the_wait(void **state)
{
	static const struct {
		uint64_t min_ms, max_ms, interval_ms, wait_ms;
		uint64_t wanted_ms[3];
	} cases[] = {
		{ 0, 0, 1000, 0, { 1000, 2000, 4000 } },
		{ 0, 0, 40000, 0, { 40000, 60000, 60000 } },
		{ 0, 0, 90000, 0, { 90000, 90000, 90000 } },
		{ 0, 60000, 90000, 0, { 60000, 60000, 60000 } },
		{ 5000, 15000, 90000, 0, { 5000, 10000, 15000 } },
		{ 5000, 15000, 3000, 0, { 3000, 6000, 12000 } },
		{ 0, 60000, 1000, 3000, { 3000, 3000, 4000 } },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_ask_job job = { .poll = poll_scripted,
						.report = count_report,
						.retry_min_ms = cases[i].min_ms,
						.retry_max_ms = cases[i].max_ms };
		struct scripted s = { .state.interval_ms = cases[i].interval_ms,
				      .fails = true,
				      .wait_ms = cases[i].wait_ms };

		reports = 0;
		for (size_t n = 0; n < 3; n++)
			assert_int_equal(tw_ask_job_poll(&job, &s),
					 cases[i].wanted_ms[n]);
		assert_int_equal(reports, 3);
		/* A success ends the row. */
		s.fails = false;
		s.wait_ms = 0;
		assert_int_equal(tw_ask_job_poll(&job, &s), cases[i].interval_ms);
		assert_int_equal(s.state.failures, 0);
		s.wait_ms = 7;
		assert_int_equal(tw_ask_job_poll(&job, &s), 7);
	}
}

/* A controller that restarts costs seconds of readings, not a long interval. */
static void a_controller_is_asked_again_soon(void **state)
{
	static const char *const names[] = { "ipmi", "redfish" };

	(void)state;
	for (size_t i = 0; TW_FREEIPMI && i < TW_COUNT(names); i++) {
		struct tw_ask_job job = *tw_ask_job_find(names[i]);
		struct scripted s = { .state.interval_ms = 3600000, .fails = true };

		job.poll = poll_scripted;
		job.report = count_report;
		assert_int_equal(tw_ask_job_poll(&job, &s), 10000);
		assert_int_equal(tw_ask_job_poll(&job, &s), 20000);
	}
}

static void a_job_without_a_report_sends_the_failure(void **state)
{
	const struct tw_ask_job job = { .poll = poll_scripted };
	struct scripted s = { .state.interval_ms = 1000, .fails = true };
	struct tw_ask_message m;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	s.state.fd = ends[0];
	tw_ask_job_poll(&job, &s);
	assert_int_equal(recv(ends[1], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(m.kind, TW_ASK_FAILED);
	assert_string_equal(m.why, "no answer");
	close(ends[0]);
	close(ends[1]);
}

/* ---- secrets ---- */

static void put(const char *path, const char *text)
{
	struct tw_err err = { 0 };

	assert_int_equal(tw_file_replace(path, text, strlen(text), &err), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

static void a_secret_that_is_unreadable_leaves_the_last_in_use(void **state)
{
	char *login = scratch_path(*state, "login"),
	     *token = scratch_path(*state, "token");
	struct tw_access a = { .login_file = login, .token_file = token };
	struct tw_err err = { 0 };

	put(login, "user = me\npassword = a\n");
	assert_int_equal(tw_access_read(&a, &err), -1);
	assert_non_null(strstr(err.text, "token"));
	assert_string_equal(a.http.user, "me");
	assert_null(a.http.token);
	put(token, "t1\n");
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_access_read(&a, &err), 0);
	assert_string_equal(a.http.token, "t1");
	put(login, "user = you\npassword = b\n");
	put(token, "");
	assert_int_equal(tw_access_read(&a, &err), 0);
	assert_string_equal(a.http.user, "you");
	assert_string_equal(a.http.password, "b");
	assert_string_equal(a.http.token, "t1");
	assert_int_equal(unlink(login), 0);
	put(token, "t2");
	assert_int_equal(tw_access_read(&a, &err), 0);
	assert_string_equal(a.http.user, "you");
	assert_string_equal(a.http.token, "t2");
	tw_access_close(&a);
	free(login);
	free(token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_in_a_row_lengthen_the_wait),
		cmocka_unit_test(a_controller_is_asked_again_soon),
		cmocka_unit_test(a_job_without_a_report_sends_the_failure),
		cmocka_unit_test_setup_teardown(
			a_secret_that_is_unreadable_leaves_the_last_in_use,
			scratch_set_up, scratch_tear_down),
	};

	return cmocka_run_group_tests_name("ask_job", tests, NULL, NULL);
}
