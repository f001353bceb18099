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

/* The members of a row for a member of a command's struct config. */
#define TW_ROW(kind, flag, field, what, line) \
	TW_OPT_ROW(struct config, kind, flag, field, what, line)

#define TW_ROW_JSON                                            \
	{                                                      \
		TW_ROW(BOOL, "json", json, NULL, "print JSON") \
	}

/* Roots of the machine's kernel files. */
#define TW_OPTS_MACHINE                                                         \
	{ TW_ROW(TEXT, "proc", proc, "DIR", "the machine's /proc"),             \
	  .fallback = "/proc" },                                                \
	{                                                                       \
		TW_ROW(TEXT, "sys", sys, "DIR", "its /sys"), .fallback = "/sys" \
	}
#define TW_OPTS_MACHINE_METERS                                                       \
	TW_OPTS_MACHINE,                                                             \
		{ TW_ROW(TEXT, "dev", dev, "DIR", "its /dev"), .fallback = "/dev" }, \
	{                                                                            \
		TW_ROW(TEXT, "powercap", powercap, "DIR",                            \
		       "powercap directory [below --sys]")                           \
	}

/* The destination of a pipeline. */
#define TW_OPT_TO                                                                 \
	{                                                                         \
		TW_ROW(TEXT, "to", to, "URL|DB",                                  \
		       "a tw-server that takes pipelines, or a model database's " \
		       "directory"),                                              \
			.env = "TW_MODEL_DB", .required = true                    \
	}

/* A minisign key that signs: members sign and sign_password_file (model-db/signature.h).
 */
#define TW_OPTS_SIGN(config)                                                           \
	{ TW_OPT_ROW(config, TEXT, "sign", sign, "FILE",                               \
		     "sign with this minisign secret key") },                          \
	{                                                                              \
		TW_OPT_ROW(config, TEXT, "sign-password-file", sign_password_file,     \
			   "FILE",                                                     \
			   "file with the password of the key; else TW_SIGN_PASSWORD") \
	}

/* Signatures that are accepted: members keys and require_signature. */
#define TW_OPTS_SIGNED_BY                                                  \
	{ TW_ROW(LIST, "public-key", keys, "KEY|FILE",                     \
		 "accept signatures of these keys only"),                  \
	  .env = "TW_PUBLIC_KEYS" },                                       \
	{                                                                  \
		TW_ROW(BOOL, "require-signature", require_signature, NULL, \
		       "reject a pipeline that no public key signed"),     \
			.env = "TW_REQUIRE_SIGNATURE"                      \
	}

/* How to read the series of a response: an unsigned, a struct tw_strs and bools. */
#define TW_OPTS_SERIES(config, resets_field, vm_metrics_field, gauges_field, lag_field) \
	{ TW_OPT_ROW(config, CHOICE, "resets", resets_field, "HOW",                     \
		     "where counters fall, as at a restart: drop the row, carry on "    \
		     "with the last rate, or refuse the data"),                         \
	  .fallback = "drop", .choices = tw_resets_names },                             \
		{ TW_OPT_ROW(config, BOOL, "vm-metrics", vm_metrics_field, NULL,        \
			     "use the series of job \"vm\"") },                         \
		{ TW_OPT_ROW(config, BOOL, "correct-lag", lag_field, NULL,              \
			     "shift power by its lag behind the features") },           \
	{                                                                               \
		TW_OPT_ROW(                                                             \
			config, LIST, "gauges", gauges_field, "NAMES",                  \
			"third-party metrics that are gauges: averaged over each step") \
	}

/* Whether to smooth rows, an unsigned, and over how many samples, a uint32_t. */
#define TW_OPTS_EXTRACTOR(config, extractor_field, window_field)                \
	{ TW_OPT_ROW(config, CHOICE, "extractor", extractor_field, "NAME",      \
		     "default, or smooth: moving averages"),                    \
	  .fallback = "default", .choices = tw_extractor_names },               \
	{                                                                       \
		TW_OPT_ROW(config, U32, "smooth-window", window_field, "N",     \
			   "window of --extractor smooth, in rows"),            \
			.fallback = "30", .min = 1, .max = TW_SMOOTH_WINDOW_MAX \
	}

#endif /* TW_CLI_CMD_ROWS_H */
