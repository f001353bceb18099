/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_COMMAND_H
#define TW_CLI_COMMAND_H

/* The commands of `tallywatt`: a file each, cli/cmd_<name>.c, listed in cli/command.c. */

#include "lib/program/opt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_credentials;
struct tw_credentials_config;
struct tw_err;

/*
 * The steps of a command after its options, in this order: operands, check, work,
 * release. Each but work may be NULL. config is config_size zeroed bytes, which opts
 * fill. Required options are checked after operands. A failure is printed in one line on
 * stderr. Results go to stdout, which is flushed and checked afterwards.
 */
struct tw_command {
	const struct tw_opts *opts; /* with its name, "tallywatt x", and its summary */
	size_t config_size;
	/*
	 * Environment variables that the old programs read from files
	 * (lib/program/kepler_key.h); ended by NULL.
	 */
	const char *const *old_keys;
	/* The operands of argv, which outlive the command. */
	int (*operands)(void *config, char **operand, size_t count, struct tw_err *err);
	int (*check)(void *config,
		     struct tw_err *err); /* failure: wrong use, exit status 2 */
	int (*work)(void *config, struct tw_err *err); /* failure: exit status 1 */
	/* Exit status after work; 0 after a failure is 1. NULL: 0. */
	int (*status)(const void *config);
	/* Free the results of the steps in config; called after a failure, too. */
	void (*release)(void *config);
};

/*
 * The options of a command: its name, its operands for --help (NULL: none), a line that
 * says its purpose, and the table `options`.
 */
#define TW_COMMAND_OPTS(name, wanted, line)                                            \
	&(const struct tw_opts)                                                        \
	{                                                                              \
		.program = "tallywatt " name, .operands = (wanted), .summary = (line), \
		TW_OPTS_TABLE(options)                                                 \
	}

/* The only operand. Any other number is an error: "3 operands, want <what>". */
int tw_command_operand(char **operand, size_t count, const char *what, const char **out,
		       struct tw_err *err);

/*
 * Print a text on stdout, and clear it; the end of the command checks stdout. On a
 * terminal, control characters other than newlines and tabs become "\x1b". A text that
 * ran out of memory ends the program, here and below (cli/memory.h).
 */
void tw_command_print(struct tw_buf *text);

/*
 * False if stdout is a pipe whose reader has left, as head does: that is not a failure.
 */
bool tw_command_is_heard(void);

/* Replace the file `name` in a directory (NULL: name is a path) by a text. */
int tw_command_write(const struct tw_buf *text, const char *dir, const char *name,
		     struct tw_err *err);

/* Put a text on stderr, with control characters as above. */
void tw_command_warn(const struct tw_buf *text);

/* How long a collector that was just started may take to answer, and to know its power.
 */
#define TW_COMMAND_START_MS 3000
#define TW_COMMAND_POWER_MS 10000

/* Pause before another try. False, at once: limit_ms have passed since since_ms. */
bool tw_command_wait(uint64_t since_ms, uint64_t limit_ms);

/* As tw_credentials_open(); disabled checks are reported on stderr as of program. */
int tw_command_credentials(struct tw_credentials *w,
			   const struct tw_credentials_config *c, const char *headers_env,
			   const char *program, struct tw_err *err);

/* argv[0] is the command's name. Returns the exit status (lib/program/opt.h). */
int tw_command_execute(const struct tw_command *c, int argc, char **argv);

/* "x" of "tallywatt x". */
const char *tw_command_name(const struct tw_command *c);

/* All commands, sorted by name. */
const struct tw_command *const *tw_commands(size_t *count);

/*
 * The command of that name, or the only one that begins with it. TW_NOTFOUND suggests
 * another name; TW_INVALID lists the commands that begin so.
 */
int tw_command_find(const char *name, const struct tw_command **out, struct tw_err *err);

extern const struct tw_command tw_command_calibrate;
extern const struct tw_command tw_command_check;
extern const struct tw_command tw_command_completion;
extern const struct tw_command tw_command_engage;
extern const struct tw_command tw_command_estimate;
extern const struct tw_command tw_command_explain;
extern const struct tw_command tw_command_export;
extern const struct tw_command tw_command_extract;
extern const struct tw_command tw_command_import;
extern const struct tw_command tw_command_isolate;
extern const struct tw_command tw_command_merge;
extern const struct tw_command tw_command_models;
extern const struct tw_command tw_command_plan;
extern const struct tw_command tw_command_publish;
extern const struct tw_command tw_command_query;
extern const struct tw_command tw_command_record;
extern const struct tw_command tw_command_plot;
extern const struct tw_command tw_command_probe;
extern const struct tw_command tw_command_profile;
extern const struct tw_command tw_command_rollback;
extern const struct tw_command tw_command_run;
extern const struct tw_command tw_command_spec;
extern const struct tw_command tw_command_top;
extern const struct tw_command tw_command_train;
extern const struct tw_command tw_command_trainers;
extern const struct tw_command tw_command_unit;
extern const struct tw_command tw_command_validate;

#endif /* TW_CLI_COMMAND_H */
