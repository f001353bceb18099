/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces signature_sodium.c in a build without libsodium. */
#include "lib/core/err.h"
#include "model-db/signature.h"

bool tw_signature_available(void)
{
	return false;
}

int tw_signature_make(const char *key_text, size_t key_len, const char *password,
		      const char *comment, const void *data, size_t len,
		      struct tw_buf *out, struct tw_err *err)
{
	(void)key_text, (void)key_len, (void)password, (void)comment;
	(void)data, (void)len, (void)out;
	return tw_fail(err, TW_UNSUPPORTED, "this build cannot sign: no libsodium");
}

int tw_signature_public(const char *key_text, size_t key_len, const char *password,
			struct tw_strs *keys, struct tw_err *err)
{
	(void)key_text, (void)key_len, (void)password, (void)keys;
	return tw_fail(err, TW_UNSUPPORTED, "this build cannot sign: no libsodium");
}

int tw_signature_check(const char *signature, size_t signature_len,
		       const struct tw_strs *keys, const void *data, size_t len,
		       struct tw_err *err)
{
	(void)signature, (void)signature_len, (void)keys, (void)data, (void)len;
	return tw_fail(err, TW_UNSUPPORTED,
		       "this build cannot check signatures: no libsodium");
}
