/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ENERGY_H
#define TW_ENERGY_H

/*
 * Energy components (parts of a node that use power) and energy sources (the meters).
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

enum tw_component {
	TW_PACKAGE,
	TW_CORE,
	TW_UNCORE,
	TW_DRAM,
	TW_PLATFORM,
	TW_GPU, /* all GPUs */
	TW_COMPONENT_COUNT
};

/*
 * A processor uses at most this many times its thermal design power (TDP) for a minute.
 * Boards let processors of 6 to 35 W use three to four times as much: N100, i5-1235U,
 * i9-13900T.
 */
#define TW_TDP_TIMES_MAX 5

/* Longest name of an energy source, in bytes. */
#define TW_ENERGY_SOURCE_NAME_MAX 63
/* Limit of the names that a process declares. */
#define TW_ENERGY_SOURCES_OWN_MAX 256

struct tw_energy_source {
	const char *name; /* "rapl-sysfs": in metrics, paths and models */
	const enum tw_component *components; /* that it may measure, the main one first */
	size_t count;
	bool any; /* a machine has any of the components; else at least the first */
};

/* The name in files and answers: "package", "core", "uncore", "dram", "platform", "gpu".
 */
const char *tw_component_name(enum tw_component c);

/* False if there is no component of that name. */
bool tw_component_find(const char *name, enum tw_component *out);

/* The known sources, without the declared ones; sorted by name. */
size_t tw_energy_source_count(void);
const struct tw_energy_source *tw_energy_source_at(size_t i);

/* Find a known or declared source by its exact name. NULL if the name is unknown. */
const struct tw_energy_source *tw_energy_source_find(const char *name);

/* True if the name of a meter names a part of a machine, as "CPU Sub-system Power" of
 * Redfish's PowerControl does. */
bool tw_energy_is_of_part(const char *meter);

/*
 * Find a source by its exact name; declare it, with any components, if it is unknown: a
 * user's own meter. A name has 1 to TW_ENERGY_SOURCE_NAME_MAX letters, digits and '-_.',
 * and begins with a letter or digit. TW_INVALID for another name, for a reserved one, and
 * beyond TW_ENERGY_SOURCES_OWN_MAX names. Declared sources live as long as the process,
 * so that sources are compared by address. Thread-safe.
 */
int tw_energy_source_open(const char *name, const struct tw_energy_source **out,
			  struct tw_err *err);

/* Whether the source is declared, not known. */
bool tw_energy_source_is_own(const struct tw_energy_source *s);

/*
 * A source whose models may serve clients of `wanted` if there are no models of `wanted`:
 * rapl-msr reads the counters of rapl-sysfs. NULL if no source may.
 */
const struct tw_energy_source *
tw_energy_source_substitute(const struct tw_energy_source *wanted);

/*
 * Find the source that a client asks for. NULL, "" and texts that contain "rapl" mean
 * rapl-sysfs; other texts must be exact names of known or declared sources. NULL if the
 * name is unknown.
 */
const struct tw_energy_source *tw_energy_source_wanted(const char *text);

/*
 * False for estimates, for simulations, and for power that a host passes on, which may be
 * either. Such power is trained on only if its source is named.
 */
bool tw_energy_source_is_measured(const struct tw_energy_source *s);

/* The name of the source that a meter of tw-collector has in metrics: "model" is
 * trained_power_model; other meters have the names of their sources. */
const char *tw_energy_source_of_meter(const char *meter);

/*
 * The name of the unmeasured source that a zone's path tells, for metrics without a label
 * of the source, as Kepler's: METER and ':' before the path, "model:rapl-sysfs"; or the
 * path of Kepler's simulated meter, ".../energy_package". NULL: a path of any other
 * meter.
 */
const char *tw_energy_source_of_path(const char *path);

/* Whether a path is of a file, but not below sysfs or a device: such a powercap tree was
 * written by a program. */
bool tw_energy_path_is_virtual(const char *path);

#endif /* TW_ENERGY_H */
