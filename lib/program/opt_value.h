/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OPT_VALUE_H
#define TW_OPT_VALUE_H

/*
 * An option of a program's table (lib/program/opt.h), and its value: a field of the
 * program's configuration.
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
	TW_OPT_DURATION_MS, /* uint64_t, from min to max (max 0: no limit) */
	TW_OPT_SIZE_BYTES,  /* uint64_t */
	TW_OPT_TEXT,        /* char *, owned by config; NULL if not given */
	TW_OPT_LISTEN,      /* char *: ADDR:PORT, [ADDR]:PORT or :PORT */
	TW_OPT_CHOICE,      /* unsigned, index in choices */
	TW_OPT_LIST,  /* struct tw_strs; each flag adds its items, split at commas; of
			 choices, if there are any */
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
	const char *const *choices; /* of a choice, or of each item; ends with NULL */
	uint32_t min, max;          /* of numbers, and of durations in ms */
	bool required;              /* for texts and lists: tw_opts_check_required() */
	char letter;                /* 'n' for -n; 0: none. 'h' and 'V' are reserved */
};

/*
 * The members of a row that nearly all options have: { TW_OPT_ROW(struct config, TEXT,
 * "name", name, "NAME", "name of the pipeline"), .required = true }.
 */
#define TW_OPT_ROW(config, kind, flag, field, what, line)                       \
	.name = flag, .type = TW_OPT_##kind, .offset = offsetof(config, field), \
	.arg = what, .help = line

/* Whether tw_opt_set() appends to the field instead of replacing it. */
bool tw_opt_is_list(const struct tw_opt *x);

/*
 * Parse text into the field of an option. A previous text is freed; a list is appended
 * to. A value outside of min and max, or not among the choices, fails.
 */
int tw_opt_set(const struct tw_opt *x, const char *text, void *config,
	       struct tw_err *err);

/* Append the value as text, a list with commas. False if it is not given. */
bool tw_opt_value(const struct tw_opt *x, const void *config, struct tw_buf *b);

/* Free the text or the list. */
void tw_opt_release(const struct tw_opt *x, void *config);

/* The range of a duration, "100ms to 1h", "at most 10m"; "" without limits. */
#define TW_OPT_RANGE 64
const char *tw_opt_range(const struct tw_opt *x, char out[TW_OPT_RANGE]);

#endif /* TW_OPT_VALUE_H */
