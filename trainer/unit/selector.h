/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SELECTOR_H
#define TW_TRAINER_SELECTOR_H

/*
 * A selector of series as in PromQL: metric, or metric{label="a",other!="b",more=~"c|d",
 * last!~"e.*"}. A label that a series lacks has the value "". Regular expressions are
 * POSIX extended ones and match a whole value.
 */

#include "lib/core/strs.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_series;

struct tw_label_matcher {
	char *label, *value;
	bool is_not;
	bool is_regex; /* with a compiled regex */
	regex_t regex;
};

/* All zero bytes is empty. */
struct tw_selector {
	char *metric;
	struct tw_label_matcher *at;
	size_t count;
	struct tw_strs texts; /* of the matchers, for tw_prom_query.match */
};

int tw_selector_parse(const char *text, struct tw_selector *out, struct tw_err *err);
void tw_selector_release(struct tw_selector *s);

/* Whether the labels of a series of the metric match. */
bool tw_selector_takes(const struct tw_selector *s, const struct tw_series *series);

/* Whether a matcher names the label. */
bool tw_selector_names(const struct tw_selector *s, const char *label);

#endif /* TW_TRAINER_SELECTOR_H */
