/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_CMD_TABLE_H
#define TW_TRAINER_CMD_TABLE_H

/*
 * What the commands that make tables share: how to read a response, where the table goes.
 */

#include "trainer/extract.h"

struct tw_dataset;
struct tw_err;

/* Texts of options, as they were given; resets and compat are the enums' numbers. */
struct tw_table_config {
	char *source, *group, *machine;
	unsigned resets, compat;
	bool vm_metrics;
};

/* By enum tw_compat, for options; ended by NULL. */
extern const char *const tw_compat_names[];

/* Look up what the texts name. What is wrong here is wrong use. */
int tw_table_args(const struct tw_table_config *c, enum tw_level level,
		  struct tw_extract_args *out, struct tw_err *err);

/* Read and extract the response in a file. *out must be empty; it is yours. */
int tw_table_extract(const char *input, const struct tw_extract_args *args,
		     struct tw_dataset *out, struct tw_err *err);

/* As CSV into a file, replacing it, or to stdout where path is NULL. */
int tw_table_write(const struct tw_dataset *d, const char *path, struct tw_err *err);

#endif /* TW_TRAINER_CMD_TABLE_H */
