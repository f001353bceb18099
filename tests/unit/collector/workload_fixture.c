/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/collector/workload_fixture.h"

#include "collector/system/roots.h"
#include "lib/core/err.h"
#include "tests/unit/scratch.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/tw_test.h"

#include <stdlib.h>

struct tw_workloads *workloads_open(const char *dir, uint32_t ended_max)
{
	const struct tw_roots roots = { .proc = dir, .sys = dir, .dev = dir };
	const struct tw_workloads_config c = { .roots = &roots,
					       .source = &scripted_tasks,
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
