/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/privilege.h"

#include "collector/system/roots.h"
#include "collector/system/seccomp.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOUNTS_MAX 65536

#define REFUSE SCMP_ACT_ERRNO(EPERM)

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

/* Keep those capabilities of `keep` that the process has; clear the inheritable set. */
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

/*
 * Also drop them from the bounding set, so that started programs cannot regain them.
 * Needs CAP_SETPCAP; without it, this has no effect.
 */
static void bound_caps(uint64_t keep)
{
	for (int cap = 0; cap < 64; cap++)
		if ((keep >> cap & 1) == 0 && prctl(PR_CAPBSET_READ, cap) == 1)
			prctl(PR_CAPBSET_DROP, cap);
}

static int find_user(const char *user, const struct passwd **out, struct tw_err *err)
{
	errno = 0;
	*out = getpwnam(user);
	return *out != NULL ? 0 : tw_fail(err, TW_NOTFOUND, "no user '%s'", user);
}

int tw_user_check(const char *user, struct tw_err *err)
{
	const struct passwd *pw;

	/* Only root becomes another user. */
	return user != NULL && geteuid() == 0 ? find_user(user, &pw, err) : 0;
}

static int become(const char *user, struct tw_err *err)
{
	const struct passwd *pw;

	if (find_user(user, &pw, err) < 0)
		return -1;
	if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) < 0 ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) < 0)
		return tw_fail_errno(err, errno, "cannot become user '%s'", user);
	return 0;
}

/* ---- the filter of system calls ---- */

/* Calls that the collector makes once it runs, by what they are for. */
static const int always[] = {
	/* files and descriptors */
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(lseek),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(faccessat),
	SCMP_SYS(getdents64),
	SCMP_SYS(readlinkat),
	SCMP_SYS(fcntl),
	SCMP_SYS(unlinkat),
	/* the loop */
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(ppoll),
	SCMP_SYS(timerfd_settime),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(restart_syscall),
	/* HTTP, and systemd's socket */
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(recv),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(send),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendfile),
	SCMP_SYS(shutdown),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	/* memory */
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(mprotect),
	SCMP_SYS(brk),
	/* the process itself */
	SCMP_SYS(futex),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getrandom),
	SCMP_SYS(getrusage),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(tgkill),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(ioctl),
	SCMP_SYS(prlimit64),
	SCMP_SYS(wait4), /* exited helpers */
	/* answers by child processes (collector/texts.c) */
	SCMP_SYS(memfd_create),
	SCMP_SYS(pipe2),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(readlink),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(access),
	SCMP_SYS(unlink),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(poll),
	SCMP_SYS(time),
	SCMP_SYS(rseq),
	SCMP_SYS(clock_gettime64),
	SCMP_SYS(faccessat2),
#ifdef __SNR_epoll_pwait2 /* libseccomp 2.5.2 */
	SCMP_SYS(epoll_pwait2),
#endif
};

/* Files that are opened for writing later. */
static const int writing[] = {
	SCMP_SYS(pwrite64), SCMP_SYS(ftruncate), SCMP_SYS(fsync),    SCMP_SYS(renameat2),
	SCMP_SYS(mkdirat),  SCMP_SYS(fchmod),    SCMP_SYS(renameat), SCMP_SYS(rename),
	SCMP_SYS(mkdir),    SCMP_SYS(rmdir),
};

/* Refreshing models: threads, an HTTP client as child process, watched directories. */
static const int starting[] = {
	SCMP_SYS(inotify_init1),
	SCMP_SYS(inotify_add_watch),
	SCMP_SYS(inotify_rm_watch),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(clone),
	SCMP_SYS(execve),
	SCMP_SYS(waitid),
	SCMP_SYS(kill),
	SCMP_SYS(dup3),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(socketpair),
	SCMP_SYS(bind),
	SCMP_SYS(prctl),
	SCMP_SYS(eventfd2),
	SCMP_SYS(clone3),
	SCMP_SYS(arch_prctl),
	SCMP_SYS(dup2),
	SCMP_SYS(pipe),
	SCMP_SYS(vfork),
	/* tw-ask inherits the filter, and drops its capabilities */
	SCMP_SYS(capget),
	SCMP_SYS(capset),
};

/* Commands of bpf(): reads of walks, counters and overflow; loading is over. */
static const uint64_t bpf_commands[] = { BPF_PROG_TEST_RUN,    BPF_ITER_CREATE,
					 BPF_MAP_LOOKUP_ELEM,  BPF_MAP_LOOKUP_BATCH,
					 BPF_MAP_GET_NEXT_KEY, BPF_MAP_DELETE_ELEM };

/* A child that writes an answer ends with the collector. */
static const uint64_t prctl_commands[] = { PR_SET_PDEATHSIG };

/* The flags of open() that allow more than reading. */
#define OPEN_WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

static void allow(struct tw_seccomp *s, const int *calls, size_t count)
{
	tw_seccomp_list(s, calls, count, SCMP_ACT_ALLOW);
}

/* What clone() shares with a thread, but not with a copy of the process as by fork(). */
#define CLONE_SHARES                                                                 \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |          \
	 CLONE_VFORK | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

static int install_filter(const struct tw_privilege *p, struct tw_err *err)
{
	static const int opening[] = { SCMP_SYS(openat) };
	struct tw_seccomp s;

	tw_seccomp_begin(&s, REFUSE);
	allow(&s, always, TW_COUNT(always));
	if (p->may_write) {
		allow(&s, opening, TW_COUNT(opening));
		allow(&s, writing, TW_COUNT(writing));
	}
	if (p->may_start)
		allow(&s, starting, TW_COUNT(starting));
	tw_seccomp_mask(&s, SCMP_SYS(openat), 2, OPEN_WRITES, 0, SCMP_ACT_ALLOW, REFUSE);
	tw_seccomp_mask(&s, SCMP_SYS(clone), TW_SECCOMP_CLONE_FLAGS, CLONE_SHARES, 0,
			SCMP_ACT_ALLOW, REFUSE);
	tw_seccomp_values(&s, SCMP_SYS(prctl), 0, prctl_commands,
			  TW_COUNT(prctl_commands), REFUSE);
	tw_seccomp_values(&s, SCMP_SYS(bpf), 0, bpf_commands, TW_COUNT(bpf_commands),
			  REFUSE);
	return tw_seccomp_install(&s, err);
}

/* ---- ---- */

int tw_privilege_drop(const struct tw_privilege *p, struct tw_err *err)
{
	bound_caps(p->keep);
	if (geteuid() == 0 && p->user != NULL && strcmp(p->user, "root") != 0 &&
	    become(p->user, err) < 0)
		return -1;
	if (keep_caps(p->keep, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return tw_fail_errno(err, errno, "cannot give up new privileges");
	return p->filter ? install_filter(p, err) : 0;
}

/* The last mount on proc counts. */
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
	int fd, rc = 0;

	if (dir == NULL)
		return 0;
	if (tw_dir_make(dir, err) < 0)
		return -1;
	if (geteuid() != 0 || user == NULL)
		return 0;
	if (find_user(user, &pw, err) < 0)
		return -1;
	/* Not by the path: a link there could lead anywhere. */
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, pw->pw_uid, pw->pw_gid) < 0)
		rc = tw_fail_errno(err, errno, "cannot give '%s' to '%s'", dir, user);
	if (fd >= 0)
		close(fd);
	return rc;
}
