/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WORDS_H
#define TW_WORDS_H

/*
 * A command line as words, without a shell: no variables, no globbing, no pipes.
 *
 * Blanks separate words. '...' and "..." group, and a backslash takes the next character
 * as it is, except between '...'.
 */

struct tw_err;
struct tw_strs;

/*
 * Append the words of text. TW_INVALID for an open quote, for no word, and for a
 * character outside quotes that only a shell would interpret: such a line is meant for a
 * shell. *out is unchanged on failure.
 */
int tw_words_split(const char *text, struct tw_strs *out, struct tw_err *err);

#endif /* TW_WORDS_H */
