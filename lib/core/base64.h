/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_BASE64_H
#define TW_BASE64_H

/* Base64 (RFC 4648, section 4), read strictly: padded, no blanks, no bits to spare. */

#include <stddef.h>

struct tw_buf;
struct tw_err;

void tw_buf_add_base64(struct tw_buf *b, const void *data, size_t len);

/* *out is yours, with a NUL behind it. An error names the byte, and nothing else. */
int tw_base64_read(const char *text, size_t len, char **out, size_t *out_len,
		   struct tw_err *err);

#endif /* TW_BASE64_H */
