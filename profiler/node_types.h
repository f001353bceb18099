/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_NODE_TYPES_H
#define TW_PROFILER_NODE_TYPES_H

/*
 * The node types of a pipeline: a number for each kind of machine that its models were
 * trained on, what such a machine is, and the names of those that were measured. A
 * pipeline's file node_type_index.json is this (docs/model-db.md).
 */

#include "lib/core/strs.h"
#include "profiler/spec.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Of one index. */
#define TW_NODE_TYPES_MAX 65536

struct tw_node_type {
	uint32_t number;
	struct tw_machine_spec spec;
	struct tw_strs members;
};

/* Ascending by number. All zero bytes is an empty index. */
struct tw_node_types {
	struct tw_node_type *at;
	size_t count;
	size_t size; /* allocated places */
};

/*
 * Add a type. *out, if wanted, is where to add members; valid until the next call. A
 * number that is there already is TW_INVALID.
 */
int tw_node_types_add(struct tw_node_types *t, uint32_t number,
		      const struct tw_machine_spec *spec, struct tw_node_type **out,
		      struct tw_err *err);

/*
 * From {"0":{"attrs":{"processor":..,"cores":..},"members":["name"]},..}. `where` is for
 * errors. *out must be empty; it is the caller's to release.
 */
int tw_node_types_from_json(json_t *obj, const char *where, struct tw_node_types *out,
			    struct tw_err *err);

/* The same of a file, node_type_index.json. */
int tw_node_types_read(const char *path, struct tw_node_types *out, struct tw_err *err);

/* The same object: processor, cores, chips, memory, frequency as far as known. NULL
 * without memory. */
json_t *tw_node_types_to_json(const struct tw_node_types *t);

/*
 * Add what `from` has to t: types that t lacks, members that a type lacks, and of a type
 * that both have the spec of `from`, where it is known.
 */
int tw_node_types_merge(struct tw_node_types *t, const struct tw_node_types *from,
			struct tw_err *err);

/*
 * The number of a machine that is measured: of the type that has its name among the
 * members. A machine without a name is of the first type without members whose spec does
 * not contradict. Where there is none, the next number, which is added to t.
 */
int tw_node_types_place(struct tw_node_types *t, const char *name,
			const struct tw_machine_spec *spec, uint32_t *number,
			struct tw_err *err);

/* Free what t owns; it is empty and reusable afterwards. */
void tw_node_types_release(struct tw_node_types *t);

#endif /* TW_PROFILER_NODE_TYPES_H */
