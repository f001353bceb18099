/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_PROFILE_H
#define TW_PROFILER_PROFILE_H

/*
 * The profile of machines at rest: what each component draws, who runs all the same, and
 * how far features reach under load. As JSON it is a pipeline's profile.json
 * (docs/profiler.md):
 *
 *	{"rapl-sysfs": {"package": {"0": {"min_watt": 31, "median_watt": 31.5,
 *	  "max_watt": 33, "#unit": 1, "rows": 110}}},
 *	 "background": {"0": ["coredns"]},
 *	 "max_scaler": {"0": {"CounterOnly": {"cpu_cycles": 5.3e10}}}}
 */

#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"

#include <jansson.h>
#include <stdint.h>

struct tw_err;

/* More is no measurement. */
#define TW_PROFILE_WATTS_MAX 1e30

struct tw_profile_power {
	const struct tw_energy_source *source;
	enum tw_component component;
	uint32_t node_type;
	double min_w, median_w, max_w;
	size_t rows; /* that they are of */
};

/* What scales a feature: its largest value. */
struct tw_profile_scaler {
	const struct tw_feature_group *group;
	uint32_t node_type;
	char *feature;
	double max;
};

/* Names of workloads that run at rest, for a node type. */
struct tw_profile_background {
	uint32_t node_type;
	struct tw_strs names;
};

/* All zero bytes is empty. */
struct tw_profile {
	struct tw_profile_power *power;
	struct tw_profile_scaler *scaler;
	struct tw_profile_background *background;
	size_t powers, scalers, backgrounds;
};

/* Least, middle and most of watts[rows], rows at least 1, within 0 and the largest. A
 * second one of a source, component and node type takes the first one's place. */
int tw_profile_add_power(struct tw_profile *p, const struct tw_energy_source *source,
			 enum tw_component component, uint32_t node_type,
			 const double *watts, size_t rows, struct tw_err *err);

int tw_profile_add_scaler(struct tw_profile *p, const struct tw_feature_group *group,
			  uint32_t node_type, const char *feature, double max,
			  struct tw_err *err);

/* Nothing happens where the name is there. */
int tw_profile_add_background(struct tw_profile *p, uint32_t node_type, const char *name,
			      struct tw_err *err);

/* NULL if there is none. */
const struct tw_profile_power *tw_profile_find(const struct tw_profile *p,
					       const struct tw_energy_source *source,
					       enum tw_component component,
					       uint32_t node_type);

/* Whether a workload of that name runs at rest. */
bool tw_profile_is_background(const struct tw_profile *p, uint32_t node_type,
			      const char *name);

/* Add what from has and to lacks: entries of a source, component or feature; and all
 * names of backgrounds. */
int tw_profile_join(struct tw_profile *to, const struct tw_profile *from,
		    struct tw_err *err);

/* The same, but power that from has takes the place of what to has; of two scalers the
 * larger one stays. */
int tw_profile_update(struct tw_profile *to, const struct tw_profile *from,
		      struct tw_err *err);

/* NULL without memory. */
json_t *tw_profile_to_json(const struct tw_profile *p);

/* *out must be empty; it is yours. where names the document for errors. */
int tw_profile_from_json(json_t *obj, const char *where, struct tw_profile *out,
			 struct tw_err *err);

void tw_profile_release(struct tw_profile *p);

#endif /* TW_PROFILER_PROFILE_H */
