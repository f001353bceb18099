/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_SIGNATURE_TEXT_H
#define TW_MODEL_DB_SIGNATURE_TEXT_H

/*
 * minisign's files as bytes, without any cryptography: a line of comment, a line of
 * base64, and for signatures the two lines again.
 */

#include <stddef.h>

struct tw_err;

#define TW_MINISIGN_ID 8          /* a key's number */
#define TW_MINISIGN_PUBLIC 42     /* "Ed", number, key 32 */
#define TW_MINISIGN_SECRET 158    /* docs/model-db.md, "Signatures" */
#define TW_MINISIGN_SIGNATURE 74  /* "ED" or "Ed", number, signature 64 */
#define TW_MINISIGN_GLOBAL 64     /* signature of signature and trusted comment */
#define TW_MINISIGN_TEXT_MAX 4096 /* of such a file */

struct tw_minisig {
	unsigned char signature[TW_MINISIGN_SIGNATURE];
	unsigned char global[TW_MINISIGN_GLOBAL];
	const char *comment; /* in the text; without "trusted comment: " */
	size_t comment_len;
};

/* The second line of a key's file into exactly size bytes. what: "public key". */
int tw_minisign_key(const char *what, const char *text, size_t len, unsigned char *out,
		    size_t size, struct tw_err *err);

int tw_minisign_signature(const char *text, size_t len, struct tw_minisig *out,
			  struct tw_err *err);

/* Exactly size bytes from a line of base64. */
int tw_minisign_bytes(const char *what, const char *text, size_t len, unsigned char *out,
		      size_t size, struct tw_err *err);

#endif /* TW_MODEL_DB_SIGNATURE_TEXT_H */
