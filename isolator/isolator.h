/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ISOLATOR_H
#define TW_ISOLATOR_H

/*
 * Isolators subtract idle and background power from a node's power. Dynamic power models
 * (DynPower) are trained on the remainder, the power of the workloads.
 *
 * An isolator is fitted to some rows and applied to others, so that validation rows stay
 * unseen. To add one, write isolator/isolate_<name>.c with a `const struct tw_isolator`,
 * list it in isolator/isolator.c and describe it in docs/pipelines.md.
 */

#include "lib/core/strs.h"
#include "lib/field/dataset.h"
#include "lib/field/energy.h"

#include <jansson.h>
#include <stdint.h>

struct tw_err;
struct tw_power_model;
struct tw_profile;

/* Inputs besides the data. Borrowed; all zero bytes: no inputs. */
struct tw_isolator_args {
	/* Power of machines at rest (profiler/profile.h), and the data's node type in it.
	 */
	const struct tw_profile *profile;
	uint32_t node_type;
	/* Substrings of workload names. A workload that matches a target hint is a
	 * target; without target hints, a workload that matches no background hint. */
	struct tw_strs target_hints, bg_hints;
	/* AbsPower models of one energy source. */
	struct tw_power_model *const *model;
	size_t models;
};

struct tw_isolator {
	const char *name; /* "MinIdleIsolator": in requests and metadata */
	const char *summary;
	/* The remaining power is 0 W at zero usage: its models need no constant term. */
	bool from_zero;
	/* Required members of args. */
	bool needs_profile, needs_models;
	/* Prepared rows have the background's features in columns of their own. */
	bool keeps_background;

	/* Whether a workload is background, not a target. NULL: all are targets. */
	bool (*is_background)(const struct tw_isolator_args *args, const char *id);
	/* Learn from prepared rows. The caller frees *state by free(); args outlive it.
	 */
	int (*fit)(const struct tw_isolator_args *args, const struct tw_dataset *d,
		   const struct tw_energy_source *source, void **state,
		   struct tw_err *err);
	/* Subtract idle and background power from the power columns of d, in place. */
	int (*apply)(const void *state, struct tw_dataset *d, struct tw_err *err);
	/* Add the learnt values to obj, a model's metadata, without nesting. Or NULL. */
	int (*describe)(const void *state, json_t *obj, struct tw_err *err);
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
 * Prepare container-level rows for the isolator: sum its targets into one row a time
 * stamp (tw_isolate_aggregate()). If it keeps the background, add the background's
 * features with the prefix TW_BACKGROUND_PREFIX, 0 at times without background.
 *
 * *out must be empty; the caller releases it. TW_INVALID if the isolator distinguishes
 * workloads but d is at node level, or if no workload is a target.
 */
int tw_isolate_prepare(const struct tw_isolator *it, const struct tw_isolator_args *args,
		       const struct tw_dataset *d, struct tw_dataset *out,
		       struct tw_err *err);

/*
 * Aggregate container-level rows into one row a time stamp, with the id "all containers".
 * Features are summed, power and node_type averaged. Package shares are averaged,
 * weighted by each container's usage. Node-level data is copied, with that id. *out must
 * be empty; the caller releases it.
 */
int tw_isolate_aggregate(const struct tw_dataset *d, struct tw_dataset *out,
			 struct tw_err *err);

/*
 * Apply the isolator to d and, if d has power columns of packages, distribute the
 * subtracted power over them: in proportion to each package's minimum power in d, or in
 * equal parts if all minimums are 0. The packages still add up to their component.
 */
int tw_isolate_apply(const struct tw_isolator *it, const void *state,
		     const struct tw_energy_source *source, struct tw_dataset *d,
		     struct tw_err *err);

/* Whether a column is the share of a package. */
bool tw_isolate_is_share(const char *column);

/* Whether a column describes the node, not a workload. */
bool tw_isolate_is_of_node(const char *column);

/*
 * Power columns of the source's components, in the source's order, NULL for a component
 * that d lacks. TW_NOTFOUND if d has none. out has room for TW_COMPONENT_COUNT.
 */
int tw_isolate_power(const struct tw_dataset *d, const struct tw_energy_source *source,
		     double **out, struct tw_err *err);

/* The lowest of `rows` powers, at least one. */
double tw_isolate_least(const double *watts, size_t rows);

/* Column of a background feature: "background/cpu_cycles". */
#define TW_BACKGROUND_PREFIX "background/"

#endif /* TW_ISOLATOR_H */
