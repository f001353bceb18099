/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PROC_STAT_H
#define TW_COLLECTOR_PROC_STAT_H

/*
 * /proc/PID/stat: proc(5). Its times are in clock ticks.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_task;

/*
 * tgid, parent, flags, comm, start and CPU time, by ticks_per_s; neither cgroup nor
 * execs.
 */
int tw_proc_stat_parse(const char *data, size_t len, uint32_t ticks_per_s,
		       struct tw_task *out, struct tw_err *err);

/* sysconf(_SC_CLK_TCK). */
uint32_t tw_proc_ticks_per_s(void);

/*
 * Whether /proc/PID, opened as dir, is the process that began at start_ns: pids are used
 * again, and those of another pid namespace mean something else.
 */
int tw_proc_is(int dir, uint64_t start_ns, struct tw_err *err);

#endif /* TW_COLLECTOR_PROC_STAT_H */
