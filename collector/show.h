/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SHOW_H
#define TW_COLLECTOR_SHOW_H

/*
 * Which of its workloads and names the collector exports: a part of its settings.
 */

#include "collector/workloads/workload.h"

#include <stdbool.h>
#include <stdint.h>

/* What is shown of what there is. */
struct tw_show {
	bool level[TW_LEVEL_COUNT];
	uint32_t top;       /* processes and cgroups: so many of each; 0: all */
	uint64_t min_uj;    /* processes and cgroups: of at least so much energy */
	bool kepler;        /* also names of Kepler 0.10 and later */
	bool kepler_legacy; /* also names of Kepler 0.5 to 0.9 */
	bool kepler_05;     /* and those that 0.7.12 had no more */
	const char *node_name;
	const char *redfish; /* URL of the controller; NULL: none */
};

#endif /* TW_COLLECTOR_SHOW_H */
