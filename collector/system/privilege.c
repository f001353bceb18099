/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/privilege.h"

#include "collector/system/roots.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOUNTS_MAX 65536

static int read_caps(struct __user_cap_data_struct data[2], struct tw_err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	if (syscall(SYS_capget, &head, data) < 0)
		return tw_fail_errno(err, errno, "cannot read capabilities");
	return 0;
}

bool tw_has_capability(unsigned cap)
{
	struct __user_cap_data_struct data[2];
	struct tw_err err = { 0 };

	return read_caps(data, &err) == 0 &&
	       (data[cap / 32].effective >> cap % 32 & 1) != 0;
}

/* Of those that are there; nothing to inherit. */
static int keep_caps(uint64_t keep, struct tw_err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (read_caps(data, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, data) < 0)
		return tw_fail_errno(err, errno, "cannot drop capabilities");
	return 0;
}

/* So that no program that we start could have them again. Needs a capability itself. */
static void bound_caps(uint64_t keep)
{
	for (int cap = 0; cap < 64; cap++)
		if ((keep >> cap & 1) == 0 && prctl(PR_CAPBSET_READ, cap) == 1)
			prctl(PR_CAPBSET_DROP, cap);
}

static int become(const char *user, struct tw_err *err)
{
	const struct passwd *pw;

	errno = 0;
	pw = getpwnam(user);
	if (pw == NULL)
		return tw_fail(err, TW_NOTFOUND, "no user '%s'", user);
	if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) < 0 ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) < 0)
		return tw_fail_errno(err, errno, "cannot become user '%s'", user);
	return 0;
}

int tw_privilege_drop(const struct tw_privilege *p, bool *filtered, struct tw_err *err)
{
	*filtered = false;
	bound_caps(p->keep);
	if (geteuid() == 0 && p->user != NULL && strcmp(p->user, "root") != 0 &&
	    become(p->user, err) < 0)
		return -1;
	if (keep_caps(p->keep, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return tw_fail_errno(err, errno, "cannot give up new privileges");
	return p->filter ? tw_filter_install(p, filtered, err) : 0;
}

/* The options of the last file system that was mounted there. */
bool tw_mounts_hide(char *mounts, const char *proc)
{
	char *save = NULL;
	bool hidden = false;

	for (char *line = strtok_r(mounts, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *where = strchr(line, ' ');
		const size_t n = strlen(proc);

		if (where != NULL && strncmp(where + 1, proc, n) == 0 &&
		    where[n + 1] == ' ')
			hidden = strstr(where, "hidepid=") != NULL &&
				 strstr(where, "hidepid=0") == NULL &&
				 strstr(where, "hidepid=off") == NULL;
	}
	return hidden;
}

bool tw_proc_is_hidden(const struct tw_roots *roots)
{
	static const char path[] = "/proc/self/mounts";
	struct tw_err err = { 0 };
	char text[MOUNTS_MAX];
	size_t len;

	return tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, &err) == 0 &&
	       tw_mounts_hide(text, roots->proc);
}

int tw_give_directory(const char *dir, const char *user, struct tw_err *err)
{
	const struct passwd *pw;

	if (dir == NULL)
		return 0;
	if (tw_dir_make(dir, err) < 0)
		return -1;
	if (geteuid() != 0 || user == NULL)
		return 0;
	pw = getpwnam(user);
	if (pw == NULL)
		return tw_fail(err, TW_NOTFOUND, "no user '%s'", user);
	if (chown(dir, pw->pw_uid, pw->pw_gid) < 0)
		return tw_fail_errno(err, errno, "cannot give '%s' to '%s'", dir, user);
	return 0;
}
