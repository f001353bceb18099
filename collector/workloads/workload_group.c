/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroups, and the containers, pods and VMs that own them: creation, paths, names,
 * removal. Jobs and their steps are cgroups, too.
 */
#include "collector/system/process.h"
#include "collector/workloads/workload_state.h"
#include "lib/core/err.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Look-ups of a cgroup's path before it stays unknown. */
#define TRIES 3

/*
 * Ticks between two reads of CPU shares, and between two checks for a removed directory.
 */
#define SHARES_TICKS 32
#define GONE_TICKS 4

/* Bytes of a command line that are read; qemu's are the longest. */
#define COMMAND_MAX 16384

/* Ticks between two looks for a proof that a process is a hypervisor. */
#define PROOF_TICKS 16

/* ---- jobs of Slurm ---- */

/*
 * A job is all cgroups whose paths name it, so a process belongs to a job by its cgroup,
 * whichever container owns it.
 */
static struct tw_workload *enter(struct tw_workloads *t, enum tw_level level,
				 const struct tw_identity *who, const char *id)
{
	struct tw_owner *o = id[0] != '\0' ? tw_owner_get(t, level, who, id) : NULL;

	if (o == NULL)
		return NULL;
	o->w.refs++;
	return &o->w;
}

static void enter_job(struct tw_workloads *t, struct tw_group *g)
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

static void leave_job(struct tw_group *g)
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

static void tick_jobs(struct tw_workloads *t)
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

/* Set the user of p's job, if it is unknown. proc: the open directory /proc/PID.
 * Slurm's own process in a job, slurmstepd, runs as root.
 */
static void look_at_job(const struct tw_process *p, int proc)
{
	struct stat st;

	if (p->w.cgroup->job == NULL || strncmp(p->w.comm, "slurm", 5) == 0 ||
	    fstat(proc, &st) < 0)
		return;
	set_user(p->w.cgroup->job, st.st_uid);
	if (p->w.cgroup->step != NULL)
		set_user(p->w.cgroup->step, st.st_uid);
}

/* ---- the command line ---- */

/* Reads at most size bytes; 0 if there is no command line. */
static size_t read_command(int dir, char *buf, size_t size)
{
	int fd = openat(dir, "cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		n = read(fd, buf, size);
		close(fd);
	}
	return n > 0 ? (size_t)n : 0;
}

static void read_program(int dir, struct tw_workload *w)
{
	char path[PATH_MAX];
	const ssize_t n = readlinkat(dir, "exe", path, sizeof(path) - 1);

	free((char *)(uintptr_t)w->path);
	w->path = n > 0 ? strndup(path, (size_t)n) : NULL;
}

/* Open /proc/PID if it is still the process that began at start_ns; else -1. */
static int open_process(const struct tw_workloads *t, uint32_t tgid, uint64_t start_ns)
{
	struct tw_err err = { 0 };
	char name[16];
	int dir;

	snprintf(name, sizeof(name), "%u", tgid);
	dir = openat(t->proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && start_ns != 0 && tw_proc_is(dir, start_ns, &err) < 0) {
		close(dir);
		dir = -1;
	}
	return dir;
}

/*
 * A scope of libvirt has the VM's name, without the characters that a host name cannot
 * have. A scope of Proxmox has a number. Take the uuid and the name from the command line
 * of the VM's process. False if its uuid is missing or known.
 */
static bool complete(struct tw_identity *vm, const struct tw_identity *found)
{
	if (vm->kind != TW_OWNER_VM || found->id[0] == '\0' ||
	    strcmp(found->id, found->name) == 0 || strcmp(found->id, vm->id) == 0)
		return false;
	memcpy(vm->id, found->id, sizeof(vm->id));
	if (found->name[0] != '\0')
		memcpy(vm->name, found->name, sizeof(vm->name));
	return true;
}

/*
 * A hypervisor creates the scope before the VM runs, so the VM has the id of its scope
 * first. Earlier usage stays with the old id.
 */
static void name_vm(struct tw_workloads *t, struct tw_process *p,
		    const struct tw_identity *found)
{
	struct tw_group *g = (struct tw_group *)p->w.cgroup;
	struct tw_workload *owner;

	if (p->w.owner != g->w.owner || !complete(&g->who, found))
		return;
	owner = tw_owner_of(t, &g->who);
	if (owner == NULL)
		return;
	tw_owner_set(&g->w, owner, 0);
	tw_owner_set(&p->w, owner, 1);
}

/*
 * A process in a container is a VM, too. It cannot take the id of a VM elsewhere: a
 * command line is what its container says.
 */
static void add_vm(struct tw_workloads *t, struct tw_process *p,
		   const struct tw_identity *found)
{
	struct tw_owner *vm;

	if (found->id[0] == '\0')
		return;
	vm = tw_owner_get(t, TW_LEVEL_VM, found, found->id);
	if (vm == NULL || vm->w.members > 0)
		return;
	tw_owner_set(&vm->w, p->w.owner, 0);
	tw_vm_set(&p->w, &vm->w, 1);
}

/* The process says that it runs the VM `who`. dir: its open directory /proc/PID. */
static void take_hypervisor(struct tw_workloads *t, struct tw_process *p, int dir,
			    struct tw_identity *who)
{
	const struct tw_workload *owner = p->w.owner;

	if (owner != NULL && owner->level == TW_LEVEL_VM) {
		name_vm(t, p, who); /* its cgroup is the proof */
	} else if (!tw_hypervisor_is(dir, t->misc)) {
		p->look_at = t->tick + PROOF_TICKS;
	} else if (owner != NULL) {
		if (p->w.vm == NULL)
			add_vm(t, p, who);
	} else {
		if (who->id[0] == '\0')
			snprintf(who->id, sizeof(who->id), "pid-%u", p->w.tgid);
		tw_owner_set(&p->w, tw_owner_of(t, who), 1);
	}
}

void tw_process_look(struct tw_workloads *t, struct tw_process *p)
{
	const int dir = open_process(t, p->w.tgid, p->w.start_ns);
	char text[COMMAND_MAX];
	struct tw_identity who;

	p->look_at = TW_LOOKED;
	if (dir < 0)
		return;
	look_at_job(p, dir);
	read_program(dir, &p->w);
	if (tw_identity_of_command(text, read_command(dir, text, sizeof(text)), &who))
		take_hypervisor(t, p, dir, &who);
	close(dir);
}

/* A process that is in the VM's cgroup already may have the uuid in its command line. */
static void complete_vm(struct tw_workloads *t, struct tw_identity *who, uint32_t tgid)
{
	char text[COMMAND_MAX];
	struct tw_identity found;
	int dir;

	if (who->kind != TW_OWNER_VM || tgid == 0)
		return;
	dir = open_process(t, tgid, 0);
	if (dir < 0)
		return;
	if (tw_identity_of_command(text, read_command(dir, text, sizeof(text)), &found))
		complete(who, &found);
	close(dir);
}

/* ---- cgroups ---- */

static void read_shares(struct tw_workloads *t, struct tw_group *g)
{
	struct tw_workload *owner = g->w.owner;
	char path[TW_CGROUP_PATH];

	g->w.cpu_shares = tw_cgroup_tree_shares(t->tree, g->w.path);
	if (owner == NULL || owner->level != TW_LEVEL_CONTAINER)
		return;
	memcpy(path, g->w.path, g->who.owner_len);
	path[g->who.owner_len] = '\0';
	owner->cpu_shares = tw_cgroup_tree_shares(t->tree, path);
	if (owner->path == NULL)
		owner->path = strdup(path);
}

/*
 * Identify a path. Pods, jobs and virtual machines have their energy billed: their names
 * count only where root has made them.
 */
static void identify(const struct tw_workloads *t, const char *path,
		     struct tw_identity *out)
{
	const size_t len = strlen(path), trusted = tw_cgroup_tree_trusted(t->tree, path);
	struct tw_identity all, made;

	tw_identity_of_path(path, len, &all);
	tw_identity_of_path(path, trusted, &made);
	*out = all.kind == TW_OWNER_VM ? made : all;
	out->by_root = made.kind == out->kind && strcmp(made.id, out->id) == 0;
	memcpy(out->pod_uid, made.pod_uid, sizeof(out->pod_uid));
	memcpy(out->job, made.job, sizeof(out->job));
	memcpy(out->step, made.step, sizeof(out->step));
	memcpy(out->user, made.user, sizeof(out->user));
	memcpy(out->unit, all.unit, sizeof(out->unit));
}

/*
 * Set the path of a cgroup, and by it its identity, owner and shares. Without memory the
 * path stays unknown.
 */
static void set_path(struct tw_workloads *t, struct tw_group *g, const char *path,
		     uint32_t tgid)
{
	struct tw_workload *owner;

	g->w.path = strndup(path, TW_CGROUP_PATH - 1);
	if (g->w.path == NULL)
		return;
	identify(t, g->w.path, &g->who);
	complete_vm(t, &g->who, tgid);
	owner = tw_owner_of(t, &g->who);
	/* members 0: its processes are counted one by one. */
	tw_owner_set(&g->w, owner, 0);
	enter_job(t, g);
	read_shares(t, g);
}

static struct tw_group *make_group(struct tw_workloads *t, uint64_t cgroup_id)
{
	const struct tw_workload like = { .level = TW_LEVEL_CGROUP,
					  .cgroup_id = cgroup_id };
	struct tw_group *g = tw_workload_new(t, &like, sizeof(*g));

	if (g != NULL)
		g->w.who = &g->who;
	return g;
}

static void find_path(struct tw_workloads *t, struct tw_group *g, uint32_t tgid)
{
	char path[TW_CGROUP_PATH];

	g->tries++;
	if (tw_cgroup_tree_path(t->tree, g->w.cgroup_id, tgid, path))
		set_path(t, g, path, tgid);
}

struct tw_group *tw_group_get(struct tw_workloads *t, uint64_t cgroup_id, uint32_t tgid)
{
	struct tw_group *g = tw_group_find(t, cgroup_id);

	if (g == NULL)
		g = make_group(t, cgroup_id);
	if (g != NULL && g->w.path == NULL && g->tries < TRIES && cgroup_id != 0)
		find_path(t, g, tgid);
	return g;
}

void tw_group_set_path(struct tw_workloads *t, uint64_t cgroup_id, const char *path)
{
	struct tw_group *g = tw_group_find(t, cgroup_id);

	if (g == NULL)
		g = make_group(t, cgroup_id);
	if (g == NULL)
		t->dropped++;
	else if (g->w.path == NULL && path[0] == '/')
		set_path(t, g, path, 0);
}

struct tw_process *tw_group_rest(struct tw_workloads *t, struct tw_group *g)
{
	const struct tw_workload like = { .level = TW_LEVEL_PROCESS,
					  .comm = "ended",
					  .cgroup = &g->w };

	if (g->rest == NULL)
		g->rest = tw_workload_new(t, &like, sizeof(*g->rest));
	if (g->rest != NULL)
		g->rest->w.owner = g->w.owner;
	return g->rest;
}

/* ---- removal ---- */

/* True once w has no members and no references, a tick after it ended. */
static bool is_over(const struct tw_workloads *t, struct tw_workload *w)
{
	if (w->members > 0) {
		w->ended = false;
		return false;
	}
	if (!w->ended) {
		w->ended = true;
		w->ended_at = t->tick + 1;
		w->until_ns = t->now_ns + t->config.keep_ms * UINT64_C(1000000);
		return false;
	}
	return w->refs == 0 && w->ended_at <= t->tick;
}

/* True if a scraper may still want w's last values. */
static bool is_wanted(const struct tw_workloads *t, const struct tw_workload *w)
{
	return w->used.cpu_ns > 0 && w->series != TW_SERIES_OTHER &&
	       (!tw_workloads_was_last_read(t, w) || t->now_ns < w->until_ns);
}

/*
 * Whether w may be removed now. The oldest go first once more than ended_max stay, except
 * those that a scrape has exported and that have grown since.
 */
static bool may_go(struct tw_workloads *t, const struct tw_workload *w)
{
	struct tw_level_list *l = &t->level[w->level];

	if (!is_wanted(t, w))
		return true;
	l->waiting++;
	return l->excess > 0 &&
	       (w->series != TW_SERIES_OWN || tw_workloads_was_last_read(t, w));
}

static void count_waiting(struct tw_workloads *t, enum tw_level level)
{
	struct tw_level_list *l = &t->level[level];

	l->excess =
		l->waiting > t->config.ended_max ? l->waiting - t->config.ended_max : 0;
	l->waiting = 0;
}

/* w is removed: one fewer exceeds ended_max. */
static void remove_waiting(struct tw_workloads *t, const struct tw_workload *w)
{
	if (is_wanted(t, w))
		t->level[w->level].excess--;
	if (w->series == TW_SERIES_NEW && !tw_workloads_was_last_read(t, w))
		tw_series_give_up(t, w);
}

/* The last values of the pseudo process "ended" were read, or no scrape has seen it. */
static bool is_rest_read(const struct tw_workloads *t, const struct tw_group *g)
{
	return g->rest == NULL || g->rest->w.series != TW_SERIES_OWN ||
	       g->rest->w.ended_at <= t->scraped;
}

static void remove_group(struct tw_workloads *t, struct tw_group *g)
{
	if (g->rest != NULL) {
		if (g->rest->w.series == TW_SERIES_NEW &&
		    g->rest->w.ended_at > t->scraped)
			tw_series_give_up(t, &g->rest->w);
		tw_workload_remove(t, &g->rest->w);
	}
	tw_owner_set(&g->w, NULL, 0);
	leave_job(g);
	tw_workload_remove(t, &g->w);
}

/*
 * A cgroup without processes stays while its directory exists: it may get processes
 * again.
 */
static void tick_group(struct tw_workloads *t, struct tw_group *g)
{
	if (g->w.path != NULL && (t->tick + g->w.serial) % SHARES_TICKS == 0)
		read_shares(t, g);
	if (!is_over(t, &g->w) || !may_go(t, &g->w) || !is_rest_read(t, g) ||
	    t->tick < g->look_at)
		return;
	g->look_at = t->tick + GONE_TICKS;
	if (g->w.path != NULL && !tw_cgroup_tree_gone(t->tree, g->w.path))
		return;
	remove_waiting(t, &g->w);
	remove_group(t, g);
}

static void tick_owners(struct tw_workloads *t, enum tw_level level)
{
	struct tw_workload *next;

	count_waiting(t, level);
	for (struct tw_workload *w = t->level[level].first; w != NULL; w = next) {
		next = w->next;
		if (!is_over(t, w) || !may_go(t, w))
			continue;
		remove_waiting(t, w);
		if (w->pod != NULL)
			w->pod->refs--;
		tw_owner_set(w, NULL, 0);
		if (w->job != NULL)
			w->job->refs--;
		tw_workload_remove(t, w);
	}
}

void tw_groups_tick(struct tw_workloads *t)
{
	struct tw_workload *next;

	count_waiting(t, TW_LEVEL_CGROUP);
	for (struct tw_workload *w = t->level[TW_LEVEL_CGROUP].first; w != NULL;
	     w = next) {
		next = w->next;
		tick_group(t, (struct tw_group *)w);
	}
	tick_owners(t, TW_LEVEL_CONTAINER);
	tick_owners(t, TW_LEVEL_VM);
	tick_owners(t, TW_LEVEL_POD);
	tick_jobs(t);
	tick_owners(t, TW_LEVEL_STEP);
	tick_owners(t, TW_LEVEL_JOB);
}
