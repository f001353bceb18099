/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_SIGNATURE_H
#define TW_MODEL_DB_SIGNATURE_H

/*
 * Ed25519 signatures in the format of minisign (https://jedisct1.github.io/minisign),
 * whose keys and tool work with ours and ours with it: prehashed by BLAKE2b-512 ("ED"),
 * and of others also the older kind that is not ("Ed").
 *
 * Built with libsodium; without it (SODIUM=0) each of these fails with TW_UNSUPPORTED.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_fileset;
struct tw_strs;

/* Whether this build can sign and verify. */
bool tw_signature_available(void);

/*
 * Sign data with the secret key of a file that `minisign -G` wrote. password: NULL where
 * it has none. comment is the trusted one: a line. Appends the signature's file.
 */
int tw_signature_make(const char *key_text, size_t key_len, const char *password,
		      const char *comment, const void *data, size_t len,
		      struct tw_buf *out, struct tw_err *err);

/*
 * Whether one of the public keys signed data. keys are as `minisign -p` prints them: the
 * 56 characters of base64. TW_DENIED names what does not fit: a key that is not known, or
 * data that was changed.
 */
int tw_signature_check(const char *signature, size_t signature_len,
		       const struct tw_strs *keys, const void *data, size_t len,
		       struct tw_err *err);

/*
 * What stands before anything of a pipeline is parsed: the signature of its manifest, by
 * one of keys, and then that the set is what the manifest lists. Without a signature
 * that is TW_DENIED where one is required; a signature there is is checked in any case
 * where there are keys, and a manifest that there is always.
 */
int tw_signature_check_pipeline(struct tw_fileset *pipeline, const struct tw_strs *keys,
				bool required, struct tw_err *err);

/* Add a manifest and its signature to the set, instead of those that are there. */
int tw_signature_add(struct tw_fileset *pipeline, const char *key_text, size_t key_len,
		     const char *password, struct tw_err *err);

/*
 * Add the public key of a minisign.pub file, or the base64 itself, to keys. path is the
 * file's, or the text.
 */
int tw_signature_read_key(const char *path_or_key, struct tw_strs *keys,
			  struct tw_err *err);

#endif /* TW_MODEL_DB_SIGNATURE_H */
