/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_VIRTUAL_H
#define TW_COLLECTOR_VIRTUAL_H

#include <stdbool.h>

/*
 * Whether this machine is a virtual machine, by the files below proc and sys: the
 * processor flag "hypervisor" (x86), a node of that name in the device tree (Arm), Xen's
 * directory, or the vendor's name in DMI.
 */
bool tw_is_virtual(const char *proc, const char *sys);

#endif /* TW_COLLECTOR_VIRTUAL_H */
