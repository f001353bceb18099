/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups, and the containers, pods and VMs that they and processes belong to. */
#include "collector/workloads/workload_parts.h"

#include "collector/system/proc_stat.h"
#include "lib/core/err.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often the path of a cgroup is looked for. */
#define TRIES 3

/* Ticks between two looks at shares, and at a directory that may be gone. */
#define SHARES_TICKS 32
#define GONE_TICKS 4

/* qemu's are the longest. */
#define COMMAND_MAX 16384

/* ---- owners ---- */

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

static struct tw_owner *make_owner(struct tw_workloads *t, enum tw_level level,
				   const struct tw_identity *who)
{
	struct tw_owner *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->who = *who;
	o->w.level = level;
	o->w.who = &o->who;
	if (!tw_level_add(t, &o->w)) {
		free(o);
		return NULL;
	}
	return o;
}

static struct tw_owner *get_owner(struct tw_workloads *t, enum tw_level level,
				  const struct tw_identity *who, const char *id)
{
	struct tw_owner *o = tw_owner_find(t, level, id);

	return o != NULL ? o : make_owner(t, level, who);
}

/* The container or VM, with its pod; NULL for the system, or without memory. */
static struct tw_workload *owner_of(struct tw_workloads *t, const struct tw_identity *who)
{
	struct tw_owner *o, *pod;

	if (who->kind == TW_OWNER_NONE)
		return NULL;
	o = get_owner(t, who->kind == TW_OWNER_VM ? TW_LEVEL_VM : TW_LEVEL_CONTAINER, who,
		      who->id);
	if (o == NULL || o->w.pod != NULL || who->pod_uid[0] == '\0')
		return o != NULL ? &o->w : NULL;
	pod = get_owner(t, TW_LEVEL_POD, who, who->pod_uid);
	if (pod != NULL) {
		o->w.pod = &pod->w;
		pod->w.refs++;
		pod->w.members += o->w.members;
	}
	return &o->w;
}

/* ---- the command line ---- */

/* As much as there is room for. */
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

/* /proc/PID, if it is still that process. */
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

/* Its scope is told as it is made, and found before its program runs: then a VM is known
 * by its name. What it had till then stays with that. */
static void name_vm(struct tw_workloads *t, struct tw_process *p,
		    const struct tw_identity *said)
{
	struct tw_group *g = (struct tw_group *)p->w.cgroup;
	struct tw_workload *owner;

	if (g->who.kind != TW_OWNER_VM || p->w.owner != g->w.owner ||
	    said->id[0] == '\0' || strcmp(said->id, g->who.id) == 0 ||
	    strcmp(said->name, g->who.name) != 0)
		return;
	memcpy(g->who.id, said->id, sizeof(g->who.id));
	owner = owner_of(t, &g->who);
	if (owner == NULL)
		return;
	tw_owner_set(&g->w, owner, 0);
	tw_owner_set(&p->w, owner, 1);
}

void tw_process_look(struct tw_workloads *t, struct tw_process *p)
{
	const int dir = open_process(t, p->w.tgid, p->w.start_ns);
	char text[COMMAND_MAX];
	struct tw_identity who;
	size_t len;

	p->looked = true;
	if (dir < 0)
		return;
	read_program(dir, &p->w);
	len = read_command(dir, text, sizeof(text));
	close(dir);
	if (!tw_identity_of_command(text, len, &who))
		return;
	if (p->w.owner != NULL) {
		name_vm(t, p, &who);
		return;
	}
	if (who.id[0] == '\0')
		snprintf(who.id, sizeof(who.id), "pid-%u", p->w.tgid);
	tw_owner_set(&p->w, owner_of(t, &who), 1);
}

/* libvirt's scope has a VM's name only; its process knows the uuid. */
static void complete_vm(struct tw_workloads *t, struct tw_identity *who, uint32_t tgid)
{
	char text[COMMAND_MAX];
	struct tw_identity said;
	int dir;

	if (who->kind != TW_OWNER_VM || tgid == 0)
		return;
	dir = open_process(t, tgid, 0);
	if (dir < 0)
		return;
	if (tw_identity_of_command(text, read_command(dir, text, sizeof(text)), &said) &&
	    said.id[0] != '\0' && strcmp(said.name, who->name) == 0)
		memcpy(who->id, said.id, sizeof(who->id));
	close(dir);
}

/* ---- cgroups ---- */

static void read_shares(struct tw_workloads *t, struct tw_group *g)
{
	struct tw_workload *owner = g->w.owner;
	char path[TW_CGROUP_PATH];

	g->w.cpu_shares = tw_cgroup_tree_shares(t->tree, g->path);
	if (owner == NULL || owner->level != TW_LEVEL_CONTAINER)
		return;
	memcpy(path, g->path, g->who.owner_len);
	path[g->who.owner_len] = '\0';
	owner->cpu_shares = tw_cgroup_tree_shares(t->tree, path);
	if (owner->path == NULL)
		owner->path = strdup(path);
}

/* What is known by its path from now on. */
static void set_path(struct tw_workloads *t, struct tw_group *g, const char *path,
		     uint32_t tgid)
{
	struct tw_workload *owner;

	snprintf(g->path, sizeof(g->path), "%s", path);
	g->w.path = g->path;
	tw_identity_of_path(g->path, strlen(g->path), &g->who);
	complete_vm(t, &g->who, tgid);
	owner = owner_of(t, &g->who);
	/* Its processes count as members, one by one. */
	tw_owner_set(&g->w, owner, 0);
	read_shares(t, g);
}

static struct tw_group *make_group(struct tw_workloads *t, uint64_t cgroup_id)
{
	struct tw_group *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->w.level = TW_LEVEL_CGROUP;
	g->w.cgroup_id = cgroup_id;
	g->w.who = &g->who;
	if (!tw_level_add(t, &g->w)) {
		free(g);
		return NULL;
	}
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

void tw_group_told(struct tw_workloads *t, uint64_t cgroup_id, const char *path)
{
	struct tw_group *g = tw_group_find(t, cgroup_id);

	if (g == NULL)
		g = make_group(t, cgroup_id);
	if (g == NULL)
		t->dropped++;
	else if (g->w.path == NULL && path[0] == '/')
		set_path(t, g, path, 0);
}

static struct tw_process *make_rest(struct tw_workloads *t, struct tw_group *g)
{
	struct tw_process *p = tw_process_new(t);

	if (p == NULL)
		return NULL;
	memcpy(p->w.comm, "ended", sizeof("ended"));
	p->w.cgroup = &g->w;
	if (tw_level_add(t, &p->w))
		return p;
	tw_process_free(t, p);
	return NULL;
}

struct tw_process *tw_group_rest(struct tw_workloads *t, struct tw_group *g)
{
	if (g->rest == NULL)
		g->rest = make_rest(t, g);
	if (g->rest != NULL)
		g->rest->w.owner = g->w.owner;
	return g->rest;
}

/* ---- what is gone ---- */

/* Nothing that points to it is left. */
static bool is_over(const struct tw_workloads *t, struct tw_workload *w)
{
	if (w->members > 0) {
		w->ended = false;
		return false;
	}
	if (!w->ended) {
		w->ended = true;
		w->ended_at = t->tick + 1;
		return false;
	}
	return w->refs == 0 && w->ended_at <= t->tick;
}

/* A scraper has seen the last of it. */
static bool is_told(const struct tw_workloads *t, const struct tw_workload *w)
{
	return w->ended_at <= t->scraped || w->used.cpu_ns == 0;
}

/* If not, it waits, unless too many did: the first of them give place. */
static bool may_go(struct tw_workloads *t, const struct tw_workload *w)
{
	struct tw_level_list *l = &t->level[w->level];

	if (is_told(t, w))
		return true;
	l->waiting++;
	return l->excess > 0;
}

static void count_waiting(struct tw_workloads *t, enum tw_level level)
{
	struct tw_level_list *l = &t->level[level];

	l->excess =
		l->waiting > t->config.ended_max ? l->waiting - t->config.ended_max : 0;
	l->waiting = 0;
}

/* It goes now. */
static void give_place(struct tw_workloads *t, const struct tw_workload *w)
{
	if (!is_told(t, w))
		t->level[w->level].excess--;
}

static void remove_group(struct tw_workloads *t, struct tw_group *g)
{
	if (g->rest != NULL) {
		tw_level_remove(t, &g->rest->w);
		tw_process_free(t, g->rest);
	}
	tw_owner_set(&g->w, NULL, 0);
	tw_level_remove(t, &g->w);
	free(g);
}

/* A cgroup without processes stays while its directory does: it may have some again. */
static void tick_group(struct tw_workloads *t, struct tw_group *g)
{
	if (g->w.path != NULL && (t->tick + g->w.serial) % SHARES_TICKS == 0)
		read_shares(t, g);
	if (!is_over(t, &g->w) || !may_go(t, &g->w) || t->tick < g->look_at)
		return;
	g->look_at = t->tick + GONE_TICKS;
	if (g->w.path != NULL && !tw_cgroup_tree_gone(t->tree, g->path))
		return;
	give_place(t, &g->w);
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
		give_place(t, w);
		if (w->pod != NULL)
			w->pod->refs--;
		tw_level_remove(t, w);
		tw_owner_free((struct tw_owner *)w);
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
}
