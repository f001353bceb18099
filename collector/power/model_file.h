/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_MODEL_FILE_H
#define TW_COLLECTOR_MODEL_FILE_H

/*
 * A model's directory or zip that may be replaced while it is in use: looked at, not
 * read, at each tick, and read again once it is another one and has stayed so for a tick.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tw_err;
struct tw_power_model;

/* What tells that a file is another one. */
struct tw_file_mark {
	dev_t dev;
	ino_t ino;
	off_t size;
	int64_t changed_ns;
};

struct tw_model_file {
	const char *path;
	struct tw_file_mark read; /* of what was read last, well or not */
	struct tw_file_mark seen; /* at the last look */
};

/* Read it. path lives as long as f. *out is yours. */
int tw_model_file_open(struct tw_model_file *f, const char *path,
		       struct tw_power_model **out, struct tw_err *err);

/*
 * At a tick: 1 with *out, yours, where there is another model; 0 where there is not;
 * -1 where it cannot be used, which is said once for each that is put there.
 */
int tw_model_file_look(struct tw_model_file *f, struct tw_power_model **out,
		       struct tw_err *err);

/* At the next look it is read, whatever it looks like. */
void tw_model_file_reload(struct tw_model_file *f);

#endif /* TW_COLLECTOR_MODEL_FILE_H */
