/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROM_STORE_H
#define TW_TRAINER_PROM_STORE_H

/*
 * What a response is made of: between trainer/extract/prom.c and
 * trainer/extract/prom_builder.c.
 */

#include "lib/core/arena.h"
#include "lib/core/intern.h"
#include "trainer/extract/prom.h"
#include "trainer/extract/schema.h"

struct tw_series_draft;

struct tw_prom_metric {
	const char *name;
	struct tw_series *series;
	size_t count, size;
	struct tw_schema_metric own; /* by its name alone */
};

struct tw_prom {
	struct tw_intern shared; /* texts and lists of labels */
	struct tw_arena arena;   /* samples */
	struct tw_prom_metric *metric;
	size_t count;
};

struct tw_prom *tw_prom_new(struct tw_err *err);

/* A metric without series. The name is borrowed. */
struct tw_prom_metric tw_prom_metric(const char *name);

/* Place of the metric of that name, made if it is new. */
int tw_prom_add_metric(struct tw_prom *p, const char *name, size_t len, size_t *out,
		       struct tw_err *err);

/* Append a packed copy to a metric's series. */
int tw_prom_add_series(struct tw_prom *p, size_t metric, const struct tw_series_draft *s,
		       struct tw_err *err);

#endif /* TW_TRAINER_PROM_STORE_H */
