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

/* Prefixes of DMI's sys_vendor. */
static const char *const vendors[] = { "QEMU",   "KVM",
				       "VMware", "innotek",
				       "Xen",    "Parallels",
				       "Bochs",  "Apple Virtualization" };

static bool path_of(char *out, const char *dir, const char *name)
{
	return snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX;
}

static bool exists(const char *dir, const char *name)
{
	char path[PATH_MAX];

	return path_of(path, dir, name) && access(path, F_OK) == 0;
}

/* Whether the first line "flags" has the word "hypervisor". */
static bool has_flag(const char *proc)
{
	struct tw_err ignored = { 0 };
	char path[PATH_MAX], *text = NULL, *flags, *word;
	bool found = false;
	size_t len;

	if (!path_of(path, proc, "cpuinfo") ||
	    tw_file_read(path, CPUINFO_MAX, &text, &len, &ignored) < 0)
		return false;
	flags = strstr(text, "\nflags");
	if (flags != NULL) {
		flags[1 + strcspn(flags + 1, "\n")] = '\0';
		word = strstr(flags, " hypervisor");
		found = word != NULL && (word[11] == ' ' || word[11] == '\0');
	}
	free(text);
	return found;
}

static bool has_vendor(const char *sys)
{
	struct tw_err ignored = { 0 };
	char path[PATH_MAX], vendor[256];
	size_t len;

	if (!path_of(path, sys, "class/dmi/id/sys_vendor") ||
	    tw_file_read_at(AT_FDCWD, path, vendor, sizeof(vendor), &len, &ignored) < 0)
		return false;
	for (size_t i = 0; i < TW_COUNT(vendors); i++)
		if (strncmp(vendor, vendors[i], strlen(vendors[i])) == 0)
			return true;
	return false;
}

bool tw_is_virtual(const char *proc, const char *sys)
{
	return has_flag(proc) || exists(proc, "device-tree/hypervisor") ||
	       exists(sys, "hypervisor/type") || has_vendor(sys);
}

/* Of 36 letters, digits and dashes. */
static bool is_uuid(const char *text)
{
	return strlen(text) == 36 && strspn(text, "0123456789abcdef-") == 36;
}

void tw_vm_uuid(const char *proc, const char *sys, char out[TW_VM_UUID])
{
	/* By x86's and Arm's firmware, by Xen, and by POWER's hypervisor. */
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
