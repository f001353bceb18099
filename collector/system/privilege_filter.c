/* SPDX-License-Identifier: Apache-2.0 */
/* What the collector asks of the kernel once it runs; anything else is refused. */
#include "collector/system/privilege.h"

#include "collector/system/seccomp.h"
#include "lib/core/array.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <sys/syscall.h>

static const int always[] = {
	/* files and descriptors */
	SYS_read,
	SYS_readv,
	SYS_pread64,
	SYS_write,
	SYS_writev,
	SYS_close,
	SYS_lseek,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_statfs,
	SYS_fstatfs,
	SYS_faccessat,
	SYS_getdents64,
	SYS_readlinkat,
	SYS_fcntl,
	SYS_unlinkat,
	/* the loop */
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_ppoll,
	SYS_timerfd_settime,
	SYS_nanosleep,
	SYS_clock_nanosleep,
	SYS_clock_gettime,
	SYS_gettimeofday,
	SYS_restart_syscall,
	/* HTTP, and systemd's socket */
	SYS_accept,
	SYS_accept4,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_sendto,
	SYS_sendmsg,
	SYS_sendfile,
	SYS_shutdown,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_getsockname,
	SYS_getpeername,
	SYS_socket,
	SYS_connect,
	/* memory */
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_mprotect,
	SYS_brk,
	/* ourselves */
	SYS_futex,
	SYS_getpid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getrandom,
	SYS_getrusage,
	SYS_sysinfo,
	SYS_uname,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_tgkill,
	SYS_exit,
	SYS_exit_group,
	SYS_ioctl,
	SYS_prlimit64,
	SYS_wait4, /* a helper that has ended */
#ifdef SYS_readlink
	SYS_readlink,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_unlink,
	SYS_epoll_wait,
	SYS_poll,
	SYS_time,
#endif
#ifdef SYS_rseq
	SYS_rseq,
#endif
#ifdef SYS_clock_gettime64
	SYS_clock_gettime64,
#endif
#ifdef SYS_faccessat2
	SYS_faccessat2,
#endif
#ifdef SYS_epoll_pwait2
	SYS_epoll_pwait2,
#endif
};

static const int writing[] = {
	SYS_pwrite64, SYS_ftruncate, SYS_fsync,    SYS_renameat2,
	SYS_mkdirat,  SYS_fchmod,    SYS_renameat,
#ifdef SYS_rename
	SYS_rename,   SYS_mkdir,     SYS_rmdir,
#endif
};

/* The keeper of models: threads, a client of HTTP as a child, directories to watch. */
static const int starting[] = {
	SYS_memfd_create,
	SYS_inotify_init1,
	SYS_inotify_add_watch,
	SYS_inotify_rm_watch,
	SYS_sendmmsg,
	SYS_clone,
	SYS_execve,
	SYS_waitid,
	SYS_kill,
	SYS_pipe2,
	SYS_dup3,
	SYS_set_robust_list,
	SYS_set_tid_address,
	SYS_socketpair,
	SYS_bind,
	SYS_prctl,
	SYS_eventfd2,
#ifdef SYS_clone3
	SYS_clone3,
#endif
#ifdef SYS_arch_prctl
	SYS_arch_prctl,
	SYS_dup2,
	SYS_pipe,
	SYS_vfork,
#endif
};

/* Reading a walk, counters and what did not fit; nothing is loaded any more. */
static const int bpf_commands[] = { BPF_PROG_TEST_RUN,    BPF_ITER_CREATE,
				    BPF_MAP_LOOKUP_ELEM,  BPF_MAP_LOOKUP_BATCH,
				    BPF_MAP_GET_NEXT_KEY, BPF_MAP_DELETE_ELEM };

/* Opening what is not to be written. */
static const struct tw_seccomp_rule reading[] = {
	{ O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, SECCOMP_RET_ALLOW },
};

static void allow(struct tw_seccomp *s, const int *calls, size_t count)
{
	tw_seccomp_list(s, calls, count, SECCOMP_RET_ALLOW);
}

static void allow_bpf(struct tw_seccomp *s)
{
	struct tw_seccomp_rule rules[TW_COUNT(bpf_commands)];

	for (size_t i = 0; i < TW_COUNT(bpf_commands); i++)
		rules[i] = (struct tw_seccomp_rule){ UINT32_MAX, bpf_commands[i],
						     SECCOMP_RET_ALLOW };
	tw_seccomp_when(s, SYS_bpf, 0, rules, TW_COUNT(rules), TW_SECCOMP_REFUSE);
}

int tw_filter_install(const struct tw_privilege *p, bool *filtered, struct tw_err *err)
{
	static const int opening[] = { SYS_openat };
	struct tw_seccomp s;

	tw_seccomp_begin(&s);
	allow(&s, always, TW_COUNT(always));
	if (p->may_write) {
		allow(&s, opening, TW_COUNT(opening));
		allow(&s, writing, TW_COUNT(writing));
	}
	if (p->may_start)
		allow(&s, starting, TW_COUNT(starting));
	if (!p->may_write)
		tw_seccomp_when(&s, SYS_openat, 2, reading, TW_COUNT(reading),
				TW_SECCOMP_REFUSE);
	allow_bpf(&s);
	return tw_seccomp_install(&s, TW_SECCOMP_REFUSE, filtered, err);
}
