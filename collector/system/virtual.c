/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/virtual.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPUINFO_MAX ((size_t)16 << 20)

/*
 * How the DMI texts of guests begin, as hypervisors and clouds set them. Clouds rent out
 * whole machines, too, with the same texts.
 */
static const struct fact {
	const char *text;
	bool cloud;
} facts[] = {
	{ "AHV", false },
	{ "Apple Virtualization", false },
	{ "BHYVE", false },
	{ "Bochs", false },
	{ "EFI Development Kit II / OVMF", false },
	{ "Hyper-V", false },
	{ "KVM", false },
	{ "KubeVirt", false },
	{ "OpenShift Virtualization", false },
	{ "OpenStack", false },
	{ "Parallels", false },
	{ "QEMU", false },
	{ "RHEV Hypervisor", false },
	{ "Red Hat", false },
	{ "VMW", false },
	{ "VMware", false },
	{ "Virtual Machine", false }, /* Microsoft's product; its vendor makes machines */
	{ "VirtualBox", false },
	{ "Xen", false },
	{ "innotek", false },
	{ "oVirt", false },
	{ "7783-7084-3265-9085-8269-3286-77", true }, /* the asset tag of Azure */
	{ "Alibaba Cloud ECS", true },
	{ "Amazon EC2", true },
	{ "CVM", true }, /* Tencent's product */
	{ "DigitalOcean", true },
	{ "Google Compute Engine", true },
	{ "Hetzner", true },
	{ "Linode", true },
	{ "UpCloud", true },
};

static const char *const dmi_files[] = { "sys_vendor",      "product_name",
					 "product_version", "board_vendor",
					 "bios_vendor",     "chassis_vendor",
					 "board_asset_tag", "chassis_asset_tag" };

static bool path_of(char *out, const char *dir, const char *name)
{
	return snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX;
}

static bool exists(const char *dir, const char *name)
{
	char path[PATH_MAX];

	return path_of(path, dir, name) && access(path, F_OK) == 0;
}

/* Whether a file that may contain NUL bytes has the text. */
static bool has_text(const char *dir, const char *name, const char *text)
{
	struct tw_err ignored = { 0 };
	char path[PATH_MAX], data[4096];
	size_t len;

	return path_of(path, dir, name) &&
	       tw_file_read_at(AT_FDCWD, path, data, sizeof(data), &len, &ignored) == 0 &&
	       memmem(data, len, text, strlen(text)) != NULL;
}

/* ---- processor flags ---- */

enum flag {
	FLAG_NO_X86, /* no processor flags: only x86 has the flag of a hypervisor */
	FLAG_UNSET,
	FLAG_SET,
};

/* Whether the first line "flags" has the word "hypervisor". */
static enum flag read_flag(const char *proc)
{
	struct tw_err ignored = { 0 };
	char path[PATH_MAX], *text = NULL, *flags, *word;
	enum flag found = FLAG_NO_X86;
	size_t len;

	if (!path_of(path, proc, "cpuinfo") ||
	    tw_file_read(path, CPUINFO_MAX, &text, &len, &ignored) < 0)
		return found;
	flags = strstr(text, "\nflags");
	if (flags != NULL) {
		flags[1 + strcspn(flags + 1, "\n")] = '\0';
		word = strstr(flags, " hypervisor");
		found = word != NULL && (word[11] == ' ' || word[11] == '\0')
				? FLAG_SET
				: FLAG_UNSET;
	}
	free(text);
	return found;
}

/* ---- firmware ---- */

/*
 * Clouds' texts count only where the processor has no flag of a hypervisor: machines that
 * a cloud rents out whole have the same texts, and on x86 the flag tells them apart. EC2
 * calls these products "m7g.metal" or "m7i.metal-24xl".
 */
static bool is_guest_by_dmi(const char *sys, bool clouds)
{
	struct tw_err ignored = { 0 };
	char path[PATH_MAX], text[256];
	size_t len;

	if (has_text(sys, "class/dmi/id/product_name", ".metal"))
		clouds = false;
	for (size_t i = 0; i < TW_COUNT(dmi_files); i++) {
		if (snprintf(path, sizeof(path), "%s/class/dmi/id/%s", sys,
			     dmi_files[i]) >= (int)sizeof(path) ||
		    tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, &ignored) <
			    0)
			continue;
		for (size_t k = 0; k < TW_COUNT(facts); k++)
			if ((clouds || !facts[k].cloud) &&
			    strncmp(text, facts[k].text, strlen(facts[k].text)) == 0)
				return true;
	}
	return false;
}

/*
 * SMBIOS (DSP0134), BIOS information, second extension byte of characteristics, bit 4:
 * "the SMBIOS table describes a virtual machine". Readable by root. Many hypervisors
 * leave the bit unset.
 */
static bool is_guest_by_smbios(const char *sys)
{
	struct tw_err ignored = { 0 };
	char path[PATH_MAX], data[4096];
	size_t len;

	return path_of(path, sys, "firmware/dmi/entries/0-0/raw") &&
	       tw_file_read_at(AT_FDCWD, path, data, sizeof(data), &len, &ignored) == 0 &&
	       len > 19 && data[0] == 0 && data[1] > 19 && (data[19] & 0x10) != 0;
}

/*
 * The machines of QEMU, Firecracker, cloud-hypervisor and crosvm on Arm and RISC-V are
 * "linux,dummy-virt"; QEMU's on POWER is "qemu,pseries".
 */
static bool is_guest_by_device_tree(const char *proc)
{
	return exists(proc, "device-tree/hypervisor") ||
	       has_text(proc, "device-tree/compatible", "linux,dummy-virt") ||
	       has_text(proc, "device-tree/compatible", "qemu,pseries");
}

bool tw_is_virtual(const char *proc, const char *sys)
{
	const enum flag flag = read_flag(proc);

	/* Xen's first domain is the machine itself, whatever the processors say. */
	if (has_text(proc, "xen/capabilities", "control_d"))
		return false;
	return flag == FLAG_SET || is_guest_by_device_tree(proc) ||
	       exists(sys, "hypervisor/type") ||
	       is_guest_by_dmi(sys, flag == FLAG_NO_X86) || is_guest_by_smbios(sys);
}

/* A text of 36 letters, digits and dashes. */
static bool is_uuid(const char *text)
{
	return strlen(text) == 36 && strspn(text, "0123456789abcdef-") == 36;
}

void tw_vm_uuid(const char *proc, const char *sys, char out[TW_VM_UUID])
{
	/*
	 * Files with the identity: of x86 and Arm firmware, of Xen, and of POWER's
	 * hypervisor.
	 */
	const struct {
		const char *dir, *name;
	} files[] = { { sys, "class/dmi/id/product_uuid" },
		      { sys, "hypervisor/uuid" },
		      { proc, "device-tree/vm,uuid" } };
	struct tw_err ignored = { 0 };
	char path[PATH_MAX], text[TW_VM_UUID + 2];
	size_t len;

	out[0] = '\0';
	if (!tw_is_virtual(proc, sys))
		return;
	for (size_t i = 0; i < TW_COUNT(files); i++) {
		if (!path_of(path, files[i].dir, files[i].name) ||
		    tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, &ignored) <
			    0)
			continue;
		text[strcspn(text, "\n")] = '\0';
		for (char *c = text; *c != '\0'; c++)
			*c = (char)tolower((unsigned char)*c);
		if (is_uuid(text)) {
			strcpy(out, text);
			return;
		}
	}
}
