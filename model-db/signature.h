/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_SIGNATURE_H
#define TW_MODEL_DB_SIGNATURE_H

/*
 * Ed25519 signatures of pipelines in the format of minisign
 * (https://jedisct1.github.io/minisign). We write prehashed signatures (BLAKE2b-512,
 * "ED") and also verify the older kind without a hash ("Ed").
 *
 * Signing and verifying need libsodium: in a build with SODIUM=0 they fail with
 * TW_UNSUPPORTED.
 */

#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_fileset;
struct tw_manifest_id;

/* Whether this build can sign and verify. */
bool tw_signature_available(void);

/*
 * Sign data with a secret key in the format of `minisign -G`. password is NULL if the key
 * has none. comment is the trusted comment, one line. Appends the signature file.
 */
int tw_signature_make(const char *key_text, size_t key_len, const char *password,
		      const char *comment, const void *data, size_t len,
		      struct tw_buf *out, struct tw_err *err);

/*
 * Check that one of the public keys signed data. keys are in the form of `minisign -p`:
 * 56 characters of base64. TW_DENIED: an unknown key, or changed data.
 */
int tw_signature_check(const char *signature, size_t signature_len,
		       const struct tw_strs *keys, const void *data, size_t len,
		       struct tw_err *err);

/* Append the public key of a secret key to keys, as base64. */
int tw_signature_public(const char *key_text, size_t key_len, const char *password,
			struct tw_strs *keys, struct tw_err *err);

/*
 * Check a pipeline before anything in it is parsed: first the signature of the manifest
 * by one of keys, then the files against the manifest. A missing signature fails with
 * TW_DENIED if required. A signature is checked if it is required or if there are keys;
 * a manifest is always checked.
 *
 * A manifest of another pipeline than name fails with TW_DENIED; name NULL: of any. If a
 * signature is required, a manifest without name and version fails, too: its signature
 * would be valid under any name, and forever.
 */
int tw_signature_check_pipeline(struct tw_fileset *pipeline, const char *name,
				const struct tw_strs *keys, bool required,
				struct tw_err *err);

/* Append a public key to keys: path_or_key is a minisign.pub file or the base64. */
int tw_signature_read_key(const char *path_or_key, struct tw_strs *keys,
			  struct tw_err *err);

/* The same for each text of a list. */
int tw_signature_read_keys(const struct tw_strs *paths_or_keys, struct tw_strs *keys,
			   struct tw_err *err);

/*
 * minisign's files as bytes, without cryptography; for tests. A key is a comment line and
 * a line of base64; a signature has two such pairs.
 */

#define TW_MINISIGN_ID 8          /* key number */
#define TW_MINISIGN_PUBLIC 42     /* "Ed", key number, 32 bytes of key */
#define TW_MINISIGN_SECRET 158    /* docs/model-db.md, "Signatures" */
#define TW_MINISIGN_SIGNATURE 74  /* "ED" or "Ed", key number, 64 bytes of signature */
#define TW_MINISIGN_GLOBAL 64     /* signature of the signature and trusted comment */
#define TW_MINISIGN_TEXT_MAX 4096 /* bytes of a file */

struct tw_minisig {
	unsigned char signature[TW_MINISIGN_SIGNATURE];
	unsigned char global[TW_MINISIGN_GLOBAL];
	const char *comment; /* borrowed; without "trusted comment: " */
	size_t comment_len;
};

/* Decode a key file into exactly size bytes. what is for errors: "public key". */
int tw_minisign_key(const char *what, const char *text, size_t len, unsigned char *out,
		    size_t size, struct tw_err *err);

/* Decode a signature file. *out borrows from text. */
int tw_minisign_signature(const char *text, size_t len, struct tw_minisig *out,
			  struct tw_err *err);

/* A secret key in minisign's format that signs pipelines. */
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

#endif /* TW_MODEL_DB_SIGNATURE_H */
