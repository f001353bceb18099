/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SCRIPTED_TASKS_H
#define TW_TEST_SCRIPTED_TASKS_H

/* A source of tasks that tells what a test says. */

#include "collector/workloads/tasks.h"

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

/* What is told at the next read, and then forgotten. */
extern struct told script[SCRIPT_MAX];
extern size_t script_len;
extern struct tw_task_stats script_stats;

/* One more; what is ALIVE is not told at a drain. */
void say(enum told_kind kind, uint32_t tgid, uint64_t start, uint64_t cgroup,
	 uint64_t cpu_ns);
void say_path(uint64_t cgroup, const char *path);

extern const struct tw_task_source scripted_tasks;

#endif /* TW_TEST_SCRIPTED_TASKS_H */
