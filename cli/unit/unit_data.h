/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_UNIT_DATA_H
#define TW_CLI_UNIT_DATA_H

/* The series of `tallywatt unit`: selectors as given, and what a recording or a
 * Prometheus has of them. */

#include "trainer/unit/selection.h"
#include "trainer/unit/selector.h"
#include "trainer/unit/unit_blocks.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_prom;
struct tw_prom_client;
struct tw_prom_query;
struct tw_strs;

enum tw_unit_role {
	TW_UNIT_ENERGY,
	TW_UNIT_IDLE,
	TW_UNIT_INTENSITY,
	TW_UNIT_BATCH,
	TW_UNIT_WORK, /* and those after it, one for each counter */
	TW_UNIT_ROLES = TW_UNIT_WORK + TW_UNIT_WORKS_MAX
};

struct tw_unit_slot {
	size_t role;
	char *text; /* the selector as given */
	char *name; /* of work */
	struct tw_selector selector;
	struct tw_prom *prom;
};

#define TW_UNIT_SLOTS_MAX 32

/* All zero bytes is empty. */
struct tw_unit_data {
	struct tw_unit_slot slot[TW_UNIT_SLOTS_MAX];
	size_t slots;
	bool with_idle; /* series of mode idle belong to the energy */
	struct tw_selection selection[TW_UNIT_ROLES];
	struct tw_unit_input in; /* borrows from here */
};

/* Add a selector of energy, idle energy, intensity or batch size. */
int tw_unit_data_add(struct tw_unit_data *d, enum tw_unit_role role, const char *selector,
		     struct tw_err *err);

/* Add a counter of work: NAME=SELECTOR, or SELECTOR, which has the metric's name. */
int tw_unit_data_add_work(struct tw_unit_data *d, const char *text, struct tw_err *err);

/* Index of the counter of that name; TW_NOTFOUND. */
int tw_unit_data_find(const struct tw_unit_data *d, const char *name, size_t *out,
		      struct tw_err *err);

/* The selector of a role as given, the first of several; NULL: none. */
const char *tw_unit_data_text(const struct tw_unit_data *d, size_t role);

/* Fill d->in from a response file, or from a Prometheus. q has the range and the points
 * of the query. */
int tw_unit_data_read(struct tw_unit_data *d, const char *path, struct tw_err *err);
int tw_unit_data_query(struct tw_unit_data *d, struct tw_prom_client *c,
		       const struct tw_prom_query *q, struct tw_err *err);

void tw_unit_data_release(struct tw_unit_data *d);

#endif /* TW_CLI_UNIT_DATA_H */
