/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_HINTS_H
#define TW_TRAINER_HINTS_H

/*
 * Hints by which an isolator separates targets from background: lists of substrings of
 * workload names, from options and requests. `what` is the list's name in errors.
 */

struct tw_err;
struct tw_jsax_event;
struct tw_strs;

/* Limit of hints in a list. */
#define TW_HINTS_MAX 256

/* Split "a,b". NULL is an empty list; a text without hints is TW_INVALID. */
int tw_hints_split(const char *text, const char *what, struct tw_strs *out,
		   struct tw_err *err);

/* Feed an event of the JSON value at depth: a list of strings, "a,b", or null. */
int tw_hints_event(const struct tw_jsax_event *e, unsigned depth, const char *what,
		   struct tw_strs *out, struct tw_err *err);

#endif /* TW_TRAINER_HINTS_H */
