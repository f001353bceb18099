/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_METRIC_CHOICE_H
#define TW_TRAINER_METRIC_CHOICE_H

/*
 * Which metrics of an exporter or a server are wanted: those that some schema knows, or
 * those whose whole name matches an expression; and some by name.
 */

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_strs;

/* All zero bytes: those that a schema knows. */
struct tw_metric_choice {
	bool by_pattern;
	regex_t pattern;
	const struct tw_strs *more;
};

/* pattern is POSIX extended, or NULL; more is borrowed, or NULL. */
int tw_metric_choice_open(struct tw_metric_choice *c, const char *pattern,
			  const struct tw_strs *more, struct tw_err *err);
void tw_metric_choice_release(struct tw_metric_choice *c);

/* name needs no NUL. */
bool tw_metric_choice_has(const struct tw_metric_choice *c, const char *name, size_t len);

#endif /* TW_TRAINER_METRIC_CHOICE_H */
