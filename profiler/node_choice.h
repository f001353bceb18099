/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_NODE_CHOICE_H
#define TW_PROFILER_NODE_CHOICE_H

/*
 * Which node type a machine is, and how sure that is. docs/profiler.md has the formulas.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_machine_spec;
struct tw_node_types;

struct tw_node_choice {
	uint32_t node_type;
	double uncertainty; /* 0: no other could be meant; to 1 */
	double looseness;   /* 0: all that is known of the machine agrees; to 1 */
};

/*
 * The type with most members among those that agree with all that is known of the
 * machine; where there is none and `loose` is true, the type most similar to it. A type
 * without members counts as having one. Of equals, the one with more members, then the
 * lower number. False where there is none.
 */
bool tw_node_choose(const struct tw_node_types *t, const struct tw_machine_spec *spec,
		    bool loose, struct tw_node_choice *out);

/* Whether b agrees with all that is known of a, and something is. */
bool tw_node_equal(const struct tw_machine_spec *a, const struct tw_machine_spec *b);

/*
 * How sure it is that the machine is of the type of this number, whoever chose it. False
 * if there is no such type.
 */
bool tw_node_judge(const struct tw_node_types *t, const struct tw_machine_spec *spec,
		   uint32_t number, struct tw_node_choice *out);

#endif /* TW_PROFILER_NODE_CHOICE_H */
