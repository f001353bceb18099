/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ARENA_H
#define TW_ARENA_H

/*
 * Memory for many small things that are freed together. All zero bytes is an empty
 * arena.
 */

#include <stddef.h>

struct tw_arena_chunk;

struct tw_arena {
	struct tw_arena_chunk *chunk; /* newest; linked to the older ones */
	size_t used, size;            /* bytes of the newest */
};

/* len bytes, aligned for any number; NULL if there is no memory. */
void *tw_arena_get(struct tw_arena *a, size_t len);

/* A copy of text[0..len) with a NUL behind it; NULL if there is no memory. */
char *tw_arena_text(struct tw_arena *a, const char *text, size_t len);

/* Forget all, and keep what memory a few small things take. */
void tw_arena_reset(struct tw_arena *a);

/* Free all; the arena is empty and reusable afterwards. */
void tw_arena_release(struct tw_arena *a);

#endif /* TW_ARENA_H */
