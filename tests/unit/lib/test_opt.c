/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/program/log.h"
#include "lib/program/opt.h"
#include "lib/program/opt_file.h"
#include "cli/shards/opt_texts.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/opt_program.h"
#include "tests/unit/scratch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const no_words[] = { NULL };

static void defaults_apply_if_nothing_is_given(void **state)
{
	enum tw_opts_action action = TW_OPTS_EXIT;
	struct tw_err err = { 0 };
	struct opt_config c;

	(void)state;
	assert_int_equal(opt_parse(&c, &action, &err, no_words), 0);
	assert_int_equal(action, TW_OPTS_RUN);
	assert_false(c.fast);
	assert_int_equal(c.threads, 2);
	assert_int_equal(c.interval_ms, 3000);
	assert_int_equal(c.body_bytes, 1 << 20);
	assert_string_equal(c.listen, "127.0.0.1:8100");
	assert_null(c.dir);
	assert_int_equal(c.log_level, TW_LOG_INFO);
	tw_opts_release(&opt_program, &c);
	assert_null(c.listen);
}

static void a_flag_overrides_the_environment_which_overrides_the_file(void **state)
{
	char *path = opt_write_file(
		*state, "# here\n\nthreads = 3\n  interval=1m\r\ndir = a b\n");
	enum tw_opts_action action;
	struct tw_err err = { 0 };
	struct opt_config c;

	assert_int_equal(opt_parse(&c, &action, &err, WORDS("--config", path)), 0);
	assert_int_equal(c.threads, 3);
	assert_int_equal(c.interval_ms, 60000);
	assert_string_equal(c.dir, "a b");
	tw_opts_release(&opt_program, &c);

	setenv("TW_TEST_THREADS", "4", 1);
	setenv("TW_CONFIG", path, 1);
	assert_int_equal(opt_parse(&c, &action, &err, no_words), 0);
	assert_int_equal(c.threads, 4);
	assert_int_equal(c.interval_ms, 60000);
	tw_opts_release(&opt_program, &c);

	assert_int_equal(opt_parse(&c, &action, &err, WORDS("--threads=5")), 0);
	assert_int_equal(c.threads, 5);
	tw_opts_release(&opt_program, &c);
	free(path);
}

#if TW_FLEET
/* A list of texts that differ from the defaults, and the same options read back. */
static void options_can_be_written_and_read_without_the_environment(void **state)
{
	struct tw_strs texts = { 0 }, again = { 0 };
	enum tw_opts_action action;
	struct opt_config c, read = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(opt_parse(&c, &action, &err,
				   WORDS("--fast", "--threads=5", "--interval=3000ms",
					 "--dir=a=b c")),
			 0);
	assert_int_equal(tw_opts_write(&opt_program, &c, &texts, &err), 0);
	assert_true(tw_strs_has(&texts, "fast=yes"));
	assert_true(tw_strs_has(&texts, "threads=5"));
	assert_true(tw_strs_has(&texts, "dir=a=b c"));
	setenv("TW_TEST_THREADS", "4", 1);
	assert_int_equal(tw_opts_read(&opt_program, &texts, &read, &err), 0);
	unsetenv("TW_TEST_THREADS");
	assert_true(read.fast);
	assert_int_equal(read.threads, 5);
	assert_string_equal(read.listen, "127.0.0.1:8100");
	assert_int_equal(tw_opts_write(&opt_program, &read, &again, &err), 0);
	assert_int_equal(again.count, texts.count);
	for (size_t i = 0; i < texts.count; i++)
		assert_string_equal(again.at[i], texts.at[i]);
	tw_opts_release(&opt_program, &read);

	read = (struct opt_config){ 0 };
	assert_int_equal(tw_strs_adds(&texts, "thread=5", &err), 0);
	assert_int_equal(tw_opts_read(&opt_program, &texts, &read, &err), -1);
	assert_string_equal(err.text, "unknown option 'thread=5'");
	tw_opts_release(&opt_program, &read);
	tw_opts_release(&opt_program, &c);
	tw_strs_clear(&texts);
	tw_strs_clear(&again);
}
#endif

static void a_boolean_flag_needs_no_value(void **state)
{
	static const struct {
		const char *word;
		bool fast;
	} cases[] = { { "--fast", true },
		      { "--fast=yes", true },
		      { "--fast=no", false } };
	enum tw_opts_action action;
	struct opt_config c;

	(void)state;
	setenv("TW_TEST_FAST", "yes", 1);
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(opt_parse(&c, &action, &err, WORDS(cases[i].word)), 0);
		assert_int_equal(c.fast, cases[i].fast);
		tw_opts_release(&opt_program, &c);
	}
}

static void a_short_flag_equals_its_long_flag(void **state)
{
	static const struct tw_opt lettered[] = {
		{ .name = "fast",
		  .letter = 'f',
		  .type = TW_OPT_BOOL,
		  .offset = offsetof(struct opt_config, fast),
		  .help = "do it fast" },
		{ .name = "threads",
		  .letter = 't',
		  .type = TW_OPT_U32,
		  .offset = offsetof(struct opt_config, threads),
		  .arg = "N",
		  .help = "so many" },
	};
	static const struct tw_opts two = {
		.program = "test", .summary = "Test.", .opt = lettered, .count = 2
	};
	static const struct {
		const char *word[3];
		const char *why; /* NULL: 3 threads, and fast */
	} cases[] = {
		{ { "test", "-f", "-t3" }, NULL },
		{ { "test", "-ft", "3" }, NULL },
		{ { "test", "-f", "--threads=3" }, NULL },
		{ { "test", "-f", "-x" }, "unknown option '-x'" },
		{ { "test", "-f", "-t" }, "option '-t' needs a value" },
		{ { "test", "-f", "-tx" }, "--threads: " },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char *words[4] = { NULL };
		enum tw_opts_action action;
		struct opt_config c = { 0 };
		struct tw_err err = { 0 };
		int rest, rc;

		for (int k = 0; k < 3; k++)
			words[k] = (char *)(uintptr_t)cases[i].word[k];
		rc = tw_opts_parse(&two, 3, words, &c, &action, &rest, &err);
		assert_int_equal(rc, cases[i].why == NULL ? 0 : -1);
		if (cases[i].why == NULL) {
			assert_true(c.fast);
			assert_int_equal(c.threads, 3);
		} else if (strstr(err.text, cases[i].why) == NULL) {
			fail_msg("'%s' is not in '%s'", cases[i].why, err.text);
		}
		tw_opts_release(&two, &c);
	}
}

static void texts_are_kept_unsplit(void **state)
{
	enum tw_opts_action action;
	struct tw_err err = { 0 };
	struct opt_config c;

	(void)state;
	assert_int_equal(
		opt_parse(&c, &action, &err, WORDS("--text", " a, b", "--text=c")), 0);
	assert_int_equal(c.texts.count, 2);
	assert_string_equal(c.texts.at[0], " a, b");
	assert_string_equal(c.texts.at[1], "c");
	tw_opts_release(&opt_program, &c);
	assert_int_equal(c.texts.count, 0);
}

static void yes_and_no_are_accepted_in_any_case(void **state)
{
	static const char *const words[] = { "--fast=True", "--fast=YES", "--fast=oN",
					     "--fast=1" };
	enum tw_opts_action action;
	struct tw_err err = { 0 };
	struct opt_config c;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(words); i++) {
		assert_int_equal(opt_parse(&c, &action, &err, WORDS(words[i])), 0);
		assert_true(c.fast);
		tw_opts_release(&opt_program, &c);
	}
	assert_int_equal(opt_parse(&c, &action, &err, WORDS("--fast=False")), 0);
	assert_false(c.fast);
	tw_opts_release(&opt_program, &c);
}

static void errors_name_the_wrong_use(void **state)
{
	static const struct {
		const char *word;
		const char *text;
	} cases[] = {
		{ "--bogus", "unknown option '--bogus' (see --help)" },
		{ "-x", "unknown option '-x' (see --help)" },
		{ "--threads", "option '--threads' needs a value" },
		{ "--help=x", "option '--help=x' takes no value" },
		{ "--threads=0", "--threads: '0' is not a number from 1 to 64" },
		{ "--fast=maybe", "--fast: 'maybe' is neither yes nor no" },
		{ "--interval=3d",
		  "--interval: '3d' is not a duration such as 250ms, 3s, 2m or 1h" },
		{ "--body-limit=1KB",
		  "--body-limit: '1KB' is not a size such as 4096, 64KiB or 1MiB" },
		{ "--log-level=loud",
		  "--log-level: 'loud' is not one of error, warn, info, debug" },
		{ "--listen=8100", "--listen: '8100' is not ADDR:PORT" },
		{ "--listen=a:65536", "--listen: 'a:65536' is not ADDR:PORT" },
		{ "--listen=::1:80", "--listen: '::1:80' is not ADDR:PORT" },
		{ "--listen=[]:80", "--listen: '[]:80' is not ADDR:PORT" },
		{ "operand", "unexpected operand 'operand'" },
		{ "--config=/nonexistent",
		  "cannot open '/nonexistent': No such file or directory" },
	};
	enum tw_opts_action action;
	struct opt_config c;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(opt_parse(&c, &action, &err, WORDS(cases[i].word)), -1);
		assert_string_equal(err.text, cases[i].text);
		assert_null(c.listen);
	}
}

static void values_keep_to_ranges_and_choices(void **state)
{
	static const char *const names[] = { "a", "bc", NULL };
	static const struct {
		struct tw_opt opt;
		const char *text, *why; /* why NULL: accepted */
	} cases[] = {
		{ { .type = TW_OPT_DURATION_MS, .min = 100, .max = 3600000 },
		  "100ms",
		  NULL },
		{ { .type = TW_OPT_DURATION_MS, .min = 100, .max = 3600000 },
		  "1h",
		  NULL },
		{ { .type = TW_OPT_DURATION_MS, .min = 100, .max = 3600000 },
		  "99ms",
		  "'99ms': want 100ms to 1h" },
		{ { .type = TW_OPT_DURATION_MS, .min = 1000, .max = 90000 },
		  "90001ms",
		  "'90001ms': want 1s to 90s" },
		{ { .type = TW_OPT_DURATION_MS, .max = 600000 },
		  "11m",
		  "'11m': want at most 10m" },
		{ { .type = TW_OPT_DURATION_MS, .min = 10 },
		  "0",
		  "'0': want 10ms or more" },
		{ { .type = TW_OPT_DURATION_MS, .min = 10 }, "99h", NULL },
		{ { .type = TW_OPT_DURATION_MS }, "0", NULL },
		{ { .type = TW_OPT_LIST, .choices = names }, "bc,a", NULL },
		{ { .type = TW_OPT_LIST, .choices = names },
		  "a,b",
		  "'b' is not one of a, bc" },
		{ { .type = TW_OPT_LIST }, "any", NULL },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		union {
			uint64_t ms;
			struct tw_strs list;
		} value = { .list = { 0 } };
		struct tw_err err = { 0 };

		assert_int_equal(tw_opt_set(&cases[i].opt, cases[i].text, &value, &err),
				 cases[i].why == NULL ? 0 : -1);
		if (cases[i].why != NULL)
			assert_string_equal(err.text, cases[i].why);
		tw_opt_release(&cases[i].opt, &value);
	}
}

static void addresses_of_all_forms_are_accepted(void **state)
{
	static const char *const words[] = { "--listen=:0", "--listen=[::1]:80",
					     "--listen=localhost:65535" };
	enum tw_opts_action action;
	struct opt_config c;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(words); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(opt_parse(&c, &action, &err, WORDS(words[i])), 0);
		assert_string_equal(c.listen, strchr(words[i], '=') + 1);
		tw_opts_release(&opt_program, &c);
	}
}

static void errors_name_the_bad_line_of_the_file(void **state)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{ "threads = 3\nlisen = x\n", "x.conf:2: unknown option 'lisen'" },
		{ "\n\nthreads\n", "x.conf:3: expected 'name = value'" },
		{ "threads = 3\nthreads = 4\n",
		  "x.conf:2: option 'threads' is given twice" },
		{ "threads = 0\n",
		  "configuration: threads: '0' is not a number from 1 to 64" },
	};
	enum tw_opts_action action;
	struct opt_config c;

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char *path = opt_write_file(*state, cases[i].text);
		struct tw_err err = { 0 };

		assert_int_equal(opt_parse(&c, &action, &err, WORDS("--config", path)),
				 -1);
		if (strstr(err.text, cases[i].want) == NULL)
			fail_msg("'%s' lacks '%s'", err.text, cases[i].want);
		free(path);
	}
}

static void a_list_collects_the_items_of_each_flag(void **state)
{
	enum tw_opts_action action;
	struct tw_err err = { 0 };
	struct opt_config c;

	(void)state;
	setenv("TW_TEST_INPUT", "not this", 1);
	assert_int_equal(
		opt_parse(&c, &action, &err, WORDS("--input=a,b", "--input", "c")), 0);
	assert_int_equal(c.inputs.count, 3);
	assert_string_equal(c.inputs.at[0], "a");
	assert_string_equal(c.inputs.at[1], "b");
	assert_string_equal(c.inputs.at[2], "c");
	tw_opts_release(&opt_program, &c);
	assert_int_equal(opt_parse(&c, &action, &err, no_words), 0);
	assert_int_equal(c.inputs.count, 1);
	assert_string_equal(c.inputs.at[0], "not this");
	tw_opts_release(&opt_program, &c);
}

static void check_config_rejects_bad_values(void **state)
{
	enum tw_opts_action action = TW_OPTS_RUN;
	struct tw_err err = { 0 };
	struct opt_config c;

	(void)state;
	assert_int_equal(opt_parse(&c, &action, &err, WORDS("--check-config")), 0);
	assert_int_equal(action, TW_OPTS_EXIT);
	tw_opts_release(&opt_program, &c);
	assert_int_equal(
		opt_parse(&c, &action, &err, WORDS("--check-config", "--threads=x")), -1);
	assert_int_equal(err.code, TW_INVALID);
}

static void missing_required_options_are_named(void **state)
{
	static const struct tw_opt rows[] = {
		{ .name = "dir",
		  .type = TW_OPT_TEXT,
		  .offset = offsetof(struct opt_config, dir),
		  .required = true },
		{ .name = "input",
		  .type = TW_OPT_LIST,
		  .offset = offsetof(struct opt_config, inputs),
		  .required = true },
	};
	const struct tw_opts o = { .opt = rows, .count = 2 };
	struct opt_config c = { 0 };
	struct tw_err err = { 0 }, again = { 0 };

	(void)state;
	assert_int_equal(tw_opts_check_required(&o, &c, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "--dir is missing");
	c.dir = strdup("x");
	assert_int_equal(tw_opts_check_required(&o, &c, &again), -1);
	assert_string_equal(again.text, "--input is missing");
	assert_int_equal(tw_strs_adds(&c.inputs, "y", &err), 0);
	assert_int_equal(tw_opts_check_required(&o, &c, &err), 0);
	tw_opts_release(&o, &c);
}

static void every_failed_allocation_is_reported(void **state)
{
	static const char file[] = "threads = 3\ndir = x\n";
	static const char *const names[] = { "threads", "dir", NULL };

	(void)state;
	for (int n = 1;; n++) {
		char program[] = "tw-test", dir[] = "--dir=y";
		char *argv[] = { program, dir, NULL };
		struct opt_config c = { 0 };
		enum tw_opts_action action;
		struct tw_strs list = { 0 };
		struct tw_err err = { 0 };
		int rest, rc;

		fail_alloc_at(n);
		rc = tw_opt_file_parse("f", file, sizeof(file) - 1, names, &list, &err);
		if (rc == 0)
			rc = tw_opts_parse(&opt_program, 2, argv, &c, &action, &rest,
					   &err);
		tw_strs_clear(&list);
		tw_opts_release(&opt_program, &c);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 8);
			break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(defaults_apply_if_nothing_is_given,
						opt_set_up, scratch_tear_down),
		cmocka_unit_test_setup_teardown(
			a_flag_overrides_the_environment_which_overrides_the_file,
			opt_set_up, scratch_tear_down),
		cmocka_unit_test_setup_teardown(a_boolean_flag_needs_no_value, opt_set_up,
						scratch_tear_down),
		cmocka_unit_test(a_short_flag_equals_its_long_flag),
		cmocka_unit_test_setup_teardown(texts_are_kept_unsplit, opt_set_up,
						scratch_tear_down),
		cmocka_unit_test_setup_teardown(yes_and_no_are_accepted_in_any_case,
						opt_set_up, scratch_tear_down),
		cmocka_unit_test_setup_teardown(errors_name_the_wrong_use, opt_set_up,
						scratch_tear_down),
		cmocka_unit_test(values_keep_to_ranges_and_choices),
		cmocka_unit_test_setup_teardown(addresses_of_all_forms_are_accepted,
						opt_set_up, scratch_tear_down),
		cmocka_unit_test_setup_teardown(errors_name_the_bad_line_of_the_file,
						opt_set_up, scratch_tear_down),
		cmocka_unit_test_setup_teardown(a_list_collects_the_items_of_each_flag,
						opt_set_up, scratch_tear_down),
		cmocka_unit_test_setup_teardown(check_config_rejects_bad_values,
						opt_set_up, scratch_tear_down),
#if TW_FLEET
		cmocka_unit_test_setup_teardown(
			options_can_be_written_and_read_without_the_environment,
			opt_set_up, scratch_tear_down),
#endif
		cmocka_unit_test(missing_required_options_are_named),
		cmocka_unit_test_setup_teardown(every_failed_allocation_is_reported,
						opt_set_up, scratch_tear_down),
	};

	return cmocka_run_group_tests_name("opt", tests, NULL, NULL);
}
