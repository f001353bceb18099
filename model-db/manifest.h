/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_MANIFEST_H
#define TW_MODEL_DB_MANIFEST_H

/*
 * The manifest of a pipeline (docs/model-db.md, "Manifest"): the pipeline's name and
 * version, and each file with its size and SHA-256. A signature of the manifest covers
 * the whole pipeline.
 */

#include <jansson.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_fileset;

#define TW_MANIFEST_NAME "manifest.json"
#define TW_MANIFEST_SIGNATURE "manifest.json.minisig"
#define TW_MANIFEST_VERSION 1

/* Largest version: JSON readers with doubles are exact up to here. */
#define TW_MANIFEST_ID_MAX (((long long)1 << 53) - 1)

/* All zero bytes: a manifest without them, as earlier releases wrote it. */
struct tw_manifest_id {
	char pipeline[129]; /* a name that tw_name_check() accepts; "": none */
	long long version;  /* a newer manifest has a larger one; 0: none */
};

/* Append the manifest of the set. Manifest and signature are not listed. */
int tw_manifest_write(const struct tw_fileset *pipeline, const struct tw_manifest_id *id,
		      struct tw_buf *out, struct tw_err *err);

/* Write a manifest into the set; removes an older one and its signature. */
int tw_manifest_add(struct tw_fileset *pipeline, const struct tw_manifest_id *id,
		    struct tw_err *err);

/* Remove the manifest and its signature from the set. */
void tw_manifest_drop(struct tw_fileset *pipeline);

/*
 * Check that the set has exactly the files that its manifest lists. TW_NOTFOUND if it has
 * no manifest; TW_INVALID names the file that is missing, not listed or changed. *id,
 * which may be NULL, is the manifest's.
 */
int tw_manifest_check(struct tw_fileset *pipeline, struct tw_manifest_id *id,
		      struct tw_err *err);

/*
 * Give an unsigned set, whose manifest is checked first, another name. A set without a
 * manifest or with a signature stays as it is.
 */
int tw_manifest_rename(struct tw_fileset *pipeline, const char *name, struct tw_err *err);

/* Read the name and version of a manifest's bytes. *id is all zero without them. */
int tw_manifest_read_id(const char *text, size_t len, struct tw_manifest_id *id,
			struct tw_err *err);

/*
 * The files that a published pipeline's manifest lists: an index takes no other file of
 * its directory. All zero bytes: of a pipeline without a manifest, where any file may be.
 */
struct tw_listing {
	json_t *files; /* the manifest's list; NULL: any file */
	size_t root;   /* bytes of the pipeline's path and a slash */
};

/*
 * Read the manifest of the pipeline in the directory path; replaces an older listing.
 * TW_DENIED: it is of another name. TW_INVALID: a file about the pipeline is not listed.
 */
int tw_listing_read(struct tw_listing *l, const char *path, const char *name,
		    struct tw_err *err);

/* Whether a file below the pipeline's path is listed. */
int tw_listing_check(const struct tw_listing *l, const char *path, struct tw_err *err);

void tw_listing_release(struct tw_listing *l);

#endif /* TW_MODEL_DB_MANIFEST_H */
