/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PROC_STAT_H
#define TW_COLLECTOR_PROC_STAT_H

/* Parser of /proc/PID/stat, see proc(5). Its times are in clock ticks. */

#include <stdbool.h>
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

/* Whether the process of /proc/PID, opened as dir, has spent time in a guest of KVM. */
bool tw_proc_ran_guest(int dir);

#endif /* TW_COLLECTOR_PROC_STAT_H */
