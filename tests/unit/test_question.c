/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/asker.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/running_estimator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WORTH                                                                          \
	"\"msg\":\"\",\"core_ratio\":0.5,\"version\":2,\"model\":\"M_0\","             \
	"\"source\":\"rapl-sysfs\",\"origin\":{\"kind\":\"server\",\"from\":\"http://" \
	"h\","                                                                         \
	"\"age_s\":7},\"errors\":{\"package\":{\"mae\":1.5,\"p95\":2},"                \
	"\"dram\":{\"mae\":null,\"p95\":null}}"
#define ANSWER(powers, outside) \
	"{\"powers\":{" powers "}," WORTH ",\"outside\":[" outside "]}"

static char name_a[] = "a", name_b[] = "b";
static char *names[] = { name_a, name_b };
static const struct tw_strs metrics = { .at = names, .count = 2 };

static void a_question_is_written_as_a_request_of_its_version(void **state)
{
	const double x[] = { 1, NAN, 0.5, -2 };
	struct tw_question q = { .metrics = &metrics,
				 .x = x,
				 .rows = 2,
				 .output = "AbsPower",
				 .source = "acpi",
				 .version = 2 };
	struct tw_buf b = { 0 };

	(void)state;
	tw_question_write(&q, &b);
	assert_string_equal(b.data, "{\"metrics\":[\"a\",\"b\"],\"version\":2,"
				    "\"output_type\":\"AbsPower\",\"source\":\"acpi\","
				    "\"trainer_name\":\"\",\"filter\":\"\","
				    "\"values\":[[1,null],[0.5,-2]]}");
	tw_buf_clear(&b);
	q.series = (const char *const *)names;
	q.time_ms = 1700;
	tw_question_write(&q, &b);
	assert_non_null(strstr(b.data, ",\"series\":[\"a\",\"b\"],\"time_ms\":1700,"
				       "\"values\":[["));
	tw_buf_clear(&b);
	q.version = 0;
	tw_question_write(&q, &b);
	assert_null(strstr(b.data, "version"));
	assert_null(strstr(b.data, "series"));
	tw_buf_clear(&b);
}

static void an_answer_of_version_2_describes_the_model(void **state)
{
	static const char text[] = ANSWER("\"package\":[4.5,0]", "0,1");
	struct tw_watts w = { .rows = 0 };
	struct tw_worth worth;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_answer_read(text, strlen(text), 2, &w, &worth, &err), 0);
	assert_true(fabs(w.of[TW_PACKAGE][0] - 4.5) <= 0);
	assert_null(w.of[TW_DRAM]);
	assert_true(worth.has[TW_DRAM] && worth.has[TW_PACKAGE] && !worth.has[TW_CORE]);
	assert_true(fabs(worth.mae_w[TW_PACKAGE] - 1.5) <= 0);
	assert_true(isnan(worth.mae_w[TW_DRAM]));
	assert_true(fabs(worth.core_ratio - 0.5) <= 0);
	assert_true(worth.outside);
	assert_int_equal(worth.age_s, 7);
	assert_string_equal(worth.model, "M_0");
	assert_string_equal(worth.origin, "server");
	tw_watts_release(&w);
}

static void invalid_answers_are_refused(void **state)
{
	static const struct {
		const char *text;
		enum tw_code code;
		const char *why;
	} cases[] = {
		{ "", TW_PARSE, "answer" },
		{ "{}", TW_PARSE, "powers" },
		{ ANSWER("\"package\":[1]", ""), TW_PARSE,
		  "powers.package: 1 entries for 2 rows" },
		{ ANSWER("\"package\":[1,\"2\"]", ""), TW_PARSE,
		  "powers.package[1]: expected a number" },
		{ ANSWER("", "null"), TW_PARSE, "answer.outside[0]" },
		{ "{\"powers\":{\"package\":[1,2]},\"msg\":\"\",\"core_ratio\":1}",
		  TW_PARSE, "model" },
		{ "{\"powers\":{},\"msg\":\"no such thing\",\"version\":2}", TW_NOTFOUND,
		  "no such thing" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tw_watts w = { .rows = 0 };
		struct tw_worth worth;
		struct tw_err err = { 0 };

		assert_int_equal(tw_answer_read(cases[i].text, strlen(cases[i].text), 2,
						&w, &worth, &err),
				 -1);
		assert_int_equal(err.code, cases[i].code);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("'%s' is not in '%s'", cases[i].why, err.text);
	}
}

static void every_failed_allocation_of_an_answer_is_reported(void **state)
{
	static const char text[] = ANSWER("\"package\":[4.5,0]", "0");

	(void)state;
	for (int n = 1;; n++) {
		struct tw_watts w = { .rows = 0 };
		struct tw_worth worth;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_answer_read(text, strlen(text), 2, &w, &worth, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_watts_release(&w);
			return;
		}
	}
}

/* ---- with an estimator ---- */

static char cache[] = "cache_miss", cycles[] = "cpu_cycles", count[] = "cpu_instructions";
static char *counters[] = { cache, cycles, count };
static const struct tw_strs features = { .at = counters, .count = 3 };
static const double rows[] = { 1000, 1000, 1000, 0, 0, 0 };
static const struct tw_question question = {
	.metrics = &features, .x = rows, .rows = 2, .output = "AbsPower"
};

static void a_connection_is_kept_and_reopened(void **state)
{
	struct fixture f;
	struct tw_asker *a = NULL;
	struct tw_err err = { 0 };

	(void)state;
	set_up(&f);
	start(&f);
	assert_int_equal(tw_asker_open(f.path, &a, &err), 0);
	for (int i = 0; i < 4; i++) {
		struct tw_watts w = { .rows = 0 };
		struct tw_worth worth;

		/* The kept connection is then one of an estimator that is gone. */
		if (i == 2) {
			stop(&f);
			start(&f);
		}
		if (tw_asker_ask(a, &question, PATIENCE_MS, &w, &worth, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(fabs(w.of[TW_PACKAGE][0] - 16) <= 0);
		assert_true(fabs(w.of[TW_PACKAGE][1] - 10) <= 0);
		assert_true(fabs(worth.core_ratio - 0.5) <= 0);
		tw_watts_release(&w);
	}
	stop(&f);
	for (int i = 0; i < 2; i++) {
		struct tw_watts w = { .rows = 0 };
		struct tw_worth worth;

		err = (struct tw_err){ 0 };
		assert_int_equal(tw_asker_ask(a, &question, 50, &w, &worth, &err), -1);
		assert_int_equal(err.code, TW_NOTFOUND);
		assert_non_null(strstr(err.text, "no program listens on"));
	}
	tw_asker_close(a);
	tear_down(&f);
}

/* Somebody who takes connections and says nothing. */
static int listen_in_silence(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	strcpy(a.sun_path, path);
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static void a_request_fails_at_its_deadline(void **state)
{
	struct tw_watts w = { .rows = 0 };
	struct tw_worth worth;
	struct tw_asker *a = NULL;
	struct tw_err err = { 0 };
	struct fixture f;
	int fd;

	(void)state;
	set_up(&f);
	fd = listen_in_silence(f.path);
	assert_int_equal(tw_asker_open(f.path, &a, &err), 0);
	assert_int_equal(tw_asker_ask(a, &question, 20, &w, &worth, &err), -1);
	assert_int_equal(err.code, TW_IO);
	assert_non_null(strstr(err.text, "before the deadline"));
	close(fd);
	tw_asker_close(a);
	a = NULL;
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_asker_open("", &a, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	unlink(f.path);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_is_written_as_a_request_of_its_version),
		cmocka_unit_test(an_answer_of_version_2_describes_the_model),
		cmocka_unit_test(invalid_answers_are_refused),
		cmocka_unit_test(every_failed_allocation_of_an_answer_is_reported),
		cmocka_unit_test(a_connection_is_kept_and_reopened),
		cmocka_unit_test(a_request_fails_at_its_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
