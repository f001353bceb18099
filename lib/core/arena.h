/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ARENA_H
#define TW_ARENA_H

/*
 * An arena: many small allocations that are freed together. All zero bytes is an empty
 * arena. Not thread-safe.
 */

#include <stddef.h>

struct tw_arena_chunk;

struct tw_arena {
	struct tw_arena_chunk *chunk; /* the newest; links to the older ones */
	size_t used, size;            /* bytes of the newest chunk */
};

/* Allocate len bytes, aligned to 8. NULL if out of memory. */
void *tw_arena_get(struct tw_arena *a, size_t len);

/* Copy text[0..len) and append a NUL. NULL if out of memory. */
char *tw_arena_text(struct tw_arena *a, const char *text, size_t len);

/* Free all allocations. A first chunk of at most 1 KiB is kept for reuse. */
void tw_arena_reset(struct tw_arena *a);

/* Free all memory. The arena is empty and reusable afterwards. */
void tw_arena_release(struct tw_arena *a);

#endif /* TW_ARENA_H */
