/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PROBE_TREE_H
#define TW_COLLECTOR_PROBE_TREE_H

/* The tree of the machine's readings, as the collector counts them: power/tree.h. */

#include <jansson.h>
#include <stdint.h>

struct tw_err;
struct tw_meter_config;

/*
 * Read all meters for a while, and describe the tree: {"sum":["package",..],"watts":N,
 * "zones":[{"depth":1,"name":..,"zone":..,"meter":..,"watts":N,"counted":true,"why":""},
 * ..]}, each zone before those in it. Unknown watts are null. wait(arg) waits for a
 * moment and returns the time in ns. Fails only if out of memory. *out is yours.
 */
int tw_probe_tree(const struct tw_meter_config *mc, uint32_t watch_ms,
		  uint64_t (*wait)(const void *arg), const void *arg, json_t **out,
		  struct tw_err *err);

#endif /* TW_COLLECTOR_PROBE_TREE_H */
