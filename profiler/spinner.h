/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_SPINNER_H
#define TW_PROFILER_SPINNER_H

/*
 * Work that a process does, for machines without stress-ng: until a signal ends it, or a
 * fixed amount.
 */

#include <stdint.h>

enum tw_spin {
	TW_SPIN_NONE,
	TW_SPIN_CPU,    /* integer arithmetic, for a share of the time */
	TW_SPIN_MEMORY, /* writes to a buffer that is larger than most caches */
	TW_SPIN_CACHE,  /* reads of dependent addresses in 1 MiB */
	TW_SPIN_DISK,   /* writes and syncs of 1 MiB of an unnamed file */
	TW_SPIN_SWITCH, /* a byte to another process and back */
	TW_SPIN_MIXED,  /* process i takes one of the above in turn */
	TW_SPIN_FLOAT,  /* floating point arithmetic */
};

/* Fixed work: this many steps in each period. Late work is made up for. */
struct tw_pace {
	uint64_t steps, period_ms, periods;
};

/*
 * Work until a signal ends the process. load_percent is the share of time, from 1 to 100,
 * of TW_SPIN_CPU. number is the number of this process among those of the workload. dir
 * is a directory for files. A process that lacks memory or files exits with status 1.
 */
_Noreturn void tw_spinner_run(enum tw_spin spin, unsigned load_percent, unsigned number,
			      const char *dir);

/* Do fixed work of CPU, FLOAT, MEMORY or CACHE, then exit with status 0. */
_Noreturn void tw_spinner_pace(enum tw_spin spin, const struct tw_pace *pace);

/* Steps of fixed work in a second of CPU time, measured for ms. */
double tw_spinner_speed(enum tw_spin spin, unsigned ms);

#endif /* TW_PROFILER_SPINNER_H */
