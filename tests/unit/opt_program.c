/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/opt_program.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/program/log.h"
#include "lib/program/opt.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tw_opt table[] = {
	{ .name = "fast",
	  .env = "TW_TEST_FAST",
	  .type = TW_OPT_BOOL,
	  .offset = offsetof(struct opt_config, fast),
	  .help = "do it fast" },
	{ .name = "threads",
	  .env = "TW_TEST_THREADS",
	  .type = TW_OPT_U32,
	  .min = 1,
	  .max = 64,
	  .offset = offsetof(struct opt_config, threads),
	  .fallback = "2",
	  .arg = "N",
	  .help = "how many" },
	{ .name = "interval",
	  .type = TW_OPT_DURATION_MS,
	  .max = 3600000,
	  .fallback = "3s",
	  .arg = "TIME",
	  .offset = offsetof(struct opt_config, interval_ms),
	  .help = "how often" },
	{ .name = "body-limit",
	  .type = TW_OPT_SIZE_BYTES,
	  .fallback = "1MiB",
	  .arg = "SIZE",
	  .offset = offsetof(struct opt_config, body_bytes),
	  .help = "how much" },
	{ .name = "listen",
	  .type = TW_OPT_LISTEN,
	  .fallback = "127.0.0.1:8100",
	  .arg = "ADDR:PORT",
	  .offset = offsetof(struct opt_config, listen),
	  .help = "where" },
	{ .name = "dir",
	  .env = "TW_TEST_DIR",
	  .type = TW_OPT_TEXT,
	  .arg = "DIR",
	  .offset = offsetof(struct opt_config, dir),
	  .help = "which" },
	{ .name = "text",
	  .type = TW_OPT_TEXTS,
	  .arg = "TEXT",
	  .offset = offsetof(struct opt_config, texts),
	  .help = "of what" },
	TW_OPTS_LOG(struct opt_config),
	TW_OPT_READY_FILE(struct opt_config),
	{ .name = "input",
	  .env = "TW_TEST_INPUT",
	  .type = TW_OPT_LIST,
	  .arg = "FILES",
	  .offset = offsetof(struct opt_config, inputs),
	  .help = "what" },
};

const struct tw_opts opt_program = {
	.program = "tw-test",
	.summary = "Tests options.",
	.opt = table,
	.count = TW_COUNT(table),
};

#define ARGS_MAX 8

int opt_parse(struct opt_config *c, enum tw_opts_action *action, struct tw_err *err,
	      const char *const *words)
{
	char *argv[ARGS_MAX + 2] = { 0 };
	char program[] = "tw-test";
	int argc = 1, rest, rc;

	argv[0] = program;
	for (; words[argc - 1] != NULL; argc++) {
		assert_true(argc < ARGS_MAX);
		argv[argc] = strdup(words[argc - 1]);
	}
	*c = (struct opt_config){ 0 };
	rc = tw_opts_parse(&opt_program, argc, argv, c, action, &rest, err);
	for (int i = 1; i < argc; i++)
		free(argv[i]);
	return rc;
}

int opt_set_up(void **state)
{
	unsetenv("TW_TEST_FAST");
	unsetenv("TW_TEST_THREADS");
	unsetenv("TW_TEST_DIR");
	unsetenv("TW_TEST_INPUT");
	unsetenv("TW_CONFIG");
	*state = scratch_new();
	return 0;
}

char *opt_write_file(const char *dir, const char *text)
{
	struct tw_err err = { 0 };
	char *path = NULL;

	assert_int_equal(tw_path_join(&path, &err, dir, "x.conf", NULL), 0);
	assert_int_equal(tw_file_replace(path, text, strlen(text), &err), 0);
	return path;
}
