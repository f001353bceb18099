/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/program/log.h"
#include "lib/program/opt.h"
#include "tests/unit/opt_program.h"
#include "tests/unit/scratch.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The output of tw_opts_parse() on stdout. */
static char *printed(const char *dir, const char *const *words)
{
	enum tw_opts_action action = TW_OPTS_RUN;
	struct tw_err err = { 0 };
	char *path = NULL, *text = NULL;
	struct opt_config c;
	size_t len;
	int saved;

	assert_int_equal(tw_path_join(&path, &err, dir, "stdout", NULL), 0);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_non_null(freopen(path, "w", stdout));
	assert_int_equal(opt_parse(&c, &action, &err, words), 0);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_int_equal(action, TW_OPTS_EXIT);
	tw_opts_release(&opt_program, &c);
	assert_int_equal(tw_file_read(path, 65536, &text, &len, &err), 0);
	free(path);
	return text;
}

static void the_output_of_print_config_can_be_read_back(void **state)
{
	char *first, *second, *path;

	first = printed(*state,
			WORDS("--print-config", "--threads=9", "--fast", "--input=x,y",
			      "--dir=/a b", "--interval=250ms", "--log-level=debug"));
	assert_non_null(strstr(first, "threads = 9\n"));
	assert_non_null(strstr(first, "fast = yes\n"));
	assert_non_null(strstr(first, "# ready-file =\n"));
	path = opt_write_file(*state, first);
	second = printed(*state, WORDS("--print-config", "--config", path));
	assert_string_equal(first, second);
	free(path);
	free(second);
	free(first);
}

static void help_lists_every_option_in_one_column(void **state)
{
	char *text = printed(*state, WORDS("--help"));

	assert_int_equal(
		strncmp(text, "usage: tw-test [OPTION]...\nTests options.\n", 42), 0);
	for (size_t i = 0; i < opt_program.count; i++) {
		char start[64];
		const char *at, *help;

		snprintf(start, sizeof(start), "\n  --%s ", opt_program.opt[i].name);
		at = strstr(text, start);
		assert_non_null(at);
		help = strstr(at, opt_program.opt[i].help);
		assert_non_null(help);
		assert_int_equal(help - at, strlen("\n  --log-format FORMAT  "));
	}
	assert_non_null(strstr(text, "how many [2] (TW_TEST_THREADS)\n"));
	assert_non_null(strstr(text, "how often, at most 1h [3s]\n"));
	assert_non_null(strstr(text, "--check-config "));
	free(text);
}

static void a_failed_write_of_help_is_a_failure(void **state)
{
	enum tw_opts_action action = TW_OPTS_RUN;
	struct tw_err err = { 0 };
	struct opt_config c;
	int saved, rc;

	(void)state;
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_non_null(freopen("/dev/full", "w", stdout));
	rc = opt_parse(&c, &action, &err, WORDS("--help"));
	clearerr(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, TW_IO);
	assert_string_equal(err.text, "cannot write to stdout");
}

static void version_names_the_optional_libraries(void **state)
{
	char *text = printed(*state, WORDS("-V"));

	assert_int_equal(
		strncmp(text, "tw-test " TW_VERSION "\n", 9 + strlen(TW_VERSION)), 0);
	assert_non_null(strstr(text, "\njansson: "));
	assert_non_null(
		strstr(text, TW_XGBOOST ? "\nxgboost: yes\n" : "\nxgboost: no\n"));
	assert_non_null(strstr(text, TW_LIBSVM ? "\nlibsvm: yes\n" : "\nlibsvm: no\n"));
	assert_non_null(strstr(text, TW_BPF ? "\nbpf: yes\n" : "\nbpf: no\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_output_of_print_config_can_be_read_back, opt_set_up,
			scratch_tear_down),
		cmocka_unit_test_setup_teardown(help_lists_every_option_in_one_column,
						opt_set_up, scratch_tear_down),
		cmocka_unit_test_setup_teardown(a_failed_write_of_help_is_a_failure,
						opt_set_up, scratch_tear_down),
		cmocka_unit_test_setup_teardown(version_names_the_optional_libraries,
						opt_set_up, scratch_tear_down),
	};

	return cmocka_run_group_tests_name("opt printed", tests, NULL, NULL);
}
