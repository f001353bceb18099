/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OPT_H
#define TW_OPT_H

/*
 * Options of a program, from one table. The table gives the flags, the environment
 * variables, the configuration file, --help, --print-config and --check-config, and is
 * compared with the manuals by a test.
 *
 * Precedence: flag, environment variable, file (--config or TW_CONFIG), default. The file
 * has lines "name = value" with the names of the flags. Blank lines and lines that start
 * with '#' are skipped.
 *
 * Every program also has --help, --version, --config FILE, --print-config and
 * --check-config, and a program with metrics --list-metrics; they need no entry.
 */

#include "lib/program/opt_value.h"

#include <stddef.h>

struct tw_buf;
struct tw_err;

struct tw_opts {
	const char *program;  /* "tw-server", or "tallywatt extract" */
	const char *operands; /* for --help; NULL: operands are rejected */
	const char *summary;  /* one line */
	const struct tw_opt *opt;
	size_t count;
	void (*list_metrics)(struct tw_buf *out); /* NULL: no --list-metrics */
	/*
	 * The checks of the program's start that go beyond the table, for --check-config.
	 * May fill config. NULL: there are none.
	 */
	int (*check)(void *config, struct tw_err *err);
};

/* The members opt and count for an array of rows. */
#define TW_OPTS_TABLE(rows) .opt = (rows), .count = sizeof(rows) / sizeof((rows)[0])

/* Options that every program has without a row in its table: --help, completion. */
#define TW_OPTS_COMMON 5
extern const struct tw_opt tw_opts_common[TW_OPTS_COMMON];

/* Action for main() after tw_opts_parse(). */
enum tw_opts_action {
	TW_OPTS_RUN,
	TW_OPTS_EXIT, /* --help, --version, --print-config and the like: exit 0 */
};

/*
 * Fill the zeroed struct config. --help and the like print to stdout. *rest is the index
 * of the first operand in argv, which getopt_long() permutes. Wrong use fails with
 * TW_INVALID and one line that names the mistake: exit with TW_EXIT_USAGE.
 */
int tw_opts_parse(const struct tw_opts *o, int argc, char **argv, void *config,
		  enum tw_opts_action *action, int *rest, struct tw_err *err);

/*
 * Check that all required options are given: "--to is missing". Separate from
 * tw_opts_parse() for programs that check their operands first.
 */
int tw_opts_check_required(const struct tw_opts *o, const void *config,
			   struct tw_err *err);

/* Free the texts and lists in config. */
void tw_opts_release(const struct tw_opts *o, void *config);

/*
 * Print the output of --version: program, version, and the optional libraries of this
 * build ("xgboost: yes"). Defined in lib/program/version.c.
 */
void tw_version_print(const char *program);

#define TW_EXIT_OK 0
#define TW_EXIT_FAILED 1
#define TW_EXIT_USAGE 2

/*
 * Table entries that every daemon has. config is a struct with the fields log_level,
 * log_format and ready_file.
 */
#define TW_OPTS_LOG(config)                                                           \
	{ TW_OPT_ROW(config, CHOICE, "log-level", log_level, "LEVEL",                 \
		     "error, warn, info or debug"),                                   \
	  .env = "TW_LOG_LEVEL", .fallback = "info", .choices = tw_log_level_names }, \
	{                                                                             \
		TW_OPT_ROW(config, CHOICE, "log-format", log_format, "FORMAT",        \
			   "logfmt or json"),                                         \
			.env = "TW_LOG_FORMAT", .fallback = "logfmt",                 \
			.choices = tw_log_format_names                                \
	}
#define TW_OPT_READY_FILE(config)                                                      \
	{                                                                              \
		TW_OPT_ROW(                                                            \
			config, TEXT, "ready-file", ready_file, "PATH",                \
			"file to write the bound address to once the daemon answers"), \
			.env = "TW_READY_FILE"                                         \
	}

#endif /* TW_OPT_H */
