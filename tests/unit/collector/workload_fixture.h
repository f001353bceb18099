/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_WORKLOAD_FIXTURE_H
#define TW_TEST_WORKLOAD_FIXTURE_H

/* A table of workloads over the tasks of scripted_tasks.h. */

#include "collector/workloads/workload.h"

#include <stdint.h>

#define MS UINT64_C(1000000)
#define S (1000 * MS)
/* Start times of scripted processes are after the table was opened. */
#define LATER (UINT64_C(1) << 60)
/* How long the tables export an ended workload. */
#define KEEP_S UINT64_C(3600)
/* The id of a container. */
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct workload_fixture {
	char *dir; /* all roots */
	struct tw_workloads *t;
	uint64_t now_ns;
};

/* For cmocka: *state is a struct workload_fixture, whose table has ticked once. */
int workloads_setup(void **state);
int workloads_teardown(void **state);
#define WORKLOAD_TEST(name) \
	cmocka_unit_test_setup_teardown(name, workloads_setup, workloads_teardown)

/* Another table of scripted tasks, below dir. The caller closes it. */
struct tw_workloads *workloads_open(const char *dir, uint32_t ended_max);

/* A tick, one second later, with the script. */
void workloads_tick(struct workload_fixture *f);

/* The sum of a level's CPU time. */
uint64_t workloads_sum(const struct tw_workloads *t, enum tw_level level);

/* Find a process by its tgid, a cgroup by its id. NULL: none. */
const struct tw_workload *workload_find(const struct tw_workloads *t, enum tw_level level,
					uint64_t key);

/* CPU time of a workload; 0 if there is none. */
uint64_t used_by(const struct workload_fixture *f, enum tw_level level, uint64_t key);

/* CPU time of the last tick's slices. */
uint64_t slices_ns(const struct workload_fixture *f);

/* ---- processes in the fixture's /proc ---- */

/* The file /proc/pid/name. */
void write_proc(const struct workload_fixture *f, const char *pid, const char *name,
		const char *data, size_t len);

/* A process of root called kvm, which began at 5 s, with its clock ticks in a guest. */
void write_called_kvm(const struct workload_fixture *f, const char *pid,
		      const char *command, size_t len, int guest);

/* Its real, and its effective and saved user. */
void write_user(const struct workload_fixture *f, const char *pid, unsigned real,
		unsigned effective);

/* It has a descriptor, as the kernel shows it. */
void hold(const struct workload_fixture *f, const char *pid, const char *fd,
	  const char *target);

#endif /* TW_TEST_WORKLOAD_FIXTURE_H */
