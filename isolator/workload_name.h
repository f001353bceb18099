/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ISOLATOR_WORKLOAD_NAME_H
#define TW_ISOLATOR_WORKLOAD_NAME_H

/*
 * Container names in the ids of container-level rows. An id is the texts of its schema's
 * id labels, joined by '/' (docs/pipelines.md, "Schemas"). One of them is the container's
 * name, which survives a restart of the container.
 */

#include <stdbool.h>
#include <stddef.h>

/* Index of the container's name among the parts of an id, by their number; -1 if the
 * number is no known schema's. */
int tw_workload_name_part(size_t parts);

/*
 * The container's name within id, of *len bytes, without a NUL. The whole id if it has no
 * such part. Empty for a process of the host, whose part is empty.
 */
const char *tw_workload_name(const char *id, size_t *len);

/* Whether the container's name, or the id if the name is empty, contains text. */
bool tw_workload_matches(const char *id, const char *text);

#endif /* TW_ISOLATOR_WORKLOAD_NAME_H */
