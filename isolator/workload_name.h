/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ISOLATOR_WORKLOAD_NAME_H
#define TW_ISOLATOR_WORKLOAD_NAME_H

/*
 * Names of workloads in the ids of container-level rows. An id is what its exporter's
 * labels say, joined by '/' (docs/pipelines.md, "Schemas"); one of them is the name of
 * the container, which stays when a container is started again.
 */

#include <stdbool.h>
#include <stddef.h>

/* Part of an id that is the container's name, by the number of parts. -1: none is known.
 */
int tw_workload_name_part(size_t parts);

/*
 * The container's name: *len bytes, no NUL behind it. The whole id where it has no such
 * part; empty where nothing is in it, as of a process of the host.
 */
const char *tw_workload_name(const char *id, size_t *len);

/*
 * Whether text is within the container's name, or, of what has none, within the id.
 */
bool tw_workload_matches(const char *id, const char *text);

#endif /* TW_ISOLATOR_WORKLOAD_NAME_H */
