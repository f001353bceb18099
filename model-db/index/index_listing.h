/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_LISTING_H
#define TW_MODEL_DB_INDEX_LISTING_H

/*
 * The files that a published pipeline's manifest lists (model-db/manifest.h): an index
 * takes no other file of its directory.
 */

#include <jansson.h>
#include <stddef.h>

struct tw_err;

/* All zero bytes: of a pipeline without a manifest, where any file may be. */
struct tw_index_listing {
	json_t *files; /* the manifest's list; NULL: any file */
	size_t root;   /* bytes of the pipeline's path and a slash */
};

/*
 * Read the manifest of the pipeline in the directory path; replaces an older listing.
 * TW_DENIED: it is of another name. TW_INVALID: a file about the pipeline is not listed.
 */
int tw_index_listing_read(struct tw_index_listing *l, const char *path, const char *name,
			  struct tw_err *err);

/* Whether a file below the pipeline's path is listed. */
int tw_index_listing_check(const struct tw_index_listing *l, const char *path,
			   struct tw_err *err);

void tw_index_listing_release(struct tw_index_listing *l);

#endif /* TW_MODEL_DB_INDEX_LISTING_H */
