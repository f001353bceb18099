/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_LOAD_H
#define TW_PROFILER_LOAD_H

/*
 * The running processes of one workload: one process group, which ends with this program,
 * however that ends.
 */

#include "profiler/workload_plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tw_err;

struct tw_load {
	pid_t *pid;   /* the first is the leader of the group */
	size_t count; /* TW_LOAD_PROCESSES_MAX at most */
};

#define TW_LOAD_PROCESSES_MAX 4096

struct tw_load_config {
	unsigned cpus;    /* of the machine */
	bool stress;      /* by stress-ng, else by own processes */
	const char *dir;  /* an absolute path, for files of workloads */
	uint64_t limit_s; /* stress-ng ends by itself after this time */
};

/* Whether stress-ng is in PATH. */
bool tw_load_has_stress(void);

/*
 * Start the processes; rest has none. Call it from the main thread: the kernel ends the
 * processes when that thread ends. *out is yours: tw_load_end().
 */
int tw_load_start(const struct tw_planned *p, const struct tw_load_config *c,
		  struct tw_load *out, struct tw_err *err);

/* The process group; 0: there are no processes. */
pid_t tw_load_group(const struct tw_load *l);

/* Whether any process has not ended. */
bool tw_load_runs(const struct tw_load *l);

/*
 * TW_IO if a process ended by itself: the workload did not run all the time. The error
 * names its status.
 */
int tw_load_check(struct tw_load *l, struct tw_err *err);

/* End all processes, and wait until they are gone. */
void tw_load_end(struct tw_load *l);

#endif /* TW_PROFILER_LOAD_H */
