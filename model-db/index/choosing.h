/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_CHOOSING_H
#define TW_MODEL_DB_CHOOSING_H

/*
 * A choice in progress: the request in terms of the index. For model-db/choose*.c and
 * explain.c only.
 */

#include "model-db/index/choose.h"
#include "model-db/index/filter.h"
#include "model-db/index/index_order.h"

struct tw_choosing {
	const struct tw_index *x;
	const struct tw_wanted *w;
	struct tw_filter filter;
	/* The index's own texts: NULL where not given, or where it has no such. */
	const char *pipeline, *trainer;
	const char **metric; /* sorted by address */
	size_t metrics;
	const char *first_metric;
	uint32_t *shelf; /* those whose features are all among the metrics */
	size_t shelves;
	bool only_trees, only_shares; /* a first try, among these alone */
};

/* *c must be all zero; release it also after a failure. */
int tw_choosing_begin(struct tw_choosing *c, const struct tw_index *x,
		      const struct tw_wanted *w, struct tw_err *err);
void tw_choosing_release(struct tw_choosing *c);

/* The first feature that the client cannot measure, or NULL. */
const char *tw_choosing_missing(const struct tw_choosing *c,
				const struct tw_index_entry *e);

/* Why a model of this kind is not accepted: "no weights for this client", .. */
const char *tw_choosing_refusal(const struct tw_choosing *c,
				const struct tw_index_entry *kind);

/* Whether models of this one's kind have what is wanted. */
bool tw_choosing_accepts(const struct tw_choosing *c, const struct tw_index_entry *kind);

/* Whether the model was given up, for what is wanted. */
bool tw_choosing_given_up(const struct tw_choosing *c, const struct tw_index_entry *e);

/* The scope of what is asked for but for the machine; and of the node type as well. */
struct tw_index_search tw_choosing_by_nothing(const struct tw_choosing *c);
struct tw_index_search tw_choosing_by_number(const struct tw_choosing *c);

/* The choice; entry is NULL if there is none. */
int tw_choosing_choose(const struct tw_choosing *c, struct tw_choice *out,
		       struct tw_err *err);

/* TW_NOTFOUND: which groups were tried, and why each gave nothing. */
int tw_choosing_not_found(const struct tw_choosing *c, struct tw_err *err);

/* Whether nothing but the exact machine will do. */
bool tw_choosing_strict(const struct tw_choosing *c);

#endif /* TW_MODEL_DB_CHOOSING_H */
