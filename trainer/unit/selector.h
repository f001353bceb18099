/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SELECTOR_H
#define TW_TRAINER_SELECTOR_H

/*
 * A selector of series as in PromQL: metric, or metric{label="a",other!="b",more=~"c|d",
 * last!~"e.*"}. A label that a series lacks has the value "". Regular expressions are
 * POSIX extended ones and match a whole value.
 */

#include "lib/core/strs.h"
#include "trainer/unit/unit_blocks.h"

#include <regex.h>
#include <stdbool.h>

struct tw_err;
struct tw_prom;
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

/* Parse name{a="b",c=~"d|e"} of PromQL. *out is yours: tw_selector_release(). */
int tw_selector_parse(const char *text, struct tw_selector *out, struct tw_err *err);
void tw_selector_release(struct tw_selector *s);

/* Whether the labels of a series of the metric match. */
bool tw_selector_takes(const struct tw_selector *s, const struct tw_series *series);

/* ---- series of responses that selectors take ---- */

#define TW_SELECTION_MAX 5000

/* All zero bytes is empty. The series are borrowed from their responses. */
struct tw_selection {
	const struct tw_series **at;
	const char **metric; /* of each; borrowed from the selectors */
	size_t count, size;
};

/* Add the series that the selector takes. A series with the labels of an earlier one is
 * not added again. */
int tw_selection_add(struct tw_selection *s, const struct tw_prom *p,
		     const struct tw_selector *by, struct tw_err *err);

/*
 * As tw_selection_add(), for energy:
 * - unless the selector names `mode`, series of mode "idle" go to idle;
 * - unless it names `zone`, only zones stay that add up (docs/tw-collector.md, "Which
 * zones add up"), of each `instance`.
 */
int tw_selection_add_energy(struct tw_selection *s, struct tw_selection *idle,
			    const struct tw_prom *p, const struct tw_selector *by,
			    struct tw_err *err);

struct tw_unit_source tw_selection_source(const struct tw_selection *s, const char *name);

void tw_selection_release(struct tw_selection *s);

#endif /* TW_TRAINER_SELECTOR_H */
