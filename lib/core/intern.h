/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INTERN_H
#define TW_INTERN_H

/*
 * An intern table: keeps one copy of equal byte strings (texts, arrays of time stamps).
 * Two interned strings are equal if and only if their addresses are. All zero bytes is an
 * empty table. Not thread-safe.
 */

#include "lib/core/arena.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

struct tw_intern_entry {
	const void *data; /* NULL: the slot is free */
	size_t len;
	uint64_t hash;
};

struct tw_intern {
	struct tw_arena arena;
	struct tw_intern_entry *entry;
	size_t count, size; /* size is a power of two, or 0 */
	uint64_t seed;
};

/*
 * Return the table's copy of data[0..len), and make it if needed. The copy is aligned to
 * 8 and NUL-terminated, and lives as long as the table. NULL if out of memory.
 */
const void *tw_intern(struct tw_intern *t, const void *data, size_t len,
		      struct tw_err *err);

/* Return the table's copy, or NULL if there is none. */
const void *tw_intern_find(const struct tw_intern *t, const void *data, size_t len);

void tw_intern_release(struct tw_intern *t);

#endif /* TW_INTERN_H */
