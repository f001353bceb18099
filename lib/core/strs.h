/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_STRS_H
#define TW_STRS_H

/*
 * A list of strings: feature names, workload ids, names of trainers. The list owns its
 * texts, except those of tw_strs_add_in(). All zero bytes is an empty list.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_arena;
struct tw_err;

struct tw_strs {
	char **at;
	size_t count;
	size_t size; /* allocated entries */
};

/*
 * Copy text[0..len) to a C string, which is yours. A NUL byte in it is rejected as
 * TW_INVALID.
 */
int tw_text_copy(const char *text, size_t len, char **out, struct tw_err *err);

/* Append a copy of s[0..len). A NUL byte in s is rejected as TW_INVALID. */
int tw_strs_add(struct tw_strs *l, const char *s, size_t len, struct tw_err *err);

/* Append a copy of a C string. */
int tw_strs_adds(struct tw_strs *l, const char *s, struct tw_err *err);

/*
 * As tw_strs_add(), with the copy in an arena. Do not mix both kinds in one list. Free
 * such a list with tw_strs_drop(), or set count to 0 to fill it again.
 */
int tw_strs_add_in(struct tw_strs *l, struct tw_arena *a, const char *s, size_t len,
		   struct tw_err *err);

/* Index of s, or -1. A linear search. */
ptrdiff_t tw_strs_find(const struct tw_strs *l, const char *s);

bool tw_strs_has(const struct tw_strs *l, const char *s);

/* Append the items of "a, b,c". Blanks around items and empty items are dropped. */
int tw_strs_split(struct tw_strs *l, const char *text, struct tw_err *err);

/* Replace the texts of `to` by copies. On failure `to` is unchanged. */
int tw_strs_copy(struct tw_strs *to, const struct tw_strs *from, struct tw_err *err);

/* Sort by strcmp. */
void tw_strs_sort(struct tw_strs *l);

/*
 * The index of a text among names, which end with NULL. Fails with TW_INVALID and
 * "'x' is not one of a, b".
 */
int tw_choice_find(const char *const *names, const char *text, unsigned *out,
		   struct tw_err *err);

/* Whether the text ends with `end`. */
bool tw_ends_with(const char *text, const char *end);

/*
 * Compare by their bytes two pointers to texts, or two structs whose first member is one,
 * for qsort() and bsearch(). NULL comes first.
 */
int tw_compare_texts(const void *a, const void *b);

/* Free the list and its texts. The list is empty and reusable afterwards. */
void tw_strs_clear(struct tw_strs *l);

/* Free a list whose texts are in an arena. */
void tw_strs_drop(struct tw_strs *l);

#endif /* TW_STRS_H */
