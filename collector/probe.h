/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PROBE_H
#define TW_COLLECTOR_PROBE_H

/*
 * Find what the collector can use on this machine, before it is installed. A missing
 * meter or right is not an error: the report gives the reason.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_own_meter_options;
struct tw_redfish_options;
struct tw_roots;

struct tw_probe_config {
	const struct tw_roots *roots;
	const char *model;  /* for the meter "model"; NULL: none */
	const char *nvml;   /* NVIDIA's library; NULL: the system's */
	const char *amdsmi; /* AMD's library; NULL: the system's or ROCm's */
	const struct tw_redfish_options *redfish;     /* for "redfish"; or NULL */
	const struct tw_own_meter_options *own_meter; /* or NULL */
	bool has_power; /* a collector measures power already: no advice to find a meter
			 */
	uint32_t watch_ms; /* how long to watch the meters */
	bool explain;      /* only the tree of readings: {"tree":..} of probe_tree.h */
	/* Wait for a moment and return the time in ns; NULL: 1 ms of the monotonic clock.
	 */
	uint64_t (*wait)(void *arg);
	void *arg;
};

/*
 * {"meters":[..],"sums":[..],"tasks":[..],"counters":[..],"cgroups":"v2","rights":[..],
 * "advice":[..]} (docs/tallywatt.md, "probe"). Fails only if out of memory. *out is
 * yours.
 */
int tw_probe(const struct tw_probe_config *c, json_t **out, struct tw_err *err);

#endif /* TW_COLLECTOR_PROBE_H */
