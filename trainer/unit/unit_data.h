/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_UNIT_DATA_H
#define TW_TRAINER_UNIT_DATA_H

/* The series of the units of work of a service: selectors as given, and what a recording
 * or a Prometheus has of them. */

#include "lib/core/strs.h"
#include "trainer/unit/selector.h"
#include "trainer/unit/unit_blocks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_prom_client;
struct tw_prom_query;

#define TW_UNIT_NODE_ENERGY "tallywatt_node_energy_joules_total"

/* The request of a user. All zero bytes is empty. */
struct tw_unit_ask {
	struct tw_strs energy; /* selectors; none: TW_UNIT_NODE_ENERGY */
	struct tw_strs work;   /* NAME=SELECTOR, or SELECTOR */
	char *idle;            /* W, or a selector; NULL: series of mode idle */
	char *block;           /* length of a block; NULL: by the samples */
};

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
	bool with_idle; /* series of mode idle belong to the energy; idle is subtracted */
	double idle_w;  /* a constant to subtract */
	uint64_t block_ms; /* 0: by the samples */
	struct tw_selection selection[TW_UNIT_ROLES];
	struct tw_unit_input in; /* borrows from here */
};

/*
 * Check what is asked for, and fill the empty *d. Errors begin with the name of the
 * member after `before`: "--work: ..".
 */
int tw_unit_data_open(struct tw_unit_data *d, const struct tw_unit_ask *ask,
		      const char *before, struct tw_err *err);

/* Add a selector of energy, idle energy, intensity or batch size. */
int tw_unit_data_add(struct tw_unit_data *d, enum tw_unit_role role, const char *selector,
		     struct tw_err *err);

/* A number from 0 to max. */
int tw_unit_data_number(const char *text, double max, double *out, struct tw_err *err);

/* As tw_unit_data_number(), or add the selector that the text is. */
int tw_unit_data_either(struct tw_unit_data *d, enum tw_unit_role role, const char *text,
			double max, double *out, struct tw_err *err);

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

/* Blocks of d->in without the idle energy that was asked to subtract. */
int tw_unit_data_blocks(struct tw_unit_data *d, uint64_t block_ms,
			struct tw_unit_blocks *out, struct tw_err *err);

void tw_unit_data_release(struct tw_unit_data *d);

#endif /* TW_TRAINER_UNIT_DATA_H */
