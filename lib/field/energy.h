/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ENERGY_H
#define TW_ENERGY_H

/*
 * Energy components (parts of a node that use power) and energy sources (the meters).
 */

#include <stdbool.h>
#include <stddef.h>

enum tw_component {
	TW_PACKAGE,
	TW_CORE,
	TW_UNCORE,
	TW_DRAM,
	TW_PLATFORM,
	TW_COMPONENT_COUNT
};

struct tw_energy_source {
	const char *name; /* "rapl-sysfs": in metrics, paths and models */
	const enum tw_component *components; /* that it measures */
	size_t count;
};

/* The name in files and answers: "package", "core", "uncore", "dram", "platform". */
const char *tw_component_name(enum tw_component c);

/* False if there is no component of that name. */
bool tw_component_find(const char *name, enum tw_component *out);

size_t tw_energy_source_count(void);
const struct tw_energy_source *tw_energy_source_at(size_t i);

/* Find a source by its exact name. NULL if there is none. */
const struct tw_energy_source *tw_energy_source_find(const char *name);

/*
 * Find the source that a client asks for. NULL, "" and texts that contain "rapl" mean
 * rapl-sysfs; other texts must be exact names. NULL if there is none.
 */
const struct tw_energy_source *tw_energy_source_wanted(const char *text);

/*
 * False for estimates, for simulations, and for power that a host passes on, which may be
 * either. Such power is trained on only if its source is named.
 */
bool tw_energy_source_is_measured(const struct tw_energy_source *s);

#endif /* TW_ENERGY_H */
