/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ISOLATOR_H
#define TW_ISOLATOR_H

/*
 * Isolators: what of a node's power belongs to its workloads, apart from idle and
 * background. Dynamic power models (DynPower) are trained on what they leave.
 *
 * An isolator learns from some rows (fit) and is applied to others, so that a
 * validation can keep the rows that judge away from it. To add one, write
 * isolator/isolate_<name>.c with a `const struct tw_isolator`, name it in
 * isolator/registry.c and describe it in docs/pipelines.md.
 */

#include "lib/core/strs.h"
#include "lib/field/dataset.h"
#include "lib/field/energy.h"

#include <jansson.h>
#include <stdint.h>

struct tw_err;
struct tw_power_model;
struct tw_profile;

/* What an isolator is told beside its data. Borrowed; all zero bytes tell nothing. */
struct tw_isolator_args {
	/* Machines at rest (profiler/profile.h); of which the data's is node_type. */
	const struct tw_profile *profile;
	uint32_t node_type;
	/* Parts of names of workloads: those that are meant, else those that are not. */
	struct tw_strs target_hints, bg_hints;
	/* AbsPower models of one energy source. */
	struct tw_power_model *const *model;
	size_t models;
};

struct tw_isolator {
	const char *name; /* "MinIdleIsolator": in requests and metadata */
	const char *summary;
	/* What it leaves is 0 W where nothing is used: models of it need no constant. */
	bool from_zero;
	/* What of args it cannot do without. */
	bool needs_profile, needs_models;
	/* Whether the background's features are put beside, as columns of their own. */
	bool keeps_background;

	/* Whether the workload is no target, but background. NULL: all are targets. */
	bool (*is_background)(const struct tw_isolator_args *args, const char *id);
	/* Learn from the prepared rows of d. *state is yours: free(). args live longer.
	 */
	int (*fit)(const struct tw_isolator_args *args, const struct tw_dataset *d,
		   const struct tw_energy_source *source, void **state,
		   struct tw_err *err);
	/* Take away, in place, what is not the workloads' from the power columns of d. */
	int (*apply)(const void *state, struct tw_dataset *d, struct tw_err *err);
	/* Add what was learnt to obj, a model's metadata: flat. NULL: nothing to tell. */
	int (*describe)(const void *state, json_t *obj, struct tw_err *err);
	void (*free)(void *state); /* NULL is fine */
};

size_t tw_isolator_count(void);
const struct tw_isolator *tw_isolator_at(size_t i);

/* NULL if there is no isolator of that name. */
const struct tw_isolator *tw_isolator_find(const char *name);

extern const struct tw_isolator tw_isolator_idle_regression;
extern const struct tw_isolator tw_isolator_min_idle;
extern const struct tw_isolator tw_isolator_none;
extern const struct tw_isolator tw_isolator_profile;
extern const struct tw_isolator tw_isolator_train;

/*
 * Container-level rows to what the isolator takes: its targets summed into one row a
 * time stamp (tw_isolate_aggregate()), the background's features beside them where it
 * wants these, 0 at times without background. *out must be empty; it is yours.
 * TW_INVALID where it wants workloads and d is of the node, or none is a target.
 */
int tw_isolate_prepare(const struct tw_isolator *it, const struct tw_isolator_args *args,
		       const struct tw_dataset *d, struct tw_dataset *out,
		       struct tw_err *err);

/*
 * Container-level rows summed into one row a time stamp, id "all containers": features
 * are summed, power and node_type averaged, and so are the shares of packages, by what
 * each container uses of them. Node-level data is copied, with that
 * id. *out must be empty; it is yours.
 */
int tw_isolate_aggregate(const struct tw_dataset *d, struct tw_dataset *out,
			 struct tw_err *err);

/*
 * As the isolator's apply(). Where the table has power of packages, what is taken away
 * from a component is taken from its packages, which add up to it as before: from each in
 * proportion to the least that it draws in these rows, in equal parts where that is 0.
 */
int tw_isolate_apply(const struct tw_isolator *it, const void *state,
		     const struct tw_energy_source *source, struct tw_dataset *d,
		     struct tw_err *err);

/* Whether a column is the share of a package. */
bool tw_isolate_is_share(const char *column);

/* Whether a column says something of the node, not of a workload. */
bool tw_isolate_is_of_node(const char *column);

/*
 * Columns of the source's components, in its order, NULL where the machine lacks one.
 * TW_NOTFOUND if it has none of them. out has room for TW_COMPONENT_COUNT.
 */
int tw_isolate_power(const struct tw_dataset *d, const struct tw_energy_source *source,
		     double **out, struct tw_err *err);

/* "background/cpu_cycles" */
#define TW_BACKGROUND_PREFIX "background/"

#endif /* TW_ISOLATOR_H */
