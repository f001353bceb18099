/* SPDX-License-Identifier: Apache-2.0 */
/* Use of GPUs, which is known by process and after the tick has been read. */
#include "collector/workloads/workload_parts.h"

/* What it did in the last tick; a slice of nothing used if it did not run on a CPU. */
static struct tw_slice *slice_of(struct tw_workloads *t, struct tw_process *p)
{
	struct tw_slice *s = &t->shown.at[p->slice];

	/* After a tick that failed there are none. */
	if (p->slice_at == t->tick && p->slice < t->shown.count && s->process == &p->w)
		return s;
	s = tw_slices_new(&t->shown);
	if (s == NULL)
		return NULL;
	*s = (struct tw_slice){ .process = &p->w,
				.cgroup = p->w.cgroup,
				.owner = p->w.owner };
	p->slice_at = t->tick;
	p->slice = t->shown.count - 1;
	return s;
}

bool tw_workloads_use_gpu(struct tw_workloads *t, uint32_t tgid, uint64_t dynamic_uj,
			  uint64_t idle_uj)
{
	struct tw_process *p = tw_process_recent(t, tgid, t->tick);
	struct tw_slice *s = p != NULL ? slice_of(t, p) : NULL;

	if (s == NULL)
		return false;
	s->gpu_dynamic_uj += dynamic_uj;
	s->gpu_idle_uj += idle_uj;
	return true;
}
