/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/rights.h"

#include "collector/collector.h"
#include "collector/settings.h"
#include "collector/system/privilege.h"
#include "collector/workloads/tasks.h"
#include "collector/workloads/workload.h"

#include <linux/capability.h>
#include <stdint.h>
#include <unistd.h>

/* Capabilities to keep: CAP_BPF for reading maps, CAP_SYS_PTRACE under hidepid. */
static uint64_t capabilities(const struct tw_collector *c)
{
	const struct tw_task_source *s;
	uint64_t keep = 0;

	if (c->workloads == NULL)
		return 0;
	s = tw_task_source_find(tw_workloads_source(c->workloads));
	if (s->reports_exits || c->counters != NULL || c->traces != NULL)
		keep |= UINT64_C(1) << CAP_BPF;
	if (tw_proc_is_hidden(&c->roots))
		keep |= UINT64_C(1) << CAP_SYS_PTRACE;
	return keep;
}

int tw_rights_drop(const struct tw_collector *c, const struct tw_collector_settings *s,
		   struct tw_err *err)
{
	const struct tw_privilege p = { .user = s->user,
					.keep = capabilities(c),
					.filter = s->filter,
					.may_write = c->powercap.node_dir != NULL ||
						     c->powercap.vm_dir != NULL };

	if (tw_give_directory(c->powercap.node_dir, s->user, err) < 0 ||
	    tw_give_directory(c->powercap.vm_dir, s->user, err) < 0)
		return -1;
	return tw_privilege_drop(&p, err);
}
