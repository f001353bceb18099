/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_AUTO_TEXT_H
#define TW_TRAINER_AUTO_TEXT_H

/*
 * The text of what AutoTrainer chose: a form of an ensemble (docs/model-format.md), and
 * the choice in words.
 */

#include <jansson.h>

struct tw_auto_blend;
struct tw_auto_trials;
struct tw_buf;
struct tw_err;

/* Fit the members on all rows and append {"bias":0,"columns":[..],"members":[..]}. */
int tw_auto_form_text(const struct tw_auto_trials *t, const struct tw_auto_blend *b,
		      struct tw_buf *text, struct tw_err *err);

/* Append a line to list for each trial, and one for the choice. */
int tw_auto_explain(const char *form, const struct tw_auto_trials *t,
		    const struct tw_auto_blend *b, json_t *list, struct tw_err *err);

#endif /* TW_TRAINER_AUTO_TEXT_H */
