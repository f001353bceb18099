/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_WORKLOAD_PLAN_H
#define TW_PROFILER_WORKLOAD_PLAN_H

/*
 * The plan of workloads by which a machine is taught: rest first and last, and between
 * them CPU at several levels, memory, caches, disk, context switches and a mixture. Each
 * has a form for stress-ng and one for own processes (profiler/spinner.h).
 */

#include "profiler/spinner.h"

#include <stddef.h>

struct tw_err;
struct tw_strs;

/* On how many CPUs a workload runs. */
enum tw_plan_cpus { TW_PLAN_ONE, TW_PLAN_HALF, TW_PLAN_ALL };

struct tw_planned {
	const char *name;    /* in workloads.csv and reports; rest has several entries */
	const char *summary; /* for people */
	enum tw_plan_cpus cpus;
	unsigned load_percent; /* of each of these CPUs */
	enum tw_spin spin;     /* own processes; TW_SPIN_NONE: rest */
	/* Arguments of stress-ng, with commas; "%n": the number of CPUs. NULL: rest. */
	const char *stress;
	/* Own processes of fixed work; else 0. */
	unsigned processes;
	struct tw_pace pace;
};

size_t tw_plan_count(void);
const struct tw_planned *tw_plan_at(size_t i);

/* How many entries before i have the same name. */
size_t tw_plan_repeat(size_t i);

/* The number of processes of a workload on a machine; at least 1. */
unsigned tw_planned_cpus(const struct tw_planned *p, unsigned machine_cpus);

/*
 * The command line of stress-ng, appended to *out. dir is for its files. It ends by
 * itself after limit_s.
 */
int tw_planned_stress(const struct tw_planned *p, unsigned machine_cpus, const char *dir,
		      unsigned limit_s, struct tw_strs *out, struct tw_err *err);

#endif /* TW_PROFILER_WORKLOAD_PLAN_H */
