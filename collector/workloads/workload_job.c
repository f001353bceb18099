/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of Slurm and their steps. A job is all cgroups whose paths name it, so a process
 * belongs to a job by its cgroup, whichever container owns it.
 */
#include "collector/workloads/workload_state.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct tw_workload *enter(struct tw_workloads *t, enum tw_level level,
				 const struct tw_identity *who, const char *id)
{
	struct tw_owner *o = id[0] != '\0' ? tw_owner_get(t, level, who, id) : NULL;

	if (o == NULL)
		return NULL;
	o->w.refs++;
	return &o->w;
}

void tw_group_enter_job(struct tw_workloads *t, struct tw_group *g)
{
	g->w.job = enter(t, TW_LEVEL_JOB, &g->who, g->who.job);
	if (g->w.job == NULL)
		return;
	g->w.step = enter(t, TW_LEVEL_STEP, &g->who, g->who.step);
	if (g->w.step != NULL && g->w.step->job == NULL) {
		g->w.step->job = g->w.job;
		g->w.job->refs++;
	}
}

void tw_group_leave_job(struct tw_group *g)
{
	if (g->w.step != NULL)
		g->w.step->refs--;
	if (g->w.job != NULL)
		g->w.job->refs--;
}

static void forget_members(struct tw_workloads *t, enum tw_level level)
{
	for (struct tw_workload *w = t->level[level].first; w != NULL; w = w->next)
		w->members = 0;
}

void tw_jobs_tick(struct tw_workloads *t)
{
	if (t->level[TW_LEVEL_JOB].first == NULL)
		return;
	forget_members(t, TW_LEVEL_JOB);
	forget_members(t, TW_LEVEL_STEP);
	for (struct tw_workload *w = t->level[TW_LEVEL_CGROUP].first; w != NULL;
	     w = w->next) {
		if (w->step != NULL)
			w->step->members += w->members;
		if (w->job != NULL)
			w->job->members += w->members;
	}
}

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
