/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_ORDER_H
#define TW_MODEL_DB_INDEX_ORDER_H

/*
 * The models of an index in the order of preference, and where in it those that a request
 * may have begin: a few binary searches find the best, however many there are.
 *
 * A shelf is the models of one source, output, group and set of features. A kind is
 * whatever decides which clients may have a model: predictor, fitness, serves_shares,
 * weights_for, floor, first_metric. A part is those of one kind on a shelf. A search is
 * in one part, in one scope, and for one trainer or any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_index;
struct tw_index_entry;
struct tw_index_machine;
struct tw_strs;

enum tw_index_scope {
	TW_IN_ALL,
	TW_IN_PIPELINE,
	TW_IN_NODE_TYPE, /* of this number, in any pipeline */
	TW_IN_MACHINE,
	TW_IN_COUNT
};

/* What all models of a shelf share, as one of them has it. */
struct tw_index_shelf {
	const struct tw_index_entry *sample;
	size_t first_part, parts;
};

/* The same for the models of a part, which lie together in every order. */
struct tw_index_part {
	const struct tw_index_entry *sample;
	size_t from, count;
};

/*
 * An order: in each part by a key of scope and trainer, then by rank. Keys and ranks lie
 * close together, since a search looks at many of them and at few models.
 */
struct tw_index_order {
	uint64_t *key;
	uint32_t *rank; /* which of by_rank it is */
};

struct tw_index_orders {
	struct tw_index_shelf *shelf; /* by source, output, group */
	size_t shelves;
	struct tw_index_part *part; /* by shelf */
	size_t parts;
	const char **trainer; /* each once, by address */
	size_t trainers;
	const struct tw_index_entry **by_rank; /* all, the most preferred first */
	/* The same for each scope, without and with the trainer. */
	struct tw_index_order *by[TW_IN_COUNT][2];
};

/* Of the index's entries, whose machines are known. Sets rank, kind and part. */
int tw_index_orders_make(struct tw_index *x, const struct tw_strs *prefer,
			 struct tw_err *err);
void tw_index_orders_release(struct tw_index_orders *o);

/* Texts are the index's own. */
struct tw_index_search {
	size_t part;
	enum tw_index_scope scope;
	uint32_t value; /* number of the pipeline, node type, number of the machine; or 0
			 */
	const char *trainer; /* NULL: any */
};

/* The scope's value. */
uint32_t tw_index_pipeline_value(const struct tw_index *x, const char *pipeline);
uint32_t tw_index_machine_value(const struct tw_index *x,
				const struct tw_index_machine *m);

/*
 * The models that fit, the most preferred first: *count ranks from the place that is
 * returned.
 */
const uint32_t *tw_index_range(const struct tw_index *x, const struct tw_index_search *s,
			       size_t *count);

/* The index's own copy of a text; NULL if it has none. */
const char *tw_index_own_text(const struct tw_index *x, const char *text);

#endif /* TW_MODEL_DB_INDEX_ORDER_H */
