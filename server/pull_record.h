/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_PULL_RECORD_H
#define TW_SERVER_PULL_RECORD_H

/*
 * What is remembered of a pipeline that was pulled, in <db>/.pull, which readers of the
 * database pass over: <pipeline>.json, and <pipeline>.<sum of the URL>.part while it
 * comes (lib/http/download.h). A pipeline is ours to replace only while its manifest is
 * the one that we put there: what somebody else put there, or rolled back, is not
 * touched.
 */

#include "lib/core/sha256.h"
#include "lib/http/http.h"

#include <stdbool.h>

struct tw_err;
struct tw_pull_source;
struct tw_pull_sources;

struct tw_pull_record {
	char etag[TW_HTTP_ETAG_MAX];   /* of what the source had; empty: not known */
	char manifest[TW_SHA256_TEXT]; /* SHA-256 of the manifest.json put in place */
	char next[TW_SHA256_TEXT];     /* of the one that is about to be; or empty */
};

/*
 * False where there is none, or what is there cannot be read. The tag is empty where it
 * is of another URL, or what it stands for was made by another version of this program,
 * which may have made less of it.
 */
bool tw_pull_record_read(const char *db, const struct tw_pull_source *s,
			 struct tw_pull_record *out);

int tw_pull_record_write(const char *db, const struct tw_pull_source *s,
			 const struct tw_pull_record *r, struct tw_err *err);

/*
 * Whether the pipeline in place, whose manifest has the digest, is ours: also of a
 * process that was killed between putting it there and writing so. Then its tag is not
 * known.
 */
bool tw_pull_record_fits(struct tw_pull_record *r, const char *digest);

/* The SHA-256 of the pipeline's manifest; *there: whether there is a pipeline at all. */
int tw_pull_digest(const char *db, const char *pipeline, bool *there,
		   char digest[TW_SHA256_TEXT], struct tw_err *err);

/*
 * Open the file that the source is downloaded into, locked: TW_IO where another process
 * is at it. *fd is yours.
 */
int tw_pull_part_open(const char *db, const struct tw_pull_source *s, int *fd,
		      struct tw_err *err);
void tw_pull_part_remove(const char *db, const struct tw_pull_source *s);

/* Remove parts of what is no source any more. */
void tw_pull_parts_tidy(const char *db, const struct tw_pull_sources *sources);

#endif /* TW_SERVER_PULL_RECORD_H */
