/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_CMD_ROWS_H
#define TW_CLI_CMD_ROWS_H

/*
 * Rows shared by the option tables of several commands. Each names the member of the
 * config that it fills.
 */

#include "lib/program/opt.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/smooth.h"

/* An optional and a required text. */
#define TW_OPT_ROW(config, flag, field, what, line)                                   \
	{                                                                             \
		.name = flag, .type = TW_OPT_TEXT, .offset = offsetof(config, field), \
		.arg = what, .help = line                                             \
	}
#define TW_OPT_ROW_REQUIRED(config, flag, field, what, line)                          \
	{                                                                             \
		.name = flag, .type = TW_OPT_TEXT, .offset = offsetof(config, field), \
		.arg = what, .help = line, .required = true                           \
	}

#define TW_OPT_MACHINE_DIR(config, flag, field, preset, line)                         \
	{                                                                             \
		.name = flag, .type = TW_OPT_TEXT, .offset = offsetof(config, field), \
		.fallback = preset, .arg = "DIR", .help = line                        \
	}

/* Roots of the machine's kernel files. */
#define TW_OPTS_MACHINE(config)                                                   \
	TW_OPT_MACHINE_DIR(config, "proc", proc, "/proc", "the machine's /proc"), \
		TW_OPT_MACHINE_DIR(config, "sys", sys, "/sys", "its /sys")

/* The destination of a pipeline. */
#define TW_OPT_TO(config)                                                          \
	{                                                                          \
		.name = "to", .env = "TW_MODEL_DB", .type = TW_OPT_TEXT,           \
		.offset = offsetof(config, to), .arg = "URL|DB", .required = true, \
		.help = "a tw-server that takes pipelines, or a model database's " \
			"directory"                                                \
	}

/* A minisign key that signs: members sign and sign_password_file (model-db/signer.h). */
#define TW_OPTS_SIGN(config)                                                            \
	TW_OPT_ROW(config, "sign", sign, "FILE", "sign with this minisign secret key"), \
		TW_OPT_ROW(config, "sign-password-file", sign_password_file, "FILE",    \
			   "file with the password of the key [TW_SIGN_PASSWORD]")

/* Signatures that are accepted: members keys and require_signature. */
#define TW_OPTS_SIGNED_BY(config)                                                   \
	{ .name = "public-key",                                                     \
	  .env = "TW_PUBLIC_KEYS",                                                  \
	  .type = TW_OPT_LIST,                                                      \
	  .offset = offsetof(config, keys),                                         \
	  .arg = "KEY|FILE",                                                        \
	  .help = "accept signatures of these keys only" },                         \
	{                                                                           \
		.name = "require-signature", .env = "TW_REQUIRE_SIGNATURE",         \
		.type = TW_OPT_BOOL, .offset = offsetof(config, require_signature), \
		.help = "reject a pipeline that no public key signed"               \
	}

/* How to read the series of a response: an unsigned, a struct tw_strs and bools. */
#define TW_OPTS_SERIES(config, resets_field, vm_metrics_field, gauges_field, lag_field) \
	{ .name = "resets",                                                             \
	  .type = TW_OPT_CHOICE,                                                        \
	  .offset = offsetof(config, resets_field),                                     \
	  .fallback = "refuse",                                                         \
	  .arg = "HOW",                                                                 \
	  .choices = tw_resets_names,                                                   \
	  .help = "where a counter falls: refuse the data, or carry on with the last "  \
		  "rate" },                                                             \
		{ .name = "vm-metrics",                                                 \
		  .type = TW_OPT_BOOL,                                                  \
		  .offset = offsetof(config, vm_metrics_field),                         \
		  .help = "use the series of job \"vm\"" },                             \
		{ .name = "correct-lag",                                                \
		  .type = TW_OPT_BOOL,                                                  \
		  .offset = offsetof(config, lag_field),                                \
		  .help = "shift power by its lag behind the features" },               \
	{                                                                               \
		.name = "gauges", .type = TW_OPT_LIST,                                  \
		.offset = offsetof(config, gauges_field), .arg = "NAMES",               \
		.help = "third-party metrics that are gauges: averaged over each "      \
			"step"                                                          \
	}

/* Whether to smooth rows, an unsigned, and over how many samples, a uint32_t. */
#define TW_OPTS_EXTRACTOR(config, extractor_field, window_field)                        \
	{ .name = "extractor",                                                          \
	  .type = TW_OPT_CHOICE,                                                        \
	  .offset = offsetof(config, extractor_field),                                  \
	  .fallback = "default",                                                        \
	  .arg = "NAME",                                                                \
	  .choices = tw_extractor_names,                                                \
	  .help = "default, or smooth: moving averages" },                              \
	{                                                                               \
		.name = "smooth-window", .type = TW_OPT_U32,                            \
		.offset = offsetof(config, window_field), .fallback = "30", .arg = "N", \
		.help = "window of --extractor smooth, in rows", .min = 1,              \
		.max = TW_SMOOTH_WINDOW_MAX                                             \
	}

#endif /* TW_CLI_CMD_ROWS_H */
