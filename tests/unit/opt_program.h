/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_OPT_PROGRAM_H
#define TW_TEST_OPT_PROGRAM_H

/* A program with an option of each type. */

#include "lib/core/strs.h"
#include "lib/program/opt.h"

struct tw_err;

struct opt_config {
	bool fast;
	uint32_t threads;
	uint64_t interval_ms;
	uint64_t body_bytes;
	char *listen;
	char *dir;
	struct tw_strs texts;
	unsigned log_level;
	unsigned log_format;
	char *ready_file;
	struct tw_strs inputs;
};

extern const struct tw_opts opt_program;

/* Arguments with a final NULL. */
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Call tw_opts_parse() with words as arguments. */
int opt_parse(struct opt_config *c, enum tw_opts_action *action, struct tw_err *err,
	      const char *const *words);

/* Unset the variables of the program. For tests with scratch_tear_down(). */
int opt_set_up(void **state);

/* Write a configuration file. Return its path, yours. */
char *opt_write_file(const char *dir, const char *text);

#endif /* TW_TEST_OPT_PROGRAM_H */
