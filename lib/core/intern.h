/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INTERN_H
#define TW_INTERN_H

/*
 * Equal bytes kept once: two texts, or two lists of time stamps, are equal exactly
 * if their addresses are. All zero bytes is an empty table.
 */

#include "lib/core/arena.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

struct tw_intern_entry {
	const void *data; /* NULL: free */
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
 * The table's copy of data[0..len), made if it is new; aligned for any number and with a
 * NUL behind it. Lives as long as the table. NULL without memory.
 */
const void *tw_intern(struct tw_intern *t, const void *data, size_t len,
		      struct tw_err *err);

/* The table's copy, or NULL if it has none. */
const void *tw_intern_find(const struct tw_intern *t, const void *data, size_t len);

void tw_intern_release(struct tw_intern *t);

#endif /* TW_INTERN_H */
