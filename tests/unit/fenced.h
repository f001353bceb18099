/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_FENCED_H
#define TW_TEST_FENCED_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A copy of bytes whose end (at_end) or start borders on memory that cannot be read, so
 * that a read beyond it crashes.
 */
struct fenced {
	char *data;
	char *memory;
	size_t size; /* of memory */
};

struct fenced fenced_copy(const char *data, size_t len, bool at_end);
void fenced_free(struct fenced *f);

#endif /* TW_TEST_FENCED_H */
