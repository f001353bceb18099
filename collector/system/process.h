/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PROCESS_H
#define TW_COLLECTOR_PROCESS_H

/*
 * What the kernel shows of a process below /proc/PID. Times in /proc/PID/stat, see
 * proc(5), are in clock ticks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_task;

/*
 * Parse tgid, parent, flags, comm, start and CPU time; ticks_per_s converts the times.
 * cgroup_id and execs stay 0.
 */
int tw_proc_stat_parse(const char *data, size_t len, uint32_t ticks_per_s,
		       struct tw_task *out, struct tw_err *err);

/* sysconf(_SC_CLK_TCK). */
uint32_t tw_proc_ticks_per_s(void);

/*
 * 0 if /proc/PID, opened as dir, is the process that began at start_ns; else -1: pids are
 * reused, and a pid of another pid namespace is another process.
 */
int tw_proc_is(int dir, uint64_t start_ns, struct tw_err *err);

/* ---- proof of a hypervisor ---- */

/*
 * Proof by the kernel that a process runs virtual machines. A command line proves
 * nothing: any user can call a process qemu-system-x86_64.
 */

/*
 * Open the directory of device numbers below sys, which a container sees, too. -1 if no
 * hypervisor has a device on this machine. The descriptor is yours.
 */
int tw_hypervisor_devices(const char *sys);

/*
 * Whether the process of the open directory /proc/PID has spent time in a guest of KVM,
 * or holds a virtual machine, a virtual processor or the device of a hypervisor open.
 * dir: of tw_hypervisor_devices().
 *
 * Any user can read the time in guests. Descriptors of other users need CAP_SYS_PTRACE:
 * without it, a process of KVM has a proof after its first clock tick in a guest, and one
 * of another hypervisor has none.
 */
bool tw_hypervisor_is(int process, int dir);

/* ---- time namespaces ---- */

/*
 * The time namespace of this process (Linux 5.6). Its clocks, and the start times in
 * /proc/PID/stat, differ by an offset from those of the kernel, which BPF programs read.
 */

struct tw_clock_offsets {
	int64_t boot_ns, monotonic_ns; /* to add to the kernel's times */
};

/* Parse a text like /proc/self/timens_offsets. A malformed line leaves 0. */
struct tw_clock_offsets tw_clock_offsets_parse(const char *text);

/* Those of this process; 0 on older kernels. */
struct tw_clock_offsets tw_clock_offsets(void);

#endif /* TW_COLLECTOR_PROCESS_H */
