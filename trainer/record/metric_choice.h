/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_METRIC_CHOICE_H
#define TW_TRAINER_METRIC_CHOICE_H

/*
 * Choice of the metrics to record or query: the schemas' metrics, or those whose whole
 * name matches a regular expression; and additional names.
 */

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_strs;

/* All zero bytes: the schemas' metrics. */
struct tw_metric_choice {
	bool by_pattern;
	regex_t pattern;
	const struct tw_strs *more;
};

/* pattern: POSIX extended, or NULL. more: additional names, borrowed, or NULL. */
int tw_metric_choice_open(struct tw_metric_choice *c, const char *pattern,
			  const struct tw_strs *more, struct tw_err *err);
void tw_metric_choice_release(struct tw_metric_choice *c);

/* Whether the metric is chosen. name needs no NUL. */
bool tw_metric_choice_has(const struct tw_metric_choice *c, const char *name, size_t len);

#endif /* TW_TRAINER_METRIC_CHOICE_H */
