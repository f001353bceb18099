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

static const int always[] = {
	/* descriptors that are open */
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(lseek),
	SCMP_SYS(fstat),
	SCMP_SYS(fcntl),
	SCMP_SYS(ppoll),
	SCMP_SYS(pselect6),
	SCMP_SYS(recv),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(send),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(shutdown),
	/* memory */
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	/* time */
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	/* ourselves */
	SCMP_SYS(futex),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
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
	SCMP_SYS(restart_syscall),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(poll),
	SCMP_SYS(select),
	SCMP_SYS(_newselect),
	SCMP_SYS(time),
	SCMP_SYS(rseq),
};

/* The resolver of names, its modules, certificates; libcurl and its wakeups. */
static const int speaking[] = {
	SCMP_SYS(newfstatat),  SCMP_SYS(statx),      SCMP_SYS(faccessat),
	SCMP_SYS(getdents64),  SCMP_SYS(readlinkat), SCMP_SYS(socketpair),
	SCMP_SYS(connect),     SCMP_SYS(bind),       SCMP_SYS(getsockname),
	SCMP_SYS(getpeername), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt),
	SCMP_SYS(sendmmsg),    SCMP_SYS(pipe2),      SCMP_SYS(eventfd2),
	SCMP_SYS(stat),        SCMP_SYS(lstat),      SCMP_SYS(access),
	SCMP_SYS(readlink),    SCMP_SYS(pipe),       SCMP_SYS(alarm),
	SCMP_SYS(faccessat2),
};

/* For the part that starts the other again, and to filter that more. */
static const int keeping[] = { SCMP_SYS(clone), SCMP_SYS(wait4), SCMP_SYS(prctl),
			       SCMP_SYS(seccomp) };

static const int never[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(kill),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(setuid),
	SCMP_SYS(setgid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	SCMP_SYS(capset),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(unlinkat),
	SCMP_SYS(renameat2),
	SCMP_SYS(mkdirat),
	SCMP_SYS(linkat),
	SCMP_SYS(symlinkat),
	SCMP_SYS(mknodat),
	SCMP_SYS(fchmodat),
	SCMP_SYS(fchownat),
	SCMP_SYS(truncate),
	SCMP_SYS(listen),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(creat),
	SCMP_SYS(unlink),
	SCMP_SYS(rename),
	SCMP_SYS(mkdir),
	SCMP_SYS(link),
	SCMP_SYS(symlink),
	SCMP_SYS(mknod),
	SCMP_SYS(chmod),
	SCMP_SYS(chown),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(pidfd_getfd),
};

/* Their flags are in memory, which a filter cannot look at; without them the C library
 * takes clone and openat. */
static const int unknown[] = {
	SCMP_SYS(clone3),
	SCMP_SYS(openat2),
};

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
	static const int mapping[] = { SCMP_SYS(mmap) };

	tw_seccomp_list(s, mapping, TW_COUNT(mapping), ALLOW);
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
	tw_seccomp_list(s, speaking, TW_COUNT(speaking), ALLOW);
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
	static const int others[] = { SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(bind),
				      SCMP_SYS(clone) };
	/* The age of a file that is open. */
	static const int looking[] = { SCMP_SYS(newfstatat), SCMP_SYS(statx) };

	tw_seccomp_list(s, others, TW_COUNT(others), kill);
	tw_seccomp_list(s, looking, TW_COUNT(looking), ALLOW);
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
	tw_seccomp_list(&s, always, TW_COUNT(always), ALLOW);
	if (stage == TW_ASK_KEEPS)
		tw_seccomp_list(&s, keeping, TW_COUNT(keeping), ALLOW);
	tw_seccomp_values(&s, SCMP_SYS(prlimit64), 2, no_pointer, TW_COUNT(no_pointer),
			  REFUSE);
	if (net)
		allow_net(&s, kill);
	else
		allow_device(&s, kill);
	tw_seccomp_list(&s, never, TW_COUNT(never), kill);
	tw_seccomp_list(&s, unknown, TW_COUNT(unknown), SCMP_ACT_ERRNO(ENOSYS));
	return tw_seccomp_install(&s, err);
}
