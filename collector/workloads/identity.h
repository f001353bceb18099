/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_IDENTITY_H
#define TW_COLLECTOR_IDENTITY_H

/*
 * Whose a process is, by the path of its cgroup or by its command line. Pure functions
 * over foreign bytes; what does not fit its field is no identity.
 */

#include <stdbool.h>
#include <stddef.h>

enum tw_owner_kind {
	TW_OWNER_NONE, /* the system: a unit, a session, the kernel */
	TW_OWNER_CONTAINER,
	TW_OWNER_VM,
};

#define TW_ID_TEXT 129   /* ids of containers and VMs */
#define TW_UID_TEXT 37   /* of pods */
#define TW_NAME_TEXT 257 /* names of VMs and units */

/* All zero bytes: nothing is known. Texts are NUL-terminated and printable ASCII. */
struct tw_identity {
	enum tw_owner_kind kind;
	const char *runtime; /* "docker", "qemu", ...: static text; NULL: not known */
	char id[TW_ID_TEXT]; /* container: 64 hex digits, or LXC's name; VM: uuid or name
			      */
	char name[TW_NAME_TEXT];   /* VM: its name; "" if not known */
	char pod_uid[TW_UID_TEXT]; /* "" if in no pod; with '-', as Kubernetes writes it
				    */
	char unit[TW_NAME_TEXT];   /* innermost systemd unit: "ssh.service"; "" if none */
	size_t owner_len; /* of the path: up to the end of what names the owner */
};

/*
 * By a cgroup's path from the root of its hierarchy. The deepest element that names a
 * container wins; what is nested below it belongs to it.
 */
void tw_identity_of_path(const char *path, size_t len, struct tw_identity *out);

/*
 * Whether a command line (arguments ended by NULs, as in /proc/PID/cmdline) is a virtual
 * machine's: qemu, VirtualBox, VMware, Xen, cloud-hypervisor, Firecracker. False leaves
 * *out as it was.
 */
bool tw_identity_of_command(const char *args, size_t len, struct tw_identity *out);

#endif /* TW_COLLECTOR_IDENTITY_H */
