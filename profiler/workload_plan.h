/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_WORKLOAD_PLAN_H
#define TW_PROFILER_WORKLOAD_PLAN_H

/*
 * The plan of workloads by which a machine is taught: rest first and last, and between
 * them CPU at several levels, memory, caches, disk, context switches and a mixture. Each
 * has a form for stress-ng and one for own processes.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_strs;

/* Work that a process does until a signal ends it, for machines without stress-ng. */
enum tw_spin {
	TW_SPIN_NONE,
	TW_SPIN_CPU,    /* integer arithmetic, for a share of the time */
	TW_SPIN_MEMORY, /* writes to a buffer that is larger than most caches */
	TW_SPIN_CACHE,  /* reads of dependent addresses in 1 MiB */
	TW_SPIN_DISK,   /* writes and syncs of 1 MiB of an unnamed file */
	TW_SPIN_SWITCH, /* a byte to another process and back */
	TW_SPIN_MIXED,  /* process i takes one of the above in turn */
	TW_SPIN_FLOAT,  /* floating point arithmetic; of fixed work only */
};

/* Fixed work: so many steps in each period. Late work is made up for. */
struct tw_pace {
	uint64_t steps, period_ms, periods;
};

/*
 * Never returns. load_percent is the share of time, from 1 to 100, of TW_SPIN_CPU.
 * number is the number of this process among those of the workload. dir is a directory
 * for files. A process that lacks memory or files exits with status 1.
 */
_Noreturn void tw_spinner_run(enum tw_spin spin, unsigned load_percent, unsigned number,
			      const char *dir);

/* The same with fixed work, of CPU, FLOAT, MEMORY or CACHE; exits with status 0 then. */
_Noreturn void tw_spinner_pace(enum tw_spin spin, const struct tw_pace *pace);

/* Steps of such work that this process makes in a second, measured for ms. */
double tw_spinner_speed(enum tw_spin spin, unsigned ms);

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
