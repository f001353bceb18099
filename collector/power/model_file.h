/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_MODEL_FILE_H
#define TW_COLLECTOR_MODEL_FILE_H

/*
 * A model's directory or zip that may be replaced while it is in use. Each tick checks
 * its metadata. A changed file is read again once it has stayed the same for a tick.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tw_err;
struct tw_power_model;

/* Identifies a version of a file. */
struct tw_file_mark {
	dev_t dev;
	ino_t ino;
	off_t size;
	int64_t changed_ns;
};

struct tw_model_file {
	const char *path;
	struct tw_file_mark read; /* version of the last read, successful or not */
	struct tw_file_mark seen; /* version at the last check */
};

/* Read the model. path outlives f. *out is yours. */
int tw_model_file_open(struct tw_model_file *f, const char *path,
		       struct tw_power_model **out, struct tw_err *err);

/*
 * Check in a tick. 1: a new model in *out, which is yours. 0: no change. -1: the new
 * version cannot be used; reported once for each version.
 */
int tw_model_file_look(struct tw_model_file *f, struct tw_power_model **out,
		       struct tw_err *err);

/* Force a read at the next check. */
void tw_model_file_reload(struct tw_model_file *f);

#endif /* TW_COLLECTOR_MODEL_FILE_H */
