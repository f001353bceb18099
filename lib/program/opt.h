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

#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;

enum tw_opt_type {
	TW_OPT_BOOL,        /* bool; the flag takes no value, or =yes, =no */
	TW_OPT_U32,         /* uint32_t, from min to max (max 0: no limit) */
	TW_OPT_DURATION_MS, /* uint64_t */
	TW_OPT_SIZE_BYTES,  /* uint64_t */
	TW_OPT_TEXT,        /* char *, owned by config; NULL if not given */
	TW_OPT_LISTEN,      /* char *: ADDR:PORT, [ADDR]:PORT or :PORT */
	TW_OPT_CHOICE,      /* unsigned, index in choices */
	TW_OPT_LIST,  /* struct tw_strs; each flag adds its items, split at commas */
	TW_OPT_TEXTS, /* struct tw_strs; each flag adds its text, unsplit */
};

struct tw_opt {
	const char *name; /* "listen": for --listen and "listen = ..." */
	const char *env;  /* environment variable "TW_LISTEN"; NULL: none */
	enum tw_opt_type type;
	size_t offset;              /* of the field in config */
	const char *fallback;       /* default, as text; NULL: the field stays zero */
	const char *arg;            /* "ADDR:PORT", for --help */
	const char *help;           /* one line */
	const char *const *choices; /* of TW_OPT_CHOICE; ends with NULL */
	uint32_t min, max;
	bool required; /* for texts and lists: tw_opts_check_required() */
	char letter;   /* 'n' for -n; 0: none. 'h' and 'V' are reserved */
};

/*
 * The members of a row that nearly all options have: { TW_OPT_ROW(struct config, TEXT,
 * "name", name, "NAME", "name of the pipeline"), .required = true }.
 */
#define TW_OPT_ROW(config, kind, flag, field, what, line)                       \
	.name = flag, .type = TW_OPT_##kind, .offset = offsetof(config, field), \
	.arg = what, .help = line

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
 * Parse text into the field of an option. A previous text is freed; a list is appended
 * to.
 */
int tw_opt_set(const struct tw_opt *x, const char *text, void *config,
	       struct tw_err *err);

/* Append the value as text, a list with commas. False if it is not given. */
bool tw_opt_value(const struct tw_opt *x, const void *config, struct tw_buf *b);

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
