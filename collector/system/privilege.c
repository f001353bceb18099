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
#include <limits.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
static const char always[] =
	/* files and descriptors */
	"read readv pread64 write writev close close_range lseek fstat newfstatat "
	"statx statfs fstatfs faccessat getdents64 readlinkat fcntl unlinkat "
	/* the loop */
	"epoll_ctl epoll_pwait ppoll timerfd_settime nanosleep clock_nanosleep "
	"clock_gettime gettimeofday restart_syscall "
	/* HTTP, and systemd's socket */
	"accept accept4 recv recvfrom recvmsg send sendto sendmsg sendfile shutdown "
	"setsockopt getsockopt getsockname getpeername socket connect "
	/* memory */
	"mmap munmap mremap madvise mprotect brk "
	/* the process itself, and exited helpers */
	"futex getpid gettid getuid geteuid getrandom getrusage sysinfo uname "
	"sched_yield sched_getaffinity rt_sigaction rt_sigprocmask rt_sigreturn "
	"sigaltstack tgkill exit exit_group ioctl prlimit64 wait4 "
	/* answers by child processes (collector/texts.c) */
	"memfd_create pipe2 set_robust_list readlink stat lstat access unlink "
#ifdef __SNR_epoll_pwait2 /* libseccomp 2.5.2 */
	"epoll_pwait2 "
#endif
	"epoll_wait poll time rseq clock_gettime64 faccessat2";

/* Files that are opened for writing later. */
static const char writing[] =
	"pwrite64 ftruncate fsync renameat2 mkdirat fchmod renameat rename mkdir rmdir";

/* Refreshing models: threads, an HTTP client as child process, watched directories. */
static const char starting[] =
	"inotify_init1 inotify_add_watch inotify_rm_watch sendmmsg clone execve waitid "
	"kill dup3 set_tid_address socketpair bind prctl eventfd2 clone3 arch_prctl "
	"dup2 pipe vfork "
	/* tw-ask inherits the filter, and drops its capabilities */
	"capget capset";

/* Commands of bpf(): reads of walks, counters and overflow; loading is over. */
static const uint64_t bpf_commands[] = { BPF_PROG_TEST_RUN,    BPF_ITER_CREATE,
					 BPF_MAP_LOOKUP_ELEM,  BPF_MAP_LOOKUP_BATCH,
					 BPF_MAP_GET_NEXT_KEY, BPF_MAP_DELETE_ELEM };

/* A child that writes an answer ends with the collector. tw-ask sets its name. */
static const uint64_t prctl_commands[] = { PR_SET_PDEATHSIG, PR_SET_NAME };

/* The flags of open() that allow more than reading. */
#define OPEN_WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

static void allow(struct tw_seccomp *s, const char *calls)
{
	tw_seccomp_list(s, calls, SCMP_ACT_ALLOW);
}

/*
 * Flags by which clone() makes a thread, and not a copy of the process, as fork() does.
 */
#define CLONE_SHARES                                                                 \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |          \
	 CLONE_VFORK | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

static int install_filter(const struct tw_privilege *p, struct tw_err *err)
{
	struct tw_seccomp s;

	tw_seccomp_begin(&s, REFUSE);
	allow(&s, always);
	if (p->may_write) {
		allow(&s, "openat");
		allow(&s, writing);
	}
	if (p->may_start)
		allow(&s, starting);
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

/* Linux before 5.9 has no close_range(). */
static void close_between(unsigned from, unsigned to)
{
	struct rlimit limit;

	if (from > to || close_range(from, to, 0) == 0)
		return;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= to)
		to = (unsigned)limit.rlim_cur;
	for (unsigned fd = from; fd <= to; fd++)
		close((int)fd);
}

void tw_close_copies(int file, int other)
{
	const unsigned low = (unsigned)(file < other ? file : other);
	const unsigned high = (unsigned)(file < other ? other : file);

	close_between(3, low - 1);
	close_between(low + 1, high - 1);
	close_between(high + 1, ~0u);
}

int tw_open_no_link(const char *dir)
{
	char path[PATH_MAX];
	size_t len = strlen(dir);

	if (len >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(path, dir, len + 1);
	/* O_NOFOLLOW follows a link whose path ends with "/" or "/.". */
	while (len > 1 &&
	       (path[len - 1] == '/' || (path[len - 1] == '.' && path[len - 2] == '/')))
		path[--len] = '\0';
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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
	fd = tw_open_no_link(dir);
	if (fd < 0 || fchown(fd, pw->pw_uid, pw->pw_gid) < 0)
		rc = tw_fail_errno(err, errno, "cannot give '%s' to '%s'", dir, user);
	if (fd >= 0)
		close(fd);
	return rc;
}
