/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SUGGEST_H
#define TW_SUGGEST_H

/* The name that a person meant: for errors about unknown commands and options. */

#include <stddef.h>

/*
 * Insertions, deletions, changes of a byte and swaps of two neighbours that make one text
 * of the other. Texts of over 64 bytes are far from all others: SIZE_MAX.
 */
size_t tw_text_distance(const char *a, const char *b);

/*
 * Keep the nearer of two names to text: *best (NULL: none) becomes name if name is nearer
 * and at most a third of it differs.
 */
void tw_suggest(const char *text, const char *name, const char **best);

#endif /* TW_SUGGEST_H */
