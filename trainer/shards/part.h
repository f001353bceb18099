/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PART_H
#define TW_TRAINER_PART_H

/*
 * A part: the result of one unit of a plan, a zip in a directory of parts. Its unit.json
 * has the plan's digest, the unit, the digests of the inputs and what a merge needs
 * beside the model; pipeline/ has the model's files. The same unit gives the same bytes
 * (docs/shards.md, "Parts").
 */

#include "lib/core/err.h"
#include "lib/core/sha256.h"
#include "lib/zip/fileset.h"
#include "profiler/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_plan;
struct tw_train_unit;

/* Parts are the files of the directory with this suffix. */
#define TW_PART_SUFFIX ".unit.zip"
#define TW_PART_BYTES_MAX ((size_t)1 << 30)

/* All zero bytes is empty. */
struct tw_part {
	size_t unit;
	char sha256[TW_SHA256_TEXT]; /* of the part's bytes */
	struct tw_err failure;       /* why there is no model */
	struct tw_err data_failure;  /* why the data has no rows */
	size_t rows;
	int64_t first_ms, last_ms;
	char note[TW_ERR_TEXT];    /* why alternative validation failed, or "" */
	char *quality;             /* text for people, or NULL */
	struct tw_profile profile; /* of the data */
	struct tw_fileset files;   /* of the model in the pipeline */
};

/*
 * Write the part of a finished unit into the directory, atomically. A part that is there
 * with the same bytes stays; TW_INVALID if it has others.
 */
int tw_part_write(const char *dir, const struct tw_plan *p, size_t unit,
		  const struct tw_train_unit *u, struct tw_err *err);

/* Whether the directory has the unit's part. TW_INVALID if that is of another plan. */
int tw_part_present(const char *dir, const struct tw_plan *p, size_t unit, bool *present,
		    struct tw_err *err);

/* Read and check a part. *out must be all zero; it is yours: tw_part_release(). */
int tw_part_read(const char *path, const struct tw_plan *p, struct tw_part *out,
		 struct tw_err *err);

void tw_part_release(struct tw_part *part);

#endif /* TW_TRAINER_PART_H */
