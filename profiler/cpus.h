/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_CPUS_H
#define TW_PROFILER_CPUS_H

/*
 * The CPUs of a machine, from the kernel's files below `sys` (/sys).
 */

#include <stdint.h>

struct tw_err;

struct tw_cpus {
	uint32_t cores; /* logical CPUs, online or not */
	/* Of the online CPUs; 0 is unknown. */
	uint32_t chips;
	uint32_t threads_per_core;
	uint32_t frequency_mhz; /* highest of all CPUs' maximum frequencies */
};

/* Number of logical CPUs in <sys>/devices/system/cpu/present. */
int tw_cores_discover(const char *sys, uint32_t *out, struct tw_err *err);

/*
 * All attributes, from <sys>/devices/system/cpu/cpu<n>/{topology,cpufreq}. A missing file
 * leaves its attribute unknown; a malformed file is an error.
 */
int tw_cpus_discover(const char *sys, struct tw_cpus *out, struct tw_err *err);

#endif /* TW_PROFILER_CPUS_H */
