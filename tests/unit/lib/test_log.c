/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/program/log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int stderr_saved, reader;

/* Redirect stderr to a pipe that taken() reads. */
static int setup(void **state)
{
	int fd[2];

	(void)state;
	unsetenv("JOURNAL_STREAM");
	assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
	stderr_saved = dup(STDERR_FILENO);
	dup2(fd[1], STDERR_FILENO);
	close(fd[1]);
	reader = fd[0];
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dup2(stderr_saved, STDERR_FILENO);
	close(stderr_saved);
	close(reader);
	unsetenv("JOURNAL_STREAM");
	return 0;
}

static const char *taken(void)
{
	static char text[8192];
	ssize_t n = read(reader, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* The line after "time=2026-01-02T03:04:05.678Z ". */
static const char *without_time(const char *line)
{
	assert_int_equal(strncmp(line, "time=2", 6), 0);
	assert_memory_equal(line + 28, "Z ", 2);
	return line + 30;
}

static void a_line_has_time_level_and_a_quoted_message(void **state)
{
	(void)state;
	tw_log_init("tw-test", TW_LOG_INFO, TW_LOG_LOGFMT);
	tw_log_warn("model '%s' is \"old\"", "m1");
	assert_string_equal(without_time(taken()), "level=warn program=tw-test "
						   "msg=\"model 'm1' is \\\"old\\\"\"\n");
}

static void lines_below_the_level_are_dropped(void **state)
{
	(void)state;
	tw_log_init("tw-test", TW_LOG_WARN, TW_LOG_LOGFMT);
	tw_log_info("no");
	tw_log_debug("no");
	assert_string_equal(taken(), "");
	tw_log_error("yes");
	assert_non_null(strstr(taken(), "level=error"));
	tw_log_init("tw-test", TW_LOG_DEBUG, TW_LOG_LOGFMT);
	tw_log_debug("yes");
	assert_non_null(strstr(taken(), "level=debug"));
}

static void foreign_text_cannot_forge_a_line(void **state)
{
	(void)state;
	tw_log_init("tw-test", TW_LOG_INFO, TW_LOG_LOGFMT);
	tw_log_info("name '%s'", "x\nlevel=error msg=\"\x1b[31m\xff\r");
	assert_string_equal(without_time(taken()),
			    "level=info program=tw-test msg=\"name 'x\\nlevel=error "
			    "msg=\\\"\\u001b[31m\xef\xbf\xbd\\u000d'\"\n");
}

static void json_lines_are_json(void **state)
{
	const char *line;
	json_t *v;

	(void)state;
	tw_log_init("tw-test", TW_LOG_INFO, TW_LOG_JSON);
	tw_log_error("a \"b\"\n%c", 1);
	line = taken();
	v = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(v);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	assert_string_equal(json_string_value(json_object_get(v, "level")), "error");
	assert_string_equal(json_string_value(json_object_get(v, "program")), "tw-test");
	assert_string_equal(json_string_value(json_object_get(v, "msg")),
			    "a \"b\"\n\x01");
	assert_int_equal(json_string_length(json_object_get(v, "time")), 24);
	json_decref(v);
}

static void under_the_journal_a_priority_replaces_the_time(void **state)
{
	struct stat st;
	char stream[64];

	(void)state;
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	tw_log_init("tw-test", TW_LOG_INFO, TW_LOG_LOGFMT);
	tw_log_warn("x");
	assert_string_equal(taken(), "<4>level=warn program=tw-test msg=\"x\"\n");
	setenv("JOURNAL_STREAM", "1:2", 1);
	tw_log_init("tw-test", TW_LOG_INFO, TW_LOG_LOGFMT);
	tw_log_warn("x");
	without_time(taken());
}

static void repeated_warnings_are_counted_and_suppressed(void **state)
{
	struct tw_log_limit l = { 0 };
	const char *text;

	(void)state;
	tw_log_init("tw-test", TW_LOG_INFO, TW_LOG_LOGFMT);
	tw_log_warn_limited(&l, "first");
	assert_non_null(strstr(taken(), "first"));
	l.last_ms = 1; /* long ago */
	l.dropped = 5;
	tw_log_warn_limited(&l, "second");
	text = taken();
	assert_non_null(strstr(text, "5 similar lines were suppressed"));
	assert_non_null(strstr(text, "second"));
	assert_int_equal(l.dropped, 0);
	for (int i = 0; i < 100; i++)
		tw_log_warn_limited(&l, "again");
	assert_true(l.dropped > 0);
}

static void errno_survives_a_line(void **state)
{
	(void)state;
	tw_log_init("tw-test", TW_LOG_INFO, TW_LOG_LOGFMT);
	errno = EPIPE;
	tw_log_info("x");
	assert_int_equal(errno, EPIPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_line_has_time_level_and_a_quoted_message, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_below_the_level_are_dropped, setup,
						teardown),
		cmocka_unit_test_setup_teardown(foreign_text_cannot_forge_a_line, setup,
						teardown),
		cmocka_unit_test_setup_teardown(json_lines_are_json, setup, teardown),
		cmocka_unit_test_setup_teardown(
			under_the_journal_a_priority_replaces_the_time, setup, teardown),
		cmocka_unit_test_setup_teardown(
			repeated_warnings_are_counted_and_suppressed, setup, teardown),
		cmocka_unit_test_setup_teardown(errno_survives_a_line, setup, teardown),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
