/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/ask_filter.h"

#include "collector/system/seccomp.h"
#include "lib/core/array.h"

#include <fcntl.h>
#include <linux/ipmi.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define ALLOW SECCOMP_RET_ALLOW
#define KILL SECCOMP_RET_KILL_PROCESS

static const int always[] = {
	/* descriptors that are open */
	SYS_read,
	SYS_readv,
	SYS_pread64,
	SYS_write,
	SYS_writev,
	SYS_close,
	SYS_lseek,
	SYS_fstat,
	SYS_fcntl,
	SYS_ppoll,
	SYS_pselect6,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_sendto,
	SYS_sendmsg,
	SYS_shutdown,
	/* memory */
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	/* time */
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_gettimeofday,
	/* ourselves */
	SYS_futex,
	SYS_getpid,
	SYS_getppid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
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
	SYS_restart_syscall,
	SYS_set_robust_list,
	SYS_exit,
	SYS_exit_group,
#ifdef SYS_poll
	SYS_poll,
	SYS_select,
	SYS_time,
#endif
#ifdef SYS_rseq
	SYS_rseq,
#endif
};

/* The resolver of names, its modules, certificates; libcurl and its wakeups. */
static const int speaking[] = {
	SYS_newfstatat, SYS_statx,      SYS_faccessat, SYS_getdents64,  SYS_readlinkat,
	SYS_socketpair, SYS_connect,    SYS_bind,      SYS_getsockname, SYS_getpeername,
	SYS_getsockopt, SYS_setsockopt, SYS_sendmmsg,  SYS_pipe2,       SYS_eventfd2,
#ifdef SYS_stat
	SYS_stat,       SYS_lstat,      SYS_access,    SYS_readlink,    SYS_pipe,
	SYS_alarm,
#endif
#ifdef SYS_faccessat2
	SYS_faccessat2,
#endif
};

/* For the part that starts the other again, and to filter that more. */
static const int keeping[] = { SYS_clone, SYS_wait4, SYS_prctl, SYS_seccomp };

static const int never[] = {
	SYS_execve,
	SYS_execveat,
	SYS_kill,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_unshare,
	SYS_setns,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_init_module,
	SYS_finit_module,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_setuid,
	SYS_setgid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_capset,
	SYS_open_by_handle_at,
	SYS_unlinkat,
	SYS_renameat2,
	SYS_mkdirat,
	SYS_linkat,
	SYS_symlinkat,
	SYS_mknodat,
	SYS_fchmodat,
	SYS_fchownat,
	SYS_truncate,
	SYS_listen,
#ifdef SYS_fork
	SYS_fork,
	SYS_vfork,
	SYS_creat,
	SYS_unlink,
	SYS_rename,
	SYS_mkdir,
	SYS_link,
	SYS_symlink,
	SYS_mknod,
	SYS_chmod,
	SYS_chown,
#endif
#ifdef SYS_io_uring_setup
	SYS_io_uring_setup,
#endif
#ifdef SYS_pidfd_getfd
	SYS_pidfd_getfd,
#endif
};

/* Their flags are in memory, which a filter cannot look at; without them the C library
 * takes clone and openat. */
static const int unknown[] = {
#ifdef SYS_clone3
	SYS_clone3,
#endif
#ifdef SYS_openat2
	SYS_openat2,
#endif
};

static const struct tw_seccomp_rule reading[] = {
	{ O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0, ALLOW },
};
static const struct tw_seccomp_rule threads[] = {
	{ CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM, ALLOW },
};
/* Names are asked of DNS, or of a service by a Unix socket; which addresses this machine
 * has, by netlink. */
static const struct tw_seccomp_rule families[] = {
	{ UINT32_MAX, AF_INET, ALLOW },
	{ UINT32_MAX, AF_INET6, ALLOW },
	{ UINT32_MAX, AF_UNIX, ALLOW },
	{ UINT32_MAX, AF_NETLINK, ALLOW },
};
/* Modules of the resolver are mapped as programs, but not as what can be written. */
static const struct tw_seccomp_rule not_both[] = {
	{ PROT_WRITE | PROT_EXEC, PROT_WRITE | PROT_EXEC, TW_SECCOMP_REFUSE },
};
static const struct tw_seccomp_rule no_code[] = { { PROT_EXEC, 0, ALLOW } };
/* Limits are read, not set: the new ones are at address 0. */
static const struct tw_seccomp_rule at_zero[] = { { UINT32_MAX, 0, ALLOW } };
static const struct tw_seccomp_rule of_device[] = {
	{ _IOC_TYPEMASK << _IOC_TYPESHIFT, IPMI_IOC_MAGIC << _IOC_TYPESHIFT, ALLOW },
};
static const struct tw_seccomp_rule of_socket[] = {
	{ UINT32_MAX, FIONBIO, ALLOW },
	{ UINT32_MAX, FIONREAD, ALLOW },
};

static void allow_net(struct tw_seccomp *s)
{
	tw_seccomp_list(s, speaking, TW_COUNT(speaking), ALLOW);
	tw_seccomp_when(s, SYS_socket, 0, families, TW_COUNT(families), KILL);
	tw_seccomp_when(s, SYS_openat, 2, reading, TW_COUNT(reading), KILL);
#ifdef SYS_open
	tw_seccomp_when(s, SYS_open, 1, reading, TW_COUNT(reading), KILL);
#endif
	tw_seccomp_when(s, SYS_clone, 0, threads, TW_COUNT(threads), KILL);
	tw_seccomp_when(s, SYS_mmap, 2, not_both, TW_COUNT(not_both), ALLOW);
	tw_seccomp_when(s, SYS_mprotect, 2, not_both, TW_COUNT(not_both), ALLOW);
	tw_seccomp_when(s, SYS_ioctl, 1, of_socket, TW_COUNT(of_socket),
			TW_SECCOMP_REFUSE);
}

static void allow_device(struct tw_seccomp *s)
{
	static const int others[] = { SYS_socket, SYS_connect, SYS_bind, SYS_clone };

	tw_seccomp_list(s, others, TW_COUNT(others), KILL);
	tw_seccomp_when(s, SYS_openat, 2, reading, TW_COUNT(reading), KILL);
	tw_seccomp_when(s, SYS_mmap, 2, no_code, TW_COUNT(no_code), TW_SECCOMP_REFUSE);
	tw_seccomp_when(s, SYS_mprotect, 2, no_code, TW_COUNT(no_code),
			TW_SECCOMP_REFUSE);
	tw_seccomp_when(s, SYS_ioctl, 1, of_device, TW_COUNT(of_device),
			TW_SECCOMP_REFUSE);
}

int tw_ask_filter_install(enum tw_ask_stage stage, bool net, bool *filtered,
			  struct tw_err *err)
{
	struct tw_seccomp s;

	tw_seccomp_begin(&s);
	tw_seccomp_list(&s, always, TW_COUNT(always), ALLOW);
	if (stage == TW_ASK_KEEPS)
		tw_seccomp_list(&s, keeping, TW_COUNT(keeping), ALLOW);
	tw_seccomp_when(&s, SYS_prlimit64, 2, at_zero, TW_COUNT(at_zero),
			TW_SECCOMP_REFUSE);
	if (net)
		allow_net(&s);
	else
		allow_device(&s);
	tw_seccomp_list(&s, never, TW_COUNT(never), KILL);
	tw_seccomp_list(&s, unknown, TW_COUNT(unknown), TW_SECCOMP_UNKNOWN);
	return tw_seccomp_install(&s, TW_SECCOMP_REFUSE, filtered, err);
}
