/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_UPLOADS_H
#define TW_SERVER_UPLOADS_H

/*
 * Pipelines that come over the network: who may send them, and what is asked of them
 * before any of it is seen. Off unless configured. Thread-safe: what is read at the start
 * is not changed.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_strs;
struct tw_uploads;

struct tw_uploads_config {
	const char *model_db;
	/* Lines, each a token or user:password; NULL: nobody may send. */
	const char *auth_file;
	const struct tw_strs *keys; /* files or base64, as minisign has them */
	bool require_signature;
};

/* *out is yours: tw_uploads_free(). */
int tw_uploads_new(const struct tw_uploads_config *c, struct tw_uploads **out,
		   struct tw_err *err);
void tw_uploads_free(struct tw_uploads *u); /* NULL is fine */

/*
 * Whether a request with this Authorization header (NULL: none) may send. TW_UNSUPPORTED
 * where publishing is off; TW_DENIED.
 */
int tw_uploads_allow(const struct tw_uploads *u, const char *authorization,
		     struct tw_err *err);

/*
 * A zip, checked whole, then published. *models_out is how many models it has. Takes as
 * long as its size asks.
 */
int tw_uploads_take(const struct tw_uploads *u, const char *name, const char *zip,
		    size_t len, size_t *models_out, struct tw_err *err);

/*
 * What is asked of a set before it is published, and no more. Then one of
 * kepler-model-server, in the set itself or in its only directory, becomes ours
 * (model-db/import/import.h): *models_out of it can be used, *kept_out are kept as they
 * are.
 */
int tw_uploads_check_any(const struct tw_uploads *u, struct tw_fileset *pipeline,
			 size_t *models_out, size_t *kept_out, struct tw_err *err);

int tw_uploads_rollback(const struct tw_uploads *u, const char *name, struct tw_err *err);

#endif /* TW_SERVER_UPLOADS_H */
