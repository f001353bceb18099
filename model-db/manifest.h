/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_MANIFEST_H
#define TW_MODEL_DB_MANIFEST_H

/*
 * The manifest of a pipeline (docs/model-db.md, "Manifest"): every file of it with its
 * size and SHA-256. What is signed is the manifest, so that one signature is of all.
 */

struct tw_buf;
struct tw_err;
struct tw_fileset;

#define TW_MANIFEST_NAME "manifest.json"
#define TW_MANIFEST_SIGNATURE "manifest.json.minisig"
#define TW_MANIFEST_VERSION 1

/* Append the manifest of the set; its own files are passed over. */
int tw_manifest_write(const struct tw_fileset *pipeline, struct tw_buf *out,
		      struct tw_err *err);

/* Put a manifest into the set, instead of one that is there and of its signature. */
int tw_manifest_add(struct tw_fileset *pipeline, struct tw_err *err);

/*
 * Whether the set is exactly what its manifest lists. TW_NOTFOUND if it has none;
 * TW_INVALID names the file that is missing, not listed, or another than listed.
 */
int tw_manifest_check(struct tw_fileset *pipeline, struct tw_err *err);

#endif /* TW_MODEL_DB_MANIFEST_H */
