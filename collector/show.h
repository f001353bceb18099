/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SHOW_H
#define TW_COLLECTOR_SHOW_H

/* Which workloads and metric names the collector exports: a part of its settings. */

#include "collector/workloads/workload.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_show {
	bool level[TW_LEVEL_COUNT];
	uint32_t top;       /* processes and cgroups: at most this many of each; 0: all */
	uint64_t min_uj;    /* processes and cgroups: those with at least this energy */
	bool kepler;        /* also the metrics of Kepler 0.10 and later */
	bool kepler_legacy; /* also the metrics of Kepler 0.5 to 0.9 */
	bool kepler_05;     /* and those that Kepler 0.7.12 no longer had */
	const char *node_name;
	const char *redfish; /* URL of the management controller; NULL: none */
};

#endif /* TW_COLLECTOR_SHOW_H */
