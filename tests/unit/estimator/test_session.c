/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the estimator. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/program/log.h"
#include "tests/unit/running_estimator.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char simple[] = SIMPLE;
static const char simple_answer[] = SIMPLE_ANSWER;

static void a_request_is_answered_to_the_byte(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	start(&f);
	ask(&f, simple, simple_answer);
	ask(&f, REQUEST("[0,0.5,null]", ",\"source\":\"intel_rapl\""), POWERS("10.001"));
	tear_down(&f);
}

/* The sample says nothing of its errors, and of the features' range only what it saw. */
static void an_answer_of_version_2_describes_the_model(void **state)
{
	static const char request[] = REQUEST("[1000,1000,1000]", ",\"version\":2");
	struct fixture f;
	char *text;
	int fd;

	(void)state;
	set_up(&f);
	start(&f);
	fd = dial(&f);
	send_text(fd, request, sizeof(request) - 1);
	text = receive(fd, 1);
	assert_non_null(strstr(text, "{\"powers\":{\"package\":[16],\"dram\":[16]},"
				     "\"msg\":\"\",\"core_ratio\":0.5,\"version\":2,"
				     "\"model\":\"SGDRegressorTrainer_0\","
				     "\"source\":\"rapl-sysfs\",\"origin\":{\"kind\":"
				     "\"database\",\"from\":\""));
	assert_non_null(strstr(text, "\"intervals\":{\"package\":["));
	assert_non_null(strstr(text, ",\"extrapolated\":"));
	free(text);
	close(fd);
	tear_down(&f);
}

static void an_answer_of_version_2_without_watts_has_a_reason(void **state)
{
	static const char other[] = "{\"version\":2,\"metrics\":[\"a\"],\"values\":[[1]],"
				    "\"output_type\":\"AbsPower\"}";
	static const char rubbish[] = "{\"version\":2,\"values\":7}";
	struct fixture f;
	char *text;
	int fd;

	(void)state;
	set_up(&f);
	start(&f);
	fd = dial(&f);
	send_text(fd, other, sizeof(other) - 1);
	text = receive(fd, 1);
	assert_non_null(strstr(text, "{\"powers\":{},\"msg\":\"no model of AbsPower for "
				     "rapl-sysfs: CounterOnly: needs metric "));
	assert_non_null(strstr(text, ",\"version\":2}\n"));
	free(text);
	/* The connection goes on. */
	send_text(fd, simple, sizeof(simple) - 1);
	expect(fd, simple_answer);
	send_text(fd, rubbish, sizeof(rubbish) - 1);
	text = receive(fd, 2);
	assert_string_equal(text, "{\"powers\":{},\"msg\":\"values: expected an array, "
				  "got a number\",\"version\":2}\n");
	free(text);
	close(fd);
	tear_down(&f);
}

static void an_incomplete_request_is_refused_at_its_deadline(void **state)
{
	struct fixture f;
	char *text;
	int fd;

	(void)state;
	set_up(&f);
	f.config.request_ms = 20;
	start(&f);
	fd = dial(&f);
	send_text(fd, simple, 10);
	text = receive(fd, 1);
	assert_string_equal(text, "");
	free(text);
	close(fd);
	ask(&f, simple, simple_answer);
	tear_down(&f);
}

/* In the old estimator it was right in the first, then always 1. */
static void every_answer_has_the_same_core_ratio(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	start(&f);
	for (int i = 0; i < 5; i++)
		ask(&f, simple, simple_answer);
	tear_down(&f);
}

static void a_request_may_come_byte_by_byte(void **state)
{
	struct fixture f;
	int fd;

	(void)state;
	set_up(&f);
	start(&f);
	fd = dial(&f);
	for (size_t i = 0; i < sizeof(simple) - 1; i++)
		send_text(fd, simple + i, 1);
	expect(fd, simple_answer);
	send_text(fd, simple, sizeof(simple) - 1);
	expect(fd, simple_answer);
	close(fd);
	tear_down(&f);
}

static void ten_requests_in_one_write_are_answered_in_order(void **state)
{
	struct tw_buf requests = { 0 }, answers = { 0 };
	struct fixture f;
	char *text;
	int fd;

	(void)state;
	set_up(&f);
	start(&f);
	for (int i = 0; i < 10; i++) {
		tw_buf_addf(&requests, REQUEST("[%d,0,0]", "") " ", 1000 * i);
		tw_buf_addf(&answers, POWERS("%d"), 10 + 3 * i, 10 + 3 * i);
	}
	fd = dial(&f);
	send_text(fd, requests.data, requests.len);
	text = receive(fd, 10);
	assert_string_equal(text, answers.data);
	free(text);
	close(fd);
	tw_buf_clear(&requests);
	tw_buf_clear(&answers);
	tear_down(&f);
}

/* The old estimator died of it. */
static void clients_that_connect_and_close_do_no_harm(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	start(&f);
	for (int i = 0; i < 1000; i++) {
		const int fd = dial(&f);

		if (i % 3 == 1)
			send_text(fd, "   ", 3);
		if (i % 3 == 2)
			send_text(fd, "[]", 2);
		close(fd);
	}
	ask(&f, simple, simple_answer);
	tear_down(&f);
}

/* In the old estimator "}" in a string ended a request, and invalid UTF-8 the program. */
static void braces_in_strings_and_invalid_json_do_no_harm(void **state)
{
	static const char bad[][24] = {
		"{\"a\":\"\xff\"}", "{\"a\":\"\xc3", "}",
		"{\"a\"}",          "[[[[[[[[[[[[",  "{\"a\":1}"
	};
	struct fixture f;
	int fd;

	(void)state;
	set_up(&f);
	start(&f);
	ask(&f, REQUEST("[0,0,0]", ",\"x\":\"}\xc3\xa9}\""), POWERS("10"));
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		fd = dial(&f);
		send_text(fd, bad[i], strlen(bad[i]));
		shutdown(fd, SHUT_WR);
		expect_closed(fd);
	}
	fd = dial(&f);
	send_text(fd, simple, sizeof(simple) - 1);
	shutdown(fd, SHUT_WR);
	expect(fd, simple_answer);
	expect_closed(fd);
	tear_down(&f);
}

/* An unknown source, or no model anywhere, ended the old estimator. */
static void without_a_model_the_connection_is_closed_without_an_answer(void **state)
{
	static const char *const none[] = {
		REQUEST("[0,0,0]", ",\"source\":\"bogus\""),
		REQUEST("[0,0,0]", ",\"source\":\"acpi\""),
		REQUEST("[0,0,0]", ",\"trainer_name\":\"NoTrainer\""),
		REQUEST("[0,0,0]", ",\"filter\":\"mae:0.1\""),
		"{\"metrics\":[\"m\"],\"values\":[[1]],\"output_type\":\"DynPower\"}",
	};
	struct fixture f;

	(void)state;
	set_up(&f);
	start(&f);
	for (size_t i = 0; i < TW_COUNT(none); i++) {
		const int fd = dial(&f);

		send_text(fd, none[i], strlen(none[i]));
		expect_closed(fd);
	}
	ask(&f, simple, simple_answer);
	tear_down(&f);
}

/* In the old estimator a slow client blocked all. */
static void slow_and_silent_clients_do_not_delay_others(void **state)
{
	struct fixture f;
	int fd[200];

	(void)state;
	set_up(&f);
	start(&f);
	for (size_t i = 0; i < 200; i++) {
		fd[i] = dial(&f);
		send_text(fd[i], simple, i % sizeof(simple));
	}
	ask(&f, simple, simple_answer);
	for (size_t i = 0; i < 200; i++) {
		const size_t sent = i % sizeof(simple);

		send_text(fd[i], simple + sent, sizeof(simple) - 1 - sent);
		expect(fd[i], simple_answer);
		close(fd[i]);
	}
	tear_down(&f);
}

static void a_client_that_never_reads_does_not_delay_others(void **state)
{
	struct fixture f;
	size_t sent = 0;
	char *text;
	int fd;

	(void)state;
	set_up(&f);
	start(&f);
	fd = dial(&f);
	/* Until nothing more is taken: then the answers fill the socket's buffers. */
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		const ssize_t n =
			send(fd, simple, sizeof(simple) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0)
			sent += (size_t)n;
		else if (poll(&p, 1, 200) == 0)
			break;
	}
	assert_true(sent > 1000 * sizeof(simple) / 2);
	ask(&f, simple, simple_answer);

	/* It may still have all its answers. */
	text = receive(fd, sent / (sizeof(simple) - 1));
	assert_int_equal(strlen(text),
			 sent / (sizeof(simple) - 1) * (sizeof(simple_answer) - 1));
	free(text);
	close(fd);
	tear_down(&f);
}

/* 100,000 rows, behind which others do not wait and the next request does. */
static void a_huge_request_is_answered_in_order_and_does_not_delay_others(void **state)
{
	enum { ROWS = 100000 };
	struct tw_buf request = { 0 }, powers = { 0 };
	struct fixture f;
	char *text, *list, *at;
	size_t sent = 0, len;
	int fd;

	(void)state;
	tw_buf_adds(&request,
		    "{" METRICS ",\"system_features\":[\"x\"],\"system_values\":"
		    "[5],\"output_type\":\"AbsPower\",\"values\":[[1,2,3]");
	tw_buf_adds(&powers, "10.011");
	for (int i = 1; i < ROWS; i++) {
		/* The sample takes cache_miss, the second, times 1. */
		tw_buf_addf(&request, ",[0,%d,0]", i % 1000);
		tw_buf_addf(&powers, i % 1000 == 0 ? ",10" : ",%g",
			    10 + i % 1000 / 1000.0);
	}
	tw_buf_adds(&request, "]}" SIMPLE);
	set_up(&f);
	start(&f);
	ask(&f, simple, simple_answer);
	fd = dial(&f);
	while (sent < request.len) {
		const size_t piece =
			request.len - sent < 65536 ? request.len - sent : 65536;

		send_text(fd, request.data + sent, piece);
		sent += piece;
		if (sent % (1 << 20) < 65536)
			ask(&f, simple, simple_answer);
	}
	ask(&f, simple, simple_answer);
	text = receive(fd, 2);
	list = tw_buf_detach(&powers, &len);
	at = strstr(text, "{\"powers\":{\"package\":[");
	assert_ptr_equal(at, text);
	at += strlen("{\"powers\":{\"package\":[");
	assert_int_equal(strncmp(at, list, len), 0);
	at += len;
	assert_int_equal(strncmp(at, "],\"dram\":[", 10), 0);
	assert_int_equal(strncmp(at + 10, list, len), 0);
	assert_string_equal(at + 10 + len,
			    "]},\"msg\":\"\",\"core_ratio\":0.5}\n" SIMPLE_ANSWER);
	free(text);
	free(list);
	close(fd);
	tw_buf_clear(&request);
	tear_down(&f);
}

/* Its memory is given back, and the one that goes on is not harmed. */
static void a_client_that_hangs_up_during_a_huge_answer_does_no_harm(void **state)
{
	struct tw_buf request = { 0 };
	struct fixture f;

	(void)state;
	tw_buf_adds(&request, "{" METRICS ",\"output_type\":\"AbsPower\",\"version\":2,"
			      "\"values\":[[1,2,3]");
	for (int i = 1; i < 20000; i++)
		tw_buf_adds(&request, ",[1,2,3]");
	tw_buf_adds(&request, "]}");
	set_up(&f);
	start(&f);
	ask(&f, simple, simple_answer);
	for (int i = 0; i < 10; i++) {
		const int fd = dial(&f);
		size_t sent = 0;

		while (sent < request.len)
			sent += (size_t)send(fd, request.data + sent, request.len - sent,
					     MSG_NOSIGNAL);
		if (i % 2 == 0)
			ask(&f, simple, simple_answer);
		close(fd);
	}
	ask(&f, simple, simple_answer);
	tw_buf_clear(&request);
	tear_down(&f);
}

#define LINEAR(feature)                                                             \
	"{\"All_Weights\":{\"Bias_Weight\":0,\"Categorical_Variables\":{\"arch\":{" \
	"\"x\":{\"weight\":1000}}},\"Numerical_Variables\":{\"" feature             \
	"\":{\"scale\":1,\"weight\":1}}}}"
#define MEMBER(feature)                                                        \
	"\"bias\":0,\"members\":[{\"weight\":1,\"columns\":[0],\"predictor\":" \
	"\"linear\",\"model\":" LINEAR(feature) "}]"

/* Alone a row is its cache misses; in a series those of the row before. */
static const struct sample looks_back = {
	.trainer = "AutoTrainer",
	.predictor = "ensemble",
	.spec = { .cores = 4 },
	.text = "{\"ensemble\":{\"floor\":0,\"ceiling\":1e6,\"step_ms\":1000,\"alone\":{"
		"\"columns\":[[0,0,0]]," MEMBER(
			"cache_miss") "},\"series\":{\"columns\":"
				      "[[0,1,1]]," MEMBER("cache_miss@1") "}}}",
};

#define ASK_SERIES(values, more) \
	REQUEST(values, ",\"version\":2,\"trainer_name\":\"AutoTrainer\"" more)

static void ask_series(const struct fixture *f, const char *request, const char *powers)
{
	const int fd = dial(f);
	char *text;

	send_text(fd, request, strlen(request));
	text = receive(fd, 1);
	if (strstr(text, powers) == NULL)
		fail_msg("%s: %s, want %s", request, text, powers);
	free(text);
	close(fd);
}

static void a_prediction_uses_earlier_rows_of_its_series(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	publish(&f, "second", &looks_back);
	start(&f);
	/* Alone, and as a series that is whole in one request. */
	ask_series(&f, ASK_SERIES("[0,1,0],[0,2,0]", ""), "\"package\":[1,2]");
	ask_series(&f, ASK_SERIES("[0,1,0],[0,2,0]", ",\"time_ms\":[1000,2000]"),
		   "\"package\":[1,1]");
	/* Request by request, on other connections; each row of another series. */
	ask_series(&f,
		   ASK_SERIES("[0,5,0],[0,6,0]",
			      ",\"time_ms\":1000,\"series\":[\"a\",\"b\"]"),
		   "\"package\":[5,6]");
	ask_series(&f,
		   ASK_SERIES("[0,7,0],[0,8,0],[0,9,0]",
			      ",\"time_ms\":2000,\"series\":[\"b\",\"a\",\"c\"]"),
		   "\"package\":[6,5,9]");
	/* Too long after the last one, and then in step again. */
	ask_series(&f, ASK_SERIES("[0,10,0]", ",\"time_ms\":9000,\"series\":\"a\""),
		   "\"package\":[10]");
	ask_series(&f,
		   ASK_SERIES("[0,11,0],[0,12,0]",
			      ",\"time_ms\":[10000,11000],\"series\":\"a\""),
		   "\"package\":[10,11]");
	/* Version 1 has no series, and other metrics are another one. */
	ask(&f,
	    REQUEST("[0,13,0]", ",\"time_ms\":12000,\"series\":\"a\",\"trainer_name\":"
				"\"AutoTrainer\""),
	    POWERS("13"));
	ask_series(&f,
		   ASK_SERIES("[0,14,0]",
			      ",\"time_ms\":12000,\"series\":\"a\",\"system_features\":"
			      "[\"arch\",\"hz\"],\"system_values\":[\"x\",5]"),
		   "\"package\":[1014]");
	ask_series(&f,
		   ASK_SERIES("[0,15,0]",
			      ",\"time_ms\":12000,\"series\":\"a\",\"system_features\":"
			      "[\"arch\"],\"system_values\":[\"x\"]"),
		   "\"package\":[1012]");
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_answered_to_the_byte),
		cmocka_unit_test(every_answer_has_the_same_core_ratio),
		cmocka_unit_test(an_answer_of_version_2_describes_the_model),
		cmocka_unit_test(an_answer_of_version_2_without_watts_has_a_reason),
		cmocka_unit_test(an_incomplete_request_is_refused_at_its_deadline),
		cmocka_unit_test(a_request_may_come_byte_by_byte),
		cmocka_unit_test(ten_requests_in_one_write_are_answered_in_order),
		cmocka_unit_test(clients_that_connect_and_close_do_no_harm),
		cmocka_unit_test(braces_in_strings_and_invalid_json_do_no_harm),
		cmocka_unit_test(
			without_a_model_the_connection_is_closed_without_an_answer),
		cmocka_unit_test(slow_and_silent_clients_do_not_delay_others),
		cmocka_unit_test(a_client_that_never_reads_does_not_delay_others),
		cmocka_unit_test(
			a_huge_request_is_answered_in_order_and_does_not_delay_others),
		cmocka_unit_test(
			a_client_that_hangs_up_during_a_huge_answer_does_no_harm),
		cmocka_unit_test(a_prediction_uses_earlier_rows_of_its_series),
	};

	/* Much is refused here. */
	tw_log_init("test_session", TW_LOG_ERROR, TW_LOG_LOGFMT);
	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
