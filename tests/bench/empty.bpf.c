/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs that do nothing: the least that one costs at each context switch, and one
 * where hardly anything passes. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sched_switch")
int empty_switch(void *ctx)
{
	return 0;
}

SEC("tp_btf/cgroup_mkdir")
int empty_mkdir(void *ctx)
{
	return 0;
}
