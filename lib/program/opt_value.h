/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OPT_VALUE_H
#define TW_OPT_VALUE_H

/*
 * One option's value: from text into its field of the configuration, and back.
 */

#include <stdbool.h>
#include <stdio.h>

struct tw_err;
struct tw_opt;

/* Whether tw_opt_set() adds to what the field has, instead of replacing it. */
bool tw_opt_adds(const struct tw_opt *x);

/* A text that the field had is freed. */
int tw_opt_set(const struct tw_opt *x, const char *text, void *config,
	       struct tw_err *err);

/* Whether the field has a text, or a list anything in it. */
bool tw_opt_is_given(const struct tw_opt *x, const void *config);

/* "name = value", as tw_opt_file_read() takes it; a text not given as a comment. */
void tw_opt_print(const struct tw_opt *x, const void *config, FILE *out);

/* Free the text that the field owns, if its type is one that owns. */
void tw_opt_release(const struct tw_opt *x, void *config);

#endif /* TW_OPT_VALUE_H */
