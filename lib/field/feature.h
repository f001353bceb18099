/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FEATURE_H
#define TW_FEATURE_H

/*
 * The field's vocabulary of features and feature groups.
 *
 * A feature is a canonical name with a unit ("cpu_cycles", events/s); a group is
 * the set of features that one kind of machine can measure. Names and groups are
 * part of the wire contract (docs/wire.md, "Features"). The features of a group
 * are in strcmp order, which is the order of columns in datasets and models.
 */

#include "lib/field/energy.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_strs;

/* The longest feature name that is accepted anywhere. */
#define TW_FEATURE_NAME_MAX 127

struct tw_feature {
	const char *name; /* canonical */
	const char *unit; /* of the value a predictor takes: "events/s", "ms/s" */
};

struct tw_feature_group {
	const char *name; /* "CounterOnly" */
	const char *const *features;
	size_t count; /* 0: of what the user names, "ThirdParty" */
	bool of_node; /* features of a node only: no workload has them */
};

/* What an output of a model is about. */
enum tw_output {
	TW_ABS_POWER, /* "AbsPower": a node, idle power included */
	TW_DYN_POWER, /* "DynPower": a workload, above idle */
	TW_OUTPUT_COUNT
};

const struct tw_feature *tw_feature_find(const char *name);

/*
 * Whether the feature is a rate of work, which is 0 at rest. A clock frequency and the
 * node's name are not. A feature that is not known here counts as work.
 */
bool tw_feature_is_work(const char *name);

/* Whether it is read from a processor's counters, which most virtual machines lack. */
bool tw_feature_is_counter(const char *name);

/*
 * Kepler 0.8 and 0.9 list all metrics and send 0 for counters that the machine lacks.
 * True of such a list: it has cpu_ref_cycles, which no model uses, and bpf_cpu_time_ms,
 * which Kepler 0.6 calls otherwise. The list then does not prove that there are counters.
 */
bool tw_feature_list_unproven(const struct tw_strs *names);

/* What earlier releases of Kepler call a feature. */
struct tw_feature_old {
	const char *name, *feature;
	double factor; /* from its unit to the feature's */
};

/* Sorted by name; at most 32. */
size_t tw_feature_old_count(void);
const struct tw_feature_old *tw_feature_old_at(size_t i);

/* NULL if it is no old name. */
const struct tw_feature_old *tw_feature_old_find(const char *name);

/*
 * The old name that names->at[i] is, if it can be replaced by the feature's: the unit is
 * the same and the list does not have the feature itself. Else NULL.
 */
const struct tw_feature_old *tw_feature_old_alias(const struct tw_strs *names, size_t i);

size_t tw_feature_group_count(void);
const struct tw_feature_group *tw_feature_group_at(size_t i);

/* NULL if there is no group of that name. */
const struct tw_feature_group *tw_feature_group_find(const char *name);

/* Whether every feature of the group is among names. */
bool tw_feature_group_valid(const struct tw_feature_group *g,
			    const struct tw_strs *names);

/*
 * Column of the feature that best tells the load of a component: what orders rows for
 * the idle bias. The first column if none of the usual ones is there.
 */
size_t tw_main_feature(const char *const *names, size_t cols, enum tw_component c);

const char *tw_output_name(enum tw_output o);

/* False if there is no output type of that name. */
bool tw_output_find(const char *name, enum tw_output *out);

#endif /* TW_FEATURE_H */
