/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MIN ((size_t)1 << 10)
#define CHUNK_MAX ((size_t)256 << 10)

struct tw_arena_chunk {
	struct tw_arena_chunk *older;
	uint64_t data[];
};

/* Add a chunk for len bytes. Chunk sizes double up to CHUNK_MAX. */
static int add_chunk(struct tw_arena *a, size_t len)
{
	size_t size = a->size < CHUNK_MIN ? CHUNK_MIN : a->size * 2;
	struct tw_arena_chunk *c;

	if (size > CHUNK_MAX)
		size = CHUNK_MAX;
	if (size < len)
		size = len;
	c = malloc(sizeof(*c) + size);
	if (c == NULL)
		return -1;
	c->older = a->chunk;
	a->chunk = c;
	a->used = 0;
	a->size = size;
	return 0;
}

void *tw_arena_get(struct tw_arena *a, size_t len)
{
	void *at;

	if (len > SIZE_MAX / 2)
		return NULL;
	len = (len + 7) & ~(size_t)7;
	if ((a->chunk == NULL || len > a->size - a->used) && add_chunk(a, len) < 0)
		return NULL;
	at = (char *)a->chunk->data + a->used;
	a->used += len;
	return at;
}

char *tw_arena_text(struct tw_arena *a, const char *text, size_t len)
{
	char *copy = len < SIZE_MAX ? tw_arena_get(a, len + 1) : NULL;

	if (copy == NULL)
		return NULL;
	if (len > 0)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

void tw_arena_reset(struct tw_arena *a)
{
	if (a->chunk != NULL && a->chunk->older == NULL && a->size <= CHUNK_MIN)
		a->used = 0;
	else
		tw_arena_release(a);
}

void tw_arena_release(struct tw_arena *a)
{
	while (a->chunk != NULL) {
		struct tw_arena_chunk *older = a->chunk->older;

		free(a->chunk);
		a->chunk = older;
	}
	a->used = 0;
	a->size = 0;
}
