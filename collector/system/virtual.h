/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_VIRTUAL_H
#define TW_COLLECTOR_VIRTUAL_H

#include <stdbool.h>

/*
 * Whether this machine is a virtual machine, by the files below proc and sys: the
 * processor flag "hypervisor" (x86), the device tree (Arm, POWER), Xen's directory, DMI's
 * texts of vendor, product, firmware and asset, or the bit of a virtual machine in
 * SMBIOS. Xen's first domain and EC2's metal products are none.
 */
bool tw_is_virtual(const char *proc, const char *sys);

/* Room for an UUID as text, with the NUL. */
#define TW_VM_UUID 40

/*
 * The UUID that the host gave this virtual machine (root alone can read it), in lower
 * case; "" if this is not a virtual machine, or has none.
 */
void tw_vm_uuid(const char *proc, const char *sys, char out[TW_VM_UUID]);

#endif /* TW_COLLECTOR_VIRTUAL_H */
