/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FEATURE_H
#define TW_FEATURE_H

/*
 * Features, feature groups and output types of models.
 *
 * A feature is a canonical name with a unit ("cpu_cycles", events/s). A group is the set
 * of features that one kind of machine can measure. Names and groups are part of the wire
 * contract (docs/wire.md, "Features"). The features of a group are in strcmp() order,
 * which is the order of columns in datasets and models.
 */

#include "lib/field/energy.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_strs;

/* Longest feature name, in bytes. */
#define TW_FEATURE_NAME_MAX 127

struct tw_feature {
	const char *name; /* canonical */
	const char *unit; /* of a predictor's input: "events/s", "ms/s" */
};

struct tw_feature_group {
	const char *name; /* "CounterOnly" */
	const char *const *features;
	size_t count; /* 0 for "ThirdParty": the user names the features */
	bool of_node; /* only nodes have these features, workloads do not */
	bool by_name; /* trained only if named: no present exporter has the features */
};

/* The power that a model predicts. */
enum tw_output {
	TW_ABS_POWER, /* "AbsPower": power of a node, idle power included */
	TW_DYN_POWER, /* "DynPower": power of a workload, above idle */
	TW_OUTPUT_COUNT
};

/* NULL if there is no feature of that name. */
const struct tw_feature *tw_feature_find(const char *name);

/*
 * Whether a feature is a rate of work, which is 0 on an idle machine. Clock frequency and
 * node name are not. Unknown features count as work.
 */
bool tw_feature_is_work(const char *name);

/* Whether a feature needs hardware counters, which most virtual machines lack. */
bool tw_feature_is_counter(const char *name);

/*
 * Whether a list of metrics comes from Kepler 0.5 to 0.7.9, 0.8 or 0.9. These list the
 * counters before they open them, and send 0 for those that the machine lacks. So the
 * list does not prove that the machine has counters. It is recognised by cpu_ref_cycles,
 * which no model uses.
 */
bool tw_feature_list_unproven(const struct tw_strs *names);

/* A feature's name in earlier releases of Kepler, in the same unit. */
struct tw_feature_old {
	const char *name, *feature;
};

/* Old names, sorted; at most 32. */
size_t tw_feature_old_count(void);
const struct tw_feature_old *tw_feature_old_at(size_t i);

/* NULL if name is not an old name. */
const struct tw_feature_old *tw_feature_old_find(const char *name);

/*
 * The entry of the old name names->at[i], if the feature's name can replace it: the units
 * are equal and the list lacks the feature itself. Else NULL.
 */
const struct tw_feature_old *tw_feature_old_alias(const struct tw_strs *names, size_t i);

size_t tw_feature_group_count(void);
const struct tw_feature_group *tw_feature_group_at(size_t i);

/* NULL if there is no group of that name. */
const struct tw_feature_group *tw_feature_group_find(const char *name);

/* Whether names has every feature of the group. */
bool tw_feature_group_valid(const struct tw_feature_group *g,
			    const struct tw_strs *names);

/*
 * Index of the feature that best represents the load of a component; the idle bias sorts
 * rows by it. 0 if none of the usual features is present.
 */
size_t tw_main_feature(const char *const *names, size_t cols, enum tw_component c);

/*
 * Index of the feature that measures the load of the machine: cycles, else instructions,
 * CPU time or the first rate of work. A machine without load is at rest.
 */
size_t tw_load_feature(const char *const *names, size_t cols);

/* "AbsPower", "DynPower": as in files and answers. The table ends with NULL. */
const char *tw_output_name(enum tw_output o);
extern const char *const tw_output_names[];

/* False if there is no output type of that name. */
bool tw_output_find(const char *name, enum tw_output *out);

#endif /* TW_FEATURE_H */
