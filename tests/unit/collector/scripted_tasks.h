/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SCRIPTED_TASKS_H
#define TW_TEST_SCRIPTED_TASKS_H

/* A task source that reports what a test has scripted. */

#include "collector/workloads/tasks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum told_kind { ALIVE, LEFT, ENDED, LATE, MOVED, CGROUP, OVERFLOW };

struct told {
	enum told_kind kind;
	struct tw_task task;
	const char *path;
	uint64_t more_ns; /* LATE */
};

#define SCRIPT_MAX 4096

/* Reported at the next read, then cleared. */
extern struct told script[SCRIPT_MAX];
extern size_t script_len;
extern bool script_fails; /* a read fails, and the script waits */
extern struct tw_task_stats script_stats;

/* Append to the script. ALIVE is reported by a read only, not by a drain. */
void say(enum told_kind kind, uint32_t tgid, uint64_t start, uint64_t cgroup,
	 uint64_t cpu_ns);
void say_path(uint64_t cgroup, const char *path);

extern const struct tw_task_source scripted_tasks;

#endif /* TW_TEST_SCRIPTED_TASKS_H */
