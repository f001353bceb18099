/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's task iterator, read as a file: a record for each thread, by ascending
 * thread ids, so that the threads of a process are not side by side (Linux 5.8).
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/task.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* A leader's record has the threads that ended; the others have only themselves. */
SEC("iter/task")
int dump_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct tw_task r = {};

	/* The idle task's is no work. */
	if (!t || t->pid == 0)
		return 0;
	if (t->pid == t->tgid) {
		r.cpu_ns = dead_ns_of(t);
		fill_task(&r, t);
		r.parent = t->real_parent->tgid;
	} else {
		r.start_ns = t->group_leader->start_boottime;
		r.tgid = t->tgid;
		r.flags = TW_TASK_THREAD;
	}
	r.cpu_ns += t->se.sum_exec_runtime;
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
