/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_SIGNER_H
#define TW_MODEL_DB_SIGNER_H

/*
 * A secret key in minisign's format that signs pipelines (model-db/signature.h).
 */

#include "lib/core/strs.h"

#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_fileset;
struct tw_manifest_id;

struct tw_signer {
	char *key; /* text of the key file */
	size_t key_len;
	char *password;      /* NULL: the key has none */
	struct tw_strs keys; /* its public key, for tw_signature_check_pipeline() */
};

/*
 * Read a key. The password is the first line of password_file; without that file (NULL)
 * the environment's TW_SIGN_PASSWORD, or none. TW_DENIED: a wrong or missing password.
 * *out must be all zero; tw_signer_release() overwrites the secrets.
 */
int tw_signer_read(const char *key_file, const char *password_file, struct tw_signer *out,
		   struct tw_err *err);
void tw_signer_release(struct tw_signer *s);

/* Append the signature file of a manifest. */
int tw_signer_sign(const struct tw_signer *s, const void *manifest, size_t len,
		   struct tw_buf *out, struct tw_err *err);

/* Write a manifest and its signature into the set; replaces older ones. */
int tw_signer_add(const struct tw_signer *s, const struct tw_manifest_id *id,
		  struct tw_fileset *pipeline, struct tw_err *err);

#endif /* TW_MODEL_DB_SIGNER_H */
