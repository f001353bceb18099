/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_MANIFEST_H
#define TW_MODEL_DB_MANIFEST_H

/*
 * The manifest of a pipeline (docs/model-db.md, "Manifest"): each file with its size and
 * SHA-256. A signature of the manifest covers the whole pipeline.
 */

struct tw_buf;
struct tw_err;
struct tw_fileset;

#define TW_MANIFEST_NAME "manifest.json"
#define TW_MANIFEST_SIGNATURE "manifest.json.minisig"
#define TW_MANIFEST_VERSION 1

/* Append the manifest of the set. Manifest and signature are not listed. */
int tw_manifest_write(const struct tw_fileset *pipeline, struct tw_buf *out,
		      struct tw_err *err);

/* Write a manifest into the set; removes an older one and its signature. */
int tw_manifest_add(struct tw_fileset *pipeline, struct tw_err *err);

/*
 * Check that the set has exactly the files that its manifest lists. TW_NOTFOUND if it has
 * no manifest; TW_INVALID names the file that is missing, not listed or changed.
 */
int tw_manifest_check(struct tw_fileset *pipeline, struct tw_err *err);

#endif /* TW_MODEL_DB_MANIFEST_H */
