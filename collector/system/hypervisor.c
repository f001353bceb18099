/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/hypervisor.h"

#include "collector/system/privilege.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fields of /proc/PID/stat by their numbers in proc(5). */
enum { FIELD_COMM = 2, FIELD_GUEST = 43 };

#define STAT_MAX 2048
#define STATUS_MAX 8192

/* Descriptors that are read; a hypervisor opens its device early. */
#define DESCRIPTORS_MAX 1024

static bool ran_guest(int dir)
{
	struct tw_err ignored = { 0 };
	char text[STAT_MAX];
	const char *space;
	size_t len;

	if (tw_file_read_at(dir, "stat", text, sizeof(text), &len, &ignored) < 0)
		return false;
	space = strrchr(text, ')');
	for (int i = FIELD_COMM; i < FIELD_GUEST && space != NULL; i++)
		space = strchr(space + 1, ' ');
	return space != NULL && space[1] >= '1' && space[1] <= '9';
}

/* ---- descriptors ---- */

/*
 * Devices of hypervisors: their names in sysfs, and the ends of their paths. A process
 * that holds one without KVM runs a machine; a process that holds /dev/kvm may only test
 * for it.
 */
static const struct {
	const char *name, *end;
} devices[] = {
	{ "kvm", NULL },       { "mshv", "/mshv" },           { "vboxdrv", "/vboxdrv" },
	{ "vmmon", "/vmmon" }, { "xen!privcmd", "/privcmd" },
};

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
	snprintf(path, sizeof(path), "%s/dev", name);
	if (tw_file_read_at(dir, path, own, sizeof(own), &len, &ignored) < 0)
		return false;
	own[strcspn(own, "\n")] = '\0';
	return strcmp(number, own) == 0;
}

/*
 * A path is of the process's own mount namespace, where "/dev/vboxdrv" may be any file:
 * compare device numbers. AT_STATX_DONT_SYNC: a file of FUSE or NFS must not delay the
 * tick.
 */
static bool is_device(int fds, const char *fd, const char *target, int dir)
{
	const char *end = strrchr(target, '/');
	struct statx st;

	for (size_t i = 0; end != NULL && i < TW_COUNT(devices); i++)
		if (devices[i].end != NULL && strcmp(end, devices[i].end) == 0)
			return statx(fds, fd, AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
			       S_ISCHR(st.stx_mode) &&
			       has_number(&st, dir, devices[i].name);
	return false;
}

struct held {
	bool vm, vcpu, device;
};

/* The kernel makes the names of anonymous inodes. */
static void look_at(int fds, const char *fd, int dir, struct held *held)
{
	static const char vcpu[] = "anon_inode:kvm-vcpu";
	char target[PATH_MAX];
	const ssize_t n = readlinkat(fds, fd, target, sizeof(target) - 1);

	if (n <= 0)
		return;
	target[n] = '\0';
	if (strcmp(target, "anon_inode:kvm-vm") == 0)
		held->vm = true;
	else if (strncmp(target, vcpu, sizeof(vcpu) - 1) == 0)
		held->vcpu = true;
	else if (is_device(fds, fd, target, dir))
		held->device = true;
}

static bool holds_machine(int process, int dir)
{
	const int fds = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fds >= 0 ? fdopendir(fds) : NULL;
	struct held held = { .vm = false };
	const struct dirent *e;
	bool found = false;

	if (list == NULL) {
		if (fds >= 0)
			close(fds);
		return false;
	}
	for (int i = 0; !found && i < DESCRIPTORS_MAX && (e = readdir(list)) != NULL;
	     i++) {
		look_at(fds, e->d_name, dir, &held);
		found = held.device || (held.vm && held.vcpu);
	}
	closedir(list);
	return found;
}

bool tw_hypervisor_is(int process, int dir)
{
	return ran_guest(process) || holds_machine(process, dir);
}

/* ---- users ---- */

/* The kernel escapes line ends of the name, which comes first. */
static const char *find_users(const char *text)
{
	static const char key[] = "\nUid:";
	const char *line = strstr(text, key);

	return line != NULL ? line + sizeof(key) - 1 : NULL;
}

bool tw_hypervisor_user(int process, uint32_t *out)
{
	struct tw_err ignored = { 0 };
	uint64_t user[3]; /* real, effective, saved */
	char text[STATUS_MAX];
	const char *at;
	size_t len;

	if (tw_file_read_at(process, "status", text, sizeof(text), &len, &ignored) < 0)
		return false;
	at = find_users(text);
	for (size_t i = 0; i < TW_COUNT(user); i++) {
		if (at == NULL || *at != '\t')
			return false;
		len = strspn(at + 1, "0123456789");
		if (!tw_parse_u64(at + 1, len, &user[i]))
			return false;
		at += 1 + len;
	}
	if (user[0] != user[1] || user[0] != user[2] || user[0] > UINT32_MAX)
		return false;
	*out = (uint32_t)user[0];
	return true;
}

static bool find_user(const char *name, uint32_t *out)
{
	struct tw_err ignored = { 0 };
	const struct passwd *p;

	if (tw_parse_u32(name, 0, INT_MAX, out, &ignored) == 0)
		return true;
	p = getpwnam(name);
	if (p != NULL)
		*out = p->pw_uid;
	return p != NULL;
}

int tw_hypervisor_users_read(const struct tw_strs *names, struct tw_hypervisor_users *out,
			     struct tw_err *err)
{
	static const char *const usual[] = { "root", "libvirt-qemu", "qemu" };

	*out = (struct tw_hypervisor_users){ .count = 0 };
	for (size_t i = 0; names->count == 0 && i < TW_COUNT(usual); i++)
		out->count += find_user(usual[i], &out->at[out->count]);
	if (names->count > TW_HYPERVISOR_USERS)
		return tw_fail(err, TW_INVALID, "over %d users", TW_HYPERVISOR_USERS);
	for (; out->count < names->count; out->count++)
		if (!find_user(names->at[out->count], &out->at[out->count]))
			return tw_fail(err, TW_INVALID, "user '%.64s' is not known",
				       names->at[out->count]);
	return 0;
}

bool tw_hypervisor_users_have(const struct tw_hypervisor_users *u, uint32_t user)
{
	for (size_t i = 0; i < u->count; i++)
		if (u->at[i] == user)
			return true;
	return false;
}

int tw_hypervisor_users_share(const struct tw_hypervisor_users *u, const char *dir,
			      struct tw_err *err)
{
	const struct passwd *p;
	size_t i = 0;
	int fd, rc = 0;

	while (i < u->count && u->at[i] == 0)
		i++;
	if (i == u->count || geteuid() != 0)
		return 0;
	p = getpwuid(u->at[i]);
	fd = tw_open_no_link(dir);
	if (fd < 0 ||
	    fchown(fd, (uid_t)-1, p != NULL ? p->pw_gid : (gid_t)u->at[i]) < 0 ||
	    fchmod(fd, S_ISGID | S_IRWXU | S_IRGRP | S_IXGRP) < 0)
		rc = tw_fail_errno(err, errno, "cannot share '%s' with user %u", dir,
				   u->at[i]);
	if (fd >= 0)
		close(fd);
	return rc;
}
