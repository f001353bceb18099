/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/intern.h"

#include "lib/core/err.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* 2^64 / golden ratio, odd: multiplying by it spreads a word over the upper bits. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * SPREAD;
	return h ^ h >> 29;
}

static uint64_t hash_bytes(const unsigned char *data, size_t len, uint64_t seed)
{
	uint64_t h = mix(seed, len), word;

	for (; len >= 8; data += 8, len -= 8) {
		memcpy(&word, data, 8);
		h = mix(h, word);
	}
	word = 0;
	if (len > 0)
		memcpy(&word, data, len);
	h = mix(h, word);
	return mix(h, seed);
}

/* Linear probing: the entry of the bytes, or the free entry for them. */
static struct tw_intern_entry *find_entry(struct tw_intern_entry *entry, size_t size,
					  const void *data, size_t len, uint64_t hash)
{
	for (size_t i = hash & (size - 1);; i = (i + 1) & (size - 1)) {
		struct tw_intern_entry *e = &entry[i];

		if (e->data == NULL || (e->hash == hash && e->len == len &&
					(len == 0 || memcmp(e->data, data, len) == 0)))
			return e;
	}
}

static int grow(struct tw_intern *t)
{
	size_t size = t->size != 0 ? t->size * 2 : 64;
	struct tw_intern_entry *entry = calloc(size, sizeof(*entry));

	if (entry == NULL)
		return -1;
	/* A random seed, so that input cannot be chosen to collide. */
	if (t->size == 0 && getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) < 0)
		t->seed = (uint64_t)(uintptr_t)entry;
	for (size_t i = 0; i < t->size; i++) {
		struct tw_intern_entry *e = &t->entry[i];

		if (e->data != NULL)
			*find_entry(entry, size, e->data, e->len, e->hash) = *e;
	}
	free(t->entry);
	t->entry = entry;
	t->size = size;
	return 0;
}

const void *tw_intern(struct tw_intern *t, const void *data, size_t len,
		      struct tw_err *err)
{
	struct tw_intern_entry *e;
	uint64_t hash;
	char *copy;

	if (t->count + 1 > t->size / 2 && grow(t) < 0)
		goto no_memory;
	hash = hash_bytes(data, len, t->seed);
	e = find_entry(t->entry, t->size, data, len, hash);
	if (e->data != NULL)
		return e->data;

	copy = tw_arena_text(&t->arena, data, len);
	if (copy == NULL)
		goto no_memory;
	*e = (struct tw_intern_entry){ .data = copy, .len = len, .hash = hash };
	t->count++;
	return copy;

no_memory:
	tw_fail(err, TW_NOMEM, "interned string of %zu bytes", len);
	return NULL;
}

const void *tw_intern_find(const struct tw_intern *t, const void *data, size_t len)
{
	if (t->size == 0)
		return NULL;
	return find_entry(t->entry, t->size, data, len, hash_bytes(data, len, t->seed))
		->data;
}

void tw_intern_release(struct tw_intern *t)
{
	tw_arena_release(&t->arena);
	free(t->entry);
	*t = (struct tw_intern){ 0 };
}
