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

/*
 * Check a set of files as before publishing. A pipeline of kepler-model-server in the
 * set, or in its only directory, is converted (model-db/import/import.h). *models_out is
 * the number of usable models, *kept_out of files that are kept unchanged.
 */
int tw_uploads_check_any(const struct tw_uploads *u, struct tw_fileset *pipeline,
			 size_t *models_out, size_t *kept_out, struct tw_err *err);

int tw_uploads_rollback(const struct tw_uploads *u, const char *name, struct tw_err *err);

#endif /* TW_SERVER_UPLOADS_H */
