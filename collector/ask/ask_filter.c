/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/ask_filter.h"

#include "collector/system/seccomp.h"
#include "lib/core/array.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define ALLOW SCMP_ACT_ALLOW
#define REFUSE SCMP_ACT_ERRNO(EPERM)

static const char always[] =
	/* descriptors that are open */
	"read readv pread64 write writev close lseek fstat fcntl ppoll pselect6 recv "
	"recvfrom recvmsg send sendto sendmsg shutdown "
	/* memory */
	"munmap mremap madvise brk "
	/* time */
	"clock_gettime clock_nanosleep nanosleep gettimeofday "
	/* ourselves */
	"futex getpid getppid gettid getuid geteuid getgid getegid getrandom getrusage "
	"sysinfo uname sched_yield sched_getaffinity rt_sigaction rt_sigprocmask "
	"rt_sigreturn sigaltstack tgkill restart_syscall set_robust_list exit "
	"exit_group poll select _newselect time rseq";

/* The resolver of names, its modules, certificates; libcurl and its wakeups. */
static const char speaking[] =
	"newfstatat statx faccessat getdents64 readlinkat socketpair connect bind "
	"getsockname getpeername getsockopt setsockopt sendmmsg pipe2 eventfd2 stat "
	"lstat access readlink pipe alarm faccessat2";

/* For the part that starts the other again, and to filter that more. */
static const char keeping[] = "clone wait4 prctl seccomp";

static const char never[] =
	"execve execveat kill ptrace process_vm_readv process_vm_writev unshare setns "
	"mount umount2 pivot_root chroot bpf perf_event_open userfaultfd init_module "
	"finit_module keyctl add_key request_key setuid setgid setresuid setresgid "
	"capset open_by_handle_at unlinkat renameat2 mkdirat linkat symlinkat mknodat "
	"fchmodat fchownat truncate listen fork vfork creat unlink rename mkdir link "
	"symlink mknod chmod chown io_uring_setup pidfd_getfd";

/* Their flags are in memory, which a filter cannot look at; without them the C library
 * takes clone and openat. */
static const char unknown[] = "clone3 openat2";

#define OPEN_WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)
#define CLONE_THREADS (CLONE_THREAD | CLONE_VM)
#define WRITE_CODE (PROT_WRITE | PROT_EXEC)

/* Names are resolved by DNS, or by a service behind a Unix socket; netlink lists the
 * addresses of this machine. */
static const uint64_t families[] = { AF_INET, AF_INET6, AF_UNIX, AF_NETLINK };
static const uint64_t of_socket[] = { FIONBIO, FIONREAD };

/* Limits are read, not set: the pointer to new ones is NULL. */
static const uint64_t no_pointer[] = { 0 };

/* mmap() and mprotect() without any bit, or without all bits, of `prot`. */
static void limit_memory(struct tw_seccomp *s, uint64_t prot, uint64_t value,
			 uint32_t matched, uint32_t otherwise)
{
#if defined(__s390__)
	/* mmap() has its arguments in memory there, which a filter cannot read. */
	tw_seccomp_list(s, "mmap", ALLOW);
#endif
	tw_seccomp_mask(s, SCMP_SYS(mmap), 2, prot, value, matched, otherwise);
	tw_seccomp_mask(s, SCMP_SYS(mprotect), 2, prot, value, matched, otherwise);
}

static void allow_reading(struct tw_seccomp *s, uint32_t kill)
{
	tw_seccomp_mask(s, SCMP_SYS(openat), 2, OPEN_WRITES, 0, ALLOW, kill);
}

static void allow_net(struct tw_seccomp *s, uint32_t kill)
{
	tw_seccomp_list(s, speaking, ALLOW);
	tw_seccomp_values(s, SCMP_SYS(socket), 0, families, TW_COUNT(families), kill);
	allow_reading(s, kill);
	tw_seccomp_mask(s, SCMP_SYS(open), 1, OPEN_WRITES, 0, ALLOW, kill);
	tw_seccomp_mask(s, SCMP_SYS(clone), TW_SECCOMP_CLONE_FLAGS, CLONE_THREADS,
			CLONE_THREADS, ALLOW, kill);
	/* The resolver maps its modules as code, but never as writable code. */
	limit_memory(s, WRITE_CODE, WRITE_CODE, REFUSE, ALLOW);
	tw_seccomp_values(s, SCMP_SYS(ioctl), 1, of_socket, TW_COUNT(of_socket), REFUSE);
}

static void allow_device(struct tw_seccomp *s, uint32_t kill)
{
	tw_seccomp_list(s, "socket connect bind clone", kill);
	/* The age of a file that is open. */
	tw_seccomp_list(s, "newfstatat statx", ALLOW);
	allow_reading(s, kill);
	limit_memory(s, PROT_EXEC, 0, ALLOW, REFUSE);
	tw_seccomp_mask(s, SCMP_SYS(ioctl), 1, _IOC_TYPEMASK << _IOC_TYPESHIFT,
			IPMI_IOC_MAGIC << _IOC_TYPESHIFT, ALLOW, REFUSE);
}

int tw_ask_filter_install(enum tw_ask_stage stage, bool net, struct tw_err *err)
{
	const uint32_t kill = tw_seccomp_kill();
	struct tw_seccomp s;

	tw_seccomp_begin(&s, REFUSE);
	tw_seccomp_list(&s, always, ALLOW);
	if (stage == TW_ASK_KEEPS)
		tw_seccomp_list(&s, keeping, ALLOW);
	tw_seccomp_values(&s, SCMP_SYS(prlimit64), 2, no_pointer, TW_COUNT(no_pointer),
			  REFUSE);
	if (net)
		allow_net(&s, kill);
	else
		allow_device(&s, kill);
	tw_seccomp_list(&s, never, kill);
	tw_seccomp_list(&s, unknown, SCMP_ACT_ERRNO(ENOSYS));
	return tw_seccomp_install(&s, err);
}
