/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's task iterator, read as a file (Linux 5.8). It writes a record for each
 * thread, in order of thread ids, so threads of a process are not adjacent.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/task.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/*
 * Read the exited threads' time first: a thread that exits in between is in neither time.
 */
SEC("iter/task")
int dump_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct tw_thread r = {};

	/* Skip the idle task. */
	if (!t || t->pid == 0)
		return 0;
	r.dead_ns = dead_ns_of(t->group_leader);
	if (t->pid == t->tgid) {
		fill_task(&r.task, t);
		r.task.parent = t->real_parent->tgid;
	} else {
		r.task.start_ns = t->group_leader->start_boottime + tw_boot_offset_ns;
		r.task.tgid = t->tgid;
		r.task.flags = TW_TASK_THREAD;
	}
	r.task.cpu_ns = t->se.sum_exec_runtime;
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
