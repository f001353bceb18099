/* SPDX-License-Identifier: GPL-2.0-only */
/* The least that a program at each context switch costs: one that does nothing. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sched_switch")
int empty_switch(void *ctx)
{
	return 0;
}
