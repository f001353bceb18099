/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PROBE_H
#define TW_COLLECTOR_PROBE_H

/*
 * What this machine offers to the collector, before anything is installed: stages 0 and 1
 * of a hardware engagement. Nothing that is missing is a failure: it has a reason.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_redfish_options;
struct tw_roots;

struct tw_probe_config {
	const struct tw_roots *roots;
	const char *model; /* for the meter "model"; NULL: none */
	const char *nvml;  /* NVIDIA's library; NULL: the system's */
	const struct tw_redfish_options *redfish; /* for "redfish"; or NULL */
	uint32_t watch_ms;                        /* how long meters are looked at */
	/* Waits a little, and tells the time in ns: the caller's clock. */
	uint64_t (*wait)(void *arg);
	void *arg;
};

/*
 * {"meters":[..],"sums":[..],"tasks":[..],"counters":[..],"cgroups":"v2","rights":[..],
 * "advice":[..]} (docs/tallywatt.md, "probe"). Fails for want of memory. *out is yours.
 */
int tw_probe(const struct tw_probe_config *c, json_t **out, struct tw_err *err);

#endif /* TW_COLLECTOR_PROBE_H */
