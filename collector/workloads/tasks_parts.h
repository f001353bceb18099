/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TASKS_PARTS_H
#define TW_COLLECTOR_TASKS_PARTS_H

/*
 * The sources of tasks. For collector/tasks*.c only.
 */

struct tw_task_source;

extern const struct tw_task_source tw_task_source_walk;
extern const struct tw_task_source tw_task_source_iter;
extern const struct tw_task_source tw_task_source_proc;

#endif /* TW_COLLECTOR_TASKS_PARTS_H */
