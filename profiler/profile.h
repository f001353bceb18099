/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_PROFILE_H
#define TW_PROFILER_PROFILE_H

/*
 * Profile of machines at rest, by node type: the power of each component and the names of
 * the background workloads; and the maximum of each feature under load. On disk it is a
 * pipeline's profile.json (docs/profiler.md):
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

/* Limit of measured power. */
#define TW_PROFILE_WATTS_MAX 1e30

struct tw_profile_power {
	const struct tw_energy_source *source;
	enum tw_component component;
	uint32_t node_type;
	double min_w, median_w, max_w;
	size_t rows; /* number of samples */
};

/* The maximum of a feature, which scales it. */
struct tw_profile_scaler {
	const struct tw_feature_group *group;
	uint32_t node_type;
	char *feature;
	double max;
};

/* Names of the workloads that run at rest. */
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

/* Add minimum, median and maximum of watts[rows], clamped to 0 .. TW_PROFILE_WATTS_MAX.
 * rows is at least 1. Replaces an entry of the same source, component and node type. */
int tw_profile_add_power(struct tw_profile *p, const struct tw_energy_source *source,
			 enum tw_component component, uint32_t node_type,
			 const double *watts, size_t rows, struct tw_err *err);

/* Add the maximum of a feature; of two values the larger one stays. */
int tw_profile_add_scaler(struct tw_profile *p, const struct tw_feature_group *group,
			  uint32_t node_type, const char *feature, double max,
			  struct tw_err *err);

/* Add the name of a workload, unless it is in the profile. */
int tw_profile_add_background(struct tw_profile *p, uint32_t node_type, const char *name,
			      struct tw_err *err);

/* The entry, or NULL. */
const struct tw_profile_power *tw_profile_find(const struct tw_profile *p,
					       const struct tw_energy_source *source,
					       enum tw_component component,
					       uint32_t node_type);

/* Whether a workload of that name runs at rest. */
bool tw_profile_is_background(const struct tw_profile *p, uint32_t node_type,
			      const char *name);

/* Add the entries of `from` that `to` lacks, and all names of background workloads. */
int tw_profile_join(struct tw_profile *to, const struct tw_profile *from,
		    struct tw_err *err);

/* Add all entries of `from`. Its power replaces that of `to`; of two maximums of a
 * feature the larger one stays. */
int tw_profile_update(struct tw_profile *to, const struct tw_profile *from,
		      struct tw_err *err);

/* NULL without memory. */
json_t *tw_profile_to_json(const struct tw_profile *p);

/* *out must be empty; the caller releases it. `where` is the document's name in errors.
 */
int tw_profile_from_json(json_t *obj, const char *where, struct tw_profile *out,
			 struct tw_err *err);

void tw_profile_release(struct tw_profile *p);

#endif /* TW_PROFILER_PROFILE_H */
