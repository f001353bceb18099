/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_NODE_CHOICE_H
#define TW_PROFILER_NODE_CHOICE_H

/*
 * Choice of a machine's node type, and how certain it is. docs/profiler.md has the
 * formulas.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_machine_spec;
struct tw_node_types;

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

#endif /* TW_PROFILER_NODE_CHOICE_H */
