/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PROCESS_H
#define TW_COLLECTOR_PROCESS_H

/*
 * Facts that the kernel shows about a process below /proc/PID. Times in /proc/PID/stat,
 * see proc(5), are in clock ticks.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_task;

/*
 * Parse tgid, parent, flags, comm, start and CPU time; ticks_per_s converts the times.
 * cgroup_id and execs stay 0.
 */
int tw_proc_stat_parse(const char *data, size_t len, uint32_t ticks_per_s,
		       struct tw_task *out, struct tw_err *err);

/* sysconf(_SC_CLK_TCK). */
uint32_t tw_proc_ticks_per_s(void);

/*
 * 0 if /proc/PID, opened as dir, is the process that began at start_ns; else -1: pids are
 * reused, and a pid of another pid namespace is another process.
 */
int tw_proc_is(int dir, uint64_t start_ns, struct tw_err *err);

/* ---- time namespaces ---- */

/*
 * The time namespace of this process (Linux 5.6). Its clocks, and the start times in
 * /proc/PID/stat, differ by an offset from those of the kernel, which BPF programs read.
 */

struct tw_clock_offsets {
	int64_t boot_ns, monotonic_ns; /* to add to the kernel's times */
};

/* Parse a text like /proc/self/timens_offsets. A malformed line leaves 0. */
struct tw_clock_offsets tw_clock_offsets_parse(const char *text);

/* The offsets of this process; 0 on older kernels. */
struct tw_clock_offsets tw_clock_offsets(void);

#endif /* TW_COLLECTOR_PROCESS_H */
