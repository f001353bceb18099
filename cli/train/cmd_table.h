/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_CMD_TABLE_H
#define TW_CLI_CMD_TABLE_H

/*
 * Options of the commands that write tables: how to read a response, and the output file.
 */

#include "cli/cmd_rows.h"
#include "lib/program/opt.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/smooth.h"
#include "trainer/response/thirdparty.h"

struct tw_buf;
struct tw_err;

/* The options as given; resets and compat are enumerators. */
struct tw_table_config {
	char *input, *source, *group, *machine, *raw, *output;
	struct tw_strs names, gauges; /* names of third-party metrics */
	struct tw_thirdparty thirdparty;
	unsigned resets, compat, extractor;
	uint32_t window;
	bool vm_metrics, correct_lag;
};

/* Names by enum tw_compat; ended by NULL. */
extern const char *const tw_compat_names[];

/* Rows of an option table. The config has a struct tw_table_config named table. */
#define TW_TABLE_OPTS                                                                 \
	{ TW_ROW(TEXT, "input", table.input, "FILE",                                  \
		 "Prometheus response to extract from") },                            \
		{ TW_ROW(TEXT, "source", table.source, "SOURCE", "energy source"),    \
		  .fallback = "rapl-sysfs" },                                         \
		{ TW_ROW(TEXT, "group", table.group, "GROUP", "feature group") },     \
		{ TW_ROW(LIST, "thirdparty-metrics", table.names, "NAMES",            \
			 "metrics to use as features, in addition to the group's") }, \
		{ TW_ROW(CHOICE, "compat", table.compat, "WHOSE",                     \
			 "none, or kms: the arithmetic of kepler-model-server, mean " \
			 "steps included"),                                           \
		  .fallback = "none", .choices = tw_compat_names },                   \
		TW_OPTS_SERIES(struct config, table.resets, table.vm_metrics,         \
			       table.gauges, table.correct_lag),                      \
		TW_OPTS_EXTRACTOR(struct config, table.extractor, table.window),      \
		{ TW_ROW(TEXT, "machine", table.machine, "NAME",                      \
			 "machine to use, if the response has several") },            \
		{ TW_ROW(TEXT, "raw", table.raw, "FILE",                              \
			 "also write the counters behind the table to this file") },  \
	{                                                                             \
		TW_ROW(TEXT, "output", table.output, "FILE",                          \
		       "file to write the table to (default: stdout)")                \
	}

/*
 * Look up the names. A failure is wrong use of the command. Call tw_table_release() in
 * any case.
 */
int tw_table_args(struct tw_table_config *c, enum tw_row_level level,
		  struct tw_extract_args *out, struct tw_err *err);

/* Smooth the rows if the config asks for it. */
int tw_table_smooth(const struct tw_table_config *c, struct tw_dataset *d,
		    struct tw_err *err);

/* Read and extract the response, write --raw, and append lines on its quality, unless
 * NULL. *out must be empty; it is yours. */
int tw_table_extract(const struct tw_table_config *c, const struct tw_extract_args *args,
		     struct tw_dataset *out, struct tw_buf *quality, struct tw_err *err);

/* Write CSV to a file, which it replaces, or to stdout if path is NULL. */
int tw_table_write(const struct tw_dataset *d, const char *path, struct tw_err *err);

/* Free the result of tw_table_args(). */
void tw_table_release(struct tw_table_config *c);

#endif /* TW_CLI_CMD_TABLE_H */
