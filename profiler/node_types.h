/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_NODE_TYPES_H
#define TW_PROFILER_NODE_TYPES_H

/*
 * The node types of a pipeline: for each kind of machine that its models were trained on,
 * a number, the spec, and the names of the measured machines (members). On disk it is the
 * pipeline's node_type_index.json (docs/model-db.md).
 */

#include "lib/core/strs.h"
#include "profiler/spec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Limit of types in one index. */
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
 * Add a type. TW_INVALID if the number is in use. *out (if not NULL) is the new type, to
 * add members to; valid until the next call.
 */
int tw_node_types_add(struct tw_node_types *t, uint32_t number,
		      const struct tw_machine_spec *spec, struct tw_node_type **out,
		      struct tw_err *err);

/*
 * From {"0":{"attrs":{"processor":..,"cores":..},"members":["name"]},..}. `where` is the
 * object's path in errors. *out must be empty; the caller releases it.
 */
int tw_node_types_from_json(json_t *obj, const char *where, struct tw_node_types *out,
			    struct tw_err *err);

/* Read a file, node_type_index.json. */
int tw_node_types_read(const char *path, struct tw_node_types *out, struct tw_err *err);

/*
 * Make that object, with the known attributes of processor, cores, chips, memory and
 * frequency. NULL without memory.
 */
json_t *tw_node_types_to_json(const struct tw_node_types *t);

/*
 * Merge `from` into t: add the types that t lacks; of types with the same number, add
 * missing members and replace the spec if that of `from` is known.
 */
int tw_node_types_merge(struct tw_node_types *t, const struct tw_node_types *from,
			struct tw_err *err);

/*
 * The type number of a measured machine: that of the type with its name among the
 * members. A machine without a name (NULL) gets the first type without members whose spec
 * does not contradict. Without such a type, a type with the next number is added.
 */
int tw_node_types_place(struct tw_node_types *t, const char *name,
			const struct tw_machine_spec *spec, uint32_t *number,
			struct tw_err *err);

/* Free what t owns; it is empty and reusable afterwards. */
void tw_node_types_release(struct tw_node_types *t);

/* A machine's node type, and how certain it is. docs/profiler.md has the formulas. */
struct tw_node_choice {
	uint32_t node_type;
	double uncertainty; /* 0 to 1; 0: no other type is possible */
	double looseness;   /* 0 to 1; 0: all known attributes agree */
};

/*
 * Choose the type with the most members among those that agree with all known attributes.
 * Without such a type, and if `loose`, choose the most similar type. A type without
 * members counts as one member. Ties: more members, then the lower number. False if no
 * type qualifies.
 */
bool tw_node_choose(const struct tw_node_types *t, const struct tw_machine_spec *spec,
		    bool loose, struct tw_node_choice *out);

/* Whether b agrees with all known attributes of a, and at least one is known. */
bool tw_node_equal(const struct tw_machine_spec *a, const struct tw_machine_spec *b);

/*
 * Certainty that the machine is of the type of this number. False if there is no such
 * type.
 */
bool tw_node_judge(const struct tw_node_types *t, const struct tw_machine_spec *spec,
		   uint32_t number, struct tw_node_choice *out);

#endif /* TW_PROFILER_NODE_TYPES_H */
