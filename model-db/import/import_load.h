/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_IMPORT_LOAD_H
#define TW_MODEL_DB_IMPORT_LOAD_H

/*
 * The load of kepler-model-server's SPECpower pipelines. Their bpf_cpu_time_ms is the
 * benchmark's throughput in cycles of a reference processor, and not CPU time; their
 * cores are physical. Both are converted at import: the highest throughput of a machine
 * becomes the CPU time of all its logical CPUs (docs/model-db.md, "SPECpower").
 */

#include <jansson.h>
#include <stdbool.h>

struct tw_err;
struct tw_machine_spec;
struct tw_node_types;

/*
 * Whether all machines are results of SPECpower: their members are named
 * "dell-amd_opteron_6174-2200.0-24.0cores-64.0kbcache-16.0gb-191".
 */
bool tw_import_is_specpower(const struct tw_node_types *types);

/* Replace physical by logical cores, and set the threads of a core where both are known
 * of the processor. */
void tw_import_count_threads(struct tw_node_types *types);

/* CPU time of all logical CPUs in ms/s; 0 if their number is unknown. */
double tw_import_full_load(const struct tw_machine_spec *spec);

/*
 * Set the scale of bpf_cpu_time_ms in all components of weights JSON. The scale of these
 * weights is the highest value in training.
 */
int tw_import_set_load(json_t *weights, double full_ms, struct tw_err *err);

#endif /* TW_MODEL_DB_IMPORT_LOAD_H */
