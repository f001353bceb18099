/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_HINTS_H
#define TW_TRAINER_HINTS_H

/*
 * Hints by which an isolator tells targets from background: lists of texts, as options
 * and requests have them. what names the list for errors.
 */

struct tw_err;
struct tw_jsax_event;
struct tw_strs;

/* Most hints of a list. */
#define TW_HINTS_MAX 256

/* "a,b"; NULL is none, and a text that names none is refused. */
int tw_hints_split(const char *text, const char *what, struct tw_strs *out,
		   struct tw_err *err);

/* An event of the JSON value at depth: a list of strings, "a,b", or null. */
int tw_hints_event(const struct tw_jsax_event *e, unsigned depth, const char *what,
		   struct tw_strs *out, struct tw_err *err);

#endif /* TW_TRAINER_HINTS_H */
