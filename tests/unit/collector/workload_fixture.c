/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/collector/workload_fixture.h"

#include "collector/system/roots.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/scratch.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct tw_workloads *workloads_open(const char *dir, uint32_t ended_max)
{
	const struct tw_roots roots = { .proc = dir, .sys = dir, .dev = dir };
	const struct tw_workloads_config c = { .roots = &roots,
					       .source = &scripted_tasks,
					       .vm_users = { .at = { 0 }, .count = 1 },
					       .keep_ms = KEEP_S * 1000,
					       .ended_max = ended_max };
	struct tw_workloads *t = NULL;
	struct tw_err err = { 0 };

	if (tw_workloads_open(&c, &t, &err) < 0)
		fail_msg("%s", err.text);
	return t;
}

void workloads_tick(struct workload_fixture *f)
{
	struct tw_err err = { 0 };

	f->now_ns += S;
	if (tw_workloads_tick(f->t, f->now_ns, &err) < 0)
		fail_msg("%s", err.text);
}

int workloads_setup(void **state)
{
	struct workload_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	script_len = 0;
	f->dir = scratch_new();
	f->t = workloads_open(f->dir, 1000);
	f->now_ns = LATER;
	workloads_tick(f);
	*state = f;
	return 0;
}

int workloads_teardown(void **state)
{
	struct workload_fixture *f = *state;

	tw_workloads_close(f->t);
	scratch_free(f->dir);
	free(f);
	return 0;
}

uint64_t workloads_sum(const struct tw_workloads *t, enum tw_level level)
{
	const struct tw_workload *w = NULL;
	uint64_t ns = 0;

	while ((w = tw_workloads_next(t, level, w)) != NULL)
		ns += w->used.cpu_ns;
	return ns;
}

const struct tw_workload *workload_find(const struct tw_workloads *t, enum tw_level level,
					uint64_t key)
{
	const struct tw_workload *w = NULL;

	while ((w = tw_workloads_next(t, level, w)) != NULL)
		if ((level == TW_LEVEL_PROCESS ? w->tgid : w->cgroup_id) == key)
			return w;
	return NULL;
}

uint64_t used_by(const struct workload_fixture *f, enum tw_level level, uint64_t key)
{
	const struct tw_workload *w = workload_find(f->t, level, key);

	return w != NULL ? w->used.cpu_ns : 0;
}

uint64_t slices_ns(const struct workload_fixture *f)
{
	const struct tw_slice *s;
	uint64_t ns = 0;
	size_t count;

	s = tw_workloads_slices(f->t, &count);
	for (size_t i = 0; i < count; i++)
		ns += s[i].used.cpu_ns;
	return ns;
}

/* ---- processes ---- */

void write_proc(const struct workload_fixture *f, const char *pid, const char *name,
		const char *data, size_t len)
{
	struct tw_err err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", f->dir, pid);
	if (tw_dir_make(path, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(path, sizeof(path), "%s/%s/%s", f->dir, pid, name);
	if (tw_file_replace(path, data, len, &err) < 0)
		fail_msg("%s", err.text);
}

void write_user(const struct workload_fixture *f, const char *pid, unsigned real,
		unsigned effective)
{
	char text[128];
	const int n = snprintf(text, sizeof(text),
			       "Name:\tkvm\nUid:\t%u\t%u\t%u\t%u\nGid:\t0\t0\t0\t0\n",
			       real, effective, effective, effective);

	write_proc(f, pid, "status", text, (size_t)n);
}

void write_called_kvm(const struct workload_fixture *f, const char *pid,
		      const char *command, size_t len, int guest)
{
	char stat[256];
	const int n =
		snprintf(stat, sizeof(stat),
			 "%s (k) v) S 1 1 1 0 -1 0 1 2 3 4 1 1 7 8 20 0 1 0 500 1 2 "
			 "3 4 5 6 7 8 9 0 0 0 0 0 0 17 1 0 0 0 %d 9 8 7\n",
			 pid, guest);

	write_proc(f, pid, "cmdline", command, len);
	write_proc(f, pid, "stat", stat, (size_t)n);
	write_user(f, pid, 0, 0);
}

void hold(const struct workload_fixture *f, const char *pid, const char *fd,
	  const char *target)
{
	struct tw_err err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/%s/fd", f->dir, pid);
	if (tw_dir_make(path, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(path, sizeof(path), "%s/%s/fd/%s", f->dir, pid, fd);
	assert_int_equal(symlink(target, path), 0);
}
