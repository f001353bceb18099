/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_CPUS_H
#define TW_PROFILER_CPUS_H

/*
 * What the kernel says of the CPUs of a machine, below the root `sys` (/sys).
 */

#include <stdint.h>

struct tw_err;

struct tw_cpus {
	uint32_t cores; /* logical CPUs, online or not */
	/* Of those that are online; 0 is not known. */
	uint32_t chips;
	uint32_t threads_per_core;
	uint32_t frequency_mhz; /* the highest that any of them can reach */
};

/* Logical CPUs by the file <sys>/devices/system/cpu/present. */
int tw_cores_discover(const char *sys, uint32_t *out, struct tw_err *err);

/*
 * All of it, by <sys>/devices/system/cpu/cpu<n>/{topology,cpufreq}. A file that is not
 * there leaves its figure unknown; one that is malformed is a failure.
 */
int tw_cpus_discover(const char *sys, struct tw_cpus *out, struct tw_err *err);

#endif /* TW_PROFILER_CPUS_H */
