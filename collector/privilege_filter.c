/* SPDX-License-Identifier: Apache-2.0 */
/* What the collector asks of the kernel once it runs; anything else is refused. */
#include "collector/privilege.h"

#include "lib/err.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#endif

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Instructions: the most that all lists and checks need. */
#define PROGRAM_MAX 512

#ifdef ARCH

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
	SYS_wait4,
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

struct program {
	struct sock_filter at[PROGRAM_MAX];
	unsigned short len;
};

static void add(struct program *p, struct sock_filter f)
{
	if (p->len < PROGRAM_MAX)
		p->at[p->len++] = f;
}

static void load(struct program *p, size_t offset)
{
	add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* Allow if what was loaded is the value. */
static void allow_equal(struct program *p, uint32_t value)
{
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void refuse(struct program *p)
{
	add(p, (struct sock_filter)BPF_STMT(
		       BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA)));
}

static void allow_list(struct program *p, const int *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		allow_equal(p, (uint32_t)list[i]);
}

/* Go on behind the next n instructions unless the call is nr. */
static void only_for(struct program *p, int nr, uint8_t n)
{
	add(p,
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, n));
}

/* The low half of an argument; these are 32 bits wide. */
static size_t argument(size_t i)
{
	return offsetof(struct seccomp_data, args) + i * sizeof(uint64_t);
}

static void allow_bpf(struct program *p)
{
	only_for(p, SYS_bpf, 2 + 2 * COUNT(bpf_commands));
	load(p, argument(0));
	allow_list(p, bpf_commands, COUNT(bpf_commands));
	refuse(p);
}

/* Opening what is not to be written. */
static void allow_reading(struct program *p)
{
	only_for(p, SYS_openat, 4);
	load(p, argument(2));
	add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
					    O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 1, 0));
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	refuse(p);
}

static void write_program(const struct tw_privilege *p, struct program *out)
{
	load(out, offsetof(struct seccomp_data, arch));
	add(out, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
	refuse(out);
	load(out, offsetof(struct seccomp_data, nr));
	allow_list(out, always, COUNT(always));
	if (p->may_write) {
		allow_equal(out, SYS_openat);
		allow_list(out, writing, COUNT(writing));
	}
	if (p->may_start)
		allow_list(out, starting, COUNT(starting));
	if (!p->may_write)
		allow_reading(out);
	allow_bpf(out);
	refuse(out);
}

int tw_filter_install(const struct tw_privilege *p, bool *filtered, struct tw_err *err)
{
	struct program program = { .len = 0 };
	struct sock_fprog prog = { .filter = program.at };

	write_program(p, &program);
	prog.len = program.len;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		    &prog) != 0)
		return tw_fail_errno(err, errno, "cannot filter system calls");
	*filtered = true;
	return 0;
}

#else

int tw_filter_install(const struct tw_privilege *p, bool *filtered, struct tw_err *err)
{
	(void)p;
	(void)err;
	*filtered = false;
	return 0;
}

#endif
