/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OPT_H
#define TW_OPT_H

/*
 * Options of a program, from one table: flag, environment variable, configuration
 * file, help, --print-config, --check-config and the documentation check all walk it.
 *
 * Precedence: flag, then environment, then file (--config), then the default. The
 * file has lines "name = value" with the flags' names; '#' starts a comment line.
 *
 * Every program also has --help, --version, --config FILE, --print-config and
 * --check-config; they need no row.
 */

#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

enum tw_opt_type {
	TW_OPT_BOOL,        /* bool; as a flag it takes no value, or =yes, =no */
	TW_OPT_U32,         /* uint32_t, min..max (max 0: no limit) */
	TW_OPT_DURATION_MS, /* uint64_t */
	TW_OPT_SIZE_BYTES,  /* uint64_t */
	TW_OPT_TEXT,        /* char *, owned by the configuration; NULL where not given */
	TW_OPT_LISTEN,      /* char *, checked to be ADDR:PORT, [ADDR]:PORT or :PORT */
	TW_OPT_CHOICE,      /* unsigned, place in choices */
	TW_OPT_LIST,  /* struct tw_strs; split at commas, and each flag adds its parts */
	TW_OPT_TEXTS, /* struct tw_strs; each flag adds its text as it is */
};

struct tw_opt {
	const char *name; /* "listen": --listen, "listen = .." */
	const char *env;  /* "TW_LISTEN"; NULL for none */
	enum tw_opt_type type;
	size_t offset;              /* of its field in the configuration struct */
	const char *fallback;       /* default, as text; NULL: field left zero */
	const char *arg;            /* "ADDR:PORT", for --help */
	const char *help;           /* one line */
	const char *const *choices; /* TW_OPT_CHOICE: ended by NULL */
	uint32_t min, max;
	bool required; /* of a text or list: there is no running without it */
	char letter;   /* 'n': -n is --name; 0: none. Not h or V, which are everybody's */
};

struct tw_opts {
	const char *program;  /* "tw-server", or "tallywatt extract" */
	const char *operands; /* for --help; NULL if none are taken */
	const char *summary;  /* one line */
	const struct tw_opt *opt;
	size_t count;
};

/* What main() is to do after tw_opts_parse(). */
enum tw_opts_action {
	TW_OPTS_RUN,
	TW_OPTS_EXIT, /* --help, --version, --print-config, --check-config: exit 0 */
};

/*
 * Fill the zeroed struct config. Texts for --help and the like go to stdout.
 * *rest is the place in argv of the first operand (argv is permuted as getopt_long
 * does). Fails with TW_INVALID for wrong use, one line that names the mistake: exit 2.
 */
int tw_opts_parse(const struct tw_opts *o, int argc, char **argv, void *config,
		  enum tw_opts_action *action, int *rest, struct tw_err *err);

/*
 * That all of the required ones were given: "--to is missing" if not. Apart from the
 * above for programs that look at their operands first.
 */
int tw_opts_check_required(const struct tw_opts *o, const void *config,
			   struct tw_err *err);

/* Free the texts that config owns. */
void tw_opts_release(const struct tw_opts *o, void *config);

/*
 * One option's value from text into its field of config. A text that the field had is
 * freed; to a list the text is added.
 */
int tw_opt_set(const struct tw_opt *x, const char *text, void *config,
	       struct tw_err *err);

/*
 * Read a configuration file into a list of name, value, name, value. An unknown or
 * repeated name is refused: "etc/x.conf:7: no option 'lisen'".
 */
int tw_opt_file_read(const char *path, const struct tw_opts *o, struct tw_strs *out,
		     struct tw_err *err);

/* The same from text in memory; path is for errors. */
int tw_opt_file_parse(const char *path, const char *data, size_t len,
		      const struct tw_opts *o, struct tw_strs *out, struct tw_err *err);

/* The value, or NULL. Lives as long as the list. */
const char *tw_opt_file_find(const struct tw_strs *file, const char *name);

/*
 * What --version prints after the program's name and version: libraries and parts
 * that this build has or lacks ("xgboost: yes"). Defined in lib/program/version.c.
 */
void tw_version_print(const char *program);

#define TW_EXIT_OK 0
#define TW_EXIT_FAILED 1
#define TW_EXIT_USAGE 2

/* Rows that every daemon has; used inside its table. config has these field names. */
#define TW_OPTS_LOG(config)                                                          \
	{ .name = "log-level",                                                       \
	  .env = "TW_LOG_LEVEL",                                                     \
	  .type = TW_OPT_CHOICE,                                                     \
	  .offset = offsetof(config, log_level),                                     \
	  .fallback = "info",                                                        \
	  .arg = "LEVEL",                                                            \
	  .help = "error, warn, info or debug",                                      \
	  .choices = tw_log_level_names },                                           \
	{                                                                            \
		.name = "log-format", .env = "TW_LOG_FORMAT", .type = TW_OPT_CHOICE, \
		.offset = offsetof(config, log_format), .fallback = "logfmt",        \
		.arg = "FORMAT", .help = "logfmt or json",                           \
		.choices = tw_log_format_names                                       \
	}
#define TW_OPT_READY_FILE(config)                                                  \
	{                                                                          \
		.name = "ready-file", .env = "TW_READY_FILE", .type = TW_OPT_TEXT, \
		.offset = offsetof(config, ready_file), .arg = "PATH",             \
		.help = "write the bound address here once requests are answered"  \
	}

#endif /* TW_OPT_H */
