/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_MACHINES_H
#define TW_MODEL_DB_INDEX_MACHINES_H

/*
 * The machines of an index, and which of them are like one. All zero bytes: none.
 */

#include "profiler/similarity.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_index;
struct tw_index_machine;
struct tw_machine_spec;

/* How alike a machine must be for its models to go before others': docs/model-db.md. */
#define TW_SIMILAR_ENOUGH 0.5

struct tw_index_machines {
	struct tw_index_machine *at; /* by pipeline, then node type */
	size_t count;
	const struct tw_index_machine **by_processor;
	struct tw_letters *letters; /* of by_processor's names */
};

/* Of the index's entries, which are in order of place. Sets the entries' machines. */
int tw_index_machines_make(struct tw_index *x, struct tw_err *err);
void tw_index_machines_release(struct tw_index_machines *m);

/* NULL if there is none. */
const struct tw_index_machine *tw_index_machine_find(const struct tw_index *x,
						     const char *pipeline,
						     long long node_type);

struct tw_index_similar {
	const struct tw_index_machine *machine;
	double similarity; /* 1 if all that is known of the machine agrees */
};

/*
 * The machines of at least this similarity to a spec of which something is known, the
 * most similar first, then the one with more members; strict: those that agree in all
 * that is known. One processor only: those of the very same name. *out is the caller's:
 * free().
 */
int tw_index_similar(const struct tw_index *x, const struct tw_machine_spec *spec,
		     double least, bool one_processor, struct tw_index_similar **out,
		     size_t *count, struct tw_err *err);

#endif /* TW_MODEL_DB_INDEX_MACHINES_H */
