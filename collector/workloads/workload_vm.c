/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines, and the virtual machines that they and cgroups name. */
#include "collector/system/hypervisor.h"
#include "collector/system/process.h"
#include "collector/workloads/workload_state.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a command line that are read; qemu's are the longest. */
#define COMMAND_MAX 16384

/*
 * Ticks to the next look for a proof that a process is a hypervisor. They double with
 * each look: many processes that only say so delay no look at others.
 */
#define PROOF_TICKS UINT64_C(16)
#define PROOF_DOUBLINGS 6

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

/* ---- ids ---- */

/*
 * The VM of an id belongs to the first scope or process with a proof, as long as it
 * lives. NULL if it is another's, or as tw_owner_get().
 */
static struct tw_workload *claim(struct tw_workloads *t, const struct tw_identity *who,
				 uint64_t holder)
{
	struct tw_owner *vm = tw_owner_get(t, TW_LEVEL_VM, who, who->id);

	if (vm == NULL)
		return NULL;
	if (vm->holder == holder || vm->w.members == 0) {
		vm->holder = holder;
		return &vm->w;
	}
	t->refused++;
	if (!vm->contested && t->config.contested != NULL)
		t->config.contested(t->config.passed_arg, who->id);
	vm->contested = true;
	return NULL;
}

static uint64_t holder_of(const struct tw_process *p)
{
	return tw_hash_add(tw_hash(&p->w.tgid, sizeof(p->w.tgid)), &p->w.start_ns,
			   sizeof(p->w.start_ns));
}

struct tw_workload *tw_vm_of_group(struct tw_workloads *t, const struct tw_group *g,
				   const struct tw_identity *who)
{
	return claim(t, who, tw_hash(g->w.path, g->who.owner_len));
}

/*
 * A scope of libvirt has the VM's name, without the characters that a host name cannot
 * have. A scope of Proxmox has a number. Take the uuid and the name from the command line
 * of the VM's process, if it has a uuid.
 */
static void complete(struct tw_identity *vm, const struct tw_identity *found)
{
	if (found->id[0] == '\0' || strcmp(found->id, found->name) == 0)
		return;
	memcpy(vm->id, found->id, sizeof(vm->id));
	if (found->name[0] != '\0')
		memcpy(vm->name, found->name, sizeof(vm->name));
}

void tw_vm_complete(struct tw_workloads *t, struct tw_identity *who, uint32_t tgid)
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

/* ---- looks at processes. True: the process needs no other look. ---- */

/*
 * The cgroup of the process is the proof. A hypervisor creates the scope before the VM
 * runs, so the VM has the id of its scope first. Earlier usage stays with the old id.
 */
static bool look_in_scope(struct tw_workloads *t, struct tw_process *p,
			  const struct tw_identity *found)
{
	struct tw_group *g = (struct tw_group *)p->w.cgroup;
	struct tw_identity who = g->who;
	struct tw_workload *vm;

	complete(&who, found);
	if (p->w.owner != g->w.owner ||
	    (g->w.owner != NULL && strcmp(who.id, g->who.id) == 0))
		return true;
	vm = tw_vm_of_group(t, g, &who);
	if (vm == NULL)
		return false;
	g->who = who;
	tw_owner_set(&g->w, vm, 0);
	/* It has a copy of the owner, without a reference. */
	if (g->rest != NULL)
		g->rest->w.owner = vm;
	tw_owner_set(&p->w, vm, 1);
	return true;
}

/*
 * A process in a container is a VM, too, if root made the container: who made it gave it
 * the device. It counts as a name of its user, root as well.
 */
static bool look_in_container(struct tw_workloads *t, struct tw_process *p, int dir,
			      struct tw_identity *found)
{
	const struct tw_group *g = (const struct tw_group *)p->w.cgroup;
	struct tw_workload *vm;

	if (p->w.vm != NULL || found->id[0] == '\0' || g->who.namer != TW_NAMER_ROOT)
		return true;
	if (!tw_hypervisor_is(dir, t->misc))
		return false;
	if (!tw_hypervisor_user(dir, &found->namer) || found->namer == TW_NAMER_ROOT)
		found->namer = TW_NAMER_UNKNOWN;
	vm = claim(t, found, holder_of(p));
	if (vm == NULL)
		return false;
	tw_owner_set(vm, p->w.owner, 0);
	tw_vm_set(&p->w, vm, 1);
	return true;
}

/* Elsewhere only a hypervisor's user may name a VM. Another user gets there by an exec.
 */
static bool look_outside(struct tw_workloads *t, struct tw_process *p, int dir,
			 struct tw_identity *found)
{
	struct tw_workload *vm;
	uint32_t user;

	if (!tw_hypervisor_user(dir, &user) ||
	    !tw_hypervisor_users_have(&t->config.vm_users, user))
		return true;
	if (!tw_hypervisor_is(dir, t->misc))
		return false;
	if (found->id[0] == '\0')
		snprintf(found->id, sizeof(found->id), "pid-%u", p->w.tgid);
	vm = claim(t, found, holder_of(p));
	if (vm != NULL)
		tw_owner_set(&p->w, vm, 1);
	return vm != NULL;
}

/* The command line says that the process runs the VM `found`. dir: /proc/PID, open. */
static bool look_at_hypervisor(struct tw_workloads *t, struct tw_process *p, int dir,
			       struct tw_identity *found)
{
	const struct tw_group *g = (const struct tw_group *)p->w.cgroup;

	if (g->who.kind == TW_OWNER_VM)
		return look_in_scope(t, p, found);
	if (g->w.owner != NULL)
		return look_in_container(t, p, dir, found);
	return look_outside(t, p, dir, found);
}

void tw_process_look(struct tw_workloads *t, struct tw_process *p)
{
	const int dir = open_process(t, p->w.tgid, p->w.start_ns);
	char text[COMMAND_MAX];
	struct tw_identity who;

	p->look_at = TW_LOOKED;
	if (dir < 0)
		return;
	tw_job_look(p, dir);
	read_program(dir, &p->w);
	if (tw_identity_of_command(text, read_command(dir, text, sizeof(text)), &who) &&
	    !look_at_hypervisor(t, p, dir, &who)) {
		p->look_at = t->tick + (PROOF_TICKS << p->proofs);
		p->proofs += p->proofs < PROOF_DOUBLINGS;
	}
	close(dir);
}
