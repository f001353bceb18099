/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/hypervisor.h"

#include "collector/system/proc_stat.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors that are read; a hypervisor opens its device early. */
#define DESCRIPTORS_MAX 1024

/* Devices that only a hypervisor opens: their names in sysfs, and the ends of their
 * paths. */
static const struct {
	const char *name, *end;
} devices[] = {
	{ "kvm", "/kvm" },     { "mshv", "/mshv" },           { "vboxdrv", "/vboxdrv" },
	{ "vmmon", "/vmmon" }, { "xen!privcmd", "/privcmd" },
};

/* From include/linux/miscdevice.h. */
#define KVM_NUMBER "10:232"

int tw_hypervisor_devices(const char *sys)
{
	char path[PATH_MAX];
	int fd;

	if (snprintf(path, sizeof(path), "%s/class/misc", sys) >= (int)sizeof(path))
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; fd >= 0 && i < TW_COUNT(devices); i++)
		if (faccessat(fd, devices[i].name, F_OK, 0) == 0)
			return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Whether a character device has the number of a hypervisor's. */
static bool has_number(const struct statx *st, int dir, const char *name)
{
	struct tw_err ignored = { 0 };
	char number[32], path[64], own[32];
	size_t len;

	snprintf(number, sizeof(number), "%u:%u", st->stx_rdev_major, st->stx_rdev_minor);
	if (strcmp(name, "kvm") == 0)
		return strcmp(number, KVM_NUMBER) == 0;
	snprintf(path, sizeof(path), "%s/dev", name);
	if (tw_file_read_at(dir, path, own, sizeof(own), &len, &ignored) < 0)
		return false;
	own[strcspn(own, "\n")] = '\0';
	return strcmp(number, own) == 0;
}

/*
 * The kernel makes the names of anonymous inodes. A path is of the process's own mount
 * namespace, where "/dev/kvm" may be any file: compare device numbers.
 * AT_STATX_DONT_SYNC: a file of FUSE or NFS must not delay the tick.
 */
static bool is_proof(int fds, const char *fd, int dir)
{
	char target[PATH_MAX];
	const ssize_t n = readlinkat(fds, fd, target, sizeof(target) - 1);
	const char *end;
	struct statx st;

	if (n <= 0)
		return false;
	target[n] = '\0';
	if (strcmp(target, "anon_inode:kvm-vm") == 0 ||
	    strncmp(target, "anon_inode:kvm-vcpu", strlen("anon_inode:kvm-vcpu")) == 0)
		return true;
	end = strrchr(target, '/');
	for (size_t i = 0; end != NULL && i < TW_COUNT(devices); i++)
		if (strcmp(end, devices[i].end) == 0)
			return statx(fds, fd, AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
			       S_ISCHR(st.stx_mode) &&
			       has_number(&st, dir, devices[i].name);
	return false;
}

static bool holds_proof(int process, int dir)
{
	const int fds = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fds >= 0 ? fdopendir(fds) : NULL;
	const struct dirent *e;
	bool found = false;

	if (list == NULL) {
		if (fds >= 0)
			close(fds);
		return false;
	}
	for (int i = 0; !found && i < DESCRIPTORS_MAX && (e = readdir(list)) != NULL; i++)
		found = is_proof(fds, e->d_name, dir);
	closedir(list);
	return found;
}

bool tw_hypervisor_is(int process, int dir)
{
	return tw_proc_ran_guest(process) || holds_proof(process, dir);
}
