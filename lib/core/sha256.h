/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SHA256_H
#define TW_SHA256_H

/*
 * SHA-256 (FIPS 180-4), for the digests in manifests. Own code, because libsodium is
 * optional at build time and the digests are not.
 */

#include <stddef.h>

#define TW_SHA256_BYTES 32
#define TW_SHA256_TEXT (2 * TW_SHA256_BYTES + 1)

/* The digest of data[0..len) as 64 lower case hexadecimal digits. */
void tw_sha256_text(const void *data, size_t len, char out[TW_SHA256_TEXT]);

#endif /* TW_SHA256_H */
