/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_STRS_H
#define TW_STRS_H

/*
 * A list of strings that owns its texts: feature names, workload ids, trainers.
 * All zero bytes is an empty list.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_arena;
struct tw_err;

struct tw_strs {
	char **at;
	size_t count;
	size_t size; /* allocated places */
};

/* Append a copy of s[0..len). A NUL inside is refused as TW_INVALID. */
int tw_strs_add(struct tw_strs *l, const char *s, size_t len, struct tw_err *err);

/* As above, for a whole C string. */
int tw_strs_adds(struct tw_strs *l, const char *s, struct tw_err *err);

/*
 * The same, with the copy in an arena. A list has texts of one kind only; this kind is
 * freed with tw_strs_drop(), or filled again from a count of 0.
 */
int tw_strs_add_in(struct tw_strs *l, struct tw_arena *a, const char *s, size_t len,
		   struct tw_err *err);

/* Place of s, or -1. Linear: for short lists. */
ptrdiff_t tw_strs_find(const struct tw_strs *l, const char *s);

bool tw_strs_has(const struct tw_strs *l, const char *s);

/* Split "a, b,c" at commas; blanks around a part are dropped, empty parts too. */
int tw_strs_split(struct tw_strs *l, const char *text, struct tw_err *err);

int tw_strs_copy(struct tw_strs *to, const struct tw_strs *from, struct tw_err *err);

/* Sort by strcmp. */
void tw_strs_sort(struct tw_strs *l);

/* Free the texts; the list is empty and reusable afterwards. */
void tw_strs_clear(struct tw_strs *l);

/* The same for a list whose texts are not its own. */
void tw_strs_drop(struct tw_strs *l);

#endif /* TW_STRS_H */
