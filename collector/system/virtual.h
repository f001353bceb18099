/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_VIRTUAL_H
#define TW_COLLECTOR_VIRTUAL_H

#include <stdbool.h>

/*
 * Whether this machine is a virtual one, as far as it says so below proc and sys: the
 * processor's flag "hypervisor" (x86), a node of that name in the device tree (Arm),
 * Xen's directory, or the maker's name.
 */
bool tw_is_virtual(const char *proc, const char *sys);

#endif /* TW_COLLECTOR_VIRTUAL_H */
