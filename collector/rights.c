/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/rights.h"

#include "collector/collector.h"
#include "collector/settings.h"
#include "collector/system/privilege.h"
#include "collector/workloads/hypervisor.h"
#include "collector/workloads/tasks.h"
#include "collector/workloads/workload.h"

#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/*
 * Root on a host of virtual machines reads the descriptors of hypervisors, which may be
 * of other users.
 */
static bool reads_descriptors(const struct tw_collector *c, const char *user)
{
	const int devices = user == NULL || strcmp(user, "root") == 0
				    ? tw_hypervisor_devices(c->roots.sys)
				    : -1;

	if (devices >= 0)
		close(devices);
	return devices >= 0;
}

/* Capabilities to keep: CAP_BPF for reading maps, CAP_SYS_PTRACE under hidepid. */
static uint64_t capabilities(const struct tw_collector *c, const char *user)
{
	const struct tw_task_source *s;
	uint64_t keep = 0;

	if (c->workloads == NULL)
		return 0;
	s = tw_task_source_find(tw_workloads_source(c->workloads));
	if (s->reports_exits || c->counters != NULL || c->traces != NULL)
		keep |= UINT64_C(1) << CAP_BPF;
	if (tw_proc_is_hidden(&c->roots) || reads_descriptors(c, user))
		keep |= UINT64_C(1) << CAP_SYS_PTRACE;
	return keep;
}

int tw_rights_drop(const struct tw_collector *c, const struct tw_collector_settings *s,
		   struct tw_err *err)
{
	const struct tw_privilege p = { .user = s->user,
					.keep = capabilities(c, s->user),
					.filter = s->filter,
					.may_write = c->powercap.node_dir != NULL ||
						     c->powercap.vm_dir != NULL };

	if (tw_give_directory(c->powercap.node_dir, s->user, err) < 0 ||
	    tw_give_directory(c->powercap.vm_dir, s->user, err) < 0)
		return -1;
	return tw_privilege_drop(&p, err);
}
