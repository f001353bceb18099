/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SHA256_H
#define TW_SHA256_H

/*
 * SHA-256 (FIPS 180-4), for the digests in manifests. Own code, because libsodium is
 * optional at build time and the digests are not.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;

#define TW_SHA256_BYTES 32
#define TW_SHA256_TEXT (2 * TW_SHA256_BYTES + 1)

/* The digest of data[0..len) as 64 lower case hexadecimal digits. */
void tw_sha256_text(const void *data, size_t len, char out[TW_SHA256_TEXT]);

/* The same of data in pieces: start, add, end. */
struct tw_sha256 {
	uint32_t h[8];
	uint64_t len;
	unsigned char block[64]; /* the first len % 64 bytes are used */
};

void tw_sha256_start(struct tw_sha256 *s);
void tw_sha256_add(struct tw_sha256 *s, const void *data, size_t len);
void tw_sha256_end(struct tw_sha256 *s, char out[TW_SHA256_TEXT]);

/* The digest of a file of any size. */
int tw_sha256_file(const char *path, char out[TW_SHA256_TEXT], struct tw_err *err);

#endif /* TW_SHA256_H */
