/* SPDX-License-Identifier: Apache-2.0 */
/* The containers, pods and jobs that processes and cgroups belong to, and their names. */
#include "collector/workloads/workload_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

/* ---- names ---- */

static const char *owner_id(const struct tw_workload *w)
{
	switch (w->level) {
	case TW_LEVEL_POD:
		return w->who->pod_uid;
	case TW_LEVEL_JOB:
		return w->who->job;
	case TW_LEVEL_STEP:
		return w->who->step;
	default:
		return w->who->id;
	}
}

static struct tw_owner *find(const struct tw_workloads *t, enum tw_level level,
			     const char *id)
{
	struct tw_workload *w = t->level[level].first;

	while (w != NULL && strcmp(owner_id(w), id) != 0)
		w = w->next;
	return (struct tw_owner *)w;
}

/* Whether a user may name one more. Names of root need no count. */
static bool may_name(const struct tw_workloads *t, enum tw_level level, uint32_t namer)
{
	size_t own = 0, all = 0;

	if (namer == TW_NAMER_ROOT)
		return true;
	for (const struct tw_workload *w = t->level[level].first; w != NULL;
	     w = w->next) {
		own += w->who->namer == namer;
		all += w->who->namer != TW_NAMER_ROOT;
	}
	return own < TW_NAMES_OF_USER && all < TW_NAMES_OF_USERS;
}

/* Its id is another's: give it one that nobody else has. Only users' names get here. */
static void rename_owner(struct tw_owner *o)
{
	char number[24];
	const int len = snprintf(number, sizeof(number), "~%" PRIu64, o->w.serial);
	const size_t room = sizeof(o->who.id) - (size_t)len - 1;

	if (strlen(o->who.id) > room)
		o->who.id[room] = '\0';
	strcat(o->who.id, number);
}

struct tw_owner *tw_owner_get(struct tw_workloads *t, enum tw_level level,
			      const struct tw_identity *who, const char *id)
{
	const struct tw_workload like = { .level = level };
	/* Pods, jobs and steps are root's, or they are none. */
	const uint32_t namer = level == TW_LEVEL_CONTAINER || level == TW_LEVEL_VM
				       ? who->namer
				       : TW_NAMER_ROOT;
	struct tw_owner *o = find(t, level, id);

	if (o != NULL && o->who.namer != namer && namer == TW_NAMER_ROOT) {
		rename_owner(o);
		o = NULL;
	}
	if (o != NULL && o->who.namer == namer)
		return o;
	if (o != NULL || !may_name(t, level, namer)) {
		t->refused++;
		return NULL;
	}
	o = tw_workload_new(t, &like, sizeof(*o));
	if (o != NULL) {
		o->who = *who;
		o->who.namer = namer;
		o->w.who = &o->who;
	}
	return o;
}

struct tw_workload *tw_owner_of(struct tw_workloads *t, const struct tw_identity *who)
{
	struct tw_owner *o, *pod;

	if (who->kind == TW_OWNER_NONE)
		return NULL;
	o = tw_owner_get(t, TW_LEVEL_CONTAINER, who, who->id);
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

/* ---- users of jobs ---- */

static void set_user(struct tw_workload *w, uid_t user)
{
	struct tw_owner *o = (struct tw_owner *)w;

	if (o != NULL && o->who.user[0] == '\0')
		snprintf(o->who.user, sizeof(o->who.user), "%u", (unsigned)user);
}

/* Slurm's own process in a job, slurmstepd, runs as root. */
void tw_job_look(const struct tw_process *p, int proc)
{
	struct stat st;

	if (p->w.cgroup->job == NULL || strncmp(p->w.comm, "slurm", 5) == 0 ||
	    fstat(proc, &st) < 0)
		return;
	set_user(p->w.cgroup->job, st.st_uid);
	if (p->w.cgroup->step != NULL)
		set_user(p->w.cgroup->step, st.st_uid);
}
