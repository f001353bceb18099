/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_BASE64_H
#define TW_BASE64_H

/*
 * Base64 (RFC 4648, section 4). Decoding is strict: padding is required, white space
 * and non-zero spare bits are rejected. Each byte string has exactly one encoding.
 */

#include <stddef.h>

struct tw_buf;
struct tw_err;

/* Append the encoding of data[0..len). */
void tw_buf_add_base64(struct tw_buf *b, const void *data, size_t len);

/*
 * Decode text[0..len). *out is yours (free()) and NUL-terminated. Errors give the offset
 * only: the text may be a secret.
 */
int tw_base64_read(const char *text, size_t len, char **out, size_t *out_len,
		   struct tw_err *err);

#endif /* TW_BASE64_H */
