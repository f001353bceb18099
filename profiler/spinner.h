/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_SPINNER_H
#define TW_PROFILER_SPINNER_H

/*
 * Work that a process does until a signal ends it: the own workloads of a plan
 * (profiler/workload_plan.h), for machines without stress-ng.
 */

enum tw_spin {
	TW_SPIN_NONE,
	TW_SPIN_CPU,    /* integer arithmetic, for a share of the time */
	TW_SPIN_MEMORY, /* writes to a buffer that is larger than most caches */
	TW_SPIN_CACHE,  /* reads of dependent addresses in 1 MiB */
	TW_SPIN_DISK,   /* writes and syncs of 1 MiB of an unnamed file */
	TW_SPIN_SWITCH, /* a byte to another process and back */
	TW_SPIN_MIXED,  /* process i takes one of the above in turn */
};

/*
 * Never returns. load_percent is the share of time, from 1 to 100, of TW_SPIN_CPU.
 * number is the number of this process among those of the workload. dir is a directory
 * for files. A process that lacks memory or files exits with status 1.
 */
_Noreturn void tw_spinner_run(enum tw_spin spin, unsigned load_percent, unsigned number,
			      const char *dir);

#endif /* TW_PROFILER_SPINNER_H */
