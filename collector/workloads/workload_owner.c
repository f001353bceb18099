/* SPDX-License-Identifier: Apache-2.0 */
/* The containers, VMs and pods that processes and cgroups belong to. */
#include "collector/workloads/workload_state.h"

#include <stddef.h>

void tw_owner_set(struct tw_workload *w, struct tw_workload *owner, uint32_t members)
{
	struct tw_workload *old = w->owner;

	if (old == owner)
		return;
	if (owner != NULL) {
		owner->refs++;
		owner->members += members;
		if (owner->pod != NULL)
			owner->pod->members += members;
	}
	if (old != NULL) {
		old->refs--;
		old->members -= members;
		if (old->pod != NULL)
			old->pod->members -= members;
	}
	w->owner = owner;
}

void tw_vm_set(struct tw_workload *process, struct tw_workload *vm, uint32_t members)
{
	struct tw_workload *old = process->vm;

	if (vm != NULL) {
		vm->refs++;
		vm->members += members;
	}
	if (old != NULL) {
		old->refs--;
		old->members -= members;
	}
	process->vm = vm;
}

/* Take what is not by root out of a container that is; what it has used stays there. */
static void remove_forged(struct tw_workloads *t, const struct tw_workload *container)
{
	struct tw_workload *w = t->level[TW_LEVEL_PROCESS].first;

	for (; w != NULL; w = w->next)
		if (w->owner == container && w->tgid != 0 && !w->cgroup->who->by_root)
			tw_owner_set(w, NULL, w->ended ? 0 : 1);
	for (w = t->level[TW_LEVEL_CGROUP].first; w != NULL; w = w->next)
		if (w->owner == container && !w->who->by_root)
			tw_owner_set(w, NULL, 0);
}

/*
 * Whether a cgroup may be part of o. A user can give a cgroup the id of a container that
 * root has made, before root makes it, too.
 */
static bool may_join(struct tw_workloads *t, struct tw_owner *o,
		     const struct tw_identity *who)
{
	if (who->kind != TW_OWNER_CONTAINER || o->who.by_root == who->by_root)
		return true;
	if (!who->by_root)
		return false;
	o->who.by_root = true;
	remove_forged(t, &o->w);
	return true;
}

struct tw_workload *tw_owner_of(struct tw_workloads *t, const struct tw_identity *who)
{
	struct tw_owner *o, *pod;

	if (who->kind == TW_OWNER_NONE)
		return NULL;
	o = tw_owner_get(t, who->kind == TW_OWNER_VM ? TW_LEVEL_VM : TW_LEVEL_CONTAINER,
			 who, who->id);
	if (o != NULL && !may_join(t, o, who))
		return NULL;
	if (o == NULL || o->w.pod != NULL || who->pod_uid[0] == '\0')
		return o != NULL ? &o->w : NULL;
	pod = tw_owner_get(t, TW_LEVEL_POD, who, who->pod_uid);
	if (pod != NULL) {
		o->w.pod = &pod->w;
		pod->w.refs++;
		pod->w.members += o->w.members;
	}
	return &o->w;
}
