/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_UPLOADS_H
#define TW_SERVER_UPLOADS_H

/*
 * Pipelines sent over the network: who may send them, and the checks before anything of
 * them is published. Off unless configured. Thread-safe: the settings do not change after
 * the start.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_strs;
struct tw_uploads;

struct tw_uploads_config {
	const char *model_db;
	/* Lines, each a token or user:password; NULL: publishing is off. */
	const char *auth_file;
	const struct tw_strs *keys; /* files or base64 texts, in minisign's format */
	bool require_signature;
	bool allow_downgrade; /* accept a pipeline with an older version */
};

/* *out is yours: tw_uploads_free(). */
int tw_uploads_new(const struct tw_uploads_config *c, struct tw_uploads **out,
		   struct tw_err *err);
void tw_uploads_free(struct tw_uploads *u); /* NULL is fine */

/*
 * Whether a request with this Authorization header (NULL: none) may publish.
 * TW_UNSUPPORTED if publishing is off; TW_DENIED.
 */
int tw_uploads_allow(const struct tw_uploads *u, const char *authorization,
		     struct tw_err *err);

/*
 * Check a zip as a whole, then publish it. *models_out is its number of models. The time
 * grows with its size.
 */
int tw_uploads_take(const struct tw_uploads *u, const char *name, const char *zip,
		    size_t len, size_t *models_out, struct tw_err *err);

/* Whether an older version may replace a newer one. */
bool tw_uploads_allow_downgrade(const struct tw_uploads *u);

/* Whether only signed pipelines may be served. */
bool tw_uploads_require_signature(const struct tw_uploads *u);

/*
 * Whether the pipeline in the directory path may be served under the name: where a
 * signature is required, all its files are read and checked. A tw_index_enter_fn; uploads
 * is a struct tw_uploads.
 */
int tw_uploads_admit(void *uploads, const char *path, const char *name,
		     struct tw_err *err);

/*
 * Check a set of files as before publishing under this name. An unsigned set whose
 * manifest has another name is renamed. A pipeline of kepler-model-server in the set, or
 * in its only directory, is converted (model-db/import/import.h). *models_out is the
 * number of usable models, *kept_out of files that are kept unchanged.
 */
int tw_uploads_check_any(const struct tw_uploads *u, const char *name,
			 struct tw_fileset *pipeline, size_t *models_out,
			 size_t *kept_out, struct tw_err *err);

/* Check the previous version as before publishing, then restore it. */
int tw_uploads_rollback(struct tw_uploads *u, const char *name, struct tw_err *err);

#endif /* TW_SERVER_UPLOADS_H */
