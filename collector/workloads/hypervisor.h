/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_HYPERVISOR_H
#define TW_COLLECTOR_HYPERVISOR_H

/*
 * Proof by the kernel that a process runs virtual machines. A command line proves
 * nothing: any user can call a process qemu-system-x86_64.
 */

#include <stdbool.h>

/*
 * Open the directory of device numbers below sys, which a container sees, too. -1 if no
 * hypervisor has a device on this machine. The descriptor is yours.
 */
int tw_hypervisor_devices(const char *sys);

/*
 * Whether the process of the open directory /proc/PID has spent time in a guest of KVM,
 * or holds a virtual machine, a virtual processor or the device of a hypervisor open.
 * dir: of tw_hypervisor_devices().
 *
 * Any user can read the time in guests. Descriptors of other users need CAP_SYS_PTRACE:
 * without it, a process of KVM has a proof after its first clock tick in a guest, and one
 * of another hypervisor has none.
 */
bool tw_hypervisor_is(int process, int dir);

#endif /* TW_COLLECTOR_HYPERVISOR_H */
