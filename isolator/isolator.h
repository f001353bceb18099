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

#include "lib/dataset.h"
#include "lib/energy.h"

#include <jansson.h>

struct tw_err;

struct tw_isolator {
	const char *name; /* "MinIdleIsolator": in requests and metadata */
	const char *summary;
	/* What it leaves is 0 W where nothing is used: models of it need no constant. */
	bool from_zero;

	/* Learn from the aggregated rows of d. *state is yours: free(). */
	int (*fit)(const struct tw_dataset *d, const struct tw_energy_source *source,
		   void **state, struct tw_err *err);
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

/*
 * Container-level rows summed into one row a time stamp, id "all containers": features
 * are summed, power, ratios and node_type averaged. Node-level data is copied, with that
 * id. *out must be empty; it is yours.
 */
int tw_isolate_aggregate(const struct tw_dataset *d, struct tw_dataset *out,
			 struct tw_err *err);

/*
 * Columns of the source's components, in its order, NULL where the machine lacks one.
 * TW_NOTFOUND if it has none of them. out has room for TW_COMPONENT_COUNT.
 */
int tw_isolate_power(const struct tw_dataset *d, const struct tw_energy_source *source,
		     double **out, struct tw_err *err);

#endif /* TW_ISOLATOR_H */
