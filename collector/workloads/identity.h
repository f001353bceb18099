/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_IDENTITY_H
#define TW_COLLECTOR_IDENTITY_H

/*
 * The owner of a process, by its cgroup's path or its command line. Pure functions over
 * untrusted bytes; text that does not fit its field is ignored.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tw_owner_kind {
	TW_OWNER_NONE, /* the system: a unit, a session, the kernel */
	TW_OWNER_CONTAINER,
	TW_OWNER_VM,
};

/*
 * The user who named a container or VM: the owner of its cgroup or process, root, or an
 * unknown user. Functions of this header leave it 0.
 */
#define TW_NAMER_ROOT 0
#define TW_NAMER_UNKNOWN UINT32_MAX

#define TW_ID_TEXT 129   /* ids of containers and VMs */
#define TW_UID_TEXT 37   /* of pods */
#define TW_NAME_TEXT 257 /* names of VMs and units */
#define TW_JOB_TEXT 16   /* numbers of jobs and users; ids of jobs */
#define TW_STEP_TEXT 40

/* All zero bytes: no owner. Texts are NUL-terminated printable ASCII. */
struct tw_identity {
	enum tw_owner_kind kind;
	const char *runtime; /* "docker", "qemu", ...: static; NULL: unknown */
	uint32_t namer;      /* the user who named the container or VM; see below */
	char id[TW_ID_TEXT]; /* container: 64 hex digits, or LXC's name; VM: uuid or name
			      */
	char name[TW_NAME_TEXT];   /* VM: its name; "": unknown */
	char pod_uid[TW_UID_TEXT]; /* with '-', as Kubernetes writes it; "": in no pod */
	char unit[TW_NAME_TEXT];   /* innermost systemd unit: "ssh.service"; "": none */
	char job[TW_JOB_TEXT];     /* number or SLUID of the Slurm job; "": in no job */
	char step[TW_STEP_TEXT]; /* "12.0", "12.batch", as sacct writes it; "": in no step
				  */
	char user[TW_JOB_TEXT];  /* user id of the job; "": not in the path (v2) */
	size_t owner_len; /* bytes of the path up to the end of the owner's element */
};

/*
 * Parse a cgroup's path from the root of its hierarchy. The deepest element that names a
 * container wins; cgroups nested below belong to it.
 */
void tw_identity_of_path(const char *path, size_t len, struct tw_identity *out);

/*
 * Parse a command line (NUL-terminated arguments, as in /proc/PID/cmdline) of a virtual
 * machine: qemu, VirtualBox, VMware, Xen, cloud-hypervisor, Firecracker. False, with *out
 * unchanged, if it is another program.
 */
bool tw_identity_of_command(const char *args, size_t len, struct tw_identity *out);

#endif /* TW_COLLECTOR_IDENTITY_H */
