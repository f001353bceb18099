/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_HYPERVISOR_H
#define TW_COLLECTOR_HYPERVISOR_H

/*
 * Proof that a process runs a virtual machine. A command line proves nothing: any user
 * can call a process qemu-system-x86_64. What the kernel says of a process proves that it
 * runs some virtual machine, and its user that it may name one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_strs;

/*
 * Open the directory of device numbers below sys, which a container sees, too. -1 if no
 * hypervisor has a device on this machine. The descriptor is yours.
 */
int tw_hypervisor_devices(const char *sys);

/*
 * Whether the process of the open directory /proc/PID has spent time in a guest of KVM,
 * holds a virtual machine of KVM and a processor of it, or the device of another
 * hypervisor. dir: of tw_hypervisor_devices().
 *
 * Any user can read the time in guests. Descriptors of other users need CAP_SYS_PTRACE:
 * without it, a process of KVM has a proof after its first clock tick in a guest, and one
 * of another hypervisor has none.
 */
bool tw_hypervisor_is(int process, int dir);

/*
 * The user of the process, on whose behalf it runs: false if its real, effective and
 * saved users differ. The effective user alone proves nothing: descriptors, arguments and
 * time in guests outlast the exec of a program with setuid.
 */
bool tw_hypervisor_user(int process, uint32_t *out);

#define TW_HYPERVISOR_USERS 16

/* Users whose processes may name virtual machines. */
struct tw_hypervisor_users {
	uint32_t at[TW_HYPERVISOR_USERS];
	size_t count;
};

/*
 * Look up names or numbers. Empty: root and the users of libvirt's packages, as far as
 * this machine has them.
 */
int tw_hypervisor_users_read(const struct tw_strs *names, struct tw_hypervisor_users *out,
			     struct tw_err *err);

bool tw_hypervisor_users_have(const struct tw_hypervisor_users *u, uint32_t user);

/*
 * As root, let only the owner of a directory and the group of the first of these users
 * but root read what will be in it: how much power a machine uses tells what it does.
 * Unchanged if there is no such user.
 */
int tw_hypervisor_users_share(const struct tw_hypervisor_users *u, const char *dir,
			      struct tw_err *err);

#endif /* TW_COLLECTOR_HYPERVISOR_H */
