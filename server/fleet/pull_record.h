/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_PULL_RECORD_H
#define TW_SERVER_PULL_RECORD_H

/*
 * State of a pulled pipeline, in <db>/.pull, which the index skips: <pipeline>.json, and
 * <pipeline>.<sum of the URL>.part during a download (lib/http/client/download.h). A pull
 * replaces a pipeline only if its manifest is the one that a pull published. A pipeline
 * that a user published or rolled back is not touched.
 */

#include "lib/core/sha256.h"
#include "lib/http/client/http.h"

#include <stdbool.h>

struct tw_err;
struct tw_pull_source;
struct tw_pull_sources;

struct tw_pull_record {
	char etag[TW_HTTP_ETAG_MAX];   /* entity tag of the source; empty: unknown */
	char manifest[TW_SHA256_TEXT]; /* SHA-256 of the published manifest.json */
	char next[TW_SHA256_TEXT]; /* of the manifest that is about to be published, or
				      empty */
};

/*
 * False if there is no readable record. The tag is empty if the record is of another URL,
 * or if another version of this program wrote it, because that version may have imported
 * less.
 */
bool tw_pull_record_read(const char *db, const struct tw_pull_source *s,
			 struct tw_pull_record *out);

int tw_pull_record_write(const char *db, const struct tw_pull_source *s,
			 const struct tw_pull_record *r, struct tw_err *err);

/*
 * Whether a pull published the pipeline that has this manifest digest. That includes a
 * process that was killed between publishing and recording it; its tag is then unknown.
 */
bool tw_pull_record_fits(struct tw_pull_record *r, const char *digest);

/* The SHA-256 of the pipeline's manifest. *there: whether the pipeline exists. */
int tw_pull_digest(const char *db, const char *pipeline, bool *exists,
		   char digest[TW_SHA256_TEXT], struct tw_err *err);

/*
 * Open and lock the file of a download. TW_IO if another process holds the lock. *fd is
 * yours.
 */
int tw_pull_part_open(const char *db, const struct tw_pull_source *s, int *fd,
		      struct tw_err *err);
void tw_pull_part_remove(const char *db, const struct tw_pull_source *s);

/* Remove partial downloads of sources that are no longer configured. */
void tw_pull_parts_tidy(const char *db, const struct tw_pull_sources *sources);

#endif /* TW_SERVER_PULL_RECORD_H */
