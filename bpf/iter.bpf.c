/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's task iterator, read as a file: a record for each thread, by ascending
 * thread ids, so that the threads of a process are not side by side (Linux 5.8).
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/task.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Ended threads first: one that ends in between is in neither. */
SEC("iter/task")
int dump_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct tw_thread r = {};

	/* The idle task's is no work. */
	if (!t || t->pid == 0)
		return 0;
	r.dead_ns = dead_ns_of(t);
	if (t->pid == t->tgid) {
		fill_task(&r.task, t);
		r.task.parent = t->real_parent->tgid;
	} else {
		r.task.start_ns = t->group_leader->start_boottime;
		r.task.tgid = t->tgid;
		r.task.flags = TW_TASK_THREAD;
	}
	r.task.cpu_ns = t->se.sum_exec_runtime;
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
