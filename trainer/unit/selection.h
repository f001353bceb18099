/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SELECTION_H
#define TW_TRAINER_SELECTION_H

/* Series of responses that selectors take. */

#include "trainer/unit/unit_blocks.h"

#include <stddef.h>

struct tw_err;
struct tw_selector;

#define TW_SELECTION_MAX 5000

/* All zero bytes is empty. The series are borrowed from their responses. */
struct tw_selection {
	const struct tw_series **at;
	const char **metric; /* of each; borrowed from the selectors */
	size_t count, size;
};

/* Add the series that the selector takes. One that is there already, by its labels, is
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

#endif /* TW_TRAINER_SELECTION_H */
