/* SPDX-License-Identifier: Apache-2.0 */
/* What the jobs of tw-ask share: the waits between polls, and secrets in files. */
#include "tests/unit/tw_test.h"

#include "collector/ask/access.h"
#include "collector/ask/ask_job.h"
#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/scratch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static void jobs_are_found_by_their_names(void **state)
{
	static const char *const names[] = {
#if TW_FLEET
		"agents",
#endif
		"command",
		"containers",
		"fetch",
		"file",
		"ipmi",
		"pods",
		"prometheus",
		"push",
		"redfish",
		"series",
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(names); i++)
		assert_string_equal(tw_ask_job_find(names[i])->name, names[i]);
	assert_null(tw_ask_job_find("rubbish"));
	assert_null(tw_ask_job_find(""));
}

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

/* ---- a job and the daemon ---- */

struct opened {
	struct tw_ask_state state;
	uint64_t size;
	bool fails;
};

static size_t closes, polls, polls_wanted, leaves;

static int open_counted(void *state, struct tw_err *err)
{
	const struct opened *s = state;

	return s->fails ? tw_fail(err, TW_DENIED, "no device") : 0;
}

static void close_counted(void *state)
{
	(void)state;
	closes++;
}

static int poll_counted(void *state, struct tw_err *err)
{
	const struct opened *s = state;

	(void)err;
	polls++;
	assert_int_equal(s->size, 7);
	/* The daemon ends meanwhile. */
	if (polls == polls_wanted)
		assert_int_equal(shutdown(s->state.fd, SHUT_RD), 0);
	return 0;
}

static void count_leave(void *state)
{
	(void)state;
	leaves++;
}

static const struct tw_field opened_fields[] = {
	TW_ASK_INTERVAL(struct opened),
	{ "size", TW_FIELD_UINT, TW_FIELD_AT(struct opened, size), .max = 9 },
	{ "fails", TW_FIELD_BOOL, TW_FIELD_AT(struct opened, fails) },
};
static const struct tw_fields opened_settings = TW_FIELDS(opened_fields, struct opened);
static const struct tw_ask_job counted = { .name = "counted",
					   .settings = &opened_settings,
					   .open = open_counted,
					   .poll = poll_counted,
					   .leave = count_leave,
					   .close = close_counted };

static int open_job(const struct tw_ask_job *j, int interval_ms, int size, bool fails,
		    void **out, struct tw_err *err)
{
	json_t *settings = json_pack("{s:s,s:i,s:i,s:b}", "job", "counted", "interval_ms",
				     interval_ms, "size", size, "fails", fails);
	int rc;

	closes = polls = leaves = 0;
	assert_non_null(settings);
	rc = tw_ask_job_open(j, settings, out, err);
	json_decref(settings);
	return rc;
}

static void a_job_that_cannot_open_is_closed_with_its_reason(void **state)
{
	struct tw_err err = { 0 };
	void *job = NULL;

	(void)state;
	assert_int_equal(open_job(&counted, 1, 7, true, &job, &err), -1);
	assert_string_equal(err.text, "no device");
	assert_int_equal(err.code, TW_DENIED);
	assert_null(job);
	assert_int_equal(closes, 1);
	/* With wrong settings it is not opened. */
	err = (struct tw_err){ 0 };
	assert_int_equal(open_job(&counted, 1, 10, false, &job, &err), -1);
	assert_int_equal(closes, 0);
	tw_ask_job_close(&counted, NULL);
	assert_int_equal(closes, 0);
}

/* A request to poll soon, for jobs that allow it. */
static void a_job_polls_until_the_daemon_ends(void **state)
{
	static const struct {
		int interval_ms;
		uint64_t least_ms;
		size_t polls;
		double at_least_ms;
	} cases[] = {
		{ 20, 0, 3, 40 },
		{ 600000, 10, 2, 10 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_ask_job job = counted;
		const uint64_t from_ns = tw_now_ns();
		struct tw_err err = { 0 };
		void *opened = NULL;
		int ends[2];

		job.least_ms = cases[i].least_ms;
		job.open = i == 0 ? NULL : open_counted;
		polls_wanted = cases[i].polls;
		assert_int_equal(
			open_job(&job, cases[i].interval_ms, 7, false, &opened, &err), 0);
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
		assert_int_equal(send(ends[1], "", 1, 0), 1);
		tw_ask_job_run(&job, opened, ends[0]);
		assert_true((double)(tw_now_ns() - from_ns) / 1e6 >=
			    cases[i].at_least_ms);
		assert_int_equal(polls, cases[i].polls);
		assert_int_equal(leaves, 1);
		assert_int_equal(closes, 0);
		tw_ask_job_close(&job, opened);
		assert_int_equal(closes, 1);
		close(ends[0]);
		close(ends[1]);
	}
}

/* How long a pause lasted, in ms. */
static double pause_for(int fd, uint64_t ms, uint64_t least_ms, bool *goes_on)
{
	const uint64_t from_ns = tw_now_ns();

	*goes_on = tw_ask_pause(fd, ms, least_ms);
	return (double)(tw_now_ns() - from_ns) / 1e6;
}

static void a_request_ends_a_pause_after_the_least_wait(void **state)
{
	bool goes_on;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_true(pause_for(ends[0], 20, 20, &goes_on) >= 20);
	assert_true(goes_on);
	/* Two requests are one poll. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(send(ends[1], "", 1, 0), 1);
	assert_false(tw_ask_is_closed(&ends[0]));
	assert_true(pause_for(ends[0], 600000, 30, &goes_on) >= 30);
	assert_true(goes_on);
	assert_true(pause_for(ends[0], 20, 0, &goes_on) >= 20);
	/* A least wait longer than the pause is the pause. */
	assert_int_equal(send(ends[1], "", 1, 0), 1);
	assert_true(pause_for(ends[0], 20, 600000, &goes_on) >= 20);
	assert_true(goes_on);
	close(ends[1]);
	assert_true(tw_ask_is_closed(&ends[0]));
	pause_for(ends[0], 600000, 600000, &goes_on);
	assert_false(goes_on);
	pause_for(ends[0], 600000, 0, &goes_on);
	assert_false(goes_on);
	close(ends[0]);
}

static void note_alarm(int signal)
{
	(void)signal;
}

static void a_signal_ends_no_pause(void **state)
{
	static const struct sigaction handler = { .sa_handler = note_alarm };
	static const struct itimerval each = { { 0, 5000 }, { 0, 5000 } }, never = { 0 };
	bool goes_on;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_int_equal(sigaction(SIGALRM, &handler, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &each, NULL), 0);
	assert_true(pause_for(ends[0], 40, 20, &goes_on) >= 40);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_true(goes_on);
	close(ends[0]);
	close(ends[1]);
}

static void a_failure_lasts_if_somebody_has_to_change_something(void **state)
{
	static const struct {
		enum tw_code code;
		bool given, lasting;
	} cases[] = {
		{ TW_IO, false, false },    { TW_IO, true, true },
		{ TW_DENIED, false, true }, { TW_UNSUPPORTED, false, true },
		{ TW_PARSE, false, false }, { TW_NOTFOUND, false, true },
	};
	const struct tw_ask_names names = { .id = "id" };
	struct tw_err err = { 0 }, stopped = { 0 };
	struct tw_ask_state s = { .fd = -1 };
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_ask_message m;

		err.code = cases[i].code;
		memset(err.text, 'x', sizeof(err.text) - 1);
		assert_true(tw_ask_send_failure(ends[0], &err, cases[i].given));
		assert_int_equal(recv(ends[1], &m, sizeof(m), 0), sizeof(m));
		assert_int_equal(m.lasting, cases[i].lasting);
		assert_int_equal(strnlen(m.why, sizeof(m.why)), sizeof(m.why) - 1);
	}
	/* Names are sent as long as the daemon takes them. */
	s.fd = ends[0];
	assert_int_equal(tw_ask_send_names(&s, &names, &stopped), 0);
	close(ends[1]);
	assert_int_equal(tw_ask_send_names(&s, &names, &stopped), -1);
	assert_string_equal(stopped.text, "stopped");
	close(ends[0]);
}

static void a_reason_is_a_label_that_stays_the_same(void **state)
{
	static const struct {
		const char *why, *wanted;
	} cases[] = {
		{ "no route", "no route" },
		{ "port 1 after 17 ms: refused", "port 1: refused" },
		{ "a after 1 ms after 22 ms", "a" },
		{ "after a while", "after a while" },
		{ "look after x", "look after x" },
		{ "a\tb\x7f\xc3\xa9~ ", "a?b???~ " },
		{ "0123456789012345678901234567890123",
		  "0123456789012345678901234567890" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char out[32];

		tw_ask_copy_reason(out, sizeof(out), cases[i].why);
		assert_string_equal(out, cases[i].wanted);
	}
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
		cmocka_unit_test(jobs_are_found_by_their_names),
		cmocka_unit_test(failures_in_a_row_lengthen_the_wait),
		cmocka_unit_test(a_controller_is_asked_again_soon),
		cmocka_unit_test(a_job_without_a_report_sends_the_failure),
		cmocka_unit_test(a_job_that_cannot_open_is_closed_with_its_reason),
		cmocka_unit_test(a_job_polls_until_the_daemon_ends),
		cmocka_unit_test(a_request_ends_a_pause_after_the_least_wait),
		cmocka_unit_test(a_signal_ends_no_pause),
		cmocka_unit_test(a_failure_lasts_if_somebody_has_to_change_something),
		cmocka_unit_test(a_reason_is_a_label_that_stays_the_same),
		cmocka_unit_test_setup_teardown(
			a_secret_that_is_unreadable_leaves_the_last_in_use,
			scratch_set_up, scratch_tear_down),
	};

	return cmocka_run_group_tests_name("ask_job", tests, NULL, NULL);
}
