/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of clients that name no series. */
#include "tests/unit/tw_test.h"

#include "estimator/models.h"
#include "estimator/history.h"
#include "estimator/predict/predictor.h"
#include "estimator/request.h"
#include "estimator/request_rows.h"
#include "estimator/session.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/running_estimator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEP_MS 3000

static struct tw_node_series *new_series(void)
{
	struct tw_node_series *t = NULL;
	struct tw_err err = { 0 };

	assert_int_equal(tw_node_series_new(&t, &err), 0);
	return t;
}

/* Add a row of one column; the number of earlier rows that it comes with. */
static size_t add(struct tw_node_series *t, uint32_t process, uint64_t now_ms,
		  double value)
{
	const struct tw_node_row row = { .client = { .process = process },
					 .x = &value,
					 .cols = 1,
					 .now_ms = now_ms,
					 .back = 2,
					 .step_ms = STEP_MS };
	struct tw_rows out = { 0 };

	tw_node_series_add(t, &row, &out);
	if (out.rows == 0)
		return 0;
	assert_int_equal(out.rows, 1);
	assert_true(out.x[0] == value);
	assert_int_equal(out.time_ms[0], now_ms);
	return out.before;
}

static void rows_at_the_pace_of_the_model_are_a_series(void **state)
{
	struct tw_node_series *t = new_series();

	(void)state;
	assert_int_equal(add(t, 1, 100000, 1), 0);
	assert_int_equal(add(t, 1, 103000, 2), 0);
	assert_int_equal(add(t, 1, 106010, 3), 2);
	assert_int_equal(add(t, 1, 108990, 4), 2);
	/* Another process is another series. */
	assert_int_equal(add(t, 2, 109000, 5), 0);
	assert_int_equal(tw_node_series_count(t), 2);
	assert_int_equal(add(t, 1, 112000, 6), 2);
	/* Both were silent for too long: the series are dropped. */
	assert_int_equal(add(t, 1, 119000, 7), 0);
	assert_int_equal(tw_node_series_count(t), 1);
	tw_node_series_free(t);
}

/* Two nodes behind one process, whatever the time between their rows. */
static void rows_of_two_nodes_are_never_mixed(void **state)
{
	(void)state;
	for (uint64_t apart_ms = 0; apart_ms < STEP_MS; apart_ms += 10) {
		struct tw_node_series *t = new_series();

		for (uint64_t cycle = 0; cycle < 5; cycle++) {
			assert_int_equal(add(t, 1, 100000 + STEP_MS * cycle, 1), 0);
			assert_int_equal(
				add(t, 1, 100000 + STEP_MS * cycle + apart_ms, 2), 0);
		}
		tw_node_series_free(t);
	}
}

static void a_process_that_asked_too_often_is_trusted_again_after_a_silence(void **state)
{
	struct tw_node_series *t = new_series();

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		add(t, 1, 100000 + STEP_MS * i, 1);
	assert_int_equal(add(t, 1, 107000, 1), 0);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(add(t, 1, 110000 + STEP_MS * i, 1), 0);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(add(t, 1, 200000 + STEP_MS * i, 1), i < 2 ? 0 : 2);
	tw_node_series_free(t);
}

static void memory_is_limited(void **state)
{
	static const double wide[TW_NODE_SERIES_BYTES_MAX / 8];
	const struct tw_node_row too_large = { .client = { .process = 7 },
					       .x = wide,
					       .cols = TW_NODE_SERIES_BYTES_MAX / 16,
					       .now_ms = 104000,
					       .back = 2,
					       .step_ms = STEP_MS };
	struct tw_node_series *t = new_series();
	struct tw_rows out = { 0 };

	(void)state;
	for (uint32_t i = 0; i < TW_NODE_SERIES_MAX + 3; i++)
		add(t, i + 1, 100000 + i, 1);
	assert_int_equal(tw_node_series_count(t), TW_NODE_SERIES_MAX);
	/* The first three were replaced. */
	for (uint32_t i = 3; i < TW_NODE_SERIES_MAX + 3; i++)
		add(t, i + 1, 103000 + i, 1);
	assert_int_equal(add(t, 1, 103100, 1), 0);
	assert_int_equal(tw_node_series_count(t), TW_NODE_SERIES_MAX);
	tw_node_series_add(t, &too_large, &out);
	assert_int_equal(out.rows, 0);
	assert_int_equal(tw_node_series_count(t), TW_NODE_SERIES_MAX);
	tw_node_series_free(t);
}

/* A model that does not look back needs no rows of a node. */
static void rows_for_a_model_that_does_not_look_back_are_not_kept(void **state)
{
	static const char text[] = "{\"metrics\":[\"a\"],\"values\":[[1]],"
				   "\"output_type\":\"AbsPower\"}";
	struct tw_node_series *t = new_series();
	const struct tw_series_scope scope = { .nodes = t, .now_ms = 100000 };
	struct tw_request_parser *p = NULL;
	struct tw_request_rows rows = { 0 };
	struct tw_err err = { 0 };
	struct tw_rows out;
	size_t used;
	bool done;

	(void)state;
	assert_int_equal(tw_request_parser_new(&p, &err), 0);
	assert_int_equal(
		tw_request_parser_feed(p, text, strlen(text), &used, &done, &err), 0);
	assert_int_equal(tw_request_rows_begin(&rows, tw_request_parser_request(p), NULL,
					       &scope, &err),
			 0);
	assert_int_equal(tw_request_rows_get(&rows, 0, 1, &out, &err), 0);
	assert_int_equal(out.rows, 1);
	assert_int_equal(tw_node_series_count(t), 0);
	tw_request_rows_release(&rows);
	tw_request_parser_free(p);
	tw_node_series_free(t);
}

static void without_memory_each_row_is_by_itself(void **state)
{
	(void)state;
	for (int n = 1; n < 10; n++) {
		struct tw_node_series *t = new_series();

		add(t, 1, 100000, 1);
		fail_alloc_at(n);
		for (uint64_t i = 1; i < 5; i++)
			add(t, 1 + (uint32_t)(i & 1), 100000 + STEP_MS * i, 1);
		fail_alloc_hit();
		tw_node_series_free(t);
	}
}

/* ---- sessions ---- */

#define LINEAR(feature)                                                     \
	"{\"All_Weights\":{\"Bias_Weight\":0,\"Categorical_Variables\":{}," \
	"\"Numerical_Variables\":{\"" feature                               \
	"\":{\"scale\":1,\"mean\":0,\"variance\":1,\"weight\":1}}}}"
#define FORM(bias, column, feature)                                               \
	"{\"bias\":" bias ",\"columns\":[" column "],\"members\":[{\"weight\":1," \
	"\"columns\":[0],\"predictor\":\"linear\",\"model\":" LINEAR(feature) "}]}"

/* Alone 10 W and the value; in a series 100 W and the value before it. */
static const struct sample looks_back = {
	.group = "BPFOnly",
	.trainer = "AutoTrainer",
	.predictor = "ensemble",
	.mae_w = 0.1,
	.text = "{\"ensemble\":{\"floor\":0,\"ceiling\":1000,\"step_ms\":3000,"
		"\"alone\":" FORM("10", "[0,0,0]",
				  "bpf_cpu_time_ms") ","
						     "\"series\":" FORM(
							     "100", "[0,1,1]",
							     "bpf_cpu_time_ms@1") "}}"
};

struct server {
	struct fixture f;
	struct tw_session_shared shared;
};

static void serve(struct server *s)
{
	struct tw_err err = { 0 };

	*s = (struct server){ .shared = { .idle_ms = UINT32_MAX,
					  .request_ms = UINT32_MAX,
					  .model_wait_ms = UINT32_MAX } };
	set_up(&s->f);
	publish(&s->f, "second", &looks_back);
	s->shared.nodes = new_series();
	if (tw_models_open(&s->f.config.models, &s->shared.models, &err) < 0)
		fail_msg("%s", err.text);
}

static void end(struct server *s)
{
	tw_models_close(s->shared.models);
	tw_node_series_free(s->shared.nodes);
	tw_session_shared_release(&s->shared);
	tear_down(&s->f);
}

/* The answer to one request on a connection of its own, at that time. */
static const char *ask_at(struct server *s, uint64_t now_ms, const char *output,
			  const char *values, const char *more)
{
	static char answer[512];
	struct tw_buf request = { 0 };
	struct tw_session *session = NULL;
	struct tw_err err = { 0 };
	int pair[2];
	ssize_t n;

	tw_buf_addf(&request,
		    "{\"metrics\":[\"bpf_cpu_time_ms\",\"bpf_page_cache_hit\"],"
		    "\"values\":%s,\"output_type\":\"%s\",\"source\":\"rapl-sysfs\"%s}",
		    values, output, more);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(tw_session_new(pair[0], &s->shared, now_ms, &session, &err), 0);
	send_text(pair[1], request.data, request.len);
	while (tw_session_run(session, now_ms * 1000000, 1000000000, false) &&
	       !tw_session_has_answer(session))
		assert_true(tw_session_waits_for_model(session) ||
			    tw_session_busy(session));
	tw_session_send(session, now_ms);
	tw_session_free(session);
	n = recv(pair[1], answer, sizeof(answer) - 1, 0);
	assert_true(n >= 0);
	answer[n] = '\0';
	close(pair[1]);
	tw_buf_clear(&request);
	return answer;
}

static void package_is(const char *answer, const char *watts)
{
	char want[64];

	snprintf(want, sizeof(want), "{\"powers\":{\"package\":%s,", watts);
	if (strncmp(answer, want, strlen(want)) != 0)
		fail_msg("%s: no %s", answer, want);
}

/* Kepler connects for each request, and asks for idle power in each cycle. */
static void kepler_gets_a_model_that_looks_back(void **state)
{
	struct server s;

	(void)state;
	serve(&s);
	package_is(ask_at(&s, 100000, "AbsPower", "[[1,0]]", ""), "[11]");
	package_is(ask_at(&s, 100001, "AbsPower", "[[0,0]]", ""), "[10]");
	package_is(ask_at(&s, 103000, "AbsPower", "[[2,0]]", ""), "[12]");
	package_is(ask_at(&s, 103001, "AbsPower", "[[0,0]]", ""), "[10]");
	package_is(ask_at(&s, 106000, "AbsPower", "[[3,0]]", ""), "[102]");
	package_is(ask_at(&s, 106001, "AbsPower", "[[0,0]]", ""), "[10]");
	/* Containers, other questions and requests of version 2 change nothing. */
	package_is(ask_at(&s, 107000, "AbsPower", "[[7,0],[8,0]]", ""), "[17,18]");
	package_is(ask_at(&s, 107000, "AbsPower", "[[7,0]]", ",\"filter\":\"mae:9\""),
		   "[17]");
	package_is(ask_at(&s, 107000, "AbsPower", "[[7,0]]", ",\"version\":2"), "[17]");
	package_is(ask_at(&s, 109000, "AbsPower", "[[4,null]]", ""), "[103]");
	/* After a pause the row before is too old. */
	package_is(ask_at(&s, 130000, "AbsPower", "[[5,0]]", ""), "[15]");
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_at_the_pace_of_the_model_are_a_series),
		cmocka_unit_test(rows_of_two_nodes_are_never_mixed),
		cmocka_unit_test(
			a_process_that_asked_too_often_is_trusted_again_after_a_silence),
		cmocka_unit_test(memory_is_limited),
		cmocka_unit_test(rows_for_a_model_that_does_not_look_back_are_not_kept),
		cmocka_unit_test(without_memory_each_row_is_by_itself),
		cmocka_unit_test(kepler_gets_a_model_that_looks_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
