/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_UTF8_H
#define TW_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The bytes of the character at s, 1 to 4; 0 if it is malformed (RFC 3629: no overlong
 * form, no surrogate, nothing above U+10FFFF). At most len bytes are read, and none after
 * a NUL: len is 4 for text that ends in one.
 */
size_t tw_utf8_length(const char *s, size_t len);

bool tw_is_utf8(const char *text);

#endif /* TW_UTF8_H */
