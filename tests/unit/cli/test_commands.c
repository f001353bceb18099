/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of tallywatt do with wrong use, and where their output cannot go. */
#include "tests/unit/tw_test.h"

#include "cli/command.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/program/opt.h"
#include "tests/unit/scratch.h"

#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGS_MAX 16
#define RESPONSE "tests/data/prom/simulated-0.7.json"

/* Send a stream to a file until restore(). */
static int divert(FILE *stream, const char *path)
{
	int saved;

	fflush(stream);
	saved = dup(fileno(stream));
	assert_true(saved >= 0);
	assert_non_null(freopen(path, "w", stream));
	return saved;
}

static void restore(FILE *stream, int saved)
{
	fflush(stream);
	clearerr(stream);
	assert_true(dup2(saved, fileno(stream)) >= 0);
	close(saved);
}

/* The exit status; *said is what went to stderr. */
static int run(const char *dir, const char *output, const struct tw_command *command,
	       const char *const *words, char **said)
{
	char *path = scratch_path(dir, "stderr"), *argv[ARGS_MAX + 2] = { 0 };
	int out = divert(stdout, output), diverted = divert(stderr, path);
	struct tw_err err = { 0 };
	int argc = 1, status;
	size_t len;

	argv[0] = strdup(tw_command_name(command));
	for (; words[argc - 1] != NULL; argc++) {
		assert_true(argc < ARGS_MAX);
		argv[argc] = strdup(words[argc - 1]);
	}
	status = tw_command_execute(command, argc, argv);
	restore(stderr, diverted);
	restore(stdout, out);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	assert_int_equal(tw_file_read(path, 65536, said, &len, &err), 0);
	free(path);
	return status;
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* One line, with the text in it, and nothing else. */
static void assert_refused(const char *dir, const char *output,
			   const struct tw_command *command, const char *const *words,
			   int status, const char *text)
{
	char *said = NULL;

	assert_int_equal(run(dir, output, command, words, &said), status);
	if (strstr(said, text) == NULL)
		fail_msg("'%s' is not in '%s'", text, said);
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	free(said);
}

static void wrong_use_exits_2_before_anything_is_read(void **state)
{
	assert_refused(*state, "/dev/null", &tw_command_train,
		       WORDS("--input", "/nope", "--name", "x", "--trainers", ","),
		       TW_EXIT_USAGE, "--trainers: expected at least one name");
	assert_refused(*state, "/dev/null", &tw_command_train,
		       WORDS("--input", "/nope", "--name", "x", "--folds", "1"),
		       TW_EXIT_USAGE, "--folds: 1 leaves no rows to train on");
}

static void an_impossible_command_exits_1_with_the_reason(void **state)
{
	assert_refused(*state, "/dev/null", &tw_command_train,
		       WORDS("--input", RESPONSE, "--name", "x", "--vendor", "\xff"),
		       TW_EXIT_FAILED, "vendor or processor is not UTF-8");
	assert_refused(*state, "/dev/null", &tw_command_models,
		       WORDS("--model-db", "/nope"), TW_EXIT_FAILED,
		       "cannot read '/nope': No such file");
	assert_refused(
		*state, "/dev/null", &tw_command_estimate,
		WORDS("--model", "/nope", "--metrics", "a,b,a", "--values", "1,2,3"),
		TW_EXIT_FAILED, "--metrics: 'a' is there twice");
}

static void a_special_file_is_not_replaced_by_the_output(void **state)
{
	char *fifo = scratch_path(*state, "fifo");
	struct stat st;

	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_refused(
		*state, "/dev/null", &tw_command_extract,
		WORDS("--input", RESPONSE, "--group", "CounterOnly", "--output", fifo),
		TW_EXIT_FAILED, "it is not a regular file");
	assert_int_equal(lstat(fifo, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	free(fifo);
}

static void output_that_is_lost_is_a_failure(void **state)
{
	char *db = scratch_path(*state, "db"), *said = NULL, *model;

	model = scratch_path(db,
			     "x/rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0");
	assert_int_equal(
		run(*state, "/dev/null", &tw_command_train,
		    WORDS("--input", RESPONSE, "--name", "x", "--group", "CounterOnly",
			  "--trainers", "SGDRegressorTrainer", "--model-db", db),
		    &said),
		TW_EXIT_OK);
	free(said);
	assert_refused(*state, "/dev/full", &tw_command_estimate,
		       WORDS("--model", model, "--metrics",
			     "cache_miss,cpu_cycles,cpu_instructions", "--values",
			     "1,2,3"),
		       TW_EXIT_FAILED, "cannot write to stdout");
	assert_refused(*state, "/dev/full", &tw_command_models, WORDS("--model-db", db),
		       TW_EXIT_FAILED, "cannot write to stdout");
	assert_refused(*state, "/dev/full", &tw_command_trainers, WORDS(NULL),
		       TW_EXIT_FAILED, "cannot write to stdout");
	assert_refused(*state, "/dev/full", &tw_command_extract,
		       WORDS("--input", RESPONSE, "--group", "CounterOnly"),
		       TW_EXIT_FAILED, "cannot write to stdout");
	assert_refused(*state, "/dev/full", &tw_command_isolate, WORDS("--list"),
		       TW_EXIT_FAILED, "cannot write to stdout");
	free(model);
	free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(wrong_use_exits_2_before_anything_is_read,
						scratch_set_up, scratch_tear_down),
		cmocka_unit_test_setup_teardown(
			an_impossible_command_exits_1_with_the_reason, scratch_set_up,
			scratch_tear_down),
		cmocka_unit_test_setup_teardown(
			a_special_file_is_not_replaced_by_the_output, scratch_set_up,
			scratch_tear_down),
		cmocka_unit_test_setup_teardown(output_that_is_lost_is_a_failure,
						scratch_set_up, scratch_tear_down),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
