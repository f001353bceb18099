/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_DISCOVER_H
#define TW_PROFILER_DISCOVER_H

/*
 * The spec of this machine, or of a machine whose /proc and /sys were recorded.
 */

#include <stdint.h>

struct tw_cpu_identity;
struct tw_err;
struct tw_machine_spec;

/* Number of logical CPUs in <sys>/devices/system/cpu/present. */
int tw_cores_discover(const char *sys, uint32_t *out, struct tw_err *err);

/*
 * Read the spec from the files below proc and sys (docs/profiler.md). Attributes without
 * a file stay unknown; a malformed file is an error. TW_NOTFOUND if nothing is known.
 */
int tw_machine_spec_discover(const char *proc, const char *sys,
			     struct tw_machine_spec *out, struct tw_err *err);

/*
 * Identify the processor from the same files: /proc/cpuinfo has the brand text and the
 * signature; SMBIOS has the brand text of an Arm server, if it can be read.
 */
int tw_cpu_discover(const char *proc, const char *sys, struct tw_cpu_identity *out,
		    struct tw_err *err);

#endif /* TW_PROFILER_DISCOVER_H */
